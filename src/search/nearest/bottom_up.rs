//! From a leaf upwards: the search itself.

use std::ops::Range;

use crate::bvh::traverse::{BallPredicate, DeferredSiblings, bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Scalar, scale};
use crate::search::nearest::approx_heap::ApproxHeap;
use crate::search::nearest::{ExactHeap, Nearest};
use crate::simd::{Baseline, Isa};

/// A leaf that is smaller than this, in the unit of the cloud, has one of its own.
const SMALL: f64 = 1.0 / (1u64 << -scale::LEAST) as f64;

/// What a search for a leaf works on, made once for many.
pub(super) struct Scratch {
    close: [ApproxHeap; LEAF],
    best: ExactHeap,
}

impl Scratch {
    pub fn new() -> Self {
        Self { close: [const { ApproxHeap::new() }; LEAF], best: ExactHeap::new() }
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `found` with each primitive of a leaf and its nearest.
    #[inline(always)]
    pub(super) fn nearest_of_leaf<L: Isa>(
        &self,
        level: L,
        leaf: usize,
        wanted: &Nearest,
        scratch: &mut Scratch,
        mut found: impl FnMut(usize, &ExactHeap),
    ) {
        let Scratch { close, best } = scratch;
        let approximate = self.holds_points() && ApproxHeap::holds(wanted.k);
        let (scale, unit) = if approximate { self.units(leaf) } else { (1.0, 1.0) };
        // Its bounds of errors hold in open space, too.
        let general = BallPredicate::<S, D, true>::scaled(self, wanted.radius, scale);
        if approximate {
            if scale != 1.0 || self.space().period().is_some() {
                self.climb_for_leaf(level, &general, leaf, wanted, unit, close);
            } else {
                self.climb_for_leaf(
                    level,
                    &BallPredicate::<S, D, false>::new(self, wanted.radius),
                    leaf,
                    wanted,
                    unit,
                    close,
                );
            }
        }
        for (primitive, close) in self.span(leaf).zip(close) {
            best.start(wanted);
            if !(approximate && self.settle(&general, close, primitive, best)) {
                best.start(wanted);
                self.search(level, &self.item(primitive), wanted.excluded_for(self.order()[primitive]), best);
            }
            best.finish();
            found(primitive, best);
        }
    }

    /// What distances from a leaf are multiplied by in `S`, and squared distances in `f64` before they are rounded to `f32`: one
    /// of them is 1.
    #[inline(always)]
    fn units(&self, leaf: usize) -> (f64, f64) {
        let whole = self.bounds();
        if S::NARROW && !scale::has_differences(&whole) {
            return (1.0, 1.0);
        }
        let mut unit = scale::scale_of::<S>(scale::extent(&whole), scale::LEAST_EXTENT);
        let own = scale::extent(&self.node(leaf).bounds);
        if own * unit < SMALL {
            // What is near such a leaf is small, too.
            unit = scale::scale_of::<S>(own, scale::LEAST);
        }
        if S::NARROW { (unit, 1.0) } else { (1.0, unit * unit) }
    }

    /// Puts what is close to a primitive in exact order; false if something that was left out could have been as near.
    #[inline(always)]
    fn settle(
        &self,
        general: &BallPredicate<S, D, true>,
        close: &ApproxHeap,
        primitive: usize,
        best: &mut ExactHeap,
    ) -> bool {
        let item = self.item(primitive);
        for position in close.positions() {
            best.offer(self.space().distance2(&item.lo, &self.item(position).lo), self.order()[position]);
        }
        close.holds_all_within(general.limit(best.limit()))
    }

    /// Fills `close` for each primitive of a leaf with one walk, from the leaf upwards.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn climb_for_leaf<L: Isa, const P: bool>(
        &self,
        level: L,
        probe: &BallPredicate<S, D, P>,
        leaf: usize,
        wanted: &Nearest,
        unit: f64,
        close: &mut [ApproxHeap; LEAF],
    ) {
        let own = self.span(leaf);
        let bounds = &self.node(leaf).bounds;
        let mut limits = [S::NEG_INFINITY; LEAF];
        for (i, primitive) in own.clone().enumerate() {
            close[i].start(wanted.k, probe.reach.maybe.into(), unit);
            limits[i] = probe.reach.maybe;
            self.scan_leaf_approx(level, probe, primitive, own.clone(), wanted, &mut close[i], &mut limits[i]);
        }
        let mut farthest = limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));

        let mut siblings = DeferredSiblings::new();
        siblings.descend(self, leaf);
        for sibling in siblings.upwards() {
            let (mut at, end) = (sibling, self.node(sibling).rope as usize);
            while at < end {
                let node = self.node(at);
                if probe.min_distance2(bounds, &node.bounds) > farthest {
                    at = node.rope as usize;
                    continue;
                }
                if self.is_leaf(at) {
                    for i in bits(probe.closer_each(level, &node.bounds, own.clone(), &limits)) {
                        let primitive = own.start + i;
                        self.scan_leaf_approx(
                            level,
                            probe,
                            primitive,
                            self.span(at),
                            wanted,
                            &mut close[i],
                            &mut limits[i],
                        );
                    }
                    farthest = limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));
                    at += 1;
                } else if self.is_degenerate(at) {
                    self.take_copies(probe, own.clone(), at, wanted, close, &mut limits);
                    farthest = limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));
                    at = node.rope as usize;
                } else {
                    at += 1;
                }
            }
        }
    }

    /// Offers the primitives of a node that holds copies of one point, but no more than there are slots: what is left out is no
    /// nearer than what fills them.
    #[cold]
    #[inline(never)]
    fn take_copies<const P: bool>(
        &self,
        probe: &BallPredicate<S, D, P>,
        own: Range<usize>,
        at: usize,
        wanted: &Nearest,
        close: &mut [ApproxHeap; LEAF],
        limits: &mut [S; LEAF],
    ) {
        let span = self.span(at);
        // One may be excluded.
        let span = span.start..span.end.min(span.start + ApproxHeap::MOST + 1);
        for (i, primitive) in own.enumerate() {
            for first in span.clone().step_by(LEAF) {
                let part = first..span.end.min(first + LEAF);
                self.scan_leaf_approx(Baseline, probe, primitive, part, wanted, &mut close[i], &mut limits[i]);
            }
        }
    }

    /// Offers a leaf's primitives to what is close to `primitive`, and lowers its limit.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn scan_leaf_approx<L: Isa, const P: bool>(
        &self,
        level: L,
        probe: &BallPredicate<S, D, P>,
        primitive: usize,
        span: Range<usize>,
        wanted: &Nearest,
        close: &mut ApproxHeap,
        limit: &mut S,
    ) {
        let excluded = wanted.excluded_for(self.order()[primitive]);
        let offer = |position: usize, distance2: S| {
            if Some(self.order()[position]) != excluded {
                close.offer(distance2, position);
            }
        };
        probe.each_closer(level, &self.item(primitive), span, *limit, offer);
        *limit = close.limit::<S>().min(*limit);
    }

    /// Fills `best` for a point that need not be stored.
    #[inline(always)]
    pub(super) fn search<L: Isa>(&self, level: L, of: &Aabb<S, D>, excluded: Option<u32>, best: &mut ExactHeap) {
        // A NaN would compare false to everything, and so be near to everything.
        if self.is_empty() || !of.is_finite() {
            return;
        }
        let whole = self.bounds();
        let scale = if S::NARROW && scale::has_differences(&whole.union(of)) {
            scale::scale_of::<S>(scale::extent(&whole), scale::LEAST_EXTENT)
        } else {
            1.0
        };
        if scale != 1.0 || self.space().period().is_some() {
            let of = self.space().wrap_box(*of);
            self.bottom_up_search(level, &BallPredicate::<S, D, true>::scaled(self, 0.0, scale), &of, excluded, best);
        } else {
            self.bottom_up_search(level, &BallPredicate::<S, D, false>::new(self, 0.0), of, excluded, best);
        }
    }

    #[inline(always)]
    fn bottom_up_search<L: Isa, const P: bool>(
        &self,
        level: L,
        probe: &BallPredicate<S, D, P>,
        of: &Aabb<S, D>,
        excluded: Option<u32>,
        best: &mut ExactHeap,
    ) {
        let mut siblings = DeferredSiblings::new();
        let mut at = 0;
        while !self.is_leaf(at) {
            let (left, right) = (at + 1, self.node(at + 1).rope as usize);
            let left_is_near =
                probe.min_distance2(of, &self.node(left).bounds) <= probe.min_distance2(of, &self.node(right).bounds);
            at = if left_is_near { siblings.pass(right, left) } else { siblings.pass(left, right) };
        }
        let mut limit = probe.limit(best.limit());
        self.take(level, probe, of, at, excluded, best, &mut limit);
        for sibling in siblings.upwards() {
            let (mut at, end) = (sibling, self.node(sibling).rope as usize);
            while at < end {
                let node = self.node(at);
                if probe.min_distance2(of, &node.bounds) > limit {
                    at = node.rope as usize;
                    continue;
                }
                if self.is_leaf(at) {
                    self.take(level, probe, of, at, excluded, best, &mut limit);
                    at += 1;
                } else if self.is_degenerate(at) {
                    // In the order of their indices: once one is refused, all are.
                    let wanted = |&position: &usize| {
                        let index = self.order()[position];
                        Some(index) == excluded || best.offer(probe.distance2(of, position), index)
                    };
                    self.span(at).take_while(wanted).for_each(drop);
                    limit = probe.limit(best.limit());
                    at = node.rope as usize;
                } else {
                    at += 1;
                }
            }
        }
    }

    /// Offers a leaf's primitives, and lowers the limit.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn take<L: Isa, const P: bool>(
        &self,
        level: L,
        probe: &BallPredicate<S, D, P>,
        of: &Aabb<S, D>,
        leaf: usize,
        excluded: Option<u32>,
        best: &mut ExactHeap,
        limit: &mut S,
    ) {
        let span = self.span(leaf);
        let mut changed = false;
        for bit in bits(probe.closer(level, of, span.clone(), *limit)) {
            let position = span.start + bit;
            let index = self.order()[position];
            if Some(index) != excluded {
                changed |= best.offer(probe.distance2(of, position), index);
            }
        }
        if changed {
            *limit = probe.limit(best.limit());
        }
    }
}
