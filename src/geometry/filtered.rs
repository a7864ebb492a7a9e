//! Radius tests in the storage type with three results: certainly within, certainly beyond, or undecided.
//!
//! A squared distance computed in `S` differs from the exact one by a bounded relative error: each of the D
//! differences, squares and sums rounds once. In a periodic box each axis also has an absolute error, because `L - d`
//! cancels. Widening the radius by these bounds on either side gives a thin shell. A distance in the shell is decided
//! by [`Space::distance2`], so that no result depends on the storage type or the instruction set.

use std::ops::Range;

use crate::geometry::{Aabb, Scalar, Space, scale};
use crate::simd::{LANES, Lanes};
use crate::work;

/// The thresholds of a radius for tests in `S`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilteredRadius<S, const D: usize> {
    /// The squared radius for exact tests in `f64`; negative if nothing is within.
    pub radius2: f64,
    /// A squared distance of at most this, computed in `S` in a unit (see `scale`), is certainly within.
    pub certain_limit: S,
    /// A squared distance above this, computed in `S` in that unit, is certainly beyond.
    pub possible_limit: S,
}

impl<S: Scalar, const D: usize> FilteredRadius<S, D> {
    /// Creates the thresholds of an inclusive `radius`.
    #[cfg(any(feature = "reference", feature = "gpu"))]
    pub fn new(radius: f64, space: &Space<D>) -> Self {
        Self::squared(if radius >= 0.0 { radius * radius } else { -1.0 }, space, 1.0)
    }

    /// Creates the thresholds of an inclusive squared radius for distances multiplied by `scale`. Nothing is within a
    /// negative radius.
    #[inline(always)]
    pub fn squared(radius2: f64, space: &Space<D>, scale: f64) -> Self {
        if radius2 < 0.0 {
            return Self { radius2, certain_limit: S::from_f64(-1.0), possible_limit: S::from_f64(-1.0) };
        }
        let [relative, absolute] = Self::errors(space);
        let (mut inner, mut outer) = (radius2, radius2);
        if absolute > 0.0 {
            let radius = radius2.sqrt();
            inner = (radius - absolute).max(0.0).powi(2);
            outer = (radius + absolute).powi(2);
        }
        let (inner, outer) = (inner * scale * scale, outer * scale * scale);
        // Outside this range, squares may underflow or overflow, so nothing is certain.
        let certain_limit =
            if S::SAFE_SQUARES.contains(&inner) { S::from_f64(inner * (1.0 - relative)) } else { S::from_f64(-1.0) };
        let possible_limit = if outer < S::SAFE_SQUARES.end {
            S::from_f64(outer.max(S::SAFE_SQUARES.start) * (1.0 + relative))
        } else {
            S::INFINITY
        };
        Self { radius2, certain_limit, possible_limit }
    }

    /// Returns an upper bound on the exact squared distance, given the one that `S` computes for distances multiplied
    /// by `scale`.
    #[inline(always)]
    pub fn at_most(distance2: S, space: &Space<D>, scale: f64) -> f64 {
        let [relative, absolute] = Self::errors(space);
        let distance2: f64 = distance2.into();
        // Smaller squares may have lost all their digits.
        let outer = distance2.max(S::SAFE_SQUARES.start) * (1.0 + relative) / (scale * scale);
        if absolute > 0.0 { (outer.sqrt() + absolute).powi(2) } else { outer }
    }

    /// Returns a lower bound on the exact squared distance, given the one that `S` computes for distances multiplied by
    /// `scale`.
    #[inline(always)]
    pub fn at_least(distance2: S, space: &Space<D>, scale: f64) -> f64 {
        let [relative, absolute] = Self::errors(space);
        // Larger squares may have overflowed, smaller ones may have lost all their digits.
        let distance2 = Into::<f64>::into(distance2).min(S::SAFE_SQUARES.end);
        let inner =
            if distance2 < S::SAFE_SQUARES.start { 0.0 } else { distance2 * (1.0 - relative) / (scale * scale) };
        if absolute > 0.0 { (inner.sqrt() - absolute).max(0.0).powi(2) } else { inner }
    }

    /// Returns the power of two that brings a length in a space to at least 2^`least` ([`scale::scale_of`]).
    ///
    /// Lengths below the absolute error of a periodic box get the unit of that error. In a unit in which the error
    /// overflows, every node would seem near.
    #[inline(always)]
    pub fn unit(length: f64, space: &Space<D>, least: i32) -> f64 {
        scale::scale_of::<S>(length.max(Self::errors(space)[1]), least)
    }

    /// Returns the error bounds of a squared distance in `S`: its relative error, and the absolute error of its root in
    /// a periodic box.
    #[inline(always)]
    pub fn errors(space: &Space<D>) -> [f64; 2] {
        // Sides that are denormal in `S` have the absolute rounding error of the smallest normal number.
        let least = if S::IS_F32 { f32::MIN_POSITIVE.into() } else { 0.0 };
        let longest = space.period().map_or(0.0, |period| period.iter().fold(least, |a, &b| f64::max(a, b)));
        [(D as f64 + 8.0) * S::ROUNDING, 8.0 * S::ROUNDING * (D as f64).sqrt() * longest]
    }
}

/// The corners of a range of primitives in blocks of eight. The last block may extend beyond the range, into the
/// padding of the arrays.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a, S, const D: usize> {
    lo: [&'a [Lanes<S>]; D],
    /// The upper corners; for points, the lower corners again.
    hi: [&'a [Lanes<S>]; D],
    /// The index of the first primitive.
    pub first: usize,
    /// The number of primitives.
    pub len: usize,
}

impl<'a, S: Scalar, const D: usize> Blocks<'a, S, D> {
    /// Creates the blocks of `span`. The corners are one array per axis, padded by [`LANES`]; for points, `hi` is
    /// `None`.
    #[inline(always)]
    pub fn new(lo: &'a [Vec<S>; D], hi: Option<&'a [Vec<S>; D]>, span: &Range<usize>) -> Self {
        let (first, len) = (span.start, span.len());
        // All slices have the same length, so that one bounds check covers them.
        let blocks = |axis: &'a Vec<S>| &axis[first..].as_chunks().0[..len.div_ceil(LANES)];
        // A loop, because the compiler does not inline `array::map`.
        let mut below: [&[Lanes<S>]; D] = [&[]; D];
        for k in 0..D {
            below[k] = blocks(&lo[k]);
        }
        let mut above = below;
        if let Some(hi) = hi {
            for k in 0..D {
                above[k] = blocks(&hi[k]);
            }
        }
        Self { lo: below, hi: above, first, len }
    }

    /// Returns the lower corners of a block along an axis.
    #[inline(always)]
    pub fn axis(&self, axis: usize, block: usize) -> &'a Lanes<S> {
        &self.lo[axis][block]
    }

    /// Returns the bits of a mask of the last block that lie beyond the range.
    #[inline(always)]
    pub fn beyond(&self, mask: u32) -> u32 {
        let own = (self.len + LANES - 1) % LANES + 1;
        mask >> own << own
    }

    /// Returns the number of blocks.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.len.div_ceil(LANES)
    }
}

/// Approximate distances in the storage type. `GENERAL` selects at compile time between open space and the general
/// case: periodic space, or differences multiplied by a scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric<S, const D: usize, const GENERAL: bool> {
    /// The sides of the periodic box; infinite in open space.
    period: [S; D],
    /// The factor of all differences; always 1 unless the type is [`Scalar::IS_F32`].
    scale: S,
}

impl<S: Scalar, const D: usize, const GENERAL: bool> Metric<S, D, GENERAL> {
    /// Creates the metric for distances multiplied by `scale`, which must be 1 unless the metric is general.
    #[inline(always)]
    pub fn scaled(space: &Space<D>, scale: f64) -> Self {
        let period = std::array::from_fn(|k| space.period().map_or(S::INFINITY, |period| S::from_f64(period[k])));
        Self { period, scale: S::from_f64(scale) }
    }

    /// Multiplies a difference by the scale, if the metric has one.
    #[inline(always)]
    fn in_unit(&self, difference: S) -> S {
        if GENERAL && S::IS_F32 { difference * self.scale } else { difference }
    }

    /// Returns the squared distance between two boxes, a lower bound on the squared distances of their points.
    #[inline(always)]
    pub fn min_distance2(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> S {
        work::count(1);
        let mut sum = S::ZERO;
        for k in 0..D {
            let mut gap = (b.lo[k] - a.hi[k]).max(a.lo[k] - b.hi[k]).max(S::ZERO);
            if GENERAL {
                let around = self.period[k] - (a.hi[k] - b.lo[k]).max(b.hi[k] - a.lo[k]);
                gap = around.min(gap).max(S::ZERO);
            }
            let gap = self.in_unit(gap);
            sum += gap * gap;
        }
        sum
    }

    /// Returns the squared distance between the farthest corners of two boxes, an upper bound on the squared distances
    /// of their points. In a periodic box it ignores images, and remains an upper bound.
    #[inline(always)]
    pub fn max_distance2(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> S {
        let mut sum = S::ZERO;
        for k in 0..D {
            let span = self.in_unit((b.hi[k] - a.lo[k]).max(a.hi[k] - b.lo[k]));
            sum += span * span;
        }
        sum
    }

    /// Returns the squared distances from a point to a block of stored points.
    #[inline(always)]
    pub fn point_distances2(&self, a: &[S; D], points: &Blocks<'_, S, D>, block: usize) -> Lanes<S> {
        work::count(LANES);
        let mut sum = [S::ZERO; LANES];
        for (k, (&a, x)) in a.iter().zip(&points.lo).enumerate() {
            let x = &x[block];
            for l in 0..LANES {
                let mut d = a - x[l];
                if GENERAL {
                    d = d.abs();
                    // If both are infinite, `period - d` is NaN, and `min` selects the second operand, `d`.
                    d = (self.period[k] - d).min(d).max(S::ZERO);
                }
                let d = self.in_unit(d);
                sum[l] += d * d;
            }
        }
        sum
    }

    /// Returns the squared distances from a box to a block of stored boxes. For points, `hi` equals `lo`.
    #[inline(always)]
    pub fn box_distances2(&self, a: &Aabb<S, D>, boxes: &Blocks<'_, S, D>, block: usize) -> Lanes<S> {
        work::count(LANES);
        let mut sum = [S::ZERO; LANES];
        for k in 0..D {
            let (lo, hi) = (&boxes.lo[k][block], &boxes.hi[k][block]);
            for l in 0..LANES {
                let mut gap = (lo[l] - a.hi[k]).max(a.lo[k] - hi[l]).max(S::ZERO);
                if GENERAL {
                    let around = self.period[k] - (a.hi[k] - lo[l]).max(hi[l] - a.lo[k]);
                    gap = around.min(gap).max(S::ZERO);
                }
                let gap = self.in_unit(gap);
                sum[l] += gap * gap;
            }
        }
        sum
    }
}
