//! Rays as the walk reads them: the GPU counterpart of `search::mesh::frame`.
//!
//! In: an original ray. Out: the ray in the unit of the tree, from the point where it enters the tree's box, with its
//! padding. It takes 48 bytes, and a scale of 16.
//! It only selects candidates; `triangle_hit` and `solid_hit` decide. Source: as for the CPU.

use cubecl::prelude::*;

use crate::gpu::search::mesh::constants::{FAR_ERROR, HUGE, PADDING, SCALE, TINY};
use crate::gpu::search::mesh::rays::{ExactRay, longest_axis, pick};
use crate::gpu::search::mesh::tree::Vec4;

/// State of a ray that cannot meet anything.
pub(super) const MISSES: u32 = 0;
/// State of a ray that is too far away for `f32`, so that every item must be tested.
pub(in crate::gpu::search) const TEST_ALL: u32 = 1;
pub(in crate::gpu::search) const READY: u32 = 2;

/// The number of vectors per ray.
pub(super) const VECTORS: usize = 3;
/// The lowest bits of a ray's longest axis and of its state.
const AXIS: u32 = 3;
const STATE: u32 = 5;

/// A ray in the unit of the tree.
///
/// Its fields are arrays, so that one ray can replace another.
#[derive(CubeType)]
pub(in crate::gpu::search) struct FrameRay {
    pub origin: Array<f32>,
    /// The inverse of the direction's components. Small components are replaced, so none is 0.
    pub inverse: Array<f32>,
    /// The distances along the two axes after the longest one, per distance of 1 along that one.
    pub shear: Array<f32>,
    padding: Array<f32>,
    /// The limit of the search, as a distance from the origin along the longest axis.
    pub limit: Array<f32>,
    /// Bit `k` is set if the direction is negative along axis `k`. The longest axis and the state follow.
    bits: Array<u32>,
}

#[cube]
impl FrameRay {
    /// Creates a ray without values.
    pub fn new() -> FrameRay {
        let mut bits = Array::<u32>::new(1usize);
        bits[0] = 0;
        FrameRay {
            origin: Array::<f32>::new(3usize),
            inverse: Array::<f32>::new(3usize),
            shear: Array::<f32>::new(2usize),
            padding: Array::<f32>::new(1usize),
            limit: Array::<f32>::new(1usize),
            bits,
        }
    }

    /// Returns the state of the ray: `MISSES`, `TEST_ALL` or `READY`.
    pub fn state(&self) -> u32 {
        self.bits[0] >> STATE
    }

    /// Returns the signs of the direction: bit `k` is set if it is negative along axis `k`.
    pub fn octant(&self) -> u32 {
        self.bits[0] & 7
    }

    /// Returns the axis along which the direction is longest.
    pub fn longest(&self) -> u32 {
        (self.bits[0] >> AXIS) & 3
    }

    pub fn padding(&self) -> f32 {
        self.padding[0] + f32::new(0.0)
    }

    /// Converts a proper ray. `t` times the first number of `scale`, minus the second, is the distance along the
    /// ray's longest axis in the unit of the tree.
    pub fn set(&mut self, ray: &ExactRay, numbers: &Array<f64>, scale: &mut Array<f64>) {
        let (zero, one) = (f64::new(0.0), f64::new(1.0));
        let mut origin = Array::<f64>::new(3usize);
        let mut direction = Array::<f64>::new(3usize);
        let (mut longest, mut far) = (zero, zero);
        #[unroll]
        for k in 0..3usize {
            origin[k] = (ray.origin[k] - numbers[k]) * numbers[SCALE];
            longest = max(longest, ray.direction[k].abs());
            far = max(far, origin[k].abs());
        }
        #[unroll]
        for k in 0..3usize {
            direction[k] = ray.direction[k] / longest;
        }
        let unit = numbers[SCALE] * longest;
        let first = ray.from * unit;
        // Distant coordinates have larger rounding errors.
        let far_error = numbers[FAR_ERROR];
        let start_error = select(first.abs() <= numbers[HUGE], first.abs(), zero);
        let padding = numbers[PADDING] + far_error * far + far_error * start_error;
        let is_sound = unit >= numbers[TINY] && unit <= numbers[HUGE] && one / unit >= numbers[TINY];
        let side = f64::new(0.5) + f64::new(2.0) * padding;
        let (mut enter, mut leave) = (first, ray.to * unit);
        let mut misses = false.runtime();
        #[unroll]
        for k in 0..3usize {
            let towards = select(direction[k] < zero, -side, side);
            let is_across = direction[k] == zero;
            misses = misses || (is_across && origin[k].abs() > side);
            let by = select(is_across, one, direction[k]);
            enter = select(is_across, enter, max(enter, (-towards - origin[k]) / by));
            leave = select(is_across, leave, min(leave, (towards - origin[k]) / by));
        }
        misses = misses || enter > leave + padding;
        let mut state = READY.runtime();
        state = select(padding <= one, state, TEST_ALL.runtime());
        state = select(misses, MISSES.runtime(), state);
        state = select(is_sound, state, TEST_ALL.runtime());
        let last = longest_axis(&direction);
        let sign = pick(&direction, last);
        self.shear[0] = f32::cast_from(pick(&direction, (last + 1) % 3) * sign);
        self.shear[1] = f32::cast_from(pick(&direction, (last + 2) % 3) * sign);
        // Along shorter components a ray moves by less than its rounding error.
        let least = f64::new(1e-12);
        let mut bits = (last << AXIS) | (state << STATE);
        #[unroll]
        for k in 0..3usize {
            self.origin[k] = f32::cast_from(origin[k] + enter * direction[k]);
            let is_negative = direction[k] < zero;
            let length = max(direction[k].abs(), least);
            self.inverse[k] = f32::cast_from(one / select(is_negative, -length, length));
            bits |= select(is_negative, comptime!(1u32 << k), 0u32);
        }
        self.padding[0] = f32::cast_from(padding);
        self.bits[0] = bits;
        scale[0] = unit;
        scale[1] = enter;
        self.limit[0] = self.limit_of(ray.to, unit, enter);
    }

    /// Writes the ray at number `at`.
    pub fn store(&self, words: &mut Vec4, at: u32) {
        let first = VECTORS * at as usize;
        let (mut a, mut b, mut c) = (
            Vector::<u32, Const<4>>::new(0u32),
            Vector::<u32, Const<4>>::new(0u32),
            Vector::<u32, Const<4>>::new(0u32),
        );
        #[unroll]
        for k in 0..3usize {
            a[k] = u32::reinterpret(self.origin[k]);
            b[k] = u32::reinterpret(self.inverse[k]);
        }
        a[3] = u32::reinterpret(self.padding[0]);
        b[3] = self.bits[0];
        c[0] = u32::reinterpret(self.shear[0]);
        c[1] = u32::reinterpret(self.shear[1]);
        c[2] = u32::reinterpret(self.limit[0]);
        words[first] = a;
        words[first + 1] = b;
        words[first + 2] = c;
    }

    /// Reads the ray with number `at`.
    pub fn load(&mut self, words: &Vec4, at: u32) {
        let first = VECTORS * at as usize;
        let (a, b, c) = (words[first], words[first + 1], words[first + 2]);
        #[unroll]
        for k in 0..3usize {
            self.origin[k] = f32::reinterpret(a[k]);
            self.inverse[k] = f32::reinterpret(b[k]);
        }
        self.padding[0] = f32::reinterpret(a[3]);
        self.bits[0] = b[3];
        self.shear[0] = f32::reinterpret(c[0]);
        self.shear[1] = f32::reinterpret(c[1]);
        self.limit[0] = f32::reinterpret(c[2]);
    }

    /// Returns an upper bound on `t` in the unit of the tree.
    pub fn limit_of(&self, t: f64, unit: f64, start: f64) -> f32 {
        let along = t * unit - start;
        // Rounded up. The padding covers the error relative to `t * unit`, before `start` is subtracted.
        let more = select(along < f64::new(0.0), f64::new(-1e-6), f64::new(1e-6));
        let limit = f32::cast_from((along + f64::cast_from(self.padding[0])) * (f64::new(1.0) + more));
        min(limit, f32::new(3.402_823_5e38))
    }
}
