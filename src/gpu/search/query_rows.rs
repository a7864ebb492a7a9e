//! Queries of a tree of boxes as rows of numbers.
//!
//! In: spheres and boxes. Out: a row of `f64` for each, sorted along the Morton curve. `box_queries` and
//! `nearest_boxes` compare the rows with boxes.
//! Cost: D + 1 numbers per sphere; per box 1 + 2 D, or 1 + 6 D for the images that may meet a periodic box.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, Space, Sphere};
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::errors;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::query_points::{QueryPoints, wrap_all};
use crate::parallel::{fill, map};

/// Queries per parallel task.
const TASK: usize = 1 << 14;

/// The shape of queries, which determines their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum RowShape {
    /// The centre and the squared radius, or -1 for an empty sphere.
    Sphere,
    /// 1, or 0 for an empty box. Then the ends of its intervals, axis by axis: one in open space, three images in a
    /// periodic box.
    Box,
}

/// Writes the row of a sphere.
pub(super) fn write_sphere<S: Coordinate, const D: usize>(space: &Space<D>, own: &Sphere<S, D>, row: &mut [f64]) {
    let center = space.wrap(own.center);
    let is_proper = own.radius >= 0.0 && Aabb::point(center).is_finite();
    for (to, x) in row.iter_mut().zip(center) {
        *to = if is_proper { x.into() } else { 0.0 };
    }
    row[D] = if is_proper { own.radius * own.radius } else { -1.0 };
}

/// Writes the row of a box.
pub(super) fn write_box<S: Coordinate, const D: usize>(space: &Space<D>, own: &Aabb<S, D>, row: &mut [f64]) {
    let is_proper = (0..D).all(|k| own.lo[k] <= own.hi[k]);
    row[0] = f64::from(u8::from(is_proper));
    let ends = row[1..].as_chunks_mut::<2>().0;
    for (k, ends) in ends.chunks_mut(if space.period().is_some() { 3 } else { 1 }).enumerate() {
        match space.period() {
            Some(period) if is_proper => {
                ends.copy_from_slice(&space.images_along(k, period[k], [own.lo[k], own.hi[k]]))
            }
            _ => ends.fill([own.lo[k].into(), own.hi[k].into()]),
        }
    }
}

/// Writes the corners of a box, shifted into a periodic box, after 1, or 0 if they are not finite.
pub(super) fn write_extent<S: Coordinate, const D: usize>(space: &Space<D>, own: &Aabb<S, D>, row: &mut [f64]) {
    let is_proper = own.is_finite();
    row[0] = f64::from(u8::from(is_proper));
    if is_proper {
        let placed = space.wrap_box(*own);
        for (to, x) in row[1..].iter_mut().zip(placed.lo.into_iter().chain(placed.hi)) {
            *to = x.into();
        }
    }
}

/// Queries on a device, sorted along the Morton curve.
pub(super) struct SortedRows {
    /// The index of each query in the caller's slice.
    pub order: Buffer<u32>,
    pub rows: Buffer<f64>,
}

impl SortedRows {
    /// Copies `n` queries, at least one, to the device. `write` fills the row of a query, and `middle` returns a point
    /// of it.
    ///
    /// Errors: more numbers than kernels can index, or than a buffer of the device can hold.
    pub fn new<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        space: &Space<D>,
        n: usize,
        width: usize,
        write: &(dyn Fn(usize, &mut [f64]) + Sync),
        middle: &(dyn Fn(usize) -> [S; D] + Sync),
    ) -> Result<Self> {
        let numbers = n as u128 * width as u128;
        if numbers > u128::from(u32::MAX) {
            return Err(errors::too_many_values(numbers, "numbers of queries"));
        }
        check_allocation(client, 8 * numbers)?;
        let mut rows = vec![0.0; n * width];
        fill(&mut rows, width * TASK, &|range, rows| {
            for (at, row) in rows.chunks_mut(width).enumerate() {
                write(range.start / width + at, row);
            }
        });
        // The order of the queries affects only speed.
        let (middles, bounds) = wrap_all(n, space, middle);
        let bounds = if bounds == Aabb::EMPTY { Aabb::point([S::ZERO; D]) } else { bounds };
        let middles = map(n, TASK, &|at| middles[at].unwrap_or(bounds.lo));
        let middles = Buffer::from_slice(client, middles.as_flattened());
        let order = QueryPoints::new(client, &middles, &bounds)?.order;
        let rows = gather(client, &Buffer::from_slice(client, &rows), &order, width, Layout::Rows);
        Ok(Self { order, rows })
    }
}
