//! Boruvka's rounds: each component finds its least edge to another, and all of these join.
//!
//! In: a tree. Out: the edges. A point keeps the least edge to another component that it found, which stays its least while the other
//! end is in another component; or a bound below which it has none. So most points search once or twice in all rounds: first in the
//! list of their nearest, then bottom-up, past subtrees of their own component, within the least edge that their component has
//! found so far. Cost: some 90 bytes a point, up to 50 more by mutual reachability. Source: Prokopenko, Sao and Lebrun-Grandié 2022
//! (single-tree Boruvka).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::bvh::traverse::DeferredSiblings;
use crate::cluster::mst::Edge;
use crate::cluster::union_find::UnionFind;
use crate::error::{Kind, Result};
use crate::geometry::{Aabb, Scalar};
use crate::parallel::{atomics, fill, for_tasks, list_tasks, map, sort};
use crate::phases::mark;
use crate::search::ball_predicate::BallPredicates;
use crate::search::nearest::{Nearest, NearestVisitor, for_each_stored};
use crate::simd::{Isa, dispatch};

/// Positions, and nodes, per parallel task.
const TASK: usize = 1 << 12;
const NODES: usize = 1 << 8;

/// Nearest neighbours that are listed for each point: what the first rounds need. By mutual reachability more help, up to a number.
const LISTED: usize = 5;
const MOST_LISTED: usize = 16;

/// No position, and no component.
const NONE: u32 = u32::MAX;

/// The edges of the minimum spanning tree, in order.
///
/// Errors: a component without an edge to another, which no input has.
pub(super) fn edges<S: Scalar, const D: usize>(tree: &Bvh<S, D>, min_samples: usize) -> Result<Vec<Edge>> {
    if tree.len() < 2 {
        return Ok(vec![]);
    }
    let mut rounds = Rounds::new(tree, min_samples);
    mark("nearest");
    let mut found = Vec::with_capacity(tree.len() - 1);
    while found.len() < tree.len() - 1 {
        rounds.number_components();
        mark("components");
        rounds.recall();
        mark("recall");
        rounds.search();
        mark("search");
        let before = found.len();
        rounds.join(&mut found);
        mark("join");
        if found.len() == before {
            return Err(Kind::Invariant("a component has no edge to another".into()).into());
        }
    }
    sort(&mut found);
    mark("sort");
    let edge = |at: usize| {
        let (weight2, low, high) = unpack(found[at]);
        Edge { low, high, weight2 }
    };
    Ok(map(found.len(), TASK, &edge))
}

/// An edge as one number, ordered as edges are.
fn pack(weight2: f64, low: u32, high: u32) -> u128 {
    u128::from(weight2.to_bits()) << 64 | u128::from(low) << 32 | u128::from(high)
}

fn unpack(edge: u128) -> (f64, u32, u32) {
    (f64::from_bits((edge >> 64) as u64), (edge >> 32) as u32, edge as u32)
}

/// What a point knows of its least edge to another component.
#[derive(Clone, Copy)]
struct Least {
    /// Its squared weight; or, without an end, what it is not less than.
    weight2: f64,
    /// The position of the other end, or [`NONE`].
    end: u32,
}

struct Rounds<'a, S: Scalar, const D: usize> {
    tree: &'a Bvh<S, D>,
    balls: BallPredicates<'a, S, D>,
    forest: UnionFind,
    /// The position of each index.
    position: Vec<u32>,
    /// The nearest of each position, as positions, so many each; and the squared distance of the last.
    listed: Vec<AtomicU32>,
    listed_each: usize,
    last2: Vec<f64>,
    /// The squared core distance of each position, and the least below each node, unless they are all 0.
    core2: Vec<f64>,
    least_core2: Vec<f64>,
    /// What each position knows.
    weight2: Vec<AtomicU64>,
    end: Vec<AtomicU32>,
    /// The component of each position, by its smallest position; and of each node, or [`NONE`] if it holds several.
    component: Vec<u32>,
    uniform: Vec<u32>,
    /// For each component the least squared weight that is known, and the ends of the least edge.
    bound2: Vec<AtomicU64>,
    ends: Vec<AtomicU64>,
}

impl<'a, S: Scalar, const D: usize> Rounds<'a, S, D> {
    fn new(tree: &'a Bvh<S, D>, min_samples: usize) -> Self {
        let n = tree.len();
        let mut position = vec![0; n];
        for (at, &index) in tree.order().iter().enumerate() {
            position[index as usize] = at as u32;
        }
        let wanted = LISTED.max(min_samples.saturating_add(1)).min(n - 1);
        let listed_each = wanted.min(MOST_LISTED);
        let listed = atomics(n * listed_each, NONE);
        let numbers = || (0..n).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let (last2, core2) = (numbers(), numbers());
        for_each_stored(tree, &Nearest::new(wanted).excluding_self(), &|at, best| {
            for (rank, neighbor) in best.neighbors().enumerate() {
                // The point itself is the first of the samples.
                if rank + 2 == min_samples {
                    core2[at].store(neighbor.distance2.to_bits(), Relaxed);
                }
                if rank < listed_each {
                    listed[at * listed_each + rank].store(position[neighbor.index as usize], Relaxed);
                    last2[at].store(neighbor.distance2.to_bits(), Relaxed);
                }
            }
        });
        let floats = |of: Vec<AtomicU64>| of.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect();
        let core2: Vec<f64> = if min_samples > 1 { floats(core2) } else { vec![] };
        let least_core2 = if core2.is_empty() {
            vec![]
        } else {
            let least = |leaf| core2[tree.span(leaf)].iter().copied().fold(f64::INFINITY, f64::min);
            tree.reduce(least, |_, [left, right]| left.min(*right))
        };
        Self {
            tree,
            balls: BallPredicates::new(tree, 0.0),
            forest: UnionFind::new(n),
            position,
            listed,
            listed_each,
            last2: floats(last2),
            core2,
            least_core2,
            weight2: numbers(),
            end: atomics(n, NONE),
            component: vec![0; n],
            uniform: vec![],
            bound2: numbers(),
            ends: numbers(),
        }
    }

    /// Begins a round.
    fn number_components(&mut self) {
        let forest = &self.forest;
        fill(&mut self.component, TASK, &|range, own| {
            own.iter_mut().zip(range).for_each(|(component, at)| *component = forest.find(at as u32));
        });
        for_tasks(self.tree.len(), TASK, &|range| {
            for at in range {
                self.bound2[at].store(f64::INFINITY.to_bits(), Relaxed);
                self.ends[at].store(u64::MAX, Relaxed);
            }
        });
        let component = &self.component;
        let of_leaf = |leaf| {
            let own = &component[self.tree.span(leaf)];
            if own.iter().all(|&other| other == own[0]) { own[0] } else { NONE }
        };
        self.uniform = self.tree.reduce(of_leaf, |_, [left, right]| if left == right { *left } else { NONE });
    }

    fn core2(&self, at: usize) -> f64 {
        self.core2.get(at).copied().unwrap_or(0.0)
    }

    /// The squared weight of the edge between two positions.
    fn weight2(&self, at: usize, other: usize) -> f64 {
        let distance2 = self.balls.general.distance2(&self.tree.item(at), other);
        distance2.max(self.core2(at)).max(self.core2(other))
    }

    fn least(&self, at: usize) -> Least {
        Least { weight2: f64::from_bits(self.weight2[at].load(Relaxed)), end: self.end[at].load(Relaxed) }
    }

    fn set(&self, at: usize, least: Least) {
        self.weight2[at].store(least.weight2.to_bits(), Relaxed);
        self.end[at].store(least.end, Relaxed);
    }

    /// Lowers what a component's least edge weighs at most.
    fn lower(&self, component: u32, weight2: f64) {
        self.bound2[component as usize].fetch_min(weight2.to_bits(), Relaxed);
    }

    fn bound2(&self, component: u32) -> f64 {
        f64::from_bits(self.bound2[component as usize].load(Relaxed))
    }

    /// Takes what points know from the rounds before, and what their lists say.
    fn recall(&self) {
        for_tasks(self.tree.len(), TASK, &|range| {
            for at in range {
                let own = self.component[at];
                let mut least = self.least(at);
                if least.end != NONE {
                    if self.component[least.end as usize] != own {
                        self.lower(own, least.weight2);
                        continue;
                    }
                    least.end = NONE;
                }
                if least.weight2 <= self.last2[at] {
                    least = self.look_up(at, own, least);
                }
                self.set(at, least);
                for other in [at.wrapping_sub(1), at + 1] {
                    if least.end == NONE && self.component.get(other).is_some_and(|&component| component != own) {
                        self.lower(own, self.weight2(at, other));
                    }
                }
            }
        });
    }

    /// The least edge by the list of the nearest, or a bound if it does not tell.
    fn look_up(&self, at: usize, own: u32, known: Least) -> Least {
        let mut least = (f64::INFINITY, NONE, NONE);
        for other in &self.listed[at * self.listed_each..][..self.listed_each] {
            let other = other.load(Relaxed);
            if other != NONE && self.component[other as usize] != own {
                let index = self.tree.order()[other as usize];
                let weight2 = self.weight2(at, other as usize);
                if (weight2, index) < (least.0, least.1) {
                    least = (weight2, index, other);
                }
                if self.core2.is_empty() {
                    break;
                }
            }
        }
        let (weight2, _, end) = least;
        // What is not listed is no nearer than the last; where all are listed there is nothing else.
        let others2 = self.last2[at].max(self.core2(at));
        if end != NONE {
            self.lower(own, weight2);
            if self.core2.is_empty() || weight2 < others2 || self.listed_each == self.tree.len() - 1 {
                return Least { weight2, end };
            }
        }
        Least { weight2: known.weight2.max(others2.min(weight2)), end: NONE }
    }

    /// Searches for the least edges of the points that may have their component's least.
    fn search(&self) {
        for_tasks(self.tree.end(), NODES, &|nodes| {
            dispatch!(isa => for leaf in nodes {
                if self.tree.is_leaf(leaf) {
                    self.search_leaf(isa, leaf);
                }
            });
        });
    }

    #[inline(always)]
    fn search_leaf<I: Isa>(&self, isa: I, leaf: usize) {
        let mut siblings = None;
        for at in self.tree.span(leaf) {
            let own = self.component[at];
            let known = self.least(at);
            let bound2 = self.bound2(own);
            if known.end != NONE || known.weight2 > bound2 {
                continue;
            }
            let siblings = siblings.get_or_insert_with(|| {
                let mut siblings = DeferredSiblings::new();
                siblings.descend(self.tree, leaf);
                siblings
            });
            let mut visitor =
                LeastEdge { rounds: self, own, core2: self.core2(at), weight2: bound2, index: NONE, end: NONE };
            let item = self.tree.item(at);
            self.search_upwards(isa, &item, leaf, siblings, &mut visitor);
            let least = Least { weight2: visitor.weight2, end: visitor.end };
            self.set(at, least);
            if least.end != NONE {
                self.lower(own, least.weight2);
            }
        }
    }

    #[inline(always)]
    fn search_upwards<I: Isa>(
        &self,
        isa: I,
        item: &Aabb<S, D>,
        leaf: usize,
        siblings: &DeferredSiblings,
        visitor: &mut LeastEdge<'_, '_, S, D>,
    ) {
        #[allow(clippy::collapsible_if, reason = "what the first leaves out is not compiled")]
        if const { !I::OUTLINED } {
            if !self.balls.has_general() {
                return self.tree.search_upwards(isa, &self.balls.open, item, leaf, siblings, visitor);
            }
        }
        self.tree.search_upwards(isa, &self.balls.general, item, leaf, siblings, visitor);
    }

    /// Joins each component with another by its least edge, and appends the edges.
    fn join(&self, found: &mut Vec<u128>) {
        let index = |at: usize| self.tree.order()[at];
        for_tasks(self.tree.len(), TASK, &|range| {
            for at in range {
                let (least, own) = (self.least(at), self.component[at]);
                if least.end != NONE && least.weight2 == self.bound2(own) {
                    let (a, b) = (index(at), index(least.end as usize));
                    let ends = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
                    self.ends[own as usize].fetch_min(ends, Relaxed);
                }
            }
        });
        let new = list_tasks(self.tree.len(), TASK, &|range: Range<usize>| {
            let mut new = vec![];
            for own in range.filter(|&at| self.component[at] as usize == at) {
                let ends = self.ends[own].load(Relaxed);
                if ends == u64::MAX {
                    continue;
                }
                let (low, high) = ((ends >> 32) as u32, ends as u32);
                let [a, b] = [low, high].map(|index| self.component[self.position[index as usize] as usize]);
                let other = if a as usize == own { b } else { a };
                // An edge that is the least of both is told by the first.
                if self.ends[other as usize].load(Relaxed) != ends || own < other as usize {
                    self.forest.union(a, b);
                    new.push(pack(self.bound2(own as u32), low, high));
                }
            }
            new
        });
        found.extend(new);
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
            || self.rounds.least_core2.get(node).is_some_and(|&least| least > self.weight2)
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
