//! The queries for the nearest boxes or shapes, as rows of numbers.
//!
//! In: boxes in host memory, or points in device memory, with options. Out: a row for each, sorted along the Morton
//! curve: the numbers of a box, as [`write_extent`] writes them, then the squared radius, `k` and the excluded index.
//! Cost: that of sorting, and for boxes that of copying the rows.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::search::query_points::QueryPoints;
use crate::gpu::search::shapes::rows::{SortedRows, check_rows, write_extent};
use crate::gpu::search::shapes::searched_tree::SearchedTree;
use crate::search::nearest::{Excluded, Nearest};

/// The options of queries.
#[derive(Clone, Copy)]
pub(in crate::gpu) enum Wanted<'a> {
    /// The same for each query.
    Same(Nearest),
    /// Different ones.
    Each(&'a [Nearest]),
}

impl Wanted<'_> {
    /// Returns the options of a query.
    fn of(self, query: usize) -> Nearest {
        match self {
            Self::Same(wanted) => wanted,
            Self::Each(wanted) => wanted[query],
        }
    }
}

/// The length of a row.
pub(super) fn row_width(d: usize) -> usize {
    4 + 2 * d
}

/// Copies at least one box to the device as a query.
///
/// Errors: those of [`SortedRows::new`].
pub(in crate::gpu) fn sorted_boxes<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    tree: &SearchedTree<S, D>,
    boxes: &[Aabb<S, D>],
    wanted: Wanted,
) -> Result<SortedRows<S>> {
    let write = |at: usize, row: &mut [f64], _: &mut Vec<f64>| {
        let (wanted, (corners, limits)) = (wanted.of(at), row.split_at_mut(1 + 2 * D));
        write_extent(tree.space, &boxes[at], corners);
        if has_empty_sphere(&wanted) {
            corners[0] = 0.0;
        }
        let excluded = wanted.excluded_for(at as u32).unwrap_or(u32::MAX);
        limits.copy_from_slice(&[wanted.radius * wanted.radius, wanted.k as f64, excluded.into()]);
    };
    let middle = |at: usize| Aabb::center(&boxes[at]);
    SortedRows::new(client, tree.device, tree.space, boxes.len(), row_width(D), &write, &middle)
}

/// Makes rows of points that are on the device, in the space of the tree. There is at least one.
///
/// Errors: more numbers than kernels can index, or than a buffer of the device can hold.
pub(in crate::gpu) fn sorted_points<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    points: &Points<S, D>,
    wanted: Nearest,
) -> Result<SortedRows<S>> {
    let n = points.len();
    check_rows(client, n, row_width(D))?;
    let QueryPoints { order, axes, .. } = QueryPoints::new(client, &points.values, &points.bounds)?;
    let is_proper = f64::from(u8::from(!has_empty_sphere(&wanted)));
    let excluded = wanted.excluded_for(0).unwrap_or(u32::MAX);
    let options = [is_proper, wanted.radius * wanted.radius, wanted.k as f64, excluded.into()];
    let excludes_self = wanted.excluded == Excluded::Own;
    let rows = Buffer::<f64>::new(client, n * row_width(D));
    write_points::launch::<S, R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        axes.arg(),
        order.arg(),
        Buffer::from_slice(client, &options).arg(),
        rows.arg(),
        n as u32,
        D,
        excludes_self,
    );
    Ok(SortedRows { order, rows, extra: Buffer::new(client, 0), runs: None })
}

/// Returns `true` if no neighbour is within the radius.
fn has_empty_sphere(wanted: &Nearest) -> bool {
    wanted.radius < 0.0 || wanted.radius.is_nan()
}

/// Writes the rows of `n` points. `options` holds the first number of a row and the last three.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn write_points<F: Float>(
    axes: &Array<F>,
    order: &Array<u32>,
    options: &Array<f64>,
    rows: &mut Array<f64>,
    n: u32,
    #[comptime] d: usize,
    #[comptime] excludes_self: bool,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let first = at * comptime!(4 + 2 * d);
        rows[first] = options[0];
        #[unroll]
        for k in 0..d {
            let x = f64::cast_from(axes[k * n as usize + at]);
            rows[first + comptime!(1 + 2 * k)] = x;
            rows[first + comptime!(2 + 2 * k)] = x;
        }
        let last = first + comptime!(1 + 2 * d);
        rows[last] = options[1];
        rows[last + 1] = options[2];
        if comptime!(excludes_self) {
            rows[last + 2] = f64::cast_from(order[at]);
        } else {
            rows[last + 2] = options[3];
        }
    }
}
