//! Converts a spanning tree to the condensed tree.
//!
//! In: edges in ascending order. Out: [`CondensedTree`]. Clusters are paths of [`Nodes`]. Each point leaves its last
//! cluster at the first node above it with at least `min_cluster_size` points.
//! Cost: that of the [`Chains`](crate::cluster::dendrogram::Chains), a few passes over edges and points on all
//! threads, and a few passes over the clusters on one thread. Up to 60 bytes per point beside the result's 12.

use std::sync::atomic::Ordering::Relaxed;

use super::Ties;
use super::cluster_order::{UnnumberedCluster, breadth_first, parents_to_point_0, rank_by_smallest_member};
use super::nodes::{NONE, Nodes};
use super::stability::{by_node, by_row, gain, of_points};
use super::tree::{CondensedCluster, CondensedTree, lambda};
use crate::cancel::check_at;
use crate::cluster::mst::{Edge, SpanningTree};
use crate::memory::{filled, with_capacity, zeroed};
use crate::parallel::{atomics, fill, join, map};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;
/// Clusters per parallel task.
const CLUSTERS: usize = 1 << 4;

/// The condensed tree of the clusters with at least `min_cluster_size` points.
pub(super) fn condense(tree: &SpanningTree, min_cluster_size: usize, ties: Ties) -> CondensedTree {
    let n = tree.n_points();
    if n == 0 {
        return CondensedTree::default();
    }
    if n < min_cluster_size {
        return one_cluster(tree, min_cluster_size, ties);
    }
    let (mut nodes, mut near) = (None, vec![]);
    join(&mut || nodes = Some(Nodes::new(tree, min_cluster_size, ties)), &mut || {
        if ties == Ties::Sequential {
            near = parents_to_point_0(n, tree.edges());
        }
    });
    let Some(nodes) = nodes else { return CondensedTree::default() };
    mark("nodes");
    let order = Siblings { nodes: &nodes, edges: tree.edges(), above: &near };
    let top_nodes = &nodes.top_nodes;
    let mut clusters = map(top_nodes.len(), CLUSTERS, &|at| match ties {
        Ties::Together => make_cluster(&nodes, top_nodes[at], |path, birth2| (by_node(&nodes, path, birth2), NONE)),
        Ties::Sequential => make_cluster(&nodes, top_nodes[at], |path, birth2| {
            let sizes = path.last().map_or([0; 2], |&last| order.sizes(last));
            (by_row(&nodes, path, birth2, sizes), order.rank(top_nodes[at]))
        }),
    });
    mark("stabilities");
    let mut left = map(n, TASK, &|point| nodes.of_point(point));
    let weight2 = map(n, TASK, &|point| nodes.weight2[left[point] as usize]);
    let smallest = atomics(clusters.len(), NONE);
    fill(&mut left, TASK, &|points, left| {
        for (cluster, point) in left.iter_mut().zip(points.start as u32..) {
            *cluster = nodes.cluster[*cluster as usize];
            let smallest = &smallest[*cluster as usize];
            // Most members are not the smallest, so a load avoids most writes.
            if point < smallest.load(Relaxed) {
                smallest.fetch_min(point, Relaxed);
            }
        }
    });
    mark("points");
    if ties == Ties::Together {
        clusters.iter_mut().zip(smallest).for_each(|(cluster, smallest)| cluster.rank = smallest.into_inner());
        rank_by_smallest_member(&mut clusters);
    }
    let tree = number(&clusters, left, weight2, min_cluster_size);
    mark("clusters");
    tree
}

/// The tree of the root alone, for fewer than `min_cluster_size` points. A single point leaves at an infinite
/// distance.
fn one_cluster(tree: &SpanningTree, min_cluster_size: usize, ties: Ties) -> CondensedTree {
    let n = tree.n_points();
    let death2 = tree.edges().last().map_or(f64::INFINITY, |edge| edge.weight2);
    let (birth2, size) = (f64::INFINITY, n as u32);
    let stability = match ties {
        Ties::Together => gain(death2, birth2) * f64::from(size),
        Ties::Sequential => of_points(0.0, gain(death2, birth2), size),
    };
    let root = UnnumberedCluster { parent: NONE, birth2, death2, size, merges: 0, rank: 0, stability };
    number(&[root], zeroed(n), filled(n, death2), min_cluster_size)
}

/// The cluster whose top node is `head`. `stability_and_rank` computes its stability and rank from the path of its
/// nodes and its birth.
fn make_cluster(nodes: &Nodes, head: u32, stability_and_rank: impl Fn(&[u32], f64) -> (f64, u32)) -> UnnumberedCluster {
    let parent = nodes.above(head);
    let birth2 = parent.map_or(f64::INFINITY, |parent| nodes.weight2[parent as usize]);
    let path = nodes.path(head);
    let (stability, rank) = stability_and_rank(&path, birth2);
    UnnumberedCluster {
        parent: parent.map_or(NONE, |parent| nodes.cluster[parent as usize]),
        birth2,
        death2: path.last().map_or(birth2, |&last| nodes.weight2[last as usize]),
        size: nodes.sizes[head as usize],
        merges: path.len() as u32 - 1,
        rank,
        stability,
    }
}

/// The order of two sibling clusters for [`Ties::Sequential`]. The first is the one with that end of the edge between
/// them that is nearer to point 0.
struct Siblings<'a> {
    nodes: &'a Nodes,
    edges: &'a [Edge],
    /// For each point, the next point on the path to point 0.
    above: &'a [u32],
}

impl Siblings<'_> {
    /// The places of the two edges below the edge of a node, the first sibling first. Neither child may be a point.
    fn of(&self, node: u32) -> [usize; 2] {
        let chains = &self.nodes.chains;
        let rank = chains.order[node as usize];
        let Edge { low, high, .. } = self.edges[rank as usize];
        let n = self.above.len() as u32;
        let [a, b] = chains.children(rank).map(|child| chains.place[(child - n) as usize] as usize);
        if self.above[high as usize] == low { [a, b] } else { [b, a] }
    }

    /// The sizes of the clusters into which a node splits; 0 if it does not split.
    fn sizes(&self, node: u32) -> [u32; 2] {
        if self.nodes.is_split(node) { self.of(node).map(|child| self.nodes.sizes[child]) } else { [0; 2] }
    }

    fn rank(&self, head: u32) -> u32 {
        self.nodes.above(head).map_or(0, |above| u32::from(self.of(above)[0] != head as usize))
    }
}

/// Numbers the clusters. `cluster` holds the last cluster of each point, `weight2` the squared weight at which the
/// point leaves it.
fn number(
    clusters: &[UnnumberedCluster],
    mut cluster: Vec<u32>,
    weight2: Vec<f64>,
    min_cluster_size: usize,
) -> CondensedTree {
    let (clusters, number) = numbered(clusters);
    fill(&mut cluster, TASK, &|_, own| own.iter_mut().for_each(|cluster| *cluster = number[*cluster as usize]));
    CondensedTree { clusters, cluster, weight2, min_cluster_size }
}

/// The clusters in breadth-first order, and the new number of each.
pub(crate) fn numbered(clusters: &[UnnumberedCluster]) -> (Vec<CondensedCluster>, Vec<u32>) {
    let order = breadth_first(clusters);
    let mut number = zeroed(order.len());
    let mut numbered: Vec<CondensedCluster> = with_capacity(order.len());
    for (at, &before) in (0..).zip(&order) {
        check_at(at as usize);
        number[before as usize] = at;
        let &UnnumberedCluster { parent, birth2, death2, size, stability, .. } = &clusters[before as usize];
        let parent = number.get(parent as usize).copied();
        if let Some(parent) = parent {
            let children = &mut numbered[parent as usize].children;
            *children = if children.end == 0 { at..at + 1 } else { children.start..at + 1 };
        }
        numbered.push(CondensedCluster {
            parent,
            children: 0..0,
            birth: lambda(birth2),
            death: lambda(death2),
            size,
            stability,
            label: None,
            birth2,
            death2,
        });
    }
    (numbered, number)
}
