//! Range queries on a device: the GPU counterpart of `search::range`.
//!
//! In: balls or boxes. Out: counts or lists, in the order of the queries.
//! Queries are sorted along the Morton curve first, so that those of a warp are close together. Then each query walks
//! the tree: balls by `bvh::traverse`, boxes by `boxes`.
//! Cost: that of sorting the queries and of the walk.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Space, Sphere};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::ListOutputLaunch;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::runs::RunBuffers;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::boxes::Boxes;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::query::Query;
use crate::gpu::search::query_points::{QueryPoints, wrap_all};
use crate::gpu::search::shapes::walk::{AnyValue, SearchedTree};
use crate::parallel::map;

/// Queries per parallel task.
const TASK: usize = 1 << 14;

/// Spheres in the space of the stored points.
pub(in crate::gpu) struct PlacedSpheres<S, const D: usize> {
    pub centers: Vec<[S; D]>,
    /// The box around the finite centres.
    pub bounds: Aabb<S, D>,
    /// The two thresholds of each radius, and its square ([`FilteredRadius`]).
    pub filters: Vec<[S; 2]>,
    pub radius2: Vec<f64>,
}

impl<S: Coordinate, const D: usize> PlacedSpheres<S, D> {
    pub fn new(space: &Space<D>, spheres: &[Sphere<S, D>]) -> Self {
        let n = spheres.len();
        // A sphere whose centre is not finite gets a negative radius, so that its position does not matter.
        let (wrapped, bounds) = wrap_all(n, space, &|at| spheres[at].center);
        let centers = map(n, TASK, &|at| wrapped[at].unwrap_or(bounds.lo));
        let radii = map(n, TASK, &|at| {
            let radius = if wrapped[at].is_some() { spheres[at].radius } else { -1.0 };
            let filter = FilteredRadius::<S, D>::new(radius, space);
            ([filter.certain_limit, filter.possible_limit], filter.radius2)
        });
        let (filters, radius2) = radii.into_iter().unzip();
        Self { centers, bounds, filters, radius2 }
    }
}

/// Balls on a device, sorted along the Morton curve.
pub(in crate::gpu) struct SortedSpheres<S> {
    /// The index of each ball in the caller's slice.
    pub order: Buffer<u32>,
    axes: Buffer<S>,
    filters: Buffer<S>,
    radius2: Buffer<f64>,
}

impl<S: Coordinate> SortedSpheres<S> {
    pub fn new<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        spheres: &[Sphere<S, D>],
    ) -> Result<Self> {
        let PlacedSpheres { centers, bounds, filters, radius2 } = PlacedSpheres::new(&bvh.space, spheres);
        let centers = Buffer::from_slice(client, centers.as_flattened());
        let QueryPoints { order, axes, .. } = QueryPoints::new(client, &centers, &bounds)?;
        let filters = gather(client, &Buffer::from_slice(client, filters.as_flattened()), &order, 2, Layout::Rows);
        let radius2 = gather(client, &Buffer::from_slice(client, &radius2), &order, 1, Layout::Rows);
        Ok(Self { order, axes, filters, radius2 })
    }

    /// Returns the spheres as queries of a walk.
    pub fn asked(&self) -> WalkQueries<S> {
        WalkQueries {
            axes: self.axes.clone(),
            filters: self.filters.clone(),
            radius2: self.radius2.clone(),
            n: self.order.len(),
            own_radii: true,
            are_stored: false,
        }
    }
}

/// Queries on a device, sorted along the Morton curve.
pub(in crate::gpu) enum SortedShapes<S> {
    Balls(SortedSpheres<S>),
    Boxes(Boxes<S>),
}

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
