//! Range queries on a device: the GPU counterpart of `search::range`.
//!
//! In: balls or boxes. Out: counts or lists, in the order of the queries.
//! Queries are sorted along the Morton curve first, so that those of a warp are close together. Then each query walks
//! the tree: balls by `bvh::traverse`, boxes by `boxes`.
//! Cost: that of sorting the queries and of the walk.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::ListOutputLaunch;
use crate::gpu::bvh::traverse::runs::RunBuffers;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::searched_tree::SearchedTree;
use crate::gpu::search::shapes::walk::AnyValue;
use crate::gpu::search::sorted_shapes::SortedShapes;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Lists the stored points in each ball or box, in the order of the queries.
    ///
    /// The lists equal those of [`crate::Bvh::query_all`], entry for entry, in the order of the tree. Points are
    /// counted by a first walk and listed by a second one.
    ///
    /// A ball with a negative or NaN radius, or with a centre that is not finite, has no hits. A box with a lower
    /// corner above its upper one has no hits either. In a periodic box, centres and corners may be anywhere.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    /// use ropewalk::{Aabb, Sphere};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let lists = bvh.query_all(&[Sphere::new([4.0f32, 0.0], 1.0), Sphere::new([0.5f32, 0.0], 0.1)])?.read()?;
    /// assert_eq!(lists.of(0), [1]);
    /// assert!(lists.of(1).is_empty());
    /// let lists = bvh.query_all(&[Aabb::new([0.5f32, -1.0], [5.0, 0.0])])?.read()?;
    /// assert_eq!(lists.of(0).len(), 2); // corners and faces included
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 entries in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per entry and 4 per query. While it runs, by the sizes of buffers, some 60 bytes more per ball
    /// of three `f32`, 70 per box, and 120 per box of a periodic tree.
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<Csr> {
        on!(self.device, client => {
            let offsets = Buffer::<u32>::filled(client, queries.len() + 1, 0);
            let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) else {
                return Ok(Csr { device: self.device, offsets, values: Buffer::new(client, 0) });
            };
            let Some(shapes) = Q::sorted(client, self, queries)? else {
                let values = self.searched(nodes).list::<_, _, AnyValue>(client, queries, None, &offsets)?;
                return Ok(Csr { device: self.device, offsets, values });
            };
            let listed = self.count_sorted(client, nodes, &shapes, &offsets);
            let values = Csr::allocate_values(client, &offsets)?;
            match &shapes {
                SortedShapes::Balls(balls) => {
                    let rows = || ListOutputLaunch::new(self.order.arg(), balls.order.arg(), offsets.arg());
                    self.write_lists(client, nodes, &balls.asked(), listed.as_ref(), rows, &values);
                }
                SortedShapes::Boxes(boxes) => boxes.list(client, self, nodes, &offsets, &values),
            }
            Ok(Csr { device: self.device, offsets, values })
        })
    }

    /// Counts the stored points in each ball or box, in the order of the queries, as [`crate::Bvh::count_all`].
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let counts = bvh.count_all(&[Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([2.0, 0.0], [3.0, 9.0])])?;
    /// assert_eq!(counts.read()?, [2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per query; while it runs, as [`Bvh::query_all`].
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, queries.len(), 0);
            if let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) {
                match Q::sorted(client, self, queries)? {
                    Some(shapes) => _ = self.count_sorted(client, nodes, &shapes, &counts),
                    None => self.searched(nodes).count::<_, _, AnyValue>(client, queries, None, &counts)?,
                }
            }
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }

    /// Returns the tree as the argument of a walk for rows of queries.
    pub(super) fn searched<'a>(&'a self, nodes: &'a Nodes<S>) -> SearchedTree<'a, S, D> {
        let (space, axes, order) = (&self.space, &self.axes, &self.order);
        SearchedTree { device: self.device, space, nodes, axes, order, are_points: true }
    }

    /// Counts the points in each shape, and returns the runs near balls.
    fn count_sorted<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        shapes: &SortedShapes<S>,
        counts: &Buffer<u32>,
    ) -> Option<RunBuffers<S>> {
        match shapes {
            SortedShapes::Balls(balls) => {
                let (asked, mode) = (balls.asked(), TraversalMode::Whole);
                let listed = self.list_runs(client, nodes, &asked, mode);
                let (order, counts) = (|| balls.order.arg(), || counts.arg());
                self.walk_listed::<_, Count>(client, nodes, &asked, mode, listed.as_ref(), order, counts);
                listed
            }
            SortedShapes::Boxes(boxes) => {
                boxes.count(client, self, nodes, counts);
                None
            }
        }
    }
}
