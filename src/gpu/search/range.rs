//! Range queries on a device: the twin of `search::range`.
//!
//! In: balls. Out: counts, or lists, in the order of the balls.
//! Balls are sorted along the Morton curve first, so that the queries of a warp are near each other. Then the tree is walked for
//! each. Cost: that of sorting the balls, and of the walk.

use cubecl::prelude::*;

use crate::bvh::morton::Grid;
use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Sphere};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::morton::MortonKernel;
use crate::gpu::bvh::traverse::launch::Asked;
use crate::gpu::bvh::traverse::spec::{QueriesLaunch, TraversalMode};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::pass::CODE;
use crate::gpu::primitives::radix_sort::sort;
use crate::gpu::search::neighbors::{Count, List, RowsLaunch};
use crate::parallel::{map, map_tasks};

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
        let place = |at: usize| Some(space.wrap(spheres[at].center)).filter(|&at| Aabb::point(at).is_finite());
        let placed: Vec<Option<[S; D]>> = map(n, TASK, &place);
        let join = |a: Aabb<S, D>, b: Aabb<S, D>| a.union(&b);
        let parts = map_tasks(n, TASK, &|range| {
            placed[range].iter().flatten().map(|&center| Aabb::point(center)).fold(Aabb::EMPTY, join)
        });
        let bounds = parts.into_iter().fold(Aabb::EMPTY, join);
        let centers = map(n, TASK, &|at| placed[at].unwrap_or(bounds.lo));
        let radii = map(n, TASK, &|at| {
            let radius = if placed[at].is_some() { spheres[at].radius } else { -1.0 };
            let filter = FilteredRadius::<S, D>::new(radius, space);
            ([filter.sure, filter.maybe], filter.radius2)
        });
        let (filters, radius2): (Vec<[S; 2]>, Vec<f64>) = radii.into_iter().unzip();

        let centers = Buffer::from_slice(client, centers.as_flattened());
        let morton = MortonKernel::new(client, &centers, n, &Grid::over(&bounds));
        let order = sort(client, morton.pairs())?.values;
        let axes = morton.layout(&order, CODE).axes;
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

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// The stored points in each ball, as lists in the order of the balls: as [`crate::Bvh::query_all`], entry for entry, which is
    /// the order of the tree. They are counted first and then found again.
    ///
    /// A ball whose radius is negative or NaN, or whose centre is not finite, finds nothing; in a periodic box centres may be
    /// anywhere.
    ///
    /// Memory: 4 bytes an entry and 4 a ball; while it runs, by the sizes of buffers, some 60 more a ball of three `f32`.
    ///
    /// Errors: more than 2^32 - 1 entries in all, or more than a buffer of the device can hold; if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::Sphere;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let lists = bvh.query_all(&[Sphere::new([4.0f32, 0.0], 1.0), Sphere::new([0.5f32, 0.0], 0.1)])?.read()?;
    /// assert_eq!(lists.of(0), [1]);
    /// assert!(lists.of(1).is_empty());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn query_all(&self, spheres: &[Sphere<S, D>]) -> Result<Csr> {
        on!(self.device, client => {
            let offsets = Buffer::<u32>::filled(client, spheres.len() + 1, 0);
            let Some(nodes) = self.nodes.as_ref().filter(|_| !spheres.is_empty()) else {
                return Ok(Csr { device: self.device, offsets, values: Buffer::new(client, 0) });
            };
            let balls = Balls::new(client, self, spheres)?;
            let order = balls.order.arg();
            self.walk_queries::<_, Count>(client, nodes, balls.asked(), TraversalMode::Whole, order, offsets.arg());
            let values = Csr::allocate_values(client, &offsets)?;
            let rows = RowsLaunch::new(self.order.arg(), balls.order.arg(), offsets.arg());
            self.walk_queries::<_, List>(client, nodes, balls.asked(), TraversalMode::Each, rows, values.arg());
            Ok(Csr { device: self.device, offsets, values })
        })
    }

    /// How many stored points are in each ball, in the order of the balls: as [`crate::Bvh::count_all`].
    ///
    /// Memory: 4 bytes a ball; while it runs, by the sizes of buffers, some 60 more of three `f32`.
    ///
    /// Errors: if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::Sphere;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let counts = bvh.count_all(&[Sphere::new([0.0f32, 0.0], 1.0), Sphere::new([4.0f32, 0.0], 0.5)])?;
    /// assert_eq!(counts.read()?, [2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_all(&self, spheres: &[Sphere<S, D>]) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, spheres.len(), 0);
            if let Some(nodes) = self.nodes.as_ref().filter(|_| !spheres.is_empty()) {
                let balls = Balls::new(client, self, spheres)?;
                let (order, mode) = (balls.order.arg(), TraversalMode::Whole);
                self.walk_queries::<_, Count>(client, nodes, balls.asked(), mode, order, counts.arg());
            }
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }
}
