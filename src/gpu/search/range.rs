//! Range queries on a device: the twin of `search::range`.
//!
//! In: balls or boxes. Out: counts, or lists, in their order.
//! They are sorted along the Morton curve first, so that the queries of a warp are near each other. Then the tree is walked for
//! each: for balls by `bvh::traverse`, for boxes by `boxes`. Cost: that of sorting them, and of the walk.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Sphere};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::launch::Asked;
use crate::gpu::bvh::traverse::spec::{QueriesLaunch, TraversalMode};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::boxes::Boxes;
use crate::gpu::search::neighbors::{Count, List, RowsLaunch};
use crate::gpu::search::query_points::{QueryPoints, place};
use crate::parallel::map;

/// Points of a parallel task.
const TASK: usize = 1 << 14;

/// Balls on a device, along the curve.
pub(in crate::gpu) struct Balls<S> {
    /// The index of each in the caller's slice.
    pub order: Buffer<u32>,
    axes: Buffer<S>,
    filters: Buffer<S>,
    radius2: Buffer<f64>,
}

impl<S: Coordinate> Balls<S> {
    pub fn new<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        spheres: &[Sphere<S, D>],
    ) -> Result<Self> {
        let (n, space) = (spheres.len(), &bvh.space);
        // A ball whose centre is not finite finds nothing, wherever it is put.
        let (placed, bounds) = place(n, space, &|at| spheres[at].center);
        let centers = map(n, TASK, &|at| placed[at].unwrap_or(bounds.lo));
        let radii = map(n, TASK, &|at| {
            let radius = if placed[at].is_some() { spheres[at].radius } else { -1.0 };
            let filter = FilteredRadius::<S, D>::new(radius, space);
            ([filter.sure, filter.maybe], filter.radius2)
        });
        let (filters, radius2): (Vec<[S; 2]>, Vec<f64>) = radii.into_iter().unzip();

        let centers = Buffer::from_slice(client, centers.as_flattened());
        let QueryPoints { order, axes, .. } = QueryPoints::new(client, &centers, &bounds)?;
        let filters = gather(client, &Buffer::from_slice(client, filters.as_flattened()), &order, 2, Layout::Rows);
        let radius2 = gather(client, &Buffer::from_slice(client, &radius2), &order, 1, Layout::Rows);
        Ok(Self { order, axes, filters, radius2 })
    }

    /// What the walk takes for them.
    pub fn asked<R: Runtime>(&self) -> Asked<S, R> {
        let queries = QueriesLaunch::new(self.axes.arg(), self.filters.arg(), self.radius2.arg());
        Asked { queries, n: self.order.len(), own_radii: true }
    }
}

/// What many queries of a tree on a device ask about: [`Sphere`]s or [`Aabb`]s. Sealed: the twin of [`crate::Query`], which shapes of your
/// own may implement.
pub trait Query<S: Coordinate, const D: usize>: sealed::Shape<S, D> {}

impl<S: Coordinate, const D: usize> Query<S, D> for Sphere<S, D> {}
impl<S: Coordinate, const D: usize> Query<S, D> for Aabb<S, D> {}

/// Queries on a device, along the curve.
pub(in crate::gpu) enum Shapes<S> {
    Balls(Balls<S>),
    Boxes(Boxes<S>),
}

mod sealed {
    use cubecl::prelude::{ComputeClient, Runtime};

    use super::{Boxes, Bvh, Coordinate, Shapes};
    use crate::error::Result;
    use crate::geometry::{Aabb, Sphere};
    use crate::gpu::search::range::Balls;

    pub trait Shape<S: Coordinate, const D: usize>: Sized {
        /// Puts shapes on the device; there is one at least.
        #[allow(private_interfaces)]
        fn sorted<R: Runtime>(client: &ComputeClient<R>, bvh: &Bvh<S, D>, shapes: &[Self]) -> Result<Shapes<S>>;
    }

    impl<S: Coordinate, const D: usize> Shape<S, D> for Sphere<S, D> {
        #[allow(private_interfaces)]
        fn sorted<R: Runtime>(client: &ComputeClient<R>, bvh: &Bvh<S, D>, spheres: &[Self]) -> Result<Shapes<S>> {
            Ok(Shapes::Balls(Balls::new(client, bvh, spheres)?))
        }
    }

    impl<S: Coordinate, const D: usize> Shape<S, D> for Aabb<S, D> {
        #[allow(private_interfaces)]
        fn sorted<R: Runtime>(client: &ComputeClient<R>, bvh: &Bvh<S, D>, boxes: &[Self]) -> Result<Shapes<S>> {
            Ok(Shapes::Boxes(Boxes::new(client, bvh.space(), boxes)?))
        }
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// The stored points in each ball or box, as lists in their order: as [`crate::Bvh::query_all`], entry for entry, which is
    /// the order of the tree. They are counted first and then found again.
    ///
    /// A ball whose radius is negative or NaN, or whose centre is not finite, finds nothing, nor does a box with a lower corner above its
    /// upper one; in a periodic box centres and corners may be anywhere.
    ///
    /// Memory: 4 bytes an entry and 4 a query; while it runs, by the sizes of buffers, some 60 more a ball of three `f32`, 70 a box, and
    /// 120 a box of a periodic tree.
    ///
    /// Errors: more than 2^32 - 1 entries in all, or more than a buffer of the device can hold; if the device fails.
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
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<Csr> {
        on!(self.device, client => {
            let offsets = Buffer::<u32>::filled(client, queries.len() + 1, 0);
            let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) else {
                return Ok(Csr { device: self.device, offsets, values: Buffer::new(client, 0) });
            };
            let shapes = Q::sorted(client, self, queries)?;
            self.count_sorted(client, nodes, &shapes, &offsets);
            let values = Csr::allocate_values(client, &offsets)?;
            match &shapes {
                Shapes::Balls(balls) => {
                    let rows = RowsLaunch::new(self.order.arg(), balls.order.arg(), offsets.arg());
                    self.walk_queries::<_, List>(client, nodes, balls.asked(), TraversalMode::Each, rows, values.arg());
                }
                Shapes::Boxes(boxes) => boxes.list(client, self, nodes, &offsets, &values),
            }
            Ok(Csr { device: self.device, offsets, values })
        })
    }

    /// How many stored points are in each ball or box, in their order: as [`crate::Bvh::count_all`].
    ///
    /// Memory: 4 bytes a query; while it runs, as [`Bvh::query_all`].
    ///
    /// Errors: if the device fails.
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
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, queries.len(), 0);
            if let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) {
                self.count_sorted(client, nodes, &Q::sorted(client, self, queries)?, &counts);
            }
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }

    fn count_sorted<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        shapes: &Shapes<S>,
        counts: &Buffer<u32>,
    ) {
        match shapes {
            Shapes::Balls(balls) => {
                let (order, mode) = (balls.order.arg(), TraversalMode::Whole);
                self.walk_queries::<_, Count>(client, nodes, balls.asked(), mode, order, counts.arg());
            }
            Shapes::Boxes(boxes) => boxes.count(client, self, nodes, counts),
        }
    }
}
