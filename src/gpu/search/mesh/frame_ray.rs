//! How a walk is given a ray: the twin of `search::mesh::frame`.
//!
//! In: a ray as it was given. Out: the same in the unit of the tree, from where it enters the box around it, with its padding, in 48 bytes and a scale of 16.
//! This only chooses candidates; `triangle_hit` and `solid_hit` decide. Source: as the CPU's.

use cubecl::prelude::*;

use crate::gpu::search::mesh::numbers::{HUGE, PADDING, SCALE, TINY};
use crate::gpu::search::mesh::rays::{ExactRay, longest_axis, pick};
use crate::gpu::search::mesh::tree::Vec4;

/// What a ray can do: it meets nothing.
pub(super) const NOTHING: u32 = 0;
/// It is too far away for `f32`: each item is asked.
pub(super) const TOO_FAR: u32 = 1;
pub(super) const READY: u32 = 2;

/// Vectors of a ray.
pub(super) const VECTORS: usize = 3;
/// The bits of a ray from which on its longest axis and its state are.
const AXIS: u32 = 3;
const STATE: u32 = 5;

/// A ray in the unit of the tree.
///
/// Its parts are arrays, in which one ray takes the place of another.
#[derive(CubeType)]
pub(super) struct FrameRay {
    pub origin: Array<f32>,
    /// One over the direction, no part of which is 0.
    pub inverse: Array<f32>,
    /// How far it moves along the two axes after the longest, while it moves by 1 along that one.
    pub shear: Array<f32>,
    padding: Array<f32>,
    /// How far to look from the origin on.
    pub limit: Array<f32>,
    /// Bit `k` is set where the direction is negative along axis `k`; then come the longest axis and the state.
    bits: Array<u32>,
}

#[cube]
impl FrameRay {
    /// No ray yet.
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

    /// What the ray can do.
    pub fn state(&self) -> u32 {
        self.bits[0] >> STATE
    }

    /// Bit `k` is set where the direction is negative along axis `k`.
    pub fn octant(&self) -> u32 {
        self.bits[0] & 7
    }

    /// The axis along which the direction is longest.
    pub fn longest(&self) -> u32 {
        (self.bits[0] >> AXIS) & 3
    }

    pub fn padding(&self) -> f32 {
        self.padding[0] + f32::new(0.0)
    }

    /// Takes a proper ray. `t` times the first number of `scale`, less the second, is along its longest axis in the unit of the tree.
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
        // 64 epsilons: what is far away is rounded by more.
        let epsilon = f64::new(1.421_085_5e-14);
        let start_error = select(first.abs() <= numbers[HUGE], first.abs(), zero);
        let padding = numbers[PADDING] + epsilon * far + epsilon * start_error;
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
        state = select(padding <= one, state, TOO_FAR.runtime());
        state = select(misses, NOTHING.runtime(), state);
        state = select(is_sound, state, TOO_FAR.runtime());
        let last = longest_axis(&direction);
        let sign = pick(&direction, last);
        self.shear[0] = f32::cast_from(pick(&direction, (last + 1) % 3) * sign);
        self.shear[1] = f32::cast_from(pick(&direction, (last + 2) % 3) * sign);
        // Along what is shorter a ray moves by less than it is rounded.
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

    /// Writes it as the ray of a number.
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

    /// Takes the ray of a number.
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

    /// A `t` as the tree has it, at least.
    pub fn limit_of(&self, t: f64, unit: f64, start: f64) -> f32 {
        let along = t * unit - start;
        // Rounded up: relative to what it was before the start was taken off, the padding has the error.
        let more = select(along < f64::new(0.0), f64::new(-1e-6), f64::new(1e-6));
        let limit = f32::cast_from((along + f64::cast_from(self.padding[0])) * (f64::new(1.0) + more));
        min(limit, f32::new(3.402_823_5e38))
    }
}
