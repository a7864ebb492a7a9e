//! The tests of rows of queries against the boxes of nodes and primitives.
//!
//! In: the first part of a row, and a box. Out: `true` if they meet. Spheres and rays are tested in the type of the tree
//! first ([`may_meet`]), with bounds of the rounding errors, and decided in `f64` as on the CPU ([`meets`]).

use std::any::TypeId;

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{exact_boxes_distance2, min_distance2};
use crate::gpu::primitives::rounding::product;
use crate::gpu::search::shapes::images::overlaps_image;
use crate::gpu::search::shapes::rows::{RAY_NUMBERS, RowShape};

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowSpec {
    pub d: usize,
    pub periodic: bool,
    pub shape: RowShape,
    /// `true` if coordinates are `f32`.
    pub is_f32: bool,
    /// The length of a row.
    pub width: usize,
    /// The number of numbers of a stored value; 0 if boxes are hits.
    pub stored: usize,
    /// `true` if the stored boxes are points, with one corner.
    pub are_points: bool,
    /// `true` if only the queries of heavy groups walk.
    pub only_heavy: bool,
    /// The types of the tests and of the visitor. Cached kernels are identified by type names, and two types may have
    /// the same name.
    pub types: [TypeId; 3],
}

impl RowSpec {
    /// The length of the first part of a row.
    pub fn first(self) -> usize {
        self.shape.width(self.d, self.periodic)
    }

    /// Returns `true` if boxes have several images along each axis.
    fn has_images(self) -> bool {
        self.shape == RowShape::Box && self.periodic
    }

    /// Returns `true` if rays are tested in `f32` first.
    fn has_near_ray(self) -> bool {
        self.shape == RowShape::Ray && self.is_f32
    }

    /// Returns `true` if [`may_meet`] is not exact.
    pub fn is_filtered(self) -> bool {
        self.shape == RowShape::Sphere || self.has_near_ray()
    }

    /// Returns `true` if a primitive whose box passes [`may_meet`] may not be a hit.
    pub fn needs_test(self) -> bool {
        self.is_filtered() || self.shape == RowShape::Extent || self.stored > 0
    }

    /// The number of numbers with which boxes are tested.
    pub fn read(self) -> usize {
        if self.shape == RowShape::Ray { self.width } else { self.first() }
    }
}

/// Returns the numbers of a row that [`may_meet`] compares with boxes, in the type of the tree.
#[cube]
pub(super) fn approximate<F: Float>(row: &Array<f64>, #[comptime] spec: RowSpec) -> Array<F> {
    let d = comptime!(spec.d);
    let mut near = Array::<F>::new(comptime!(3 * spec.d + 2));
    if comptime!(spec.shape == RowShape::Sphere) {
        #[unroll]
        for k in 0..d {
            near[k] = F::cast_from(row[k]);
        }
        near[d] = F::cast_from(row[d + 2]);
    } else if comptime!(spec.has_near_ray()) {
        let (origin, direction) = (comptime!(RAY_NUMBERS), comptime!(RAY_NUMBERS + d));
        let (zero, most) = (f64::new(0.0), f64::new(f32::MAX));
        let (tiny, wider, least) = (f64::new(f32::MIN_POSITIVE), F::new(WIDER), F::new(f32::MIN_POSITIVE));
        // The ends in the range of `f32`, rounded outwards.
        let from = F::cast_from(row[direction + d].max(-most).min(most));
        near[2 * d] = from - from.abs() * wider - least;
        near[2 * d + 1] = near_end::<F>(row[direction + d + 1]);
        // What lies beyond the range of `f32` does not limit.
        near[2 * d] = select(row[direction + d] < most, near[2 * d], F::new(f32::MIN));
        #[unroll]
        for k in 0..d {
            let (at, along) = (row[origin + k], row[direction + k]);
            near[k] = F::cast_from(at);
            near[d + k] = F::new(1.0) / F::cast_from(select(along == zero, f64::new(1.0), along));
            // Numbers beyond the range of `f32`, and those that a device may flush to 0, do not limit.
            let (size, inverse) = (along.abs(), f64::cast_from(near[d + k].abs()));
            let is_regular =
                (at == zero || at.abs() >= tiny) && size >= tiny && size <= most && inverse >= tiny && inverse <= most;
            let kind = select(is_regular, F::new(BOUNDED), F::new(UNBOUNDED));
            let is_parallel = along == zero && (at == zero || at.abs() >= tiny);
            near[2 * d + 2 + k] = select(is_parallel, F::new(PARALLEL), kind);
        }
    } else if comptime!(spec.shape != RowShape::Ray && !spec.has_images()) {
        #[unroll]
        for k in 0..d {
            near[k] = F::cast_from(row[comptime!(1 + 2 * k)]);
            near[d + k] = F::cast_from(row[comptime!(2 + 2 * k)]);
        }
    }
    near
}

/// Returns `true` if the first part of a row may meet the box between `corners`: if it meets a box inside, and in other
/// cases only by rounding in the type of the tree. For boxes the result is exact.
#[cube]
pub(super) fn may_meet<F: Float>(
    row: &Array<f64>,
    near: &Array<F>,
    corners: &Array<F>,
    tree: &Tree<F>,
    #[comptime] spec: RowSpec,
) -> bool {
    let d = comptime!(spec.d);
    if comptime!(spec.shape == RowShape::Sphere) {
        min_distance2::<F>(corners, near, &tree.sides, d, comptime!(spec.periodic)) <= near[d]
    } else if comptime!(spec.has_near_ray()) {
        ray_may_meet::<F>(row, near, corners, d)
    } else if comptime!(spec.shape == RowShape::Ray) {
        ray_meets::<F>(row, corners, d)
    } else if comptime!(spec.has_images()) {
        box_meets::<F>(row, corners, &tree.exact_sides, spec)
    } else if comptime!(spec.shape == RowShape::Extent && spec.periodic) {
        overlaps_image::<F>(row, corners, &tree.exact_sides, d)
    } else {
        let mut all = row[0] > f64::new(0.0);
        #[unroll]
        for k in 0..d {
            all = all && near[k] <= corners[d + k] && corners[k] <= near[d + k];
        }
        all
    }
}

/// Returns `true` unless a ray certainly misses the box. The steps are those of [`ray_meets`] in the type of the tree,
/// with wider errors.
#[cube]
fn ray_may_meet<F: Float>(row: &Array<f64>, near: &Array<F>, corners: &Array<F>, #[comptime] d: usize) -> bool {
    let (zero, wider, least) = (F::new(0.0), F::new(WIDER), F::new(f32::MIN_POSITIVE));
    let mut enter = near[2 * d] + zero;
    let mut leave = near[2 * d + 1] + zero;
    let mut all = row[0] > f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let (from, inverse, kind) = (near[k], near[d + k], near[2 * d + 2 + k]);
        if kind == F::new(PARALLEL) {
            all = all && (corners[k] <= from && from <= corners[d + k]);
        } else if kind == F::new(BOUNDED) {
            let (a, b) = ((corners[k] - from) * inverse, (corners[d + k] - from) * inverse);
            let (first, last) = (a.min(b), a.max(b));
            // A difference of infinities is NaN, which changes nothing.
            let later = first - first.abs() * wider - least;
            let earlier = last + last.abs() * wider + least;
            enter = select(later > enter, later, enter);
            leave = select(earlier < leave, earlier, leave);
        }
    }
    all && enter <= leave
}

/// Returns `true` if the first part of a row meets the box between `corners`, as
/// [`crate::geometry::Query::meets`].
#[cube]
pub(super) fn meets<F: Float>(
    row: &Array<f64>,
    corners: &Array<F>,
    sides: &Array<f64>,
    #[comptime] spec: RowSpec,
) -> bool {
    if comptime!(spec.shape == RowShape::Sphere) {
        sphere_meets::<F>(row, corners, sides, spec)
    } else if comptime!(spec.shape == RowShape::Ray) {
        ray_meets::<F>(row, corners, comptime!(spec.d))
    } else {
        box_meets::<F>(row, corners, sides, spec)
    }
}

/// Compares the squared distance of the centre and the box with the squared radius.
#[cube]
fn sphere_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let d = comptime!(spec.d);
    let mut center = Array::<f64>::new(comptime!(2 * spec.d));
    #[unroll]
    for k in 0..d {
        center[k] = row[k];
        center[d + k] = row[k];
    }
    exact_boxes_distance2::<F>(&center, corners, sides, d, comptime!(spec.periodic)) <= row[d]
}

/// Returns `true` if, along each axis, some interval of the query meets the box, or the box is as long as the periodic
/// one.
#[cube]
fn box_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let d = comptime!(spec.d);
    let images = comptime!(if spec.periodic { 3 } else { 1 });
    let mut all = row[0] > f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        let mut any = false.runtime();
        #[unroll]
        for image in 0..images {
            let at = comptime!(1 + 2 * (k * images + image));
            any = any || (row[at] <= hi && lo <= row[comptime!(at + 1)]);
        }
        if comptime!(spec.periodic) {
            any = any || is_as_long(lo, hi, sides[k]);
        }
        all = all && any;
    }
    all
}

/// Returns `true` if the exact length of an interval is at least `side`: the rounding error of the difference decides
/// (Knuth 1969).
#[cube]
fn is_as_long(from: f64, to: f64, side: f64) -> bool {
    let length = to - from;
    let back = length - to;
    let rest = (to - (length - back)) - (from + back);
    length > side || (length == side && rest >= f64::new(0.0))
}

/// Returns `true` if a ray meets the box, rounded as by `Ray::enters`.
#[cube]
pub(super) fn ray_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, #[comptime] d: usize) -> bool {
    let (enter, leave, is_between) = ray_span::<F>(row, corners, d);
    is_between && enter <= leave && enter <= row[4]
}

/// Returns the parameter at which a ray enters a box that it meets, rounded as by `Ray::enters`.
#[cube]
pub(super) fn ray_enters<F: Float>(row: &Array<f64>, corners: &Array<F>, #[comptime] d: usize) -> f64 {
    let (enter, _leave, _is_between) = ray_span::<F>(row, corners, d);
    enter
}

/// Returns the first and the last parameter of a ray between the planes of a box, and `true` if it is between those
/// along which it runs.
#[cube]
fn ray_span<F: Float>(row: &Array<f64>, corners: &Array<F>, #[comptime] d: usize) -> (f64, f64, bool) {
    let (less, more, least) = (row[1], row[2], row[3]);
    let (origin, direction) = (comptime!(RAY_NUMBERS), comptime!(RAY_NUMBERS + d));
    let zero = f64::new(0.0);
    let mut enter = row[direction + d] + zero;
    let mut leave = row[direction + d + 1] + zero;
    let mut all = row[0] > zero;
    #[unroll]
    for k in 0..d {
        let (from, along) = (row[origin + k], row[direction + k]);
        let (lo, hi) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        if along == zero {
            all = all && (lo <= from && from <= hi);
        } else {
            let is_up = along > zero;
            let near = (select(is_up, lo, hi) - from) / along;
            let far = (select(is_up, hi, lo) - from) / along;
            enter = enter.max(product(near, select(near > zero, less, more)) - least);
            leave = leave.min(product(far, select(far > zero, more, less)) + least);
        }
    }
    (enter, leave, all)
}

/// Ends a ray at the parameter `to`, which is in its range.
#[cube]
pub(super) fn end_ray_at<F: Float>(row: &mut Array<f64>, near: &mut Array<F>, to: f64, #[comptime] spec: RowSpec) {
    let d = comptime!(spec.d);
    row[comptime!(RAY_NUMBERS + 2 * spec.d + 1)] = to;
    if comptime!(spec.has_near_ray()) {
        near[2 * d + 1] = near_end::<F>(to);
    }
}

/// Returns the end of a ray in the type of the tree, rounded up.
#[cube]
fn near_end<F: Float>(to: f64) -> F {
    let most = f64::new(f32::MAX);
    let end = F::cast_from(to.max(-most).min(most));
    // What lies beyond the range of `f32` does not limit.
    select(to < most, end + end.abs() * F::new(WIDER) + F::new(f32::MIN_POSITIVE), F::cast_from(to))
}

/// The kinds of axes of a ray: it crosses planes, it runs along them, or its numbers are out of range.
const BOUNDED: f32 = 0.0;
const PARALLEL: f32 = 1.0;
const UNBOUNDED: f32 = 2.0;

/// More than the relative rounding errors of the parameters at which a ray meets planes: a difference, a reciprocal and
/// a product in `f32`.
const WIDER: f32 = 8.0 * f32::EPSILON;
