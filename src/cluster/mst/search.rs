//! The search for the least edges that no list tells.
//!
//! In: components, and what their least edges weigh at most. Out: each point that may have its component's least edge knows it. A
//! leaf's points search at once ([`Components`]); those that are left with ties search alone, in `f64`. What searches much less far than
//! the cloud is large, or than the others of its leaf, has a unit of its own (`geometry::scale`).

use super::boruvka::{Least, NODES, NONE, Rounds};
use super::leaf_search::{Components, Cores, LeafSearch};
use crate::bvh::LEAF;
use crate::bvh::traverse::{DeferredSiblings, bits};
use crate::geometry::{FilteredRadius, Scalar, scale};
use crate::parallel::{Scratch, for_tasks};
use crate::search::ball_predicate::BallPredicate;
use crate::search::nearest::NearestVisitor;
use crate::simd::{Isa, dispatch};

/// `with_either!(I, balls, unit, |ball| body)`: the body for the open predicate, or for the general one where any point or the unit
/// needs it, and always for an instruction set that is outlined, where size counts more than speed.
macro_rules! with_either {
    ($isa:ident, $balls:expr, $unit:expr, |$ball:ident| $body:expr) => {{
        if const { $isa::OUTLINED } || $unit != 1.0 || $balls.has_general() {
            let another;
            let $ball = if $unit == $balls.general.unit() {
                &$balls.general
            } else {
                another = $balls.general.in_another($unit);
                &another
            };
            $body
        } else if const { !$isa::OUTLINED } {
            let $ball = &$balls.open;
            $body
        }
    }};
}
pub(super) use with_either;

impl<S: Scalar, const D: usize> Rounds<'_, S, D> {
    /// Components, with core distances in a unit.
    pub(super) fn components(&self, unit: f64) -> Components<'_, S> {
        let cores = if self.core2.is_empty() {
            Cores::Zero
        } else if unit == self.balls.general.unit() {
            Cores::InUnit { core2: &self.core2_in_unit, least: &self.least_core2 }
        } else {
            Cores::Exact { core2: &self.core2, by: unit * unit }
        };
        Components { component: &self.component, uniform: &self.uniform, cores, shares: self.shares }
    }

    /// The unit of a search within a squared distance: that of the cloud, unless its squares would blur there.
    #[inline(always)]
    fn unit_within(&self, limit2: f64) -> f64 {
        let unit = self.balls.general.unit();
        if !self.has_units || limit2 * unit * unit >= scale::LEAST_SQUARE {
            return unit;
        }
        // Where copies are looked for, what is near is to be told from them.
        let length = limit2.sqrt().max(f64::MIN_POSITIVE);
        FilteredRadius::<S, D>::unit(length, self.tree.space(), scale::LEAST)
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
        // Others may lower the bounds meanwhile.
        let (mut searching, mut bounds2) = (0, [0.0; LEAF]);
        for (i, at) in span.clone().enumerate() {
            let (known, bound2) = (self.least(at), self.bound2_at(at));
            if known.end == NONE && known.weight2 <= bound2 {
                searching |= 1 << i;
                bounds2[i] = bound2;
            }
        }
        if searching == 0 {
            return;
        }
        let mut siblings = DeferredSiblings::new();
        siblings.descend(self.tree, leaf);
        let (mut left, mut nothing) = (searching, 0);
        if self.in_leaves {
            let unit = self.unit_within(bounds2.iter().fold(0.0, |farthest2, &bound2| bound2.max(farthest2)));
            of.reset();
            of.active =
                bits(searching).filter(|&i| self.unit_within(bounds2[i]) == unit).fold(0, |active, i| active | 1 << i);
            with_either!(I, self.balls, unit, |ball| {
                nothing = self.search_together(isa, ball, leaf, &siblings, of);
            });
            left = searching & !of.active;
        }
        for at in bits(left).map(|i| span.start + i) {
            let weight2 = self.bound2_at(at);
            if self.least(at).weight2 <= weight2 {
                let unit = self.unit_within(weight2);
                with_either!(I, self.balls, unit, |ball| self.search_alone(isa, ball, leaf, &siblings, at, weight2));
            }
        }
        // What is beyond a limit is beyond what the component has, now that all have told.
        for at in bits(nothing).map(|i| span.start + i) {
            self.set(at, Least { weight2: self.bound2_at(at), end: NONE });
        }
    }

    fn bound2_at(&self, at: usize) -> f64 {
        self.bound2(self.component[at])
    }

    /// Searches for the active points of a leaf at once. Those that are left with ties are no longer active then; those that have
    /// nothing within their limit are returned.
    #[inline(always)]
    fn search_together<I: Isa, const P: bool>(
        &self,
        isa: I,
        ball: &BallPredicate<'_, S, D, P>,
        leaf: usize,
        siblings: &DeferredSiblings,
        of: &mut LeafSearch<S>,
    ) -> u32 {
        let start = self.tree.span(leaf).start;
        for i in bits(of.active) {
            of.limits[i] = ball.limit(self.bound2_at(start + i));
        }
        self.components(ball.unit()).search::<I, D, P, 1>(isa, self.tree, ball, leaf, siblings, of);
        let (mut left, mut nothing) = (of.met_copies, 0);
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
        of.active &= !left;
        nothing
    }

    /// Searches for a point, in `f64`, for an edge of a squared weight of at most `weight2`.
    #[inline(always)]
    fn search_alone<I: Isa, const P: bool>(
        &self,
        isa: I,
        ball: &BallPredicate<'_, S, D, P>,
        leaf: usize,
        siblings: &DeferredSiblings,
        at: usize,
        weight2: f64,
    ) {
        let own = self.component[at];
        let mut visitor = LeastEdge { rounds: self, own, core2: self.core2(at), weight2, index: NONE, end: NONE };
        self.tree.search_upwards(isa, ball, &self.tree.item(at), leaf, siblings, &mut visitor);
        self.keep(at, Least { weight2: visitor.weight2, end: visitor.end });
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
