//! Boruvka's rounds: each component finds its lightest edge to another component, and these edges join components.
//!
//! In: a tree. Out: the edges. Each point stores the lightest edge to another component that it has found. The edge
//! remains its lightest while the other end is in another component. Otherwise its weight is a lower bound for the
//! point's further edges.
//!
//! So most points search only once or twice in all rounds. A search first uses the list of nearest neighbours, then
//! goes bottom-up together with the other points of the leaf. It skips subtrees of the own component, and stops at the
//! lightest edge that the component has found so far.
//!
//! Cost: about 90 bytes per point, up to 50 more for mutual reachability. Source: Prokopenko, Sao and Lebrun-Grandié
//! 2022 (single-tree Boruvka).
//!
//! With alpha, max(core, d / alpha) = max(alpha core, d) / alpha: core distances are multiplied by alpha, and final
//! weights divided by it.

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
use crate::search::radius_test::RadiusTests;
use crate::simd::LANES;

/// Positions per parallel task.
const TASK: usize = 1 << 12;
/// Nodes per parallel task.
pub(super) const NODES: usize = 1 << 8;

/// Marks a missing position or component.
pub(super) const NONE: u32 = u32::MAX;

/// The edges of the minimum spanning tree, in ascending order.
///
/// Errors: a component without an edge to another component, which is a bug.
pub(super) fn edges<S: Scalar, const D: usize>(tree: &Bvh<S, D>, min_samples: usize, alpha: f64) -> Result<Vec<Edge>> {
    if tree.len() < 2 {
        return Ok(vec![]);
    }
    let mut rounds = Rounds::new(tree, min_samples, alpha);
    mark("nearest");
    let mut found = with_capacity(tree.len() - 1);
    while found.len() < tree.len() - 1 {
        rounds.reuse_edges();
        mark("recall");
        rounds.search();
        mark("search");
        let before = found.len();
        rounds.merge_components(&mut found);
        mark("join");
        rounds.number_components();
        rounds.has_merged_components = true;
        mark("components");
        if found.len() == before {
            return Err(Error::invariant("a component has no edge to another component"));
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

/// Packs an edge into one number; numbers are ordered like edges.
fn pack(weight2: f64, low: u32, high: u32) -> u128 {
    u128::from(weight2.to_bits()) << 64 | u128::from(low) << 32 | u128::from(high)
}

fn unpack(edge: u128) -> (f64, u32, u32) {
    (f64::from_bits((edge >> 64) as u64), (edge >> 32) as u32, edge as u32)
}

/// The lightest known edge of a point to another component.
#[derive(Clone, Copy)]
pub(super) struct LightestEdge {
    /// The squared weight; without an end, a lower bound on it.
    pub weight2: f64,
    /// The position of the other end, or [`NONE`].
    pub end: u32,
}

pub(super) struct Rounds<'a, S: Scalar, const D: usize> {
    pub(super) tree: &'a Bvh<S, D>,
    pub(super) tests: RadiusTests<'a, S, D>,
    pub(super) forest: UnionFind,
    /// The position of each index.
    pub(super) position: Vec<u32>,
    /// The nearest neighbours of each position, as positions, `listed_each` per position. `unlisted_min2` bounds the
    /// squared distances of all other points from below.
    pub(super) neighbor_lists: Vec<AtomicU32>,
    pub(super) listed_each: usize,
    pub(super) unlisted_min2: Vec<AtomicU64>,
    /// The squared core distance of each position, padded by [`LANES`]; empty if all are 0.
    pub(super) core2: Vec<f64>,
    /// The same squared core distances in the unit of the point set, and their minimum below each node.
    pub(super) core2_in_unit: Vec<S>,
    pub(super) least_core2: Vec<S>,
    /// The [`LightestEdge`] of each position.
    pub(super) weight2: Vec<AtomicU64>,
    pub(super) end: Vec<AtomicU32>,
    /// The component of each position, as its smallest position. The component of each node, or [`NONE`] if it holds
    /// several.
    pub(super) component: Vec<u32>,
    pub(super) uniform: Vec<u32>,
    /// For each component, the smallest known squared weight, and the ends of the lightest edge.
    pub(super) bound2: Vec<AtomicU64>,
    pub(super) ends: Vec<AtomicU64>,
    /// The square of alpha, by which squared weights are divided at the end.
    pub(super) alpha2: f64,
    /// True if components have more than one point.
    pub(super) has_merged_components: bool,
    /// True if the points of a leaf search together: for stored points, if differences of coordinates do not overflow.
    pub(super) searches_leaves: bool,
    /// True if a search may use a unit other than that of the point set: for a narrow type, if differences do not
    /// overflow.
    pub(super) may_rescale: bool,
}

impl<'a, S: Scalar, const D: usize> Rounds<'a, S, D> {
    fn new(tree: &'a Bvh<S, D>, min_samples: usize, alpha: f64) -> Self {
        let n = tree.len();
        let has_differences = !S::IS_F32 || scale::has_differences(&tree.bounds());
        let mut rounds = Self {
            tree,
            tests: RadiusTests::new(tree, 0.0),
            forest: UnionFind::new(n),
            position: tree.positions(),
            neighbor_lists: vec![],
            listed_each: 0,
            unlisted_min2: vec![],
            core2: vec![],
            core2_in_unit: vec![],
            least_core2: vec![],
            weight2: zeroed(n),
            end: atomics(n, NONE),
            component: zeroed(n + LANES),
            uniform: vec![],
            bound2: zeroed(n),
            ends: zeroed(n),
            has_merged_components: false,
            alpha2: alpha * alpha,
            searches_leaves: tree.holds_points() && has_differences,
            may_rescale: S::IS_F32 && has_differences,
        };
        rounds.number_components();
        if min_samples > 1 {
            rounds.list_samples(min_samples);
        } else if rounds.searches_leaves {
            rounds.list_nearest();
        }
        rounds
    }

    /// Starts a round: stores the component of each position and node, and resets the bounds.
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
        if self.tests.has_general() {
            self.tests.general.distance2(of, other)
        } else {
            self.tests.open.distance2(of, other)
        }
    }

    /// The squared weight of the edge between two positions.
    #[inline(always)]
    pub(super) fn weight2(&self, at: usize, other: usize) -> f64 {
        let distance2 = self.distance2(&self.tree.item(at), other);
        distance2.max(self.core2(at)).max(self.core2(other))
    }

    pub(super) fn least(&self, at: usize) -> LightestEdge {
        LightestEdge { weight2: f64::from_bits(self.weight2[at].load(Relaxed)), end: self.end[at].load(Relaxed) }
    }

    pub(super) fn set(&self, at: usize, least: LightestEdge) {
        self.weight2[at].store(least.weight2.to_bits(), Relaxed);
        self.end[at].store(least.end, Relaxed);
    }

    /// Lowers the upper bound on the weight of a component's lightest edge.
    pub(super) fn tighten_bound2(&self, component: u32, weight2: f64) {
        self.bound2[component as usize].fetch_min(weight2.to_bits(), Relaxed);
    }

    pub(super) fn bound2(&self, component: u32) -> f64 {
        f64::from_bits(self.bound2[component as usize].load(Relaxed))
    }

    /// Reuses edges of earlier rounds and the lists. Neighbours in tree order give upper bounds for the remaining
    /// searches.
    fn reuse_edges(&self) {
        let n = self.tree.len();
        for_tasks(n, TASK, &|range| {
            for at in range {
                let (own, end) = (self.component[at], self.end[at].load(Relaxed));
                if end != NONE {
                    if self.component[end as usize] == own {
                        self.end[at].store(NONE, Relaxed);
                    } else {
                        self.tighten_bound2(own, self.least(at).weight2);
                    }
                }
                let is_left = |at: usize| self.end[at].load(Relaxed) == NONE;
                if at + 1 < n && self.component[at + 1] != own && (is_left(at) || is_left(at + 1)) {
                    let weight2 = self.weight2(at, at + 1);
                    self.tighten_bound2(own, weight2);
                    self.tighten_bound2(self.component[at + 1], weight2);
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

    /// Joins each component with another along its lightest edge, and appends these edges.
    fn merge_components(&self, found: &mut Vec<u128>) {
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
                // If an edge is the lightest of both components, the first of them adds it.
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
