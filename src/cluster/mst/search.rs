//! The search for lightest edges that the lists do not give.
//!
//! In: components, and upper bounds on the weights of their lightest edges. Out: the lightest edge of each point that
//! may have its component's lightest edge. The points of a leaf search together ([`Components`]); those with ties then
//! search alone, in `f64`. If the radius of a search is much smaller than the point set, or than
//! the radii of other points of its leaf, the search has its own unit (`geometry::scale`).

use super::boruvka::{LightestEdge, NODES, NONE, Rounds};
use super::leaf_search::{Components, Cores, LeafSearch};
use crate::bvh::LEAF;
use crate::bvh::traverse::{DeferredSiblings, bits};
use crate::geometry::{FilteredRadius, Scalar, scale};
use crate::parallel::{Scratch, for_tasks};
use crate::search::nearest::NearestVisitor;
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, dispatch};

/// `with_either!(I, tests, unit, |test| body)`: runs the body with the open test, or with the general one if any
/// point or the unit needs it. For an outlined instruction set, where code size matters more than speed, always uses
/// the general one.
macro_rules! with_either {
    ($isa:ident, $tests:expr, $unit:expr, |$test:ident| $body:expr) => {{
        if const { $isa::OUTLINED } || $unit != 1.0 || $tests.has_general() {
            let another;
            let $test = if $unit == $tests.general.unit() {
                &$tests.general
            } else {
                another = $tests.general.with_unit($unit);
                &another
            };
            $body
        } else if const { !$isa::OUTLINED } {
            let $test = &$tests.open;
            $body
        }
    }};
}
pub(super) use with_either;

impl<S: Scalar, const D: usize> Rounds<'_, S, D> {
    /// The components, with core distances in the given unit.
    pub(super) fn components(&self, unit: f64) -> Components<'_, S> {
        let cores = if self.core2.is_empty() {
            Cores::Zero
        } else if unit == self.tests.general.unit() {
            Cores::InUnit { core2: &self.core2_in_unit, least: &self.least_core2 }
        } else {
            Cores::Exact { core2: &self.core2, by: unit * unit }
        };
        Components {
            component: &self.component,
            uniform: &self.uniform,
            cores,
            has_merged_components: self.has_merged_components,
        }
    }

    /// The unit of a search within a squared distance: that of the point set, unless squares would lose precision in
    /// it.
    #[inline(always)]
    fn unit_within(&self, limit2: f64) -> f64 {
        let unit = self.tests.general.unit();
        if !self.may_rescale || limit2 * unit * unit >= scale::MIN_SQUARE {
            return unit;
        }
        // If copies are searched for, points near them must remain distinguishable.
        let length = limit2.sqrt().max(f64::MIN_POSITIVE);
        FilteredRadius::<S, D>::unit(length, self.tree.space(), scale::MIN_EXPONENT)
    }

    /// Searches for the lightest edges of the points that may have their component's lightest edge.
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
        // Bounds are read once, because other threads may lower them in the meantime.
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
        if self.searches_leaves {
            let unit = self.unit_within(bounds2.iter().fold(0.0, |farthest2, &bound2| bound2.max(farthest2)));
            of.reset();
            of.active =
                bits(searching).filter(|&i| self.unit_within(bounds2[i]) == unit).fold(0, |active, i| active | 1 << i);
            with_either!(I, self.tests, unit, |test| {
                nothing = self.search_together(isa, test, leaf, &siblings, of);
            });
            left = searching & !of.active;
        }
        for at in bits(left).map(|i| span.start + i) {
            let weight2 = self.bound2_at(at);
            if self.least(at).weight2 <= weight2 {
                let unit = self.unit_within(weight2);
                with_either!(I, self.tests, unit, |test| self.search_alone(isa, test, leaf, &siblings, at, weight2));
            }
        }
        // These points have no edge within their limit, and bounds never rise: the current bound is a lower bound.
        for at in bits(nothing).map(|i| span.start + i) {
            self.set(at, LightestEdge { weight2: self.bound2_at(at), end: NONE });
        }
    }

    fn bound2_at(&self, at: usize) -> f64 {
        self.bound2(self.component[at])
    }

    /// Searches for all active points of a leaf together. Deactivates points with ties, and returns a mask of points
    /// without an edge within their limit.
    #[inline(always)]
    fn search_together<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        leaf: usize,
        siblings: &DeferredSiblings,
        of: &mut LeafSearch<S>,
    ) -> u32 {
        let start = self.tree.span(leaf).start;
        for i in bits(of.active) {
            of.limits[i] = test.limit(self.bound2_at(start + i));
        }
        self.components(test.unit()).search::<I, D, GENERAL, 1>(isa, self.tree, test, leaf, siblings, of);
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
            let least = LightestEdge { weight2: self.weight2(at, found.position[0] as usize), end: found.position[0] };
            let limit = test.limit(least.weight2);
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

    /// Searches in `f64` for the lightest edge of one point with a squared weight of at most `weight2`.
    #[inline(always)]
    fn search_alone<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        leaf: usize,
        siblings: &DeferredSiblings,
        at: usize,
        weight2: f64,
    ) {
        let own = self.component[at];
        let mut visitor =
            LightestEdgeVisitor { rounds: self, own, core2: self.core2(at), weight2, index: NONE, end: NONE };
        self.tree.search_upwards(isa, test, &self.tree.item(at), leaf, siblings, &mut visitor);
        self.keep(at, LightestEdge { weight2: visitor.weight2, end: visitor.end });
    }

    /// Stores the lightest edge found for a point.
    fn keep(&self, at: usize, least: LightestEdge) {
        if least.end != NONE {
            self.tighten_bound2(self.component[at], least.weight2);
        }
        self.set(at, least);
    }
}

/// A visitor that finds the lightest edge from a point to another component.
struct LightestEdgeVisitor<'r, 'a, S: Scalar, const D: usize> {
    rounds: &'r Rounds<'a, S, D>,
    own: u32,
    core2: f64,
    /// The smallest squared weight so far, and the index and position of the edge's other end.
    weight2: f64,
    index: u32,
    end: u32,
}

impl<S: Scalar, const D: usize> NearestVisitor for LightestEdgeVisitor<'_, '_, S, D> {
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
        // If edges of one point have equal weights, the one to the lowest index comes first.
        if (weight2, index) >= (self.weight2, self.index) {
            return false;
        }
        (self.weight2, self.index, self.end) = (weight2, index, position as u32);
        true
    }
}
