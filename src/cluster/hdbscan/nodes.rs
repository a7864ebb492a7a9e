//! Dendrogram nodes with at least `min_cluster_size` points, and their grouping into clusters.
//!
//! In: a spanning tree. Out: [`Nodes`]: the node of each place of the [`Chains`], and the links between nodes.
//!
//! Edges of equal weight that are adjacent in the dendrogram form one node, represented by its top edge. For
//! [`Ties::Sequential`] each edge is a node. A node is large if it has at least `min_cluster_size` points. The number
//! k of large nodes that merge in a large node decides on its cluster:
//! - k = 0: a cluster begins at the node; seen from above, it ends there.
//! - k = 1: the cluster of the child continues.
//! - k >= 2: the clusters of the children are the children of a new cluster.
//!
//! So a cluster is a path of nodes. Each place has at most one link up, and each node at most one link down. A
//! union-find finds the ends of these links as roots.
//! Cost: O(n log n) at worst, in parallel; 24 bytes per point beside the chains, and 4 of temporary memory.

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
/// The prefetch distance, in places.
const AHEAD: usize = 16;
/// Marks a missing place.
pub(super) const NONE: u32 = u32::MAX;
/// Marks several places.
const SEVERAL: u32 = NONE - 1;

/// Large nodes, identified by the places of their top edges.
pub(super) struct Nodes {
    pub chains: Chains,
    /// For each place, the number of points below its edge, and the squared weight of the edge.
    pub sizes: Vec<u32>,
    pub weight2: Vec<f64>,
    /// The node of each place. If a place is in no large node, the first large node above it.
    node_of_place: Vec<u32>,
    /// The large node below each node: [`NONE`], one, or [`SEVERAL`].
    large_child: Vec<u32>,
    /// The cluster of each node. Children have lower numbers than their parent.
    pub cluster: Vec<u32>,
    /// The top node of each cluster.
    pub top_nodes: Vec<u32>,
}

impl Nodes {
    /// Finds the large nodes of a tree: those of at least `min_cluster_size` points.
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
        let node_of_place = roots_from_last(UnionFind::from_parents(links));
        let below = atomics(n, NONE);
        for_tasks(n, TASK, &|range| {
            for at in range {
                if node_of_place[at] as usize == at
                    && let Some(above) = above(&chains, &node_of_place, at)
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
        let begins = RankBitmap::new(n, |at| !is_one(at) && node_of_place[at] as usize == at);
        let bottoms =
            UnionFind::from_parents(map(n, TASK, &|at| AtomicU32::new(if is_one(at) { below[at] } else { at as u32 })));
        // Places are processed from the leaves up, so the nodes below are resolved already and paths are short.
        let cluster = map(n, TASK, &|at| begins.rank(bottoms.find(at as u32)));
        let top_nodes = atomics(begins.count() as usize, NONE);
        for_tasks(n, TASK, &|range| {
            for at in range.filter(|&at| node_of_place[at] as usize == at) {
                if above(&chains, &node_of_place, at).is_none_or(|above| below[above as usize] == SEVERAL) {
                    top_nodes[cluster[at] as usize].store(at as u32, Relaxed);
                }
            }
        });
        Self { chains, sizes, weight2, node_of_place, large_child: below, cluster, top_nodes: plain(top_nodes) }
    }

    /// Returns the node above `node`.
    pub fn above(&self, node: u32) -> Option<u32> {
        above(&self.chains, &self.node_of_place, node as usize)
    }

    /// Returns the nodes of a cluster, from its top node down.
    pub fn path(&self, head: u32) -> Vec<u32> {
        successors(Some(head), |&node| self.only_child(node)).collect()
    }

    /// Returns the number of points that leave the node's cluster at the node, as single points or in child clusters.
    pub fn leaving(&self, node: u32) -> u32 {
        self.sizes[node as usize] - self.only_child(node).map_or(0, |child| self.sizes[child as usize])
    }

    /// Returns `true` if a cluster splits into others at the node.
    pub fn is_split(&self, node: u32) -> bool {
        self.large_child[node as usize] == SEVERAL
    }

    /// Returns the node at which a point leaves its last cluster.
    #[inline]
    pub fn of_point(&self, point: usize) -> u32 {
        if let Some(&ahead) = self.chains.lightest.get(point + AHEAD) {
            self.chains.place.get(ahead as usize).into_iter().for_each(|place| prefetch(place));
        }
        self.node_of_place[self.chains.place[self.chains.lightest[point] as usize] as usize]
    }

    fn only_child(&self, node: u32) -> Option<u32> {
        let below = self.large_child[node as usize];
        (below < SEVERAL).then_some(below)
    }
}

/// The node above the node of a place.
#[inline]
fn above(chains: &Chains, node_of_place: &[u32], at: usize) -> Option<u32> {
    node_of_place.get(chains.parent[at] as usize).copied()
}

/// The roots of a forest in which parents come after their children. Elements are processed from the last on, so paths
/// are short.
fn roots_from_last(forest: UnionFind) -> Vec<u32> {
    let roots = atomics(forest.len(), 0);
    for_tasks_reversed(roots.len(), TASK, &|range| {
        range.rev().for_each(|at| roots[at].store(forest.find(at as u32), Relaxed));
    });
    plain(roots)
}
