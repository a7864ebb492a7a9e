//! The nearest candidates by squared distances rounded to `f32`: fast, and verified afterwards.
//! Squares in `f64` are first multiplied by a power of two, because many would otherwise become infinite or 0 (see
//! `geometry::scale`).
//!
//! A candidate is one number: its squared distance in the high half, its position in the low half. Such numbers are
//! ordered like positive `f64`, so an insertion is a sequence of minima and maxima without a branch.
//! A few more candidates than requested are kept. If the farthest of them is certainly farther than the last
//! requested one, no dropped candidate belongs to the result. Otherwise (mostly at ties) the search is repeated
//! exactly.

use crate::geometry::{Scalar, scale};
use crate::search::radius_test::RadiusTest;

/// The maximum number of slots.
const SLOTS: usize = 36;
/// The number of slots that are updated at a time.
const STEP: usize = 4;

pub(super) struct ApproxHeap {
    /// The candidates in ascending order. Empty slots have the highest key.
    keys: [[f64; STEP]; SLOTS / STEP],
    slots: usize,
    /// The factor of squared distances before they are rounded; 1 if they are already `f32`.
    unit: f64,
}

impl ApproxHeap {
    /// The maximum number of candidates.
    pub const MOST: usize = SLOTS;

    pub const fn new() -> Self {
        Self { keys: [[0.0; STEP]; SLOTS / STEP], slots: 0, unit: 1.0 }
    }

    /// Returns `true` if `k` candidates and two more fit.
    pub fn holds(k: usize) -> bool {
        (1..=SLOTS - 2).contains(&k)
    }

    /// Returns the number of candidates kept for `k` requested primitives.
    #[inline(always)]
    pub fn slots_for(k: usize) -> usize {
        (k + 2).next_multiple_of(STEP)
    }

    /// Starts a search for `k` primitives with squared distances of at most `limit`. `unit` is a power of two, 1 for
    /// `f32`.
    #[inline(always)]
    pub fn reset(&mut self, k: usize, limit: f64, unit: f64) {
        self.slots = Self::slots_for(k);
        self.unit = unit;
        // Rounded up, so that no distance within the unrounded limit is excluded.
        let limit = limit * unit;
        let rounded = limit as f32;
        let limit = if f64::from(rounded) < limit { rounded.next_up() } else { rounded };
        self.keys[..self.slots / STEP].fill([key(limit, u32::MAX as usize); STEP]);
    }

    /// Returns the squared distance beyond which candidates are not accepted.
    #[inline(always)]
    pub fn limit<S: Scalar>(&self) -> S {
        let rounded: f64 = distance2(self.last()).into();
        S::from_f64(if S::IS_F32 { rounded } else { rounded / self.unit })
    }

    #[inline(always)]
    pub fn push<S: Scalar>(&mut self, distance2: S, position: usize) {
        let new = key(self.round(distance2), position);
        // From the end, so that each step reads only values of the last call, which were stored a group at a time.
        for at in (0..self.slots / STEP).rev() {
            let own = self.keys[at];
            let before = at.checked_sub(1).map_or(0.0, |before| self.keys[before][STEP - 1]);
            let before = [before, own[0], own[1], own[2]];
            for l in 0..STEP {
                let smaller = if own[l] < new { own[l] } else { new };
                self.keys[at][l] = if before[l] > smaller { before[l] } else { smaller };
            }
        }
    }

    /// Returns the squared distance, computed in `S`, beyond which no primitive is among the `k` nearest.
    #[inline(always)]
    pub fn limit_of<S: Scalar, const D: usize, const GENERAL: bool>(
        &self,
        k: usize,
        test: &RadiusTest<'_, S, D, GENERAL>,
    ) -> S {
        let kth = distance2(self.keys.as_flattened()[k - 1]);
        let most = if S::IS_F32 { kth.into() } else { f64::from(kth.next_up()) / self.unit };
        test.limit(test.at_most(S::from_f64(most)))
    }

    /// Returns `true` if the `k` nearest are so near that underflow hides which ones they are.
    pub fn is_blurred(&self, k: usize) -> bool {
        f64::from(distance2(self.keys.as_flattened()[k - 1])) < scale::MIN_SQUARE
    }

    #[inline(always)]
    fn last(&self) -> f64 {
        self.keys[self.slots / STEP - 1][STEP - 1]
    }

    /// Returns the positions of the candidates, nearest first.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.keys.as_flattened()[..self.slots]
            .iter()
            .map(|key| key.to_bits() as u32)
            .take_while(|&low| low != u32::MAX)
            .map(|at| at as usize)
    }

    /// Returns `true` if all primitives that may be within a squared distance are among the candidates. Dropped
    /// candidates, if any, were no nearer than the last one, and rounding preserves the order.
    pub fn holds_all_within<S: Scalar>(&self, limit: S) -> bool {
        let last = self.last();
        last.to_bits() as u32 == u32::MAX || self.round(limit) < distance2(last)
    }

    #[inline(always)]
    fn round<S: Scalar>(&self, distance2: S) -> f32 {
        let distance2: f64 = distance2.into();
        // Distances in `f32` already have their own unit.
        (if S::IS_F32 { distance2 } else { distance2 * self.unit }) as f32
    }
}

/// The key of a candidate. Positions are below `u32::MAX`, which marks an empty slot.
#[inline(always)]
fn key(distance2: f32, position: usize) -> f64 {
    f64::from_bits(u64::from(distance2.to_bits()) << 32 | position as u64)
}

#[inline(always)]
fn distance2(key: f64) -> f32 {
    f32::from_bits((key.to_bits() >> 32) as u32)
}
