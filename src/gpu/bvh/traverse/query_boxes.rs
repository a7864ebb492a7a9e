//! Boxes around the queries of a warp.
//!
//! In: 32 consecutive queries. Out: two boxes, around the queries before the largest step between consecutive ones and
//! around those after it, because the curve that orders queries has occasional jumps.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::spec::WalkSpec;
use crate::gpu::metric::point_at;
use crate::gpu::primitives::warp::{WIDTH, Warp, warp_ballot, warp_max, warp_min, warp_shuffle, warp_shuffle_up};

/// Two boxes around the queries of a warp, as centres and half extents: first those of one box, then those of the
/// other. The half extents are rounded up.
#[derive(CubeType)]
pub(in crate::gpu) struct QueryBoxes<F: Float> {
    centers: Array<F>,
    halves: Array<F>,
    #[cube(comptime)]
    pub d: usize,
    #[cube(comptime)]
    pub periodic: bool,
}

/// Returns the boxes around the queries of this warp. All its threads must take part.
#[cube]
pub(in crate::gpu) fn query_boxes<F: Float>(
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] warp: Warp,
) -> QueryBoxes<F> {
    let mut boxes = new_boxes::<F>(d, periodic);
    let unit = UNIT_POS % WIDTH;
    let cut = after_largest_step::<F>(point, d, warp);
    #[unroll]
    for k in 0..d {
        // In each box, queries of the other part are replaced by an end of this part.
        let (first, last) = (warp_shuffle::<F>(point[k], 0, warp), warp_shuffle::<F>(point[k], WIDTH - 1, warp));
        let one = select(unit < cut, point[k], first);
        let other = select(unit < cut, last, point[k]);
        boxes.set(k, warp_min::<F>(one, warp), warp_max::<F>(one, warp));
        boxes.set(comptime!(d + k), warp_min::<F>(other, warp), warp_max::<F>(other, warp));
    }
    boxes
}

/// Returns the number of the warp's first query after the largest step between consecutive ones.
#[cube]
pub(in crate::gpu) fn after_largest_step<F: Float>(
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] warp: Warp,
) -> u32 {
    let mut step = F::new(0.0);
    #[unroll]
    for k in 0..d {
        // The first thread has no predecessor, and gets its own value.
        step = step.max((point[k] - warp_shuffle_up::<F>(point[k], 1, warp)).abs());
    }
    warp_ballot(step == warp_max::<F>(step, warp), warp).find_first_set() - 1
}

/// Returns two boxes around the boxes of this warp's queries: around those that are in the first part, and around the
/// others. `corners` holds the lower corner of a query's box, then the upper one. A lower corner of `most` and an upper
/// one of `-most` are those of no box. All threads of the warp must take part.
#[cube]
pub(in crate::gpu) fn boxes_around<F: Float>(
    corners: &Array<F>,
    is_in_first: bool,
    most: F,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] warp: Warp,
) -> QueryBoxes<F> {
    let mut boxes = new_boxes::<F>(d, periodic);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (corners[k], corners[d + k]);
        let (first_lo, first_hi) = (select(is_in_first, lo, most), select(is_in_first, hi, -most));
        let (last_lo, last_hi) = (select(is_in_first, most, lo), select(is_in_first, -most, hi));
        boxes.set(k, warp_min::<F>(first_lo, warp), warp_max::<F>(first_hi, warp));
        boxes.set(comptime!(d + k), warp_min::<F>(last_lo, warp), warp_max::<F>(last_hi, warp));
    }
    boxes
}

/// Stores the boxes around each group of 32 of `n` queries.
pub(in crate::gpu) fn box_groups<S: Coordinate, R: Runtime>(
    client: &ComputeClient<R>,
    axes: &Buffer<S>,
    n: usize,
    spec: WalkSpec,
) -> Buffer<S> {
    let numbers = Buffer::new(client, 4 * spec.d * n.div_ceil(WIDTH as usize));
    let (blocks, dim) = spec.warp.blocks(n, THREADS_PER_BLOCK);
    // SAFETY: the launch contract of `traverse`. There are `n` queries, and `numbers` has room for each group.
    unsafe { store_boxes::launch_unchecked::<S, R>(client, blocks, dim, axes.arg(), numbers.arg(), n as u32, spec) };
    numbers
}

/// Stores the boxes around each group, by a warp each.
#[cube(launch_unchecked)]
fn store_boxes<F: Float>(axes: &Array<F>, numbers: &mut Array<F>, n: u32, #[comptime] spec: WalkSpec) {
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let d = comptime!(spec.d);
    let point = point_at::<F>(axes, query, n, d);
    let boxes = query_boxes::<F>(&point, d, comptime!(spec.periodic), comptime!(spec.warp));
    boxes.store(numbers, query / WIDTH, unit / WIDTH * WIDTH < n);
}

/// Loads the boxes of a group from `numbers`, where [`box_groups`] stored them.
#[cube]
pub(in crate::gpu) fn load_boxes<F: Float>(
    numbers: &Array<F>,
    group: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> QueryBoxes<F> {
    let mut boxes = new_boxes::<F>(d, periodic);
    let begin = group as usize * comptime!(4 * d);
    #[unroll]
    for k in 0..comptime!(2 * d) {
        boxes.centers[k] = numbers[begin + k];
        boxes.halves[k] = numbers[begin + comptime!(2 * d) + k];
    }
    boxes
}

/// Creates two boxes without extents.
#[cube]
pub(in crate::gpu) fn new_boxes<F: Float>(#[comptime] d: usize, #[comptime] periodic: bool) -> QueryBoxes<F> {
    QueryBoxes::<F> {
        centers: Array::<F>::new(comptime!(2 * d)),
        halves: Array::<F>::new(comptime!(2 * d)),
        d,
        periodic,
    }
}

#[cube]
impl<F: Float> QueryBoxes<F> {
    /// Sets the extent of a box along an axis.
    fn set(&mut self, #[comptime] at: usize, lo: F, hi: F) {
        let center = lo * F::new(0.5) + hi * F::new(0.5);
        self.centers[at] = center;
        // Differences from a centre round, by less than this factor.
        self.halves[at] = (hi - center).max(center - lo) * F::new(1.000_001);
    }

    /// Stores the boxes of a group, if this warp has one, for [`load_boxes`].
    pub fn store(&self, numbers: &mut Array<F>, group: u32, is_group: bool) {
        let d = comptime!(self.d);
        // Each thread writes one number, or two in many dimensions.
        let begin = group as usize * comptime!(4 * d);
        let lane = UNIT_POS % WIDTH;
        let mut own = F::new(0.0);
        let mut second = F::new(0.0);
        #[unroll]
        for k in 0..comptime!(2 * d) {
            let (center, half) = (self.centers[k], self.halves[k]);
            own = select(lane == comptime!(k as u32), center, own);
            own = select(lane == comptime!((2 * d + k) as u32), half, own);
            second = select(lane + WIDTH == comptime!((2 * d + k) as u32), half, second);
        }
        if is_group && lane < comptime!(4 * d as u32) {
            numbers[begin + lane as usize] = own;
        }
        if comptime!(4 * d > 32) {
            if is_group && lane + WIDTH < comptime!(4 * d as u32) {
                numbers[begin + (lane + WIDTH) as usize] = second;
            }
        }
    }

    /// Returns the squared distance from a box to the nearer of the two boxes around the queries.
    pub fn min_distance2(&self, corners: &Array<F>, sides: &Array<F>) -> F {
        self.box_distance2(0usize, corners, sides).min(self.box_distance2(1usize, corners, sides))
    }

    /// Returns the squared distance from a point to the nearer of the two boxes.
    pub fn distance2(&self, point: &Array<F>, sides: &Array<F>) -> F {
        self.point_distance2(0usize, point, sides).min(self.point_distance2(1usize, point, sides))
    }

    /// Returns `true` if a box is within the squared radius of either box around the queries, of which each has its own.
    pub fn are_near_box(&self, corners: &Array<F>, sides: &Array<F>, limits: &Array<F>) -> bool {
        self.box_distance2(0usize, corners, sides) <= limits[0]
            || self.box_distance2(1usize, corners, sides) <= limits[1]
    }

    /// Returns `true` if a point is within the squared radius of either box, of which each has its own.
    pub fn are_near_point(&self, point: &Array<F>, sides: &Array<F>, limits: &Array<F>) -> bool {
        self.point_distance2(0usize, point, sides) <= limits[0]
            || self.point_distance2(1usize, point, sides) <= limits[1]
    }

    /// Returns the squared distance from a box to one of the two boxes.
    fn box_distance2(&self, #[comptime] part: usize, corners: &Array<F>, sides: &Array<F>) -> F {
        let d = comptime!(self.d);
        let mut sum = F::new(0.0);
        #[unroll]
        for k in 0..d {
            let (center, half) = (self.centers[part * d + k], self.halves[part * d + k]);
            let mut gap = ((corners[k] - center).max(center - corners[d + k]) - half).max(F::new(0.0));
            if comptime!(self.periodic) {
                let around = sides[k] - (corners[d + k] - center).max(center - corners[k]) - half;
                gap = gap.min(around.max(F::new(0.0)));
            }
            sum += gap * gap;
        }
        sum
    }

    /// Returns the squared distance from a point to one of the two boxes.
    fn point_distance2(&self, #[comptime] part: usize, point: &Array<F>, sides: &Array<F>) -> F {
        let d = comptime!(self.d);
        let mut sum = F::new(0.0);
        #[unroll]
        for k in 0..d {
            let mut apart = (point[k] - self.centers[part * d + k]).abs();
            if comptime!(self.periodic) {
                apart = apart.min(sides[k] - apart);
            }
            let gap = (apart - self.halves[part * d + k]).max(F::new(0.0));
            sum += gap * gap;
        }
        sum
    }

    /// Returns `true` if a query is in the first box, and not only in the second one.
    pub fn is_in_first(&self, query: &Array<F>) -> bool {
        let mut is_in = true.runtime();
        #[unroll]
        for k in 0..comptime!(self.d) {
            is_in = is_in && (query[k] - self.centers[k]).abs() <= self.halves[k];
        }
        is_in
    }

    /// Returns `true` if a box is within one of the two boxes, extended on all sides by its own reach.
    pub fn contain(&self, corners: &Array<F>, reaches: &Array<F>) -> bool {
        let d = comptime!(self.d);
        let mut one = true.runtime();
        let mut other = true.runtime();
        #[unroll]
        for k in 0..d {
            one = one && self.spans(k, corners[k], corners[d + k], reaches[0]);
            other = other && self.spans(comptime!(d + k), corners[k], corners[d + k], reaches[1]);
        }
        one || other
    }

    /// Returns `true` if an interval is within the extent of a box, extended by `reach` on both sides.
    fn spans(&self, #[comptime] at: usize, lo: F, hi: F, reach: F) -> bool {
        (hi - self.centers[at]).max(self.centers[at] - lo) <= self.halves[at] + reach
    }
}

/// Stores the largest of the queries' limits in each of the two boxes. All threads of the warp must take part.
#[cube]
pub(in crate::gpu) fn limits_by_box<F: Float>(
    is_in_first: bool,
    limit: F,
    limits: &mut Array<F>,
    #[comptime] warp: Warp,
) {
    limits[0] = warp_max::<F>(select(is_in_first, limit, F::new(-1.0)), warp);
    limits[1] = warp_max::<F>(select(is_in_first, F::new(-1.0), limit), warp);
}
