//! The nodes of the hierarchy that have at least the least size.
//!
//! In: a spanning tree. Out: [`Nodes`]: for each place of the [`Chains`] the node that its edge is in, and how nodes go on. Edges of equal
//! weight that are next to each other in the dendrogram are one node, which its top edge stands for; or for [`Ties::Sequential`] each edge is
//! one. A node is large if it has at least the least size. Where k large nodes come together in another: for k = 0 a cluster begins there
//! (seen from above: it ends), for k = 1 it goes on, for k >= 2 those of below are the children of a new one. So a cluster is a path of
//! nodes. Each place has at most one link up and each node at most one down; the ends of these are found as roots of a union-find.
//! Cost: O(n log n) at worst, in parallel; 24 bytes a point beside the chains, and 4 while it runs.

use std::iter::successors;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Ties;
use crate::cluster::dendrogram::Chains;
use crate::cluster::mst::SpanningTree;
use crate::cluster::rank_bitmap::RankBitmap;
use crate::cluster::union_find::UnionFind;
use crate::parallel::{atomics, for_tasks, for_tasks_reversed, map, plain};
use crate::phases::mark;
use crate::simd::prefetch;

/// Places per parallel task.
const TASK: usize = 1 << 12;
/// How far ahead of its use a place is asked for.
const AHEAD: usize = 16;
/// No place.
pub(super) const NONE: u32 = u32::MAX;
/// More than one.
const SEVERAL: u32 = NONE - 1;

/// Nodes are told by the places of their top edges.
pub(super) struct Nodes {
    pub chains: Chains,
    /// For each place how many points are below its edge, and the squared weight of that.
    pub sizes: Vec<u32>,
    pub weight2: Vec<f64>,
    /// For each place its node, or if it is in no large one, the first above that is.
    top: Vec<u32>,
    /// The large node below each: [`NONE`], one, or [`SEVERAL`].
    below: Vec<u32>,
    /// The cluster of each node; children have lower numbers than their parent.
    pub cluster: Vec<u32>,
    /// The first node of each cluster, seen from above.
    pub heads: Vec<u32>,
}

impl Nodes {
    /// The large nodes of a tree of at least so many points.
    pub fn new(tree: &SpanningTree, min_cluster_size: usize, ties: Ties) -> Self {
        let chains = Chains::new(tree);
        mark("chains");
        let sizes = chains.sizes();
        mark("sizes");
        let n = sizes.len();
        let weight2 = map(n, TASK, &|at| tree.edges()[chains.order[at] as usize].weight2);
        let links = map(n, TASK, &|at| {
            let parent = chains.parent[at];
            let is_large = sizes[at] as usize >= min_cluster_size;
            let is_tied = || ties == Ties::Together && weight2.get(parent as usize) == Some(&weight2[at]);
            AtomicU32::new(if is_large && !is_tied() { at as u32 } else { parent })
        });
        let top = roots_from_last(UnionFind::of(links));
        let below = atomics(n, NONE);
        for_tasks(n, TASK, &|range| {
            for at in range {
                if top[at] as usize == at
                    && let Some(above) = above(&chains, &top, at)
                {
                    let below = &below[above as usize];
                    if below.compare_exchange(NONE, at as u32, Relaxed, Relaxed).is_err() {
                        below.store(SEVERAL, Relaxed);
                    }
                }
            }
        });
        let below = plain(below);
        let is_one = |at: usize| below[at] < SEVERAL;
        let begins = RankBitmap::new(n, |at| !is_one(at) && top[at] as usize == at);
        let bottoms = UnionFind::of(map(n, TASK, &|at| AtomicU32::new(if is_one(at) { below[at] } else { at as u32 })));
        // From the leaves up, what is below is found at once.
        let cluster = map(n, TASK, &|at| begins.rank(bottoms.find(at as u32)));
        let heads = atomics(begins.count() as usize, NONE);
        for_tasks(n, TASK, &|range| {
            for at in range.filter(|&at| top[at] as usize == at) {
                if above(&chains, &top, at).is_none_or(|above| below[above as usize] == SEVERAL) {
                    heads[cluster[at] as usize].store(at as u32, Relaxed);
                }
            }
        });
        Self { chains, sizes, weight2, top, below, cluster, heads: plain(heads) }
    }

    /// The node above one.
    pub fn above(&self, node: u32) -> Option<u32> {
        above(&self.chains, &self.top, node as usize)
    }

    /// The nodes of a cluster, from its first down to where it begins.
    pub fn path(&self, head: u32) -> Vec<u32> {
        successors(Some(head), |&node| self.only_child(node)).collect()
    }

    /// How many points leave the cluster of a node there, alone or in others.
    pub fn leaving(&self, node: u32) -> u32 {
        self.sizes[node as usize] - self.only_child(node).map_or(0, |child| self.sizes[child as usize])
    }

    /// Whether a cluster falls into others here.
    pub fn is_split(&self, node: u32) -> bool {
        self.below[node as usize] == SEVERAL
    }

    /// The node that a point leaves its last cluster at.
    #[inline]
    pub fn of_point(&self, point: usize) -> u32 {
        if let Some(&ahead) = self.chains.lightest.get(point + AHEAD) {
            self.chains.place.get(ahead as usize).into_iter().for_each(|place| prefetch(place));
        }
        self.top[self.chains.place[self.chains.lightest[point] as usize] as usize]
    }

    fn only_child(&self, node: u32) -> Option<u32> {
        let below = self.below[node as usize];
        (below < SEVERAL).then_some(below)
    }
}

/// The node above that of a place.
#[inline]
fn above(chains: &Chains, top: &[u32], at: usize) -> Option<u32> {
    top.get(chains.parent[at] as usize).copied()
}

/// The root of each, of a forest where parents come after their children: from the last on, what is above is found at once.
fn roots_from_last(forest: UnionFind) -> Vec<u32> {
    let roots = atomics(forest.len(), 0);
    for_tasks_reversed(roots.len(), TASK, &|range| {
        range.rev().for_each(|at| roots[at].store(forest.find(at as u32), Relaxed));
    });
    plain(roots)
}
