//! Boruvka's rounds: each component finds its least edge to another, and all of these join.
//!
//! In: a tree. Out: the edges. A point keeps the least edge to another component that it found, which stays its least while the other
//! end is in another component; or a bound below which it has none. So most points search once or twice in all rounds: first in the
//! list of their nearest, then bottom-up with the others of their leaf, past subtrees of their own component, within the least edge
//! that their component has found so far. Cost: some 90 bytes a point, up to 50 more by mutual reachability. Source: Prokopenko,
//! Sao and Lebrun-Grandié 2022 (single-tree Boruvka).
//!
//! With alpha, max(core, d / alpha) = max(alpha core, d) / alpha: core distances are multiplied by it, and in the end weights divided.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::cluster::mst::Edge;
use crate::cluster::union_find::UnionFind;
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Scalar, scale};
use crate::memory::{with_capacity, zeroed};
use crate::parallel::{atomics, fill, for_tasks, list_tasks, map, sort};
use crate::phases::mark;
use crate::search::ball_predicate::BallPredicates;
use crate::simd::LANES;

/// Positions, and nodes, per parallel task.
const TASK: usize = 1 << 12;
pub(super) const NODES: usize = 1 << 8;

/// No position, and no component.
pub(super) const NONE: u32 = u32::MAX;

/// The edges of the minimum spanning tree, in order.
///
/// Errors: a component without an edge to another, which no input has.
pub(super) fn edges<S: Scalar, const D: usize>(tree: &Bvh<S, D>, min_samples: usize, alpha: f64) -> Result<Vec<Edge>> {
    if tree.len() < 2 {
        return Ok(vec![]);
    }
    let mut rounds = Rounds::new(tree, min_samples, alpha);
    mark("nearest");
    let mut found = with_capacity(tree.len() - 1);
    while found.len() < tree.len() - 1 {
        rounds.recall();
        mark("recall");
        rounds.search();
        mark("search");
        let before = found.len();
        rounds.join(&mut found);
        mark("join");
        rounds.number_components();
        rounds.shares = true;
        mark("components");
        if found.len() == before {
            return Err(Error::invariant("a component has no edge to another"));
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
pub(super) struct Least {
    /// Its squared weight; or, without an end, what it is not less than.
    pub weight2: f64,
    /// The position of the other end, or [`NONE`].
    pub end: u32,
}

pub(super) struct Rounds<'a, S: Scalar, const D: usize> {
    pub(super) tree: &'a Bvh<S, D>,
    pub(super) balls: BallPredicates<'a, S, D>,
    pub(super) forest: UnionFind,
    /// The position of each index.
    pub(super) position: Vec<u32>,
    /// The nearest of each position, as positions, so many each; and the squared distance of the last.
    pub(super) listed: Vec<AtomicU32>,
    pub(super) listed_each: usize,
    pub(super) last2: Vec<AtomicU64>,
    /// The squared core distance of each position, padded by [`LANES`], unless they are all 0.
    pub(super) core2: Vec<f64>,
    /// The same in the unit of the cloud, and the least below each node.
    pub(super) core2_in_unit: Vec<S>,
    pub(super) least_core2: Vec<S>,
    /// What each position knows.
    pub(super) weight2: Vec<AtomicU64>,
    pub(super) end: Vec<AtomicU32>,
    /// The component of each position, by its smallest position; and of each node, or [`NONE`] if it holds several.
    pub(super) component: Vec<u32>,
    pub(super) uniform: Vec<u32>,
    /// For each component the least squared weight that is known, and the ends of the least edge.
    pub(super) bound2: Vec<AtomicU64>,
    pub(super) ends: Vec<AtomicU64>,
    /// What the weights are in the end divided by.
    pub(super) alpha2: f64,
    /// Whether components have more than one point.
    pub(super) shares: bool,
    /// Whether leaves search as wholes: for points, where differences do not overflow.
    pub(super) in_leaves: bool,
    /// True if a search may use another unit than the cloud's: for a narrow type, where differences do not overflow.
    pub(super) has_units: bool,
}

impl<'a, S: Scalar, const D: usize> Rounds<'a, S, D> {
    fn new(tree: &'a Bvh<S, D>, min_samples: usize, alpha: f64) -> Self {
        let n = tree.len();
        let has_differences = !S::NARROW || scale::has_differences(&tree.bounds());
        let mut rounds = Self {
            tree,
            balls: BallPredicates::new(tree, 0.0),
            forest: UnionFind::new(n),
            position: tree.positions(),
            listed: vec![],
            listed_each: 0,
            last2: vec![],
            core2: vec![],
            core2_in_unit: vec![],
            least_core2: vec![],
            weight2: zeroed(n),
            end: atomics(n, NONE),
            component: zeroed(n + LANES),
            uniform: vec![],
            bound2: zeroed(n),
            ends: zeroed(n),
            shares: false,
            alpha2: alpha * alpha,
            in_leaves: tree.holds_points() && has_differences,
            has_units: S::NARROW && has_differences,
        };
        rounds.number_components();
        if min_samples > 1 {
            rounds.list_samples(min_samples);
        } else if rounds.in_leaves {
            rounds.list_nearest();
        }
        rounds
    }

    /// Begins a round.
    fn number_components(&mut self) {
        let forest = &self.forest;
        fill(&mut self.component[..self.tree.len()], TASK, &|range, own| {
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

    pub(super) fn core2(&self, at: usize) -> f64 {
        self.core2.get(at).copied().unwrap_or(0.0)
    }

    #[inline(always)]
    pub(super) fn distance2(&self, of: &Aabb<S, D>, other: usize) -> f64 {
        if self.balls.has_general() {
            self.balls.general.distance2(of, other)
        } else {
            self.balls.open.distance2(of, other)
        }
    }

    /// The squared weight of the edge between two positions.
    #[inline(always)]
    pub(super) fn weight2(&self, at: usize, other: usize) -> f64 {
        let distance2 = self.distance2(&self.tree.item(at), other);
        distance2.max(self.core2(at)).max(self.core2(other))
    }

    pub(super) fn least(&self, at: usize) -> Least {
        Least { weight2: f64::from_bits(self.weight2[at].load(Relaxed)), end: self.end[at].load(Relaxed) }
    }

    pub(super) fn set(&self, at: usize, least: Least) {
        self.weight2[at].store(least.weight2.to_bits(), Relaxed);
        self.end[at].store(least.end, Relaxed);
    }

    /// Lowers what a component's least edge weighs at most.
    pub(super) fn lower(&self, component: u32, weight2: f64) {
        self.bound2[component as usize].fetch_min(weight2.to_bits(), Relaxed);
    }

    pub(super) fn bound2(&self, component: u32) -> f64 {
        f64::from_bits(self.bound2[component as usize].load(Relaxed))
    }

    /// Takes what points know from the rounds before, and what their lists say. Neighbours in tree order bound what is left to find.
    fn recall(&self) {
        let n = self.tree.len();
        for_tasks(n, TASK, &|range| {
            for at in range {
                let (own, end) = (self.component[at], self.end[at].load(Relaxed));
                if end != NONE {
                    if self.component[end as usize] == own {
                        self.end[at].store(NONE, Relaxed);
                    } else {
                        self.lower(own, self.least(at).weight2);
                    }
                }
                let is_left = |at: usize| self.end[at].load(Relaxed) == NONE;
                if at + 1 < n && self.component[at + 1] != own && (is_left(at) || is_left(at + 1)) {
                    let weight2 = self.weight2(at, at + 1);
                    self.lower(own, weight2);
                    self.lower(self.component[at + 1], weight2);
                }
            }
        });
        if self.listed_each > 0 {
            for_tasks(n, TASK, &|range| {
                for at in range {
                    let (own, known) = (self.component[at], self.least(at));
                    if known.end == NONE && known.weight2 <= self.bound2(own) {
                        self.set(at, self.look_up(at, own, known));
                    }
                }
            });
        }
    }

    /// Joins each component with another by its least edge, and appends the edges.
    fn join(&self, found: &mut Vec<u128>) {
        let index = |at: usize| self.tree.order()[at];
        for_tasks(self.tree.len(), TASK, &|range| {
            for at in range {
                let end = self.end[at].load(Relaxed);
                if end == NONE {
                    continue;
                }
                let own = self.component[at];
                if self.least(at).weight2 == self.bound2(own) {
                    let (a, b) = (index(at), index(end as usize));
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
                    new.push(pack(self.bound2(own as u32) / self.alpha2, low, high));
                }
            }
            new
        });
        found.extend(new);
    }
}
