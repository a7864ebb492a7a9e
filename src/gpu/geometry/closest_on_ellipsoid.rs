//! The squared distance of a point from a solid ellipsoid: the GPU counterpart of
//! `geometry::shapes::closest_on_ellipsoid`.
//!
//! In: the frame of the ellipsoid, and a point. Out: the squared distance, rounded as on the CPU.
//! Cost: O(d) per step of Newton's method, at most 200 steps. Source: as for the CPU.

use cubecl::prelude::*;

use crate::gpu::geometry::frame::{components, half};
use crate::gpu::geometry::vector::{length2, sub};
use crate::gpu::primitives::rounding::product;

#[cube]
pub(super) fn on_ellipsoid(frame: &Array<f64>, p: &Array<f64>, #[comptime] d: usize) -> f64 {
    let zero = f64::new(0.0);
    let y = components(frame, &sub(p, frame, d), d);
    let mut t = Array::<f64>::new(1usize);
    t[0] = zero;
    let mut is_inside = level(frame, &y, zero, d)[0] <= zero;
    let mut left = Array::<u32>::new(1usize);
    left[0] = select(is_inside, 0u32.runtime(), 200u32.runtime());
    #[unroll]
    for k in 0..d {
        let r = half(frame, k, d);
        is_inside = is_inside && (r > zero || y[k] == zero);
        t[0] = select(left[0] > 0, max(t[0], product(r, y[k].abs() - r)), zero);
    }
    // Newton's method increases monotonically. Stops when rounding prevents progress, or on NaN, if the slope vanishes.
    while left[0] > 0 {
        let level = level(frame, &y, t[0], d);
        let next = t[0] - level[0] / level[1];
        let is_more = next > t[0];
        left[0] = select(is_more, left[0] - 1, 0u32.runtime());
        t[0] = select(is_more, next, t[0]);
    }
    let mut off = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        let r = half(frame, k, d);
        let is_long = r > zero;
        let divisor = select(is_long, r, f64::new(1.0));
        let near = y[k] / (f64::new(1.0) + t[0] / divisor / divisor);
        off[k] = y[k] - select(is_long, near, zero);
    }
    select(is_inside, zero, length2(&off, d))
}

/// Returns the function whose root is sought at `t`, and its slope.
#[cube]
fn level(frame: &Array<f64>, y: &Array<f64>, t: f64, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(2usize);
    out[0] = f64::new(-1.0);
    out[1] = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let r = half(frame, k, d);
        if r > f64::new(0.0) {
            let share = y[k] / (t / r + r);
            out[0] = out[0] + product(share, share);
            out[1] = out[1] - product(f64::new(2.0) * share, share) / (t + product(r, r));
        }
    }
    out
}
