//! A radius as the tests in the storage type see it: surely within, surely beyond, or for `f64` to decide.
//!
//! A squared distance computed in `S` differs from the exact one by a bounded relative error (each of the D differences,
//! squares and sums rounds once), and in a periodic box by an absolute error along each axis as well, because `L - d`
//! cancels. Widening the radius by these bounds on either side leaves a thin shell; what falls into it is decided by
//! [`Space::distance2`], so that nothing depends on the storage type or the instruction set.

use std::ops::Range;

use crate::geometry::{Aabb, Scalar, Space, scale};
use crate::simd::{LANES, Lanes};
use crate::work;

/// A radius, ready for tests in `S`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilteredRadius<S, const D: usize> {
    /// The squared radius, which decides in `f64`; negative if nothing is within.
    pub radius2: f64,
    /// At most this, as computed in `S` in a unit (see `scale`): surely within.
    pub sure: S,
    /// More than this, as computed in `S` in that unit: surely beyond.
    pub maybe: S,
}

impl<S: Scalar, const D: usize> FilteredRadius<S, D> {
    /// The thresholds of an inclusive `radius`.
    #[cfg(any(feature = "reference", feature = "gpu"))]
    pub fn new(radius: f64, space: &Space<D>) -> Self {
        Self::squared(if radius >= 0.0 { radius * radius } else { -1.0 }, space, 1.0)
    }

    /// The thresholds of an inclusive squared radius, for distances that are multiplied by `scale`; nothing is within a negative
    /// radius.
    #[inline(always)]
    pub fn squared(radius2: f64, space: &Space<D>, scale: f64) -> Self {
        if radius2 < 0.0 {
            return Self { radius2, sure: S::from_f64(-1.0), maybe: S::from_f64(-1.0) };
        }
        let [relative, absolute] = Self::errors(space);
        let (mut inner, mut outer) = (radius2, radius2);
        if absolute > 0.0 {
            let radius = radius2.sqrt();
            inner = (radius - absolute).max(0.0).powi(2);
            outer = (radius + absolute).powi(2);
        }
        let (inner, outer) = (inner * scale * scale, outer * scale * scale);
        // Outside of the range of squares underflow or overflow may have a say, so nothing is sure.
        let sure = if S::SQUARES.contains(&inner) { S::from_f64(inner * (1.0 - relative)) } else { S::from_f64(-1.0) };
        let maybe = if outer < S::SQUARES.end {
            S::from_f64(outer.max(S::SQUARES.start) * (1.0 + relative))
        } else {
            S::INFINITY
        };
        Self { radius2, sure, maybe }
    }

    /// What an exact squared distance can be at most, where `S` computes `distance2` for distances that are multiplied by `scale`.
    #[inline(always)]
    pub fn at_most(distance2: S, space: &Space<D>, scale: f64) -> f64 {
        let [relative, absolute] = Self::errors(space);
        let distance2: f64 = distance2.into();
        // Smaller squares may have lost all of their digits.
        let outer = distance2.max(S::SQUARES.start) * (1.0 + relative) / (scale * scale);
        if absolute > 0.0 { (outer.sqrt() + absolute).powi(2) } else { outer }
    }

    /// What an exact squared distance is at least, likewise.
    #[inline(always)]
    pub fn at_least(distance2: S, space: &Space<D>, scale: f64) -> f64 {
        let [relative, absolute] = Self::errors(space);
        // Larger squares may have overflowed, smaller ones have lost all of their digits.
        let distance2 = Into::<f64>::into(distance2).min(S::SQUARES.end);
        let inner = if distance2 < S::SQUARES.start { 0.0 } else { distance2 * (1.0 - relative) / (scale * scale) };
        if absolute > 0.0 { (inner.sqrt() - absolute).max(0.0).powi(2) } else { inner }
    }

    /// The power of two that brings a length in a space to 2^`least` or more ([`scale::scale_of`]). In a unit where the absolute error of a
    /// periodic box overflows every node seems near, so shorter lengths than that error have its unit.
    #[inline(always)]
    pub fn unit(length: f64, space: &Space<D>, least: i32) -> f64 {
        scale::scale_of::<S>(length.max(Self::errors(space)[1]), least)
    }

    /// How far a squared distance in `S` may be from the exact one: a part of it, and what a periodic box adds to its root.
    #[inline(always)]
    pub fn errors(space: &Space<D>) -> [f64; 2] {
        // Sides that are denormal in `S` are rounded by as much as the least that is not.
        let least = if S::NARROW { f32::MIN_POSITIVE.into() } else { 0.0 };
        let longest = space.period().map_or(0.0, |period| period.iter().fold(least, |a, &b| f64::max(a, b)));
        [(D as f64 + 8.0) * S::ROUNDING, 8.0 * S::ROUNDING * (D as f64).sqrt() * longest]
    }
}

/// The corners of a span of primitives, eight at a time; the last eight may go beyond the span, into the padding of the arrays.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a, S, const D: usize> {
    lo: [&'a [Lanes<S>]; D],
    /// The lower corners again, for points.
    hi: [&'a [Lanes<S>]; D],
    /// The first primitive, and how many there are.
    pub first: usize,
    pub len: usize,
}

impl<'a, S: Scalar, const D: usize> Blocks<'a, S, D> {
    /// The corners are one array per axis, padded by [`LANES`]; points have no upper ones.
    #[inline(always)]
    pub fn new(lo: &'a [Vec<S>; D], hi: Option<&'a [Vec<S>; D]>, span: &Range<usize>) -> Self {
        let (first, len) = (span.start, span.len());
        // Each slice has one length, so that an index below it needs no test of its own.
        let blocks = |axis: &'a Vec<S>| &axis[first..].as_chunks().0[..len.div_ceil(LANES)];
        // A loop, for the compiler calls a function for `array::map`.
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

    /// Eight lower corners along an axis.
    #[inline(always)]
    pub fn axis(&self, axis: usize, block: usize) -> &'a Lanes<S> {
        &self.lo[axis][block]
    }

    /// What a mask of the last eight has beyond the span.
    #[inline(always)]
    pub fn beyond(&self, mask: u32) -> u32 {
        let own = (self.len + LANES - 1) % LANES + 1;
        mask >> own << own
    }

    /// How many times eight.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.len.div_ceil(LANES)
    }
}

/// Distances in the storage type: approximate, fast, and by a compile-time choice those of open space, or in general: around
/// a boundary, in a unit of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric<S, const D: usize, const GENERAL: bool> {
    /// Infinite in open space.
    period: [S; D],
    /// What differences are multiplied by; always 1 unless the type is [`Scalar::NARROW`].
    scale: S,
}

impl<S: Scalar, const D: usize, const GENERAL: bool> Metric<S, D, GENERAL> {
    /// Distances times `scale`, which is 1 unless the metric is general.
    #[inline(always)]
    pub fn scaled(space: &Space<D>, scale: f64) -> Self {
        let period = std::array::from_fn(|k| space.period().map_or(S::INFINITY, |period| S::from_f64(period[k])));
        Self { period, scale: S::from_f64(scale) }
    }

    /// A difference in the metric's unit.
    #[inline(always)]
    fn in_unit(&self, difference: S) -> S {
        if GENERAL && S::NARROW { difference * self.scale } else { difference }
    }

    /// Squared distance between two boxes: a lower bound on that of their points.
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

    /// Squared distance from a box to the farthest corner of another: an upper bound on that of their points.
    /// In a periodic box it is the bound without images, which holds as well.
    #[inline(always)]
    pub fn max_distance2(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> S {
        let mut sum = S::ZERO;
        for k in 0..D {
            let span = self.in_unit((b.hi[k] - a.lo[k]).max(a.hi[k] - b.lo[k]));
            sum += span * span;
        }
        sum
    }

    /// Squared distances from a point to eight stored points.
    #[inline(always)]
    pub fn lanes(&self, a: &[S; D], points: &Blocks<'_, S, D>, block: usize) -> Lanes<S> {
        work::count(LANES);
        let mut sum = [S::ZERO; LANES];
        for (k, (&a, x)) in a.iter().zip(&points.lo).enumerate() {
            let x = &x[block];
            for l in 0..LANES {
                let mut d = a - x[l];
                if GENERAL {
                    d = d.abs();
                    // The second, if the first is no number: where both are infinite.
                    d = (self.period[k] - d).min(d).max(S::ZERO);
                }
                let d = self.in_unit(d);
                sum[l] += d * d;
            }
        }
        sum
    }

    /// Squared distances from a box to eight stored boxes; stored points are boxes with `lo` for `hi`.
    #[inline(always)]
    pub fn box_lanes(&self, a: &Aabb<S, D>, boxes: &Blocks<'_, S, D>, block: usize) -> Lanes<S> {
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
