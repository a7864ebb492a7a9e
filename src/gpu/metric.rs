//! Distances in kernels.
//!
//! In: coordinates. Out: squared distances in the points' own precision, which suffice for nearly all pairs, and in
//! `f64`, as on the CPU. Pairs within the error bound of the first are tested with the second.

use cubecl::prelude::*;

/// An array of pairs of numbers, each pair loaded at once.
pub(in crate::gpu) type Vec2<T> = Array<Vector<T, Const<2>>>;

/// Returns the point at position `at` of `n` points.
#[cube]
pub(in crate::gpu) fn point_at<F: Float>(axes: &Array<F>, at: u32, n: u32, #[comptime] d: usize) -> Array<F> {
    let mut point = Array::<F>::new(d);
    #[unroll]
    for k in 0..d {
        point[k] = axes[k * n as usize + at as usize];
    }
    point
}

/// Returns the lower corner of a node's box, followed by the upper one.
#[cube]
pub(in crate::gpu) fn corners<F: Float>(bounds: &Vec2<F>, node: u32, #[comptime] d: usize) -> Array<F> {
    let mut corners = Array::<F>::new(comptime!(2 * d));
    #[unroll]
    for k in 0..d {
        let two = bounds[node as usize * d + k];
        corners[2 * k] = two[0];
        corners[2 * k + 1] = two[1];
    }
    corners
}

/// Returns the squared distance from a point to the nearest point of a box: Σ max(lo - x, x - hi, 0)².
#[cube]
pub(in crate::gpu) fn min_distance2<F: Float>(
    corners: &Array<F>,
    point: &Array<F>,
    sides: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (corners[k], corners[d + k]);
        let mut gap = (lo - point[k]).max(point[k] - hi).max(F::new(0.0));
        if comptime!(periodic) {
            let around = sides[k] - (point[k] - lo).max(hi - point[k]);
            gap = gap.min(around.max(F::new(0.0)));
        }
        sum += gap * gap;
    }
    sum
}

/// Returns the squared distance between the nearest points of two boxes.
#[cube]
pub(in crate::gpu) fn boxes_distance2<F: Float>(
    a: &Array<F>,
    b: &Array<F>,
    sides: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let mut gap = (a[k] - b[d + k]).max(b[k] - a[d + k]).max(F::new(0.0));
        if comptime!(periodic) {
            let around = sides[k] - (a[d + k] - b[k]).max(b[d + k] - a[k]);
            gap = gap.min(around.max(F::new(0.0)));
        }
        sum += gap * gap;
    }
    sum
}

/// Returns the squared distance between the nearest points of two boxes in `f64`, rounded as
/// [`Space::min_distance2`](crate::geometry::Space::min_distance2) rounds it.
#[cube]
pub(in crate::gpu) fn exact_boxes_distance2<F: Float>(
    a: &Array<f64>,
    b: &Array<F>,
    sides: &Array<f64>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> f64 {
    let zero = f64::new(0.0);
    let mut sum = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        // `above` is positive if `b` lies above `a`, `below` if it lies below.
        let above = f64::cast_from(b[k]) - a[d + k];
        let below = a[k] - f64::cast_from(b[d + k]);
        let mut gap = above.max(below).max(zero);
        if comptime!(periodic) {
            let up = (sides[k] + above).max(below - sides[k]).max(zero);
            let down = (sides[k] + below).max(above - sides[k]).max(zero);
            gap = gap.min(up).min(down);
        }
        // An `fma` with 0 computes the product alone, so that it is not fused with the sum.
        sum += fma(gap, gap, zero);
    }
    sum
}

/// Returns the squared distance from a point to the farthest corner of a box. Ignores periodic images, through which
/// the distance is at most this.
#[cube]
pub(in crate::gpu) fn max_distance2<F: Float>(corners: &Array<F>, point: &Array<F>, #[comptime] d: usize) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (corners[k], corners[d + k]);
        let span = (hi - point[k]).max(point[k] - lo);
        sum += span * span;
    }
    sum
}

/// Returns the distance between two coordinates: |a - b|, or `side` minus that if it is less and the box is periodic.
#[cube]
pub(in crate::gpu) fn gap<F: Float>(a: F, b: F, side: F, #[comptime] periodic: bool) -> F {
    let mut gap = (a - b).abs();
    if comptime!(periodic) {
        gap = gap.min((side - gap).max(F::new(0.0)));
    }
    gap
}

/// Returns the offset from a coordinate to the nearest image of another one, as
/// [`Space::offset`](crate::geometry::Space::offset) does for points in the box.
#[cube]
pub(in crate::gpu) fn offset(from: f64, to: f64, side: f64, #[comptime] periodic: bool) -> f64 {
    let direct = to - from;
    let length = gap::<f64>(from, to, side, periodic);
    let back = select(direct > f64::new(0.0), -length, length);
    select(length < direct.abs(), back, direct)
}

/// Returns the squared distance from `point` to the point at position `at`.
#[cube]
pub(in crate::gpu) fn distance2<F: Float>(
    axes: &Array<F>,
    at: u32,
    n: u32,
    point: &Array<F>,
    sides: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> F {
    let mut sum = F::new(0.0);
    #[unroll]
    for k in 0..d {
        let gap = gap::<F>(point[k], axes[k * n as usize + at as usize], sides[k], periodic);
        sum += gap * gap;
    }
    sum
}

/// Returns the squared distance from `point` to the point at position `at` in `f64`, rounded as
/// [`Space::distance2`](crate::geometry::Space::distance2) rounds it.
#[cube]
pub(in crate::gpu) fn exact_distance2<F: Float>(
    axes: &Array<F>,
    at: u32,
    n: u32,
    point: &Array<F>,
    sides: &Array<f64>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> f64 {
    let mut sum = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        sum += exact_gap2::<F>(point[k], axes[k * n as usize + at as usize], sides[k], periodic);
    }
    sum
}

/// Returns the square of the distance between two coordinates in `f64`.
#[cube]
pub(in crate::gpu) fn exact_gap2<F: Float>(a: F, b: F, side: f64, #[comptime] periodic: bool) -> f64 {
    let zero = f64::new(0.0);
    let gap = gap::<f64>(f64::cast_from(a), f64::cast_from(b), side, periodic);
    // The `fma` with 0 computes the product alone: compilers may fuse a product with a sum, but cannot fuse an explicit
    // `fma`.
    fma(gap, gap, zero)
}
