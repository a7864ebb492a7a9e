//! The few closest of all that is pushed, by distances that are rounded to `f32`: fast, and checked afterwards.
//! Squares in `f64` are multiplied by a power of two first, or many would be infinite, or 0 (see `geometry::scale`).
//!
//! A candidate is one number: its squared distance in the high half, its position in the low half. Such numbers are ordered
//! as positive `f64` are, so taking one in is a row of minima and maxima without a branch.
//! A few more than wanted are kept. If the farthest kept one is surely farther than the last one wanted, nothing that was
//! dropped belongs to the answer; if it is not (ties, mostly), the search is done again exactly.

use crate::geometry::{Scalar, scale};
use crate::search::ball_predicate::BallPredicate;

/// Slots at most, and taken in at a time.
const SLOTS: usize = 36;
const STEP: usize = 4;

pub(super) struct ApproxHeap {
    /// The candidates in ascending order; where there is none, the highest.
    keys: [[f64; STEP]; SLOTS / STEP],
    slots: usize,
    /// What squared distances are multiplied by before they are rounded; 1 where they are `f32` already.
    unit: f64,
}

impl ApproxHeap {
    /// The most candidates that are kept.
    pub const MOST: usize = SLOTS;

    pub const fn new() -> Self {
        Self { keys: [[0.0; STEP]; SLOTS / STEP], slots: 0, unit: 1.0 }
    }

    /// Whether `k` fit, and two more.
    pub fn holds(k: usize) -> bool {
        (1..=SLOTS - 2).contains(&k)
    }

    /// The number of candidates that are kept for `k` primitives.
    #[inline(always)]
    pub fn slots_for(k: usize) -> usize {
        (k + 2).next_multiple_of(STEP)
    }

    /// Begins anew, for `k` primitives whose squared distance is at most `limit`; `unit` is a power of two, 1 for `f32`.
    #[inline(always)]
    pub fn reset(&mut self, k: usize, limit: f64, unit: f64) {
        self.slots = Self::slots_for(k);
        self.unit = unit;
        // Rounded up: what is within a limit of more digits is not beyond it.
        let limit = limit * unit;
        let rounded = limit as f32;
        let limit = if f64::from(rounded) < limit { rounded.next_up() } else { rounded };
        self.keys[..self.slots / STEP].fill([key(limit, u32::MAX as usize); STEP]);
    }

    /// The squared distance beyond which nothing is taken in.
    #[inline(always)]
    pub fn limit<S: Scalar>(&self) -> S {
        let rounded: f64 = distance2(self.last()).into();
        S::from_f64(if S::NARROW { rounded } else { rounded / self.unit })
    }

    #[inline(always)]
    pub fn push<S: Scalar>(&mut self, distance2: S, position: usize) {
        let new = key(self.round(distance2), position);
        // From the end, so that each step reads what no step has written; and all that it reads was written at once.
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

    /// The squared distance, as `S` computes it, beyond which nothing is among the `k` nearest.
    #[inline(always)]
    pub fn limit_of<S: Scalar, const D: usize, const P: bool>(&self, k: usize, ball: &BallPredicate<'_, S, D, P>) -> S {
        let kth = distance2(self.keys.as_flattened()[k - 1]);
        let most = if S::NARROW { kth.into() } else { f64::from(kth.next_up()) / self.unit };
        ball.limit(ball.at_most(S::from_f64(most)))
    }

    /// Whether the `k` nearest are so near that underflow hides which they are.
    pub fn is_blurred(&self, k: usize) -> bool {
        f64::from(distance2(self.keys.as_flattened()[k - 1])) < scale::LEAST_SQUARE
    }

    #[inline(always)]
    fn last(&self) -> f64 {
        self.keys[self.slots / STEP - 1][STEP - 1]
    }

    /// The positions of the candidates, nearest first.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.keys.as_flattened()[..self.slots]
            .iter()
            .map(|key| key.to_bits() as u32)
            .take_while(|&low| low != u32::MAX)
            .map(|at| at as usize)
    }

    /// Whether all that may be within a squared distance is kept: candidates that were dropped, if any, were no nearer than
    /// the last one, and rounding keeps the order.
    pub fn holds_all_within<S: Scalar>(&self, limit: S) -> bool {
        let last = self.last();
        last.to_bits() as u32 == u32::MAX || self.round(limit) < distance2(last)
    }

    #[inline(always)]
    fn round<S: Scalar>(&self, distance2: S) -> f32 {
        let distance2: f64 = distance2.into();
        // What is `f32` already has a unit of its own.
        (if S::NARROW { distance2 } else { distance2 * self.unit }) as f32
    }
}

/// Positions are below `u32::MAX`, which marks an empty slot.
#[inline(always)]
fn key(distance2: f32, position: usize) -> f64 {
    f64::from_bits(u64::from(distance2.to_bits()) << 32 | position as u64)
}

#[inline(always)]
fn distance2(key: f64) -> f32 {
    f32::from_bits((key.to_bits() >> 32) as u32)
}
