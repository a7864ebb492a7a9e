//! Range queries of a tree of boxes on a device.
//!
//! In: queries. Out: counts, or lists of the boxes that each query meets, in the order of the tree.
//! Cost: that of sorting the queries and of the walk (`shapes::walk`).

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::searched_tree::SearchedTree;
use crate::gpu::search::shapes::walk::AnyValue;

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Returns the tree as the argument of a walk; `None` if it is empty.
    pub(in crate::gpu) fn searched(&self) -> Option<SearchedTree<'_, S, D>> {
        Some(self.searched_by(self.nodes.as_ref()?))
    }

    /// Returns the tree as the argument of a walk of `nodes`.
    pub(in crate::gpu) fn searched_by<'a>(&'a self, nodes: &'a Nodes<S>) -> SearchedTree<'a, S, D> {
        let (space, axes, order) = (&self.space, &self.corners, &self.order);
        SearchedTree { device: self.device, space, nodes, axes, order, are_points: false }
    }

    /// Lists the stored boxes that each query meets, in the order of the queries. Touching counts.
    ///
    /// The lists equal those of [`crate::Bvh::query_all`], entry for entry, in the order of the tree. A sphere with a
    /// negative or NaN radius, or with a centre that is not finite, has no hits. A box with a lower corner above its
    /// upper one, or with a NaN, has no hits either. In a periodic box, centres and corners may be anywhere, and
    /// queries other than rays meet the images of boxes.
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([4.0, 0.0], [6.0, 2.0])];
    /// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
    /// let lists = bvh.query_all(&[Aabb::new([1.0f32, 1.0], [4.0, 1.0]), Aabb::new([2.0, 0.0], [3.0, 9.0])])?.read()?;
    /// assert_eq!((lists.of(0).len(), lists.of(1).len()), (2, 0));
    /// assert_eq!(bvh.query_all(&[[5.0f32, 1.0]])?.read()?.of(0), [1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 entries in total, or more than a buffer of the device can hold.
    /// - The queries have more than 2^32 - 1 numbers in total, or more than a buffer can hold. A sphere has D + 3. A box or
    ///   point has 1 + 2 D, or 1 + 6 D in a periodic box. Other queries have 1 + 2 D and [`Query::NUMBERS`].
    /// - The device fails, or it rounds quotients or roots differently from the CPU, which rays and other shapes need.
    ///
    /// # Cost
    /// Boxes are counted first, and then listed. On NVIDIA's GPUs and from 16,384 spheres, boxes or points on, the second
    /// search leaves out queries with at most 16 hits. This takes 80 bytes more per query while it runs.
    ///
    /// Memory: 4 bytes per entry and 4 per query.
    /// While it runs, by the sizes of buffers in three dimensions, some 80 bytes more per sphere and 130 per box. In a
    /// periodic box it is 320 per box. The host uses 8 bytes per number of a query.
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<Csr> {
        on!(self.device, client => {
            let offsets = Buffer::<u32>::filled(client, queries.len() + 1, 0);
            let values = match self.searched() {
                Some(tree) => tree.list::<_, _, AnyValue>(client, queries, None, &offsets)?,
                None => Buffer::new(client, 0),
            };
            Ok(Csr { device: self.device, offsets, values })
        })
    }

    /// Counts the stored boxes that each query meets, in the order of the queries, as [`crate::Bvh::count_all`].
    /// Queries are those of [`BoxBvh::query_all`].
    ///
    /// # Errors
    /// There are too many queries, as for [`BoxBvh::query_all`]; the device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per query; while it runs, as [`BoxBvh::query_all`].
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, queries.len(), 0);
            if let Some(tree) = self.searched() {
                tree.count::<_, _, AnyValue>(client, queries, None, &counts)?;
            }
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }
}
