//! The ray parameter `t` at which a line meets the plane of a triangle, rounded up: the GPU counterpart of
//! `search::mesh::ray_parameter`.
//!
//! In: a ray, the corners of a triangle, and an approximate `t`. Out: the smallest `f64` that is not below the exact
//! `t`, or a report that rounding could change it. The result does not depend on the method: the CPU first tries a
//! normal in `f64`, which decides only where triangles are small compared with `t`.

use cubecl::prelude::*;

use crate::gpu::primitives::expansion::{two_product, two_sum};
use crate::gpu::search::mesh::constants::{LEAST_FACTOR, LEAST_REST, MOST_FACTOR, SPLIT, ZERO_BITS};
use crate::gpu::search::mesh::exact::next;
use crate::gpu::search::mesh::rays::ExactRay;

/// The maximum number of corrections of an approximate `t` before it is left in doubt.
pub(super) const CORRECTIONS: u32 = 3;

/// A number and a bound on its rounding error.
#[derive(CubeType, Clone, Copy)]
struct Bounded {
    value: f64,
    error: f64,
}

/// An approximate `t` and its state: 0 while it is uncertain, 1 if it is the result, 2 if it is in doubt.
#[derive(CubeType)]
struct Corrected {
    t: Array<f64>,
    state: Array<u32>,
}

#[cube]
impl Corrected {
    fn new(guess: f64, slope: Bounded) -> Corrected {
        let (mut t, mut state) = (Array::<f64>::new(1usize), Array::<u32>::new(1usize));
        t[0] = guess;
        // Also false for NaN.
        let is_steep = slope.error <= f64::new(1e-6) * slope.value.abs();
        state[0] = select(is_steep, 0u32, 2u32);
        Corrected { t, state }
    }

    /// Corrects `t` by its residual, and updates the state. `t` is in doubt if the residual is not usable.
    fn correct(&mut self, residual: Bounded, slope: Bounded, is_usable: bool) {
        let (zero, epsilon) = (f64::new(0.0), f64::new(2.220_446e-16));
        let t = self.t[0];
        let steepness = slope.value.abs();
        let correction = residual.value / slope.value;
        let relative = slope.error / steepness + epsilon;
        let doubt = f64::new(1.001) * residual.error / steepness + f64::new(3.0) * correction.abs() * relative;
        let (least, most) = (correction - doubt, correction + doubt);
        let (above, below) = (next(t, true), next(t, false));
        let (up, down) = (above - t, t - below);
        let is_here = most <= zero && least > -down;
        let is_above = least > zero && most <= up;
        let moves_to = t + correction;
        // The neighbours of 0 are too small to be compared.
        let is_zero = t == zero && correction == zero && doubt == zero;
        let is_usable = is_usable && (is_zero || (t != zero && (is_here || is_above || moves_to != t)));
        self.state[0] = select(!is_usable, 2u32, select(is_zero || is_here || is_above, 1u32, 0u32));
        let next_t = select(is_zero, zero, select(is_here, t, select(is_above, above, moves_to)));
        self.t[0] = select(is_usable, next_t, t);
    }

    /// Replaces the first of `found` by `t`. If `t` is in doubt, returns `false` without changes.
    fn put(&self, found: &mut Array<f64>) -> bool {
        if self.state[0] == 1 {
            found[0] = self.t[0];
        }
        self.state[0] == 1
    }
}

/// Replaces the first of `found`, an approximate `t`, by the result. If that is in doubt, returns `false` without
/// changes. The normal and the residual have twice the precision of `f64`, which leaves hardly any `t` in doubt.
#[cube]
pub(super) fn correct(ray: &ExactRay, corners: &Array<f64>, found: &mut Array<f64>, numbers: &Array<f64>) -> bool {
    let (zero, epsilon) = (f64::new(0.0), f64::new(2.220_446e-16));
    let (zero_bits, split) = (u64::reinterpret(numbers[ZERO_BITS]), numbers[SPLIT]);
    // Two edges, the first in the first three places, and their rounding errors.
    let (mut edges, mut rests) = (Array::<f64>::new(6usize), Array::<f64>::new(6usize));
    let mut are_moderate = true.runtime();
    #[unroll]
    for k in 0..6usize {
        let (high, low) = two_sum(corners[3 + k], -corners[k % 3], zero_bits);
        edges[k] = high;
        rests[k] = low;
        are_moderate = are_moderate && is_moderate(high, numbers) && is_rest(low, numbers);
    }
    let (mut highs, mut lows, mut errors) =
        (Array::<f64>::new(3usize), Array::<f64>::new(3usize), Array::<f64>::new(3usize));
    let (mut value, mut most, mut ignored) = (zero, zero, zero);
    #[unroll]
    for k in 0..3usize {
        let (high, low, error) = cross(&edges, &rests, numbers, (k + 1) % 3, (k + 2) % 3);
        highs[k] = high;
        lows[k] = low;
        errors[k] = error;
        let direction = ray.direction[k];
        are_moderate = are_moderate && is_moderate(high, numbers) && is_moderate(direction, numbers);
        value += direction * high;
        most += (direction * high).abs();
        ignored += direction.abs() * (low.abs() + error);
    }
    let slope = Bounded { value, error: f64::new(4.0) * epsilon * most + f64::new(1.001) * ignored };
    let mut corrected = Corrected::new(found[0], slope);
    // In a loop, because the code is long.
    for _turn in 0..CORRECTIONS {
        if corrected.state[0] == 0 {
            let t = corrected.t[0];
            let (mut high, mut low, mut rest_sum, mut error) = (zero, zero, zero, zero);
            let mut is_usable = are_moderate && is_moderate(t, numbers);
            #[unroll]
            for k in 0..3usize {
                let (far, rest, off) = offset(ray.origin[k], ray.direction[k], corners[k], t, numbers);
                let (far, rest) = two_sum(far, rest, zero_bits);
                is_usable = is_usable && is_moderate(far, numbers) && is_rest(rest, numbers);
                let (product, product_rest) = two_product(far, highs[k], zero_bits, split);
                let (of_low, of_rest) = (far * lows[k], rest * highs[k]);
                let (sum, sum_rest) = two_sum(high, product, zero_bits);
                high = sum;
                low += sum_rest + (product_rest + of_low + of_rest);
                rest_sum += sum_rest.abs() + product_rest.abs() + of_low.abs() + of_rest.abs();
                error += far.abs() * errors[k] + off * highs[k].abs();
            }
            let error = f64::new(1.01) * (f64::new(16.0) * epsilon * rest_sum + error);
            corrected.correct(Bounded { value: high + low, error }, slope, is_usable);
        }
    }
    corrected.put(found)
}

/// Returns `a - origin - t direction` along one axis as a sum of two numbers, and a bound on its error.
#[cube]
fn offset(origin: f64, direction: f64, corner: f64, t: f64, numbers: &Array<f64>) -> (f64, f64, f64) {
    let (zero_bits, split) = (u64::reinterpret(numbers[ZERO_BITS]), numbers[SPLIT]);
    let (along, along_rest) = two_product(t, direction, zero_bits, split);
    let (to, to_rest) = two_sum(corner, -origin, zero_bits);
    let (rest, rest_rest) = two_sum(to, -along, zero_bits);
    let off = f64::new(4.440_892e-16) * (to_rest.abs() + along_rest.abs() + rest_rest.abs());
    (rest, to_rest - along_rest + rest_rest, off)
}

/// Returns a coordinate of the normal, from two coordinates of two edges: a number, its rounding error, and a bound
/// on the remaining error.
#[cube]
fn cross(
    edges: &Array<f64>,
    rests: &Array<f64>,
    numbers: &Array<f64>,
    #[comptime] i: usize,
    #[comptime] j: usize,
) -> (f64, f64, f64) {
    let (zero_bits, split) = (u64::reinterpret(numbers[ZERO_BITS]), numbers[SPLIT]);
    let (p, p_rest) = two_product(edges[i], edges[3 + j], zero_bits, split);
    let (q, q_rest) = two_product(edges[j], edges[3 + i], zero_bits, split);
    let (difference, rest) = two_sum(p, -q, zero_bits);
    let (p_low, p_other) = (edges[i] * rests[3 + j], rests[i] * edges[3 + j]);
    let (q_low, q_other) = (edges[j] * rests[3 + i], rests[j] * edges[3 + i]);
    let low = rest + (p_rest - q_rest) + (p_low + p_other) - (q_low + q_other);
    let products = p_low.abs() + p_other.abs() + q_low.abs() + q_other.abs();
    let error = f64::new(1.776_357e-15) * (rest.abs() + p_rest.abs() + q_rest.abs() + products);
    let (high, low) = two_sum(difference, low, zero_bits);
    (high, low, error)
}

/// Returns `true` if products of three such numbers, and their rounding errors, are far from the ends of `f64`.
#[cube]
fn is_moderate(x: f64, numbers: &Array<f64>) -> bool {
    x == f64::new(0.0) || (x.abs() >= numbers[LEAST_FACTOR] && x.abs() <= numbers[MOST_FACTOR])
}

/// Returns `true` if a rounding error is far from underflow.
#[cube]
fn is_rest(x: f64, numbers: &Array<f64>) -> bool {
    x == f64::new(0.0) || x.abs() >= numbers[LEAST_REST]
}
