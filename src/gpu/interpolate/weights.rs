//! Weights of neighbours in kernels: the GPU version of `interpolate::kernels`.
//!
//! In: a distance over the radius. Out: its weight, bit for bit that of the CPU, except for Buhmann2 and the Gaussian.
//! Their logarithms and exponentials are computed from series with errors of a few roundings of 1, because not all
//! devices have these functions in `f64`.

use cubecl::prelude::*;

use crate::gpu::interpolate::constants::{LN_2, TINY};
use crate::gpu::primitives::rounding::product;
use crate::interpolate::Weight;

/// The number of terms of the series for exp(x) with |x| up to 9/16, and for ln(x) with x between 1 and 2.
const EXPONENTIAL_TERMS: u32 = 16;
const LOGARITHM_TERMS: u32 = 17;

/// The weight with index `weight` in [`Weight::ALL`] at distance `x`, which must not be negative. The result is 0 for
/// `x` from 1 on, and where rounding makes it negative.
#[cube]
pub(super) fn weigh(x: f64, numbers: &Array<f64>, weight: u32) -> f64 {
    let mut found = Array::<f64>::new(1usize);
    found[0] = f64::new(0.0);
    #[unroll]
    for at in 0..Weight::ALL.len() {
        if weight == comptime!(at as u32) {
            found[0] = value(x, numbers, comptime!(Weight::ALL[at]));
        }
    }
    select(x < f64::new(1.0) && found[0] > f64::new(0.0), found[0], f64::new(0.0))
}

#[cube]
fn value(x: f64, numbers: &Array<f64>, #[comptime] weight: Weight) -> f64 {
    let rest = f64::new(1.0) - x;
    let square = rest * rest;
    match comptime!(weight) {
        Weight::Wendland0 => square,
        Weight::Wendland2 => (square * square) * (product(f64::new(4.0), x) + f64::new(1.0)),
        Weight::Wendland4 => {
            let last = horner(horner(f64::new(35.0), x, 18.0), x, 3.0);
            (square * square * square) * last / f64::new(3.0)
        }
        Weight::Wendland6 => {
            let last = horner(horner(horner(f64::new(32.0), x, 25.0), x, 8.0), x, 1.0);
            ((square * square) * (square * square)) * last
        }
        Weight::Wu2 => {
            let last = horner(horner(horner(f64::new(3.0), x, 12.0), x, 16.0), x, 4.0);
            (square * square) * last / f64::new(4.0)
        }
        Weight::Wu4 => {
            let first = horner(horner(horner(f64::new(5.0), x, 30.0), x, 72.0), x, 82.0);
            let last = horner(horner(first, x, 36.0), x, 6.0);
            (square * square * square) * last / f64::new(6.0)
        }
        Weight::Buhmann2 => {
            // x ln x is 0 at x = 0.
            let first = product(f64::new(12.0), logarithm(max(x, numbers[TINY]), numbers)) - f64::new(21.0);
            horner(horner(horner(horner(first, x, 32.0), x, -12.0), x, 0.0), x, 1.0)
        }
        Weight::Buhmann3 => {
            let root = f64::new(1024.0) * x.sqrt();
            let first = product(horner(horner(f64::new(5.0), x, 0.0), x, -84.0), x);
            let second = product(product(first, x) + (root - f64::new(1890.0)), x) + root;
            horner(horner(horner(second, x, -84.0), x, 0.0), x, 5.0) / f64::new(5.0)
        }
        Weight::Buhmann4 => {
            let root = x.sqrt();
            let fifth = product(f64::new(9216.0), root);
            let fourth = f64::new(6930.0) - product(f64::new(11264.0), root);
            let first = product(horner(horner(f64::new(99.0), x, 0.0), x, -4620.0), x) + fifth;
            let second = product(first, x) + fourth;
            horner(horner(horner(horner(second, x, 0.0), x, -396.0), x, 0.0), x, 35.0) / f64::new(35.0)
        }
        Weight::Gaussian => exponential(f64::new(-9.0) * x * x),
    }
}

/// One step of Horner's scheme.
#[cube]
fn horner(sum: f64, x: f64, #[comptime] coefficient: f32) -> f64 {
    product(sum, x) + f64::new(coefficient)
}

/// exp(x) for x from -9 to 0: the 16th power of the series for x/16.
#[cube]
fn exponential(x: f64) -> f64 {
    let root = exponential_series(x * f64::new(0.0625));
    let square = root * root;
    let fourth = square * square;
    let eighth = fourth * fourth;
    eighth * eighth
}

/// exp(x) for |x| up to 9/16.
#[cube]
fn exponential_series(part: f64) -> f64 {
    let mut sum = f64::new(1.0);
    #[unroll]
    for turn in 0..EXPONENTIAL_TERMS {
        sum = f64::new(1.0) + sum * part / f64::cast_from(EXPONENTIAL_TERMS - turn);
    }
    sum
}

/// `x` to the power `exponent`, for x from 0 to 1 and a positive exponent: 2^(exponent log2(x)).
#[cube]
pub(super) fn power(x: f64, exponent: f64, numbers: &Array<f64>) -> f64 {
    let (zero, one) = (f64::new(0.0), f64::new(1.0));
    let is_normal = x >= numbers[TINY];
    let log2 = logarithm(select(is_normal, x, one), numbers) / numbers[LN_2] * exponent;
    // Below 2^-1000, weights count as 0.
    let is_small = !is_normal || log2 < f64::new(-1000.0);
    let kept = select(is_small, zero, log2);
    let halvings = u32::cast_from(f64::new(0.5) - kept);
    let rest = exponential_series((kept + f64::cast_from(halvings)) * numbers[LN_2]);
    let scale = f64::reinterpret(u64::cast_from(1023 - halvings) << 52u64);
    select(is_small, zero, rest * scale)
}

/// ln(x) of a normal number: the part of its power of two, plus 2 artanh((m - 1)/(m + 1)) of its mantissa m.
#[cube]
fn logarithm(x: f64, numbers: &Array<f64>) -> f64 {
    let bits = u64::reinterpret(x);
    let power = f64::cast_from(u32::cast_from(bits >> 52u64)) - f64::new(1023.0);
    let m = f64::reinterpret(((bits << 12u64) >> 12u64) | (u64::cast_from(1023u32.runtime()) << 52u64));
    let s = (m - f64::new(1.0)) / (m + f64::new(1.0));
    let s2 = s * s;
    let mut sum = f64::new(0.0);
    #[unroll]
    for turn in 0..LOGARITHM_TERMS {
        sum = sum * s2 + f64::new(1.0) / f64::cast_from(2 * (LOGARITHM_TERMS - turn) - 1);
    }
    power * numbers[LN_2] + f64::new(2.0) * s * sum
}
