//! Query points on a device, which need not be stored points.
//!
//! In: points. Out: the points sorted along the Morton curve, so that the queries of a warp are close together.
//! Cost: that of sorting; memory, by the sizes of buffers: some 60 bytes per point of three `f32` while it runs.

use cubecl::prelude::*;

use crate::bvh::morton::Grid;
use crate::error::Result;
use crate::geometry::{Aabb, Space};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::morton::MortonKernel;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::pass::CODE;
use crate::gpu::primitives::radix_sort::sort;
use crate::parallel::{list_tasks, map, map_tasks};

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// Queries on a device.
pub(in crate::gpu) struct QueryPoints<S> {
    /// The index of each query in the order of the queries as they were given.
    pub order: Buffer<u32>,
    /// Coordinates, axis by axis.
    pub axes: Buffer<S>,
    /// `true` if the queries are the stored points in tree order.
    pub are_stored: bool,
}

impl<S: Coordinate> QueryPoints<S> {
    /// Sorts points, which are stored point by point and lie within `bounds`. There is at least one.
    pub fn new<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        points: &Buffer<S>,
        bounds: &Aabb<S, D>,
    ) -> Result<Self> {
        let morton = MortonKernel::new(client, points, points.len() / D, &Grid::over(bounds));
        let order = sort(client, morton.pairs())?.values;
        let axes = morton.layout(&order, CODE).axes;
        Ok(Self { order, axes, are_stored: false })
    }

    /// Sorts the finite ones of `points`, wrapped into the space; `None` if no point is finite.
    pub fn of_finite<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        points: &[[S; D]],
        space: &Space<D>,
    ) -> Result<Option<Self>> {
        let (wrapped, bounds) = wrap_all(points.len(), space, &|at| points[at]);
        let is_placed = |&at: &usize| wrapped[at].is_some();
        let present = list_tasks(points.len(), TASK, &|range| range.filter(is_placed).map(|at| at as u32).collect());
        if present.is_empty() {
            return Ok(None);
        }
        let places = map(present.len(), TASK, &|at| wrapped[present[at] as usize].unwrap_or(bounds.lo));
        let mut queries = Self::new(client, &Buffer::from_slice(client, places.as_flattened()), &bounds)?;
        if present.len() < points.len() {
            let indices = Buffer::from_slice(client, &present);
            queries.order = gather(client, &indices, &queries.order, 1, Layout::Rows);
        }
        Ok(Some(queries))
    }
}

/// Wraps each of `n` points into a space, with `None` for points that are not finite. Also returns the box around the
/// points.
pub(in crate::gpu) fn wrap_all<S: Coordinate, const D: usize>(
    n: usize,
    space: &Space<D>,
    point: &(dyn Fn(usize) -> [S; D] + Sync),
) -> (Vec<Option<[S; D]>>, Aabb<S, D>) {
    let wrapped: Vec<Option<[S; D]>> =
        map(n, TASK, &|at| Some(space.wrap(point(at))).filter(|&at| Aabb::point(at).is_finite()));
    let join = |a: Aabb<S, D>, b: Aabb<S, D>| a.union(&b);
    let parts = map_tasks(n, TASK, &|range| {
        wrapped[range].iter().flatten().map(|&place| Aabb::point(place)).fold(Aabb::EMPTY, join)
    });
    let bounds = parts.into_iter().fold(Aabb::EMPTY, join);
    (wrapped, bounds)
}
