//! Lists of nearest neighbours, which give most edges of the first rounds.
//!
//! In: a tree, before the first round. Out: for each position a few neighbours, nearest first, and a lower bound on
//! the distance of all others. For mutual reachability, also the core distances. A list gives a point's lightest edge
//! as long as one listed neighbour is in another component.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::boruvka::{LightestEdge, NODES, NONE, Rounds};
use super::leaf_search::{KEPT, LeafSearch};
use super::search::with_either;
use crate::bvh::traverse::{DeferredSiblings, bits, low_bits};
use crate::geometry::Scalar;
use crate::memory::{collected, zeroed};
use crate::parallel::{Scratch, atomics, for_tasks};
use crate::search::nearest::{Nearest, for_each_stored};
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, LANES, dispatch};

/// The maximum number of listed neighbours per point for mutual reachability. There they are known anyway, and this
/// many suffice for nearly all searches of the first rounds.
const MOST_LISTED: usize = 16;

impl<S: Scalar, const D: usize> Rounds<'_, S, D> {
    /// Lists a few nearest neighbours of each point.
    pub(super) fn list_nearest(&mut self) {
        let n = self.tree.len();
        self.listed_each = KEPT;
        self.neighbor_lists = atomics(n * KEPT, NONE);
        self.unlisted_min2 = zeroed(n);
        let scratch = Scratch::new(LeafSearch::new);
        for_tasks(self.tree.end(), NODES, &|nodes| {
            scratch.with(|of| {
                dispatch!(isa => for leaf in nodes {
                    if self.tree.is_leaf(leaf) {
                        self.list_of_leaf(isa, leaf, of);
                    }
                });
            });
        });
    }

    #[inline(always)]
    fn list_of_leaf<I: Isa>(&self, isa: I, leaf: usize, of: &mut LeafSearch<S>) {
        let tree = self.tree;
        let span = tree.span(leaf);
        of.reset();
        of.active = low_bits(span.len());
        let mut siblings = DeferredSiblings::new();
        siblings.descend(tree, leaf);
        let unit = tree.leaf_units(leaf, KEPT).0;
        with_either!(I, self.tests, unit, |test| {
            for at in span.clone() {
                of.limits[at - span.start] = test.limit(test.at_most(self.farthest_beside::<I, _>(test, at)));
            }
            self.components(unit).search::<_, D, _, KEPT>(isa, tree, test, leaf, &siblings, of);
            for i in bits(of.active & !of.met_copies) {
                let (at, found) = (span.start + i, &of.found[i]);
                self.list(at, &found.position);
                // Points that were too far to be tested are not nearer than the limit.
                let next = found.next.min(of.limits[i]);
                self.unlisted_min2[at].store(test.at_least(next).to_bits(), Relaxed);
            }
        });
    }

    /// The maximum squared distance to [`KEPT`] neighbours in tree order: an upper bound for the distances in the list.
    #[inline(always)]
    fn farthest_beside<I: Isa, const GENERAL: bool>(&self, test: &RadiusTest<'_, S, D, GENERAL>, at: usize) -> S {
        let n = self.tree.len();
        if n <= KEPT {
            return S::INFINITY;
        }
        let first = at.saturating_sub(KEPT / 2).min(n - KEPT - 1);
        let beside = self.tree.blocks(&(first..first + KEPT + 1));
        let lanes = test.distances2_outlined::<I>(&self.tree.item(at), &beside, 0, true);
        lanes[..KEPT + 1].iter().fold(S::ZERO, |farthest, &distance2| farthest.max(distance2))
    }

    /// Stores a list of positions, sorted by distance, then by index.
    fn list(&self, at: usize, positions: &[u32; KEPT]) {
        let item = self.tree.item(at);
        let mut nearest = [(f64::INFINITY, NONE, NONE); KEPT];
        for (slot, &other) in nearest.iter_mut().zip(positions).filter(|&(_, &other)| other != NONE) {
            *slot = (self.distance2(&item, other as usize), self.tree.order()[other as usize], other);
        }
        // Insertion sort: the positions are nearly sorted.
        for last in 1..KEPT {
            for at in (1..=last).rev() {
                let [before, own] = [nearest[at - 1], nearest[at]];
                if before.0 < own.0 || (before.0 == own.0 && before.1 < own.1) {
                    break;
                }
                nearest.swap(at - 1, at);
            }
        }
        for (slot, nearest) in self.neighbor_lists[at * KEPT..].iter().zip(nearest) {
            slot.store(nearest.2, Relaxed);
        }
    }

    /// Computes core distances and lists nearest neighbours on the way: those that count, and one more to detect ties.
    pub(super) fn list_samples(&mut self, min_samples: usize) {
        let n = self.tree.len();
        let wanted = min_samples.min(n - 1);
        self.listed_each = wanted.min(MOST_LISTED);
        self.neighbor_lists = atomics(n * self.listed_each, NONE);
        self.unlisted_min2 = zeroed(n);
        let core2: Vec<AtomicU64> = zeroed(n);
        for_each_stored(self.tree, &Nearest::new(wanted).excluding_self(), &|at, best| {
            for (rank, neighbor) in best.neighbors().enumerate() {
                // The point itself is the first sample.
                if rank + 2 == min_samples {
                    core2[at].store(neighbor.distance2.to_bits(), Relaxed);
                }
                if rank < self.listed_each {
                    let position = self.position[neighbor.index as usize];
                    self.neighbor_lists[at * self.listed_each + rank].store(position, Relaxed);
                }
                if rank + 1 == self.listed_each {
                    self.unlisted_min2[at].store(neighbor.distance2.to_bits(), Relaxed);
                }
            }
        });
        let core2 = core2.into_iter().map(|bits| self.alpha2 * f64::from_bits(bits.into_inner()));
        self.core2 = collected(core2.chain(std::iter::repeat_n(0.0, LANES)));
        self.core2_in_unit = collected(self.core2.iter().map(|&core2| self.tests.general.in_unit(core2)));
        let least = |leaf| self.core2_in_unit[self.tree.span(leaf)].iter().fold(S::INFINITY, |a, &b| a.min(b));
        self.least_core2 = self.tree.reduce(least, |_, [left, right]| left.min(*right));
    }

    /// The lightest edge according to the list; a lower bound if the list is not sufficient.
    pub(super) fn look_up(&self, at: usize, own: u32, known: LightestEdge) -> LightestEdge {
        let unlisted_min2 = f64::from_bits(self.unlisted_min2[at].load(Relaxed));
        if known.weight2 > unlisted_min2 {
            return known;
        }
        let mut least = (f64::INFINITY, NONE, NONE);
        let item = self.tree.item(at);
        for other in &self.neighbor_lists[at * self.listed_each..][..self.listed_each] {
            let other = other.load(Relaxed);
            if other == NONE || self.component[other as usize] == own {
                continue;
            }
            let distance2 = self.distance2(&item, other as usize);
            if self.core2.is_empty() {
                // Nearest neighbours come first.
                least = (distance2, 0, other);
                break;
            }
            if distance2 > least.0 {
                break;
            }
            let weight2 = distance2.max(self.core2[at]).max(self.core2[other as usize]);
            let index = self.tree.order()[other as usize];
            if (weight2, index) < (least.0, least.1) {
                least = (weight2, index, other);
            }
        }
        let (weight2, _, end) = least;
        // Unlisted points are not nearer than the last listed one. If all points are listed, there are no others.
        let others2 = unlisted_min2.max(self.core2(at));
        if end != NONE {
            self.tighten_bound2(own, weight2);
            if weight2 < others2 || self.listed_each >= self.tree.len() - 1 {
                return LightestEdge { weight2, end };
            }
        }
        LightestEdge { weight2: known.weight2.max(others2.min(weight2)), end: NONE }
    }
}
