//! Volumes and ray parameters without rounding: the GPU counterpart of `search::mesh::exact`.
//!
//! In: numbers. Out: the CPU's sums, part for part. Cost: some microseconds per sum, and some kilobytes of a thread's
//! memory.

use cubecl::prelude::*;

use crate::gpu::primitives::expansion::{Expansion, STEP, sum_of};
use crate::gpu::search::mesh::constants::{HUGE, SPLIT, TINY, ZERO_BITS};

/// The maximum number of terms of a sum: 96 from 24 products of three, and two for each of the 72 parts of 18 such
/// products times a number.
const TERMS: usize = 96 + 2 * 72;

/// Returns the next number above or below a number that is not 0.
#[cube]
pub(super) fn next(t: f64, #[comptime] is_up: bool) -> f64 {
    let bits = u64::reinterpret(t);
    let one = u64::cast_from(1u32);
    let mut grows = t > f64::new(0.0);
    if comptime!(!is_up) {
        grows = t < f64::new(0.0);
    }
    f64::reinterpret(select(grows, bits + one, bits - one))
}

/// Returns the power of two that scales a number to about 1.
#[cube]
fn scale(most: f64) -> f64 {
    let exponent = i32::cast_from(1023u32) - i32::cast_from(u32::cast_from(u64::reinterpret(most) >> 52));
    let clamped = max(min(exponent, 1000i32), -1000i32);
    let power = f64::reinterpret(u64::cast_from(u32::cast_from(clamped + 1023i32)) << 52);
    select(most > f64::new(0.0), power, f64::new(1.0))
}

/// A direction and points, scaled so that their largest coordinates are about 1, and the scale factors by which
/// volumes must be divided.
#[derive(CubeType)]
pub(super) struct Scaled {
    direction: Array<f64>,
    /// A ray's origin, followed by the corners of a triangle.
    points: Array<f64>,
    direction_scale: f64,
    points_scale: f64,
    /// The smallest normal number, the largest number, zero bits, and the factor that splits numbers.
    tiny: f64,
    huge: f64,
    zero_bits: u64,
    split: f64,
}

#[cube]
impl Scaled {
    pub fn new(direction: &Array<f64>, points: &Array<f64>, numbers: &Array<f64>) -> Scaled {
        let mut most = Array::<f64>::new(2usize);
        most[0] = f64::new(0.0);
        most[1] = f64::new(0.0);
        #[unroll]
        for k in 0..3usize {
            most[0] = max(most[0], direction[k].abs());
        }
        #[unroll]
        for k in 0..12usize {
            most[1] = max(most[1], points[k].abs());
        }
        let (direction_scale, points_scale) = (scale(most[0]), scale(most[1]));
        let (mut scaled, mut placed) = (Array::<f64>::new(3usize), Array::<f64>::new(12usize));
        #[unroll]
        for k in 0..3usize {
            scaled[k] = direction[k] * direction_scale;
        }
        #[unroll]
        for k in 0..12usize {
            placed[k] = points[k] * points_scale;
        }
        Scaled {
            direction: scaled,
            points: placed,
            direction_scale,
            points_scale,
            tiny: numbers[TINY],
            huge: numbers[HUGE],
            zero_bits: u64::reinterpret(numbers[ZERO_BITS]),
            split: numbers[SPLIT],
        }
    }

    fn at(&self, point: u32, k: u32) -> f64 {
        self.points[(3 * point + k) as usize]
    }

    /// Returns `direction . ((p - o) x (q - o))`, for the points with these numbers and the origin. The result is 0
    /// only if it is exactly 0.
    pub fn volume(&self, p: u32, q: u32) -> f64 {
        let sum = self.volume_sum(0u32.runtime(), p, q);
        self.unscaled(sum.value(), self.direction_scale)
    }

    fn volume_sum(&self, o: u32, p: u32, q: u32) -> Expansion {
        let mut sum = Expansion::new(self.zero_bits, self.split, TERMS);
        for k in 0..3u32 {
            let d = self.direction[k as usize];
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            for turn in 0..3u32 {
                let a = select(turn == 0, p, select(turn == 1, q, o));
                let b = select(turn == 0, q, select(turn == 1, o, p));
                sum.add_product(d, self.at(a, i), self.at(b, j));
                sum.add_product(-d, self.at(a, j), self.at(b, i));
            }
        }
        sum
    }

    /// Computes `(a - o) . ((b - a) x (c - a))`, the volume between the origin and the triangle.
    fn height_sum(&self) -> Expansion {
        let mut sum = Expansion::new(self.zero_bits, self.split, TERMS);
        for turn in 0..4u32 {
            // The corners, one of which is replaced by the origin with the opposite sign.
            let p = select(turn == 1, 0u32, 1u32);
            let q = select(turn == 2, 0u32, 2u32);
            let r = select(turn == 3, 0u32, 3u32);
            let sign = select(turn == 0, f64::new(1.0), f64::new(-1.0));
            for k in 0..3u32 {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let own = self.at(p, k);
                sum.add_product(sign * own, self.at(q, i), self.at(r, j));
                sum.add_product(-sign * own, self.at(q, j), self.at(r, i));
            }
        }
        sum
    }

    /// Returns the smallest `f64` that is not below the `t` at which the ray meets the plane of the triangle. Returns
    /// `guess` if that `t` has no sign or is outside the range of `f64`.
    pub fn parameter(&self, guess: f64) -> f64 {
        let zero = f64::new(0.0);
        let mut heights = Array::<f64>::new(comptime!(TERMS + STEP as usize));
        let mut slopes = Array::<f64>::new(comptime!(TERMS + STEP as usize));
        let height = self.height_sum();
        let slope = self.volume_sum(1u32.runtime(), 2u32.runtime(), 3u32.runtime());
        let (n_heights, n_slopes) = (height.parts(&mut heights), slope.parts(&mut slopes));
        let (numerator, denominator) = (sum_of(&heights, n_heights), sum_of(&slopes, n_slopes));
        let turn = select(denominator < zero, f64::new(-1.0), f64::new(1.0));
        // The number that is tested, and the result.
        let mut t = Array::<f64>::new(2usize);
        t[0] = numerator / denominator;
        t[1] = select(numerator == zero && denominator != zero, zero, guess);
        let mut left = Array::<u32>::new(1usize);
        left[0] = select(self.is_normal(t[0]) && numerator != zero && denominator != zero, 16u32, 0u32);
        // 1 if the next number above is known not to be below the exact `t`. A quotient is off by a few units in the
        // last place.
        let mut is_bounded = Array::<u32>::new(1usize);
        is_bounded[0] = 0;
        while left[0] > 0 {
            left[0] = left[0] - 1;
            let mut sum = Expansion::new(self.zero_bits, self.split, TERMS);
            for at in 0..n_heights {
                sum.add(-turn * heights[at as usize]);
            }
            for at in 0..n_slopes {
                sum.add_two(turn * slopes[at as usize], t[0]);
            }
            let is_below = sum.value() < zero;
            let above = next(t[0], true);
            if is_below && is_bounded[0] == 1 {
                let own = above / self.points_scale * self.direction_scale;
                t[1] = select(self.is_normal(own), own, t[1]);
                left[0] = 0;
            } else {
                is_bounded[0] = select(is_below, 0u32, 1u32);
                t[0] = select(is_below, above, next(t[0], false));
            }
        }
        t[1]
    }

    fn is_normal(&self, x: f64) -> bool {
        x.abs() >= self.tiny && x.abs() <= self.huge
    }

    /// Returns the first component of `direction x (q - p)` that is not 0, or 0.
    pub fn first_of_cross(&self, p: u32, q: u32) -> f64 {
        let mut found = Array::<f64>::new(1usize);
        found[0] = f64::new(0.0);
        for k in 0..3u32 {
            if found[0] == f64::new(0.0) {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let (di, dj) = (self.direction[i as usize], self.direction[j as usize]);
                let mut sum = Expansion::new(self.zero_bits, self.split, TERMS);
                sum.add_two(di, self.at(q, j));
                sum.add_two(-di, self.at(p, j));
                sum.add_two(-dj, self.at(q, i));
                sum.add_two(dj, self.at(p, i));
                found[0] = sum.value();
            }
        }
        found[0]
    }

    /// Converts a volume to the caller's unit. The sign is kept even if the value underflows.
    fn unscaled(&self, value: f64, first: f64) -> f64 {
        let zero = f64::new(0.0);
        let out = value / first / self.points_scale / self.points_scale;
        let least = select(value < zero, -self.tiny, self.tiny);
        let clamped = max(min(out, self.huge), -self.huge);
        select(out == zero && value != zero, least, clamped)
    }
}
