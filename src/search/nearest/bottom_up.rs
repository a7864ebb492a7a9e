//! The bottom-up search for nearest neighbours, from a leaf upwards.

use std::ops::Range;

use crate::bvh::traverse::{DeferredSiblings, Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, FilteredRadius, Scalar, scale};
use crate::search::nearest::approx_heap::ApproxHeap;
use crate::search::nearest::top_down::exact_search;
use crate::search::nearest::{ExactHeap, Nearest};
use crate::search::radius_test::RadiusTest;
use crate::simd::{FALLBACK, Isa};

/// The extent, in the unit of the point cloud, below which a neighbourhood gets its own unit.
const SMALL: f64 = 1.0 / (1u64 << -scale::MIN_EXPONENT) as f64;

/// Scratch memory of a search for a leaf, created once for many leaves.
pub(super) struct LeafScratch {
    close: [ApproxHeap; LEAF],
    best: ExactHeap,
}

impl LeafScratch {
    pub fn new() -> Self {
        Self { close: [const { ApproxHeap::new() }; LEAF], best: ExactHeap::new() }
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `found` with each primitive of a leaf and its nearest neighbours.
    #[inline(always)]
    pub(super) fn nearest_of_leaf<I: Isa>(
        &self,
        isa: I,
        leaf: usize,
        options: &Nearest,
        scratch: &mut LeafScratch,
        found: &mut dyn FnMut(usize, &ExactHeap),
    ) {
        let LeafScratch { close, best } = scratch;
        let approximate = self.holds_points() && ApproxHeap::holds(options.k);
        let (scale, unit) =
            if approximate { self.leaf_units(leaf, ApproxHeap::slots_for(options.k)) } else { (1.0, 1.0) };
        // Its error bounds also hold in open space.
        let general = RadiusTest::<S, D, true>::scaled(self, options.radius, scale);
        if approximate {
            #[allow(clippy::if_same_then_else, reason = "what the first leaves out is not compiled")]
            if const { I::OUTLINED } {
                self.approximate_leaf(isa, &general, leaf, options, unit, close);
            } else if scale != 1.0 || self.space().period().is_some() {
                self.approximate_leaf(isa, &general, leaf, options, unit, close);
            } else {
                self.approximate_leaf(
                    isa,
                    &RadiusTest::<S, D, false>::new(self, options.radius),
                    leaf,
                    options,
                    unit,
                    close,
                );
            }
        }
        for (primitive, close) in self.span(leaf).zip(close) {
            best.reset(options);
            if !(approximate && self.verify(&general, close, primitive, best)) {
                best.reset(options);
                exact_search(self, &self.item(primitive), options.excluded_for(self.order()[primitive]), best);
            }
            best.sort();
            found(primitive, best);
        }
    }

    /// The factors of distances from a leaf to its `k` nearest points: of distances in `S`, and of squared
    /// distances in `f64` before they are rounded to `f32`. One of the two is 1.
    #[inline(always)]
    pub(crate) fn leaf_units(&self, leaf: usize, k: usize) -> (f64, f64) {
        let whole = self.bounds();
        if S::IS_F32 && !scale::has_differences(&whole) {
            return (1.0, 1.0);
        }
        let mut unit = FilteredRadius::<S, D>::unit(scale::extent(&whole), self.space(), scale::MIN_EXTENT_EXPONENT);
        if scale::extent(&self.node(leaf).bounds) * unit < SMALL {
            let around = self.extent_around(leaf, k);
            if around * unit < SMALL {
                unit = FilteredRadius::<S, D>::unit(around, self.space(), scale::MIN_EXPONENT);
            }
        }
        if S::IS_F32 { (unit, 1.0) } else { (1.0, unit * unit) }
    }

    /// The extent of the smallest node around a leaf that holds more than `k` points, not all of them copies of
    /// one point.
    fn extent_around(&self, leaf: usize, k: usize) -> f64 {
        let (mut at, mut extent) = (0, 0.0);
        loop {
            let own = scale::extent(&self.node(at).bounds);
            if own == 0.0 || self.span(at).len() <= k {
                return extent;
            }
            extent = own;
            if at == leaf {
                return extent;
            }
            let right = self.node(at + 1).rope as usize;
            at = if leaf < right { at + 1 } else { right };
        }
    }

    /// Sorts the candidates of a primitive by exact distance. Returns `false` if a dropped point may be as near.
    #[inline(always)]
    fn verify(
        &self,
        general: &RadiusTest<S, D, true>,
        close: &ApproxHeap,
        primitive: usize,
        best: &mut ExactHeap,
    ) -> bool {
        let item = self.item(primitive);
        for position in close.positions() {
            best.push(self.space().distance2(&item.lo, &self.item(position).lo), self.order()[position]);
        }
        close.holds_all_within(general.limit(best.limit()))
    }

    /// Fills `close` for each primitive of a leaf with one bottom-up walk.
    #[inline(always)]
    fn approximate_leaf<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        leaf: usize,
        options: &Nearest,
        unit: f64,
        close: &mut [ApproxHeap; LEAF],
    ) {
        let bounds = &self.node(leaf).bounds;
        let here = self.blocks(&self.span(leaf));
        let mut of = LeafSearch { own: self.span(leaf), options, close, limits: [S::NEG_INFINITY; LEAF] };
        for i in 0..of.own.len() {
            of.close[i].reset(options.k, test.thresholds.possible_limit.into(), unit);
            of.limits[i] = test.thresholds.possible_limit;
        }
        let extent = scale::extent(bounds);
        let mut farthest = of.farthest();
        let mut siblings = DeferredSiblings::new();
        siblings.descend(self, leaf);
        for nodes in std::iter::once(leaf..leaf + 1).chain(siblings.subtrees(self)) {
            self.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if test.min_distance2(bounds, &node.bounds) > farthest {
                        return Step::Skip;
                    }
                    if self.is_leaf(at) {
                        let there = self.blocks(&self.span(at));
                        for i in bits(test.within_own_limits(isa, &node.bounds, &here, &of.limits)) {
                            self.scan_leaf(isa, test, &there, &mut of, i);
                        }
                    } else if self.is_degenerate(at) {
                        self.scan_copies(test, at, &mut of);
                        farthest = of.farthest();
                        return Step::Skip;
                    } else if test.is_far_from_each(isa, &node.bounds, extent, &here, &of.limits) {
                        return Step::Skip;
                    } else {
                        return Step::Enter;
                    }
                    farthest = of.farthest();
                    Step::Enter
                },
            );
        }
    }

    /// Pushes the primitives of a node of copies of one point, up to the number of slots. The omitted copies are no
    /// nearer than those that fill the slots.
    #[cold]
    #[inline(never)]
    fn scan_copies<const GENERAL: bool>(
        &self,
        test: &RadiusTest<S, D, GENERAL>,
        at: usize,
        of: &mut LeafSearch<'_, S>,
    ) {
        let span = self.span(at);
        // One more, because one may be excluded.
        let span = span.start..span.end.min(span.start + ApproxHeap::MOST + 1);
        for first in span.clone().step_by(LEAF) {
            let copies = self.blocks(&(first..span.end.min(first + LEAF)));
            for i in 0..of.own.len() {
                self.scan_leaf(FALLBACK, test, &copies, of, i);
            }
        }
    }

    /// Pushes the primitives of a leaf to the candidates of the `i`-th primitive, and lowers its limit.
    #[inline(always)]
    fn scan_leaf<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        there: &Blocks<'_, S, D>,
        of: &mut LeafSearch<'_, S>,
        i: usize,
    ) {
        if const { I::OUTLINED } {
            self.scan_leaf_called(isa, test, there, of, i);
        } else {
            self.scan_leaf_inlined(isa, test, there, of, i);
        }
    }

    #[inline(never)]
    fn scan_leaf_called<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        there: &Blocks<'_, S, D>,
        of: &mut LeafSearch<'_, S>,
        i: usize,
    ) {
        self.scan_leaf_inlined(isa, test, there, of, i);
    }

    #[inline(always)]
    fn scan_leaf_inlined<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        there: &Blocks<'_, S, D>,
        of: &mut LeafSearch<'_, S>,
        i: usize,
    ) {
        let primitive = of.own.start + i;
        let excluded = of.options.excluded_for(self.order()[primitive]);
        let (close, limit) = (&mut of.close[i], &mut of.limits[i]);
        let push = |position: usize, distance2: S| {
            if Some(self.order()[position]) != excluded {
                close.push(distance2, position);
            }
        };
        test.for_each_within_limit(isa, &self.item(primitive), there, *limit, push);
        *limit = close.limit::<S>().min(*limit);
    }
}

/// The primitives of a leaf with the candidates and the limit of each.
struct LeafSearch<'a, S> {
    own: Range<usize>,
    options: &'a Nearest,
    close: &'a mut [ApproxHeap; LEAF],
    limits: [S; LEAF],
}

impl<S: Scalar> LeafSearch<'_, S> {
    #[inline(always)]
    fn farthest(&self) -> S {
        self.limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit))
    }
}

/// The receiver of a bottom-up search.
pub(crate) trait NearestVisitor {
    /// The squared distance beyond which no point is wanted; negative if no point is wanted at all.
    fn limit(&self) -> f64;
    /// Returns `true` if no point in the subtree of a node is wanted.
    fn skips(&self, node: usize) -> bool;
    /// Receives a position and its squared distance. Returns `false` if neither it nor a copy of it with a higher
    /// index is wanted.
    fn push(&mut self, position: usize, distance2: f64) -> bool;
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Walks a leaf and the subtrees beside the path to it, within the visitor's limit.
    #[inline(always)]
    pub(crate) fn search_upwards<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        of: &Aabb<S, D>,
        leaf: usize,
        siblings: &DeferredSiblings,
        visitor: &mut impl NearestVisitor,
    ) {
        let mut limit = test.limit(visitor.limit());
        // The leaf is walked first, as the smallest subtree.
        for nodes in std::iter::once(leaf..leaf + 1).chain(siblings.subtrees(self)) {
            self.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if test.min_distance2(of, &node.bounds) > limit || visitor.skips(at) {
                        return Step::Skip;
                    }
                    let span = self.span(at);
                    let mut changed = false;
                    let mut push = |position: usize| {
                        let taken = visitor.push(position, test.distance2(of, position));
                        changed |= taken;
                        taken
                    };
                    if self.is_leaf(at) {
                        for bit in bits(test.within_limit(isa, of, &self.blocks(&span), limit)) {
                            push(span.start + bit);
                        }
                    } else if self.is_degenerate(at) {
                        // Copies are in the order of their indices, so once one is refused, all later ones are.
                        span.take_while(|&position| push(position)).for_each(drop);
                        limit = test.limit(visitor.limit());
                        return Step::Skip;
                    }
                    if changed {
                        limit = test.limit(visitor.limit());
                    }
                    Step::Enter
                },
            );
        }
    }
}
