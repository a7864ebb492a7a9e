//! The nearest point of a triangle to a point: the GPU counterpart of `search::mesh::point_triangle`, with
//! bit-identical results.
//!
//! In: a triangle and a point, in `f64`. Out: the squared distance, the nearest point, and the weights of the
//! corners. Source: as for the CPU.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::gpu::search::mesh::constants::{HUGE, INFINITE, THIN, TINY, WIDE};

/// The number of results: the squared distance, the nearest point, and the weights of the corners.
pub(super) const NUMBERS: usize = 7;

#[cube]
fn dot(a: &Array<f64>, b: &Array<f64>) -> f64 {
    product(a[0], b[0]) + product(a[1], b[1]) + product(a[2], b[2])
}

#[cube]
fn cross(a: &Array<f64>, b: &Array<f64>) -> Array<f64> {
    let mut out = Array::<f64>::new(3usize);
    out[0] = product(a[1], b[2]) - product(a[2], b[1]);
    out[1] = product(a[2], b[0]) - product(a[0], b[2]);
    out[2] = product(a[0], b[1]) - product(a[1], b[0]);
    out
}

/// Returns `(a - b) * times`.
#[cube]
fn minus(a: &Array<f64>, b: &Array<f64>, times: f64) -> Array<f64> {
    let mut out = Array::<f64>::new(3usize);
    #[unroll]
    for k in 0..3usize {
        out[k] = (a[k] - b[k]) * times;
    }
    out
}

/// Returns a corner of a triangle.
#[cube]
fn corner(corners: &Array<f64>, #[comptime] at: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(3usize);
    #[unroll]
    for k in 0..3usize {
        out[k] = corners[3 * at + k];
    }
    out
}

/// Returns `true` if point `a` comes after `b` in lexicographic order of coordinates.
#[cube]
fn is_after(a: &Array<f64>, b: &Array<f64>) -> bool {
    a[0] > b[0] || (a[0] == b[0] && (a[1] > b[1] || (a[1] == b[1] && a[2] > b[2])))
}

/// Returns the nearest point of a triangle to `from`.
#[cube]
pub(super) fn closest(corners: &Array<f64>, from: &Array<f64>, numbers: &Array<f64>) -> Array<f64> {
    let (zero, one) = (f64::new(0.0), f64::new(1.0));
    let mut best = Array::<f64>::new(NUMBERS);
    best[0] = numbers[INFINITE];
    #[unroll]
    for k in 0..3usize {
        best[1 + k] = corners[k];
        best[4 + k] = zero;
    }
    best[4] = one;
    #[unroll]
    for at in 0..3usize {
        let next = comptime!((at + 1) % 3);
        let (a, b) = (corner(corners, at), corner(corners, next));
        let is_turned = is_after(&a, &b);
        let (mut p, mut q) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize));
        #[unroll]
        for k in 0..3usize {
            p[k] = select(is_turned, b[k], a[k]);
            q[k] = select(is_turned, a[k], b[k]);
        }
        let (along, ahead) = (minus(&q, &p, one), minus(from, &p, one));
        let length2 = dot(&along, &along);
        let towards = dot(&ahead, &along);
        // If both ends are equal, or so close that squares underflow, a division by 0 would give NaN or infinity.
        let at_end = select(towards > zero, one, zero);
        let is_long = length2 > zero;
        let part = select(is_long, max(min(towards / select(is_long, length2, one), one), zero), at_end);
        let mut point = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            point[k] = select(part == one, q[k], p[k] + product(part, along[k]));
        }
        let off = minus(from, &point, one);
        let distance2 = dot(&off, &off);
        if distance2 < best[0] {
            best[0] = distance2;
            #[unroll]
            for k in 0..3usize {
                best[1 + k] = point[k];
                best[4 + k] = zero;
            }
            best[4 + at] = select(is_turned, part, one - part);
            best[4 + next] = select(is_turned, one - part, part);
        }
    }
    inside(corners, from, numbers, &mut best);
    best
}

/// Replaces `best` by the foot of the perpendicular, if that is inside the triangle and nearer.
#[cube]
fn inside(corners: &Array<f64>, from: &Array<f64>, numbers: &Array<f64>, best: &mut Array<f64>) {
    let (zero, one) = (f64::new(0.0), f64::new(1.0));
    let (a, b, c) = (corner(corners, 0usize), corner(corners, 1usize), corner(corners, 2usize));
    let (mut ab, mut bc, mut ca) = (minus(&b, &a, one), minus(&c, &b, one), minus(&a, &c, one));
    let mut longest = zero;
    #[unroll]
    for k in 0..3usize {
        longest = max(longest, max(ab[k].abs(), max(bc[k].abs(), ca[k].abs())));
    }
    // The scale keeps products from overflow and underflow, unless the triangle is a sliver.
    let is_fair = longest >= numbers[THIN] && longest < numbers[WIDE];
    let scale = select(is_fair, one, one / longest);
    #[unroll]
    for k in 0..3usize {
        ab[k] = ab[k] * scale;
        bc[k] = bc[k] * scale;
        ca[k] = ca[k] * scale;
    }
    let normal = cross(&ab, &bc);
    let square = dot(&normal, &normal);
    let (of_a, of_b, of_c) = (minus(from, &a, scale), minus(from, &b, scale), minus(from, &c, scale));
    let mut weights = Array::<f64>::new(3usize);
    weights[0] = dot(&cross(&normal, &bc), &of_b) / square;
    weights[1] = dot(&cross(&normal, &ca), &of_c) / square;
    weights[2] = dot(&cross(&normal, &ab), &of_a) / square;
    let height = dot(&normal, &of_a);
    let part = height / square;
    let distance2 = part * height / scale / scale;
    let is_sound = scale >= numbers[TINY] && scale <= numbers[HUGE];
    let is_within = weights[0] > zero && weights[1] > zero && weights[2] > zero;
    if is_sound && is_within && distance2 < best[0] {
        let off = part / scale;
        best[0] = distance2;
        #[unroll]
        for k in 0..3usize {
            best[1 + k] = from[k] - product(normal[k], off);
            best[4 + k] = weights[k];
        }
    }
}
