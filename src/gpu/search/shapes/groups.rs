//! Runs of stored primitives near groups of rows of queries.
//!
//! In: rows of queries, sorted along the Morton curve. Out: for each 32 of them, two boxes around them, and the runs of
//! primitives near these boxes (`bvh::traverse::runs`).
//! Cost: that of listing runs.

#![allow(unsafe_code)] // An unchecked kernel, with the launch contract of `bvh::traverse`.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::geometry::{FilteredRadius, Scalar, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::launch::is_forced;
use crate::gpu::bvh::traverse::query_boxes::{after_largest_step, boxes_around, limits_by_box};
use crate::gpu::bvh::traverse::runs::{RunBuffers, list_runs};
use crate::gpu::bvh::traverse::spec::{TraversalMode, WalkSpec};
use crate::gpu::primitives::warp::{WIDTH, Warp};
use crate::gpu::search::shapes::rows::RowShape;
use crate::gpu::search::shapes::searched_tree::SearchedTree;

/// The minimum number of queries for which runs are listed.
const LEAST_QUERIES: usize = 1 << 14;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct GroupSpec {
    d: usize,
    periodic: bool,
    shape: RowShape,
    /// The length of a row.
    width: usize,
    /// `true` if queries search within bounds, not only in their boxes.
    has_bounds: bool,
    warp: Warp,
}

/// Returns `true` if `n` queries search in groups on this device.
pub(super) fn takes_groups<R: Runtime>(client: &ComputeClient<R>, n: usize) -> bool {
    Warp::new(client).is_some() && n > 0 && (n >= LEAST_QUERIES || is_forced())
}

/// Lists the runs near each group of `n` rows of `width` numbers, on a device with warps. Runs hold the primitives whose
/// boxes meet those of rows, or, with `bounds`, those within these squared distances.
pub(super) fn runs_near<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    tree: &SearchedTree<S, D>,
    rows: &Buffer<f64>,
    n: usize,
    (shape, width): (RowShape, usize),
    bounds: Option<&Buffer<f64>>,
) -> RunBuffers<S> {
    let warp = Warp::new(client).apart();
    let periodic = tree.space.period().is_some();
    let groups = n.div_ceil(WIDTH as usize);
    let boxes = Buffer::new(client, 4 * D * groups);
    let limits = match bounds {
        Some(_) => Buffer::new(client, 2 * groups),
        None => Buffer::from_slice(client, &[S::ZERO, tolerance2::<S, D>(tree.space)]),
    };
    let [relative, absolute] = FilteredRadius::<S, D>::errors(tree.space);
    let squares = S::SAFE_SQUARES;
    let rounding = [1.0 + relative + 16.0 * f64::EPSILON, absolute, squares.start, squares.end];
    let (blocks, dim) = warp.blocks(n, THREADS_PER_BLOCK);
    // SAFETY: the launch contract of `bvh::traverse`. There are `n` rows, and `boxes` and `limits` have room for each
    // group.
    unsafe {
        box_rows::launch_unchecked::<S, R>(
            client,
            blocks,
            dim,
            rows.arg(),
            BoundsLaunch::new(
                // Not read if there are no bounds.
                bounds.unwrap_or(rows).arg(),
                Buffer::from_slice(client, &rounding).arg(),
                Buffer::from_slice(client, &[S::MAX, <S as Scalar>::INFINITY]).arg(),
            ),
            boxes.arg(),
            limits.arg(),
            n as u32,
            GroupSpec { d: D, periodic, shape, width, has_bounds: bounds.is_some(), warp },
        );
    }
    let spec = WalkSpec {
        d: D,
        periodic,
        warp,
        own_radii: bounds.is_some(),
        half: false,
        whole: false,
        warp_first: false,
        uniform: false,
        only_heavy: false,
        visitor: TypeId::of::<()>(),
    };
    // Walks of rows take no nodes as a whole, like those for nearest neighbours.
    let mode = TraversalMode::Nearest;
    list_runs(client, tree.arg(client), n, (boxes, limits), tree.nodes.end() as u32, mode, spec)
}

/// The squared distance between boxes that touch, as far as it comes from rounding: none in open space. In a periodic
/// box distances round by parts of its sides.
fn tolerance2<S: Coordinate, const D: usize>(space: &Space<D>) -> S {
    let Some(period) = space.period() else { return S::ZERO };
    let gap = 64.0 * S::ROUNDING * period.iter().copied().fold(0.0, f64::max);
    S::from_f64(D as f64 * gap * gap)
}

/// The bounds of queries, and the numbers with which they are rounded up.
#[derive(CubeType, CubeLaunch)]
struct Bounds<F: Float> {
    /// The squared distance within which the neighbours of each query are.
    distances2: Array<f64>,
    /// Four numbers: first 1 and the relative error of squared distances in the type of the tree, in sum. Then the
    /// absolute error of distances, and the least and the largest square that keeps its digits.
    rounding: Array<f64>,
    /// The largest number and infinity.
    most: Array<F>,
}

/// Stores the boxes around each group and, if there are bounds, the largest in each box, by a warp each.
#[cube(launch_unchecked)]
fn box_rows<F: Float>(
    rows: &Array<f64>,
    bounds: &Bounds<F>,
    boxes: &mut Array<F>,
    limits: &mut Array<F>,
    n: u32,
    #[comptime] spec: GroupSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let is_group = unit / WIDTH * WIDTH < n;
    let (d, periodic, warp) = comptime!((spec.d, spec.periodic, spec.warp));
    let most = bounds.most[0];
    let corners = row_corners::<F>(rows, query, most, spec);
    let cut = after_largest_step::<F>(&middle::<F>(&corners, d), d, warp);
    let is_in_first = unit % WIDTH < cut;
    boxes_around::<F>(&corners, is_in_first, most, d, periodic, warp).store(boxes, query / WIDTH, is_group);
    if comptime!(spec.has_bounds) {
        let mut both = Array::<F>::new(2usize);
        limits_by_box::<F>(is_in_first, bounds.limit(query), &mut both, warp);
        if unit.is_multiple_of(WIDTH) && is_group {
            limits[(unit / WIDTH * 2) as usize] = both[0];
            limits[(unit / WIDTH * 2 + 1) as usize] = both[1];
        }
    }
}

#[cube]
impl<F: Float> Bounds<F> {
    /// Returns the bound of a query, rounded up; negative if nothing is within.
    fn limit(&self, query: u32) -> F {
        let bound = self.distances2[query as usize];
        let far = bound.max(f64::new(0.0)).sqrt() + self.rounding[1];
        let outer = far * far;
        let limit = F::cast_from(outer.max(self.rounding[2]) * self.rounding[0]);
        let limit = select(outer < self.rounding[3], limit, self.most[1]);
        select(bound < f64::new(0.0), F::new(-1.0), limit)
    }
}

/// Returns the middle of a box.
#[cube]
fn middle<F: Float>(corners: &Array<F>, #[comptime] d: usize) -> Array<F> {
    let mut middle = Array::<F>::new(d);
    #[unroll]
    for k in 0..d {
        middle[k] = corners[k] * F::new(0.5) + corners[d + k] * F::new(0.5);
    }
    middle
}

/// Returns the corners of the box around a row, rounded outwards and at most `most` from 0; inverted if the query has no
/// points.
#[cube]
fn row_corners<F: Float>(rows: &Array<f64>, query: u32, most: F, #[comptime] spec: GroupSpec) -> Array<F> {
    let d = comptime!(spec.d);
    let from = query as usize * comptime!(spec.width);
    let wider = F::new(4.0 * f32::EPSILON);
    let mut corners = Array::<F>::new(comptime!(2 * spec.d));
    if comptime!(spec.shape == RowShape::Sphere) {
        let limit = F::cast_from(rows[from + comptime!(d + 2)]);
        let reach = limit.max(F::new(0.0)).sqrt();
        let reach = reach + reach * wider;
        #[unroll]
        for k in 0..d {
            let center = F::cast_from(rows[from + k]);
            let (lo, hi) = (center - reach, center + reach);
            corners[k] = select(limit < F::new(0.0), most, (lo - lo.abs() * wider).max(-most));
            corners[d + k] = select(limit < F::new(0.0), -most, (hi + hi.abs() * wider).min(most));
        }
    } else {
        let is_proper = rows[from] > f64::new(0.0);
        #[unroll]
        for k in 0..d {
            // The first image of a box in a periodic one, of which coordinates are distances from other images.
            let first = comptime!(1 + 2 * k * if spec.shape == RowShape::Box && spec.periodic { 3 } else { 1 });
            let (lo, hi) = (F::cast_from(rows[from + first]), F::cast_from(rows[from + comptime!(first + 1)]));
            corners[k] = select(is_proper, lo.max(-most), most);
            corners[d + k] = select(is_proper, hi.min(most), -most);
        }
    }
    corners
}
