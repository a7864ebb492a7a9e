//! Queries of a tree of points, sorted along the Morton curve.
//!
//! In: spheres or boxes. Out: queries on a device, so that those of a warp are close together.
//! Cost: that of sorting.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Space, Sphere};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::boxes::Boxes;
use crate::gpu::search::query_points::{QueryPoints, wrap_all};
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
