//! The search for the least edges that no list tells.
//!
//! In: components, and what their least edges weigh at most. Out: each point that may have its component's least edge knows it. A
//! leaf's points search at once ([`Components`]); those that are left with ties search alone, in `f64`.

use super::boruvka::{Least, NODES, NONE, Rounds};
use super::leaf_search::{Components, LeafSearch};
use crate::bvh::traverse::{DeferredSiblings, bits};
use crate::geometry::Scalar;
use crate::parallel::{Scratch, for_tasks};
use crate::search::ball_predicate::BallPredicate;
use crate::search::nearest::NearestVisitor;
use crate::simd::{Isa, dispatch};

/// `with_either!(I, balls, |ball| body)`: the body for the open predicate, or for the general one where any point needs it, and
/// always for an instruction set that is outlined, where size counts more than speed.
macro_rules! with_either {
    ($isa:ident, $balls:expr, |$ball:ident| $body:expr) => {{
        if const { $isa::OUTLINED } || $balls.has_general() {
            let $ball = &$balls.general;
            $body
        } else if const { !$isa::OUTLINED } {
            let $ball = &$balls.open;
            $body
        }
    }};
}
pub(super) use with_either;

impl<S: Scalar, const D: usize> Rounds<'_, S, D> {
    pub(super) fn components(&self) -> Components<'_, S> {
        Components {
            component: &self.component,
            uniform: &self.uniform,
            core2: &self.core2_in_unit,
            least_core2: &self.least_core2,
            shares: self.shares,
        }
    }

    /// Searches for the least edges of the points that may have their component's least.
    pub(super) fn search(&self) {
        let scratch = Scratch::new(LeafSearch::new);
        for_tasks(self.tree.end(), NODES, &|nodes| {
            scratch.with(|of| {
                dispatch!(isa => for leaf in nodes {
                    if self.tree.is_leaf(leaf) {
                        self.search_leaf(isa, leaf, of);
                    }
                });
            });
        });
    }

    #[inline(always)]
    fn search_leaf<I: Isa>(&self, isa: I, leaf: usize, of: &mut LeafSearch<S>) {
        let span = self.tree.span(leaf);
        of.reset();
        for at in span.clone() {
            let known = self.least(at);
            if known.end == NONE && known.weight2 <= self.bound2(self.component[at]) {
                of.active |= 1 << (at - span.start);
            }
        }
        if of.active == 0 {
            return;
        }
        let mut siblings = DeferredSiblings::new();
        siblings.descend(self.tree, leaf);
        with_either!(I, self.balls, |ball| self.search_from(isa, ball, leaf, &siblings, of));
    }

    /// Searches from a leaf: for all that search at once, and again for those that are left with ties.
    #[inline(always)]
    fn search_from<I: Isa, const P: bool>(
        &self,
        isa: I,
        ball: &BallPredicate<'_, S, D, P>,
        leaf: usize,
        siblings: &DeferredSiblings,
        of: &mut LeafSearch<S>,
    ) {
        let start = self.tree.span(leaf).start;
        for i in bits(of.active) {
            of.limits[i] = ball.limit(self.bound2(self.component[start + i]));
        }
        let (mut left, mut nothing) = (of.active, 0);
        if self.in_leaves {
            self.components().search::<I, D, P, 1>(isa, self.tree, ball, leaf, siblings, of);
            left = of.met_copies;
            for i in bits(of.active & !of.met_copies) {
                let (at, found) = (start + i, &of.found[i]);
                if found.weight2[0] > of.limits[i] {
                    nothing |= 1 << i;
                    continue;
                }
                if found.weight2[0] == S::INFINITY {
                    left |= 1 << i;
                    continue;
                }
                let least = Least { weight2: self.weight2(at, found.position[0] as usize), end: found.position[0] };
                let limit = ball.limit(least.weight2);
                if found.next <= limit {
                    left |= 1 << i;
                } else if limit <= of.limits[i] {
                    self.keep(at, least);
                } else {
                    nothing |= 1 << i;
                }
            }
        }
        for at in bits(left).map(|i| start + i) {
            let own = self.component[at];
            let weight2 = self.bound2(own);
            if self.least(at).weight2 > weight2 {
                continue;
            }
            let mut visitor = LeastEdge { rounds: self, own, core2: self.core2(at), weight2, index: NONE, end: NONE };
            self.tree.search_upwards(isa, ball, &self.tree.item(at), leaf, siblings, &mut visitor);
            self.keep(at, Least { weight2: visitor.weight2, end: visitor.end });
        }
        // What is beyond a limit is beyond what the component has, now that all have told.
        for at in bits(nothing).map(|i| start + i) {
            self.set(at, Least { weight2: self.bound2(self.component[at]), end: NONE });
        }
    }

    /// Remembers what a point found.
    fn keep(&self, at: usize, least: Least) {
        if least.end != NONE {
            self.lower(self.component[at], least.weight2);
        }
        self.set(at, least);
    }
}

/// Looks for the least edge of a point to another component.
struct LeastEdge<'r, 'a, S: Scalar, const D: usize> {
    rounds: &'r Rounds<'a, S, D>,
    own: u32,
    core2: f64,
    /// The least squared weight so far, and the index and position of its end.
    weight2: f64,
    index: u32,
    end: u32,
}

impl<S: Scalar, const D: usize> NearestVisitor for LeastEdge<'_, '_, S, D> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.weight2
    }

    #[inline(always)]
    fn skips(&self, node: usize) -> bool {
        self.rounds.uniform[node] == self.own
    }

    #[inline(always)]
    fn push(&mut self, position: usize, distance2: f64) -> bool {
        if self.rounds.component[position] == self.own {
            return true;
        }
        let weight2 = distance2.max(self.core2).max(self.rounds.core2(position));
        let index = self.rounds.tree.order()[position];
        // Of edges from one point with one weight, that to the lowest index comes first.
        if (weight2, index) >= (self.weight2, self.index) {
            return false;
        }
        (self.weight2, self.index, self.end) = (weight2, index, position as u32);
        true
    }
}
