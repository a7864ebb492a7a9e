//! Queries of a tree as rows of numbers.
//!
//! In: queries. Out: a row of `f64` for each, sorted along the Morton curve. `walk` and `nearest` compare
//! the first part of a row with boxes; the tests of shapes read the rest.
//! Cost: in the first part, D + 3 numbers per sphere; per box 1 + 2 D, or 1 + 6 D for the images that may meet a
//! periodic box; 5 per ray.

use std::sync::atomic::{AtomicBool, Ordering};

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Ray, Space, Sphere};
use crate::gpu::buffer::{Buffer, check_allocation, end_phase};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::runs::RunBuffers;
use crate::gpu::device::Device;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::query_points::{QueryPoints, wrap_all};
use crate::parallel::{fill, map};

/// Queries per parallel task.
const TASK: usize = 1 << 14;

/// The shape of queries, which determines the first part of their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum RowShape {
    /// The centre and the squared radius, or -1 for an empty sphere; then the squared distances in the type of the tree
    /// that are certainly within, and possibly ([`FilteredRadius`]).
    Sphere,
    /// 1, or 0 for an empty box. Then the ends of its intervals, axis by axis: one in open space, three images in a
    /// periodic box.
    Box,
    /// Numbers that [`write_ray`] writes. The rest of the row is the ray.
    Ray,
    /// The box around any other query, as of a box in open space.
    Extent,
}

impl RowShape {
    /// The number of numbers in `d` dimensions.
    pub fn width(self, d: usize, periodic: bool) -> usize {
        match self {
            Self::Sphere => d + 3,
            Self::Box => 1 + 2 * d * if periodic { 3 } else { 1 },
            Self::Ray => RAY_NUMBERS,
            Self::Extent => 1 + 2 * d,
        }
    }
}

/// Writes the row of a sphere.
pub(super) fn write_sphere<S: Coordinate, const D: usize>(space: &Space<D>, own: &Sphere<S, D>, row: &mut [f64]) {
    let center = space.wrap(own.center);
    let is_proper = own.radius >= 0.0 && Aabb::point(center).is_finite();
    for (to, x) in row.iter_mut().zip(center) {
        *to = if is_proper { x.into() } else { 0.0 };
    }
    let filter = FilteredRadius::<S, D>::new(if is_proper { own.radius } else { -1.0 }, space);
    let limits = [filter.radius2, filter.certain_limit.into(), filter.possible_limit.into()];
    row[D..].copy_from_slice(&limits);
}

/// Writes the first part of the row of a ray.
///
/// It begins with 1, or 0 for a ray without points. Two factors and a summand follow, by which quotients are rounded
/// outwards. The last number is the largest parameter of a hit.
pub(in crate::gpu) fn write_ray<S: Coordinate, const D: usize>(own: &Ray<S, D>, row: &mut [f64]) {
    let error = 4.0 * f64::EPSILON;
    let is_proper = f64::from(u8::from(own.is_proper()));
    row.copy_from_slice(&[is_proper, 1.0 - error, 1.0 + error, f64::MIN_POSITIVE, f64::MAX]);
}

/// The length of the first part of the row of a ray.
pub(in crate::gpu) const RAY_NUMBERS: usize = 5;

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

/// Writes the ends of a box along each axis, shifted into a periodic box, after 1, or 0 if they are not finite.
pub(super) fn write_extent<S: Coordinate, const D: usize>(space: &Space<D>, own: &Aabb<S, D>, row: &mut [f64]) {
    let is_proper = own.is_finite();
    row[0] = f64::from(u8::from(is_proper));
    if is_proper {
        let placed = space.wrap_box(*own);
        for (k, ends) in row[1..].as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *ends = [placed.lo[k].into(), placed.hi[k].into()];
        }
    }
}

/// Rows of numbers that the host writes, and numbers that belong to several of them.
pub(super) struct HostRows {
    pub rows: Vec<f64>,
    pub extra: Vec<f64>,
}

impl HostRows {
    /// Fills `n` rows of `width` numbers. `write` appends to its list what does not fit into a row.
    pub fn new(n: usize, width: usize, write: RowWriter) -> Self {
        let (mut rows, mut extra) = (vec![0.0; n * width], vec![]);
        if width == 0 {
            return Self { rows, extra };
        }
        let has_extra = AtomicBool::new(false);
        fill(&mut rows, width * TASK, &|range, rows| {
            let mut own = vec![];
            for (at, row) in rows.chunks_mut(width).enumerate() {
                write(range.start / width + at, row, &mut own);
            }
            if !own.is_empty() {
                has_extra.store(true, Ordering::Relaxed);
            }
        });
        // Positions in the common list depend on the rows before.
        if has_extra.into_inner() {
            for (at, row) in rows.chunks_mut(width).enumerate() {
                row.fill(0.0);
                write(at, row, &mut extra);
            }
        }
        Self { rows, extra }
    }
}

/// Writes the row of an index.
type RowWriter<'a> = &'a (dyn Fn(usize, &mut [f64], &mut Vec<f64>) + Sync);

/// Checks that kernels can index `n` rows of `width` numbers, and that the device allows a buffer for them.
pub(in crate::gpu) fn check_rows<R: Runtime>(client: &ComputeClient<R>, n: usize, width: usize) -> Result<()> {
    let numbers = n as u128 * width as u128;
    if numbers > u128::from(u32::MAX) {
        return Err(errors::too_many_values(numbers, "numbers of queries or shapes"));
    }
    check_allocation(client, 8 * numbers)
}

/// Queries on a device, sorted along the Morton curve.
pub(in crate::gpu) struct SortedRows<S> {
    /// The index of each query in the caller's slice.
    pub order: Buffer<u32>,
    pub rows: Buffer<f64>,
    /// The numbers that do not fit into rows.
    pub extra: Buffer<f64>,
    /// The runs of primitives near groups of queries, if these search together.
    pub runs: Option<RunBuffers<S>>,
}

impl<S: Coordinate> SortedRows<S> {
    /// Copies `n` queries, at least one, to the device. `write` fills the row of a query, and `middle` returns a point
    /// of it.
    ///
    /// Errors: more numbers than kernels can index, or than a buffer of the device can hold.
    pub fn new<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        device: Device,
        space: &Space<D>,
        n: usize,
        width: usize,
        write: RowWriter,
        middle: &(dyn Fn(usize) -> [S; D] + Sync),
    ) -> Result<Self> {
        check_rows(client, n, width)?;
        let HostRows { rows, extra } = HostRows::new(n, width, write);
        check_rows(client, extra.len(), 1)?;
        end_phase(client, "rows")?;
        // The order of the queries affects only speed.
        let (middles, bounds) = wrap_all(n, space, middle);
        let bounds = if bounds == Aabb::EMPTY { Aabb::point([S::ZERO; D]) } else { bounds };
        let middles = map(n, TASK, &|at| middles[at].unwrap_or(bounds.lo));
        let middles = DeviceVec::new(middles.as_flattened(), device)?.values;
        let order = QueryPoints::new(client, &middles, &bounds)?.order;
        end_phase(client, "order")?;
        let unsorted = DeviceVec::new(&rows, device)?.values;
        end_phase(client, "upload")?;
        let rows = gather(client, &unsorted, &order, width, Layout::Rows);
        Ok(Self { order, rows, extra: Buffer::from_slice(client, &extra), runs: None })
    }
}
