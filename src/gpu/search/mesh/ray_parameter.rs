//! The ray parameter `t` at which a line meets the plane of a triangle, rounded up: the twin of `search::mesh::ray_parameter`.
//!
//! In: a ray, the corners of a triangle, and an approximate `t`. Out: the smallest `f64` that is not below the exact `t`, or that rounding could
//! change it. The number is defined without regard to how it is found, so products of the normal may be fused.

use cubecl::prelude::*;

use crate::gpu::search::mesh::exact::{next, two_product, two_sum};
use crate::gpu::search::mesh::numbers::{LEAST_BOUND, NO_BITS, SPLIT};
use crate::gpu::search::mesh::rays::ExactRay;

/// Corrections of an approximate `t` before it is left in doubt.
const CORRECTIONS: u32 = 3;

/// Puts `t` in place of the first of `found`, an approximate one. False if it is in doubt, and left as it was.
#[cube]
pub(super) fn correct(ray: &ExactRay, corners: &Array<f64>, found: &mut Array<f64>, numbers: &Array<f64>) -> bool {
    let (zero, epsilon) = (f64::new(0.0), f64::new(2.220_446e-16));
    let (none, split) = (u64::reinterpret(numbers[NO_BITS]), numbers[SPLIT]);
    let (mut u, mut v) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize));
    let (mut long, mut wide, mut steep, mut far, mut near) = (zero, zero, zero, zero, zero);
    #[unroll]
    for k in 0..3usize {
        u[k] = corners[3 + k] - corners[k];
        v[k] = corners[6 + k] - corners[k];
        long = max(long, u[k].abs());
        wide = max(wide, v[k].abs());
        steep = max(steep, ray.direction[k].abs());
        far = max(far, ray.origin[k].abs());
        near = max(near, corners[k].abs());
    }
    let mut normal = Array::<f64>::new(3usize);
    normal[0] = u[1] * v[2] - u[2] * v[1];
    normal[1] = u[2] * v[0] - u[0] * v[2];
    normal[2] = u[0] * v[1] - u[1] * v[0];
    let area = long * wide;
    let slope = ray.direction[0] * normal[0] + ray.direction[1] * normal[1] + ray.direction[2] * normal[2];
    let slope_error = f64::new(32.0) * epsilon * area * steep;
    let steepness = slope.abs();
    let is_steep = slope_error <= f64::new(1e-6) * steepness;
    // The residual, and the largest offset from a corner.
    let mut sums = Array::<f64>::new(2usize);
    let mut t = Array::<f64>::new(1usize);
    t[0] = found[0];
    // 0 while it is not known, 1 if it is, 2 if it is in doubt.
    let mut state = Array::<u32>::new(1usize);
    state[0] = select(is_steep, 0u32, 2u32);
    #[unroll]
    for _turn in 0..CORRECTIONS {
        if state[0] == 0 {
            sums[0] = zero;
            sums[1] = zero;
            #[unroll]
            for k in 0..3usize {
                let (along, along_rest) = two_product(t[0], ray.direction[k], none, split);
                let (to, to_rest) = two_sum(corners[k], -ray.origin[k], none);
                let (rest, rest_rest) = two_sum(to, -along, none);
                let own = rest + (to_rest - along_rest + rest_rest);
                sums[0] = sums[0] + own * normal[k];
                sums[1] = max(sums[1], own.abs());
            }
            let (residual, offset) = (sums[0], sums[1]);
            let moved = t[0].abs() * steep;
            let error = f64::new(64.0) * epsilon * area * (offset + f64::new(2.0) * epsilon * (far + near + moved));
            let correction = residual / slope;
            let relative = slope_error / steepness + epsilon;
            let doubt = f64::new(1.001) * error / steepness + f64::new(3.0) * correction.abs() * relative;
            let (least, most) = (correction - doubt, correction + doubt);
            let (above, below) = (next(t[0], true), next(t[0], false));
            let (up, down) = (above - t[0], t[0] - below);
            let is_here = most <= zero && least > -down;
            let is_above = least > zero && most <= up;
            let moves_to = t[0] + correction;
            let is_usable = error > numbers[LEAST_BOUND] && t[0] != zero && (is_here || is_above || moves_to != t[0]);
            state[0] = select(!is_usable, 2u32, select(is_here || is_above, 1u32, 0u32));
            let next_t = select(is_above, above, select(is_here, t[0], moves_to));
            t[0] = select(is_usable, next_t, t[0]);
        }
    }
    if state[0] == 1 {
        found[0] = t[0];
    }
    state[0] == 1
}
