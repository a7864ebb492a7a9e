//! The parameter at which a ray enters a box or a ball: the GPU counterpart of `geometry::shapes::ray_interval`.
//!
//! In: a ray and a solid, in `f64`. Out: the first `t` of the ray inside the solid, as on the CPU. Cost: O(1).

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::gpu::search::mesh::constants::{HUGE, INFINITE, LONG, SHORT, SHORTEST};
use crate::gpu::search::mesh::rays::ExactRay;
use crate::gpu::search::mesh::triangle_hit::{MET, MISSED};

/// Finds the parameter at which a ray enters the box between two corners.
#[cube]
pub(super) fn box_hit(ray: &ExactRay, ends: &Array<f64>, found: &mut Array<f64>, numbers: &Array<f64>) -> u32 {
    let zero = f64::new(0.0);
    let (mut first, mut last) = (-numbers[INFINITE], numbers[INFINITE]);
    let mut is_missed = false.runtime();
    #[unroll]
    for k in 0..3usize {
        let (lo, hi, from, by) = (ends[k], ends[3 + k], ray.origin[k], ray.direction[k]);
        let is_across = by == zero;
        let divisor = select(is_across, f64::new(1.0), by);
        let (a, b) = ((lo - from) / divisor, (hi - from) / divisor);
        is_missed = is_missed || (is_across && (from < lo || from > hi));
        first = select(is_across, first, max(first, min(a, b)));
        last = select(is_across, last, min(last, max(a, b)));
    }
    let (from, to) = (max(first, ray.from), min(last, ray.to));
    found[0] = from;
    select(is_missed || first > last || from > to, MISSED.runtime(), MET.runtime())
}

/// Finds the parameter at which a ray enters a ball.
#[cube]
pub(super) fn ball_hit(
    ray: &ExactRay,
    center: &Array<f64>,
    radius: f64,
    found: &mut Array<f64>,
    numbers: &Array<f64>,
) -> u32 {
    let zero = f64::new(0.0);
    let (mut reach, mut longest) = (zero, zero);
    #[unroll]
    for k in 0..3usize {
        reach = max(reach, (center[k] - ray.origin[k]).abs() + radius);
        longest = max(longest, ray.direction[k].abs());
    }
    // Powers of two that keep products of lengths from overflow and underflow.
    let (length, step) = (unit(reach, numbers), unit(longest, numbers));
    let (mut from, mut by) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize));
    #[unroll]
    for k in 0..3usize {
        from[k] = (ray.origin[k] - center[k]) * length;
        by[k] = ray.direction[k] * step;
    }
    let scaled = radius * length;
    let by2 = product(by[0], by[0]) + product(by[1], by[1]) + product(by[2], by[2]);
    let middle = -(product(from[0], by[0]) + product(from[1], by[1]) + product(from[2], by[2])) / by2;
    let xy = product(from[0], by[1]) - product(from[1], by[0]);
    let xz = product(from[0], by[2]) - product(from[2], by[0]);
    let yz = product(from[1], by[2]) - product(from[2], by[1]);
    // The squared distance of the line from the centre.
    let distance2 = (product(xy, xy) + product(xz, xz) + product(yz, yz)) / by2;
    let half2 = product(scaled, scaled) - distance2;
    let half = (max(half2, zero) / by2).sqrt();
    let (first, last) = ((middle - half) * step / length, (middle + half) * step / length);
    let (enter, leave) = (max(first, ray.from), min(last, ray.to));
    found[0] = enter;
    select(half2 >= zero && enter <= leave, MET.runtime(), MISSED.runtime())
}

/// Returns a power of two of about `1 / length`, or 1 for lengths whose products need no scaling.
#[cube]
fn unit(length: f64, numbers: &Array<f64>) -> f64 {
    let is_fair = length >= numbers[SHORT] && length < numbers[LONG];
    let bits = (u64::reinterpret(f64::new(1.0) / max(length, numbers[SHORTEST])) >> 52) << 52;
    select(is_fair || length <= f64::new(0.0) || length > numbers[HUGE], f64::new(1.0), f64::reinterpret(bits))
}
