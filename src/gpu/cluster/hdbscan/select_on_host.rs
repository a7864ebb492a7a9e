//! The processing of the cluster table on the host.
//!
//! In: the table, in the order of the device. Out: the tree of clusters in breadth-first order, and the selected
//! clusters, by the functions of `cluster::hdbscan`. Cost: a few passes over the clusters.

use crate::cluster::hdbscan::cluster_order::{UnnumberedCluster, rank_by_smallest_member};
use crate::cluster::hdbscan::clusters::ChosenClusters;
use crate::cluster::hdbscan::condense::numbered;
use crate::cluster::hdbscan::select::select;
use crate::cluster::hdbscan::tree::CondensedTree;
use crate::gpu::cluster::hdbscan::condense::Rows;

/// The clusters in breadth-first order, and the place of each row in that order.
pub(super) fn order(rows: &Rows, min_cluster_size: usize) -> (CondensedTree, Vec<u32>) {
    let row = |at: usize| UnnumberedCluster {
        parent: rows.parent[at],
        birth2: rows.birth2[at],
        death2: rows.death2[at],
        size: rows.size[at],
        merges: rows.merges[at],
        rank: rows.smallest[at],
        stability: rows.stability[at],
    };
    let mut growing: Vec<UnnumberedCluster> = (0..rows.parent.len()).map(row).collect();
    rank_by_smallest_member(&mut growing);
    let (clusters, number) = numbered(&growing);
    (CondensedTree { clusters, min_cluster_size, ..CondensedTree::default() }, number)
}

/// The selected cluster that contains each cluster.
pub(super) fn choose(tree: &CondensedTree, options: &crate::Hdbscan) -> ChosenClusters {
    ChosenClusters::new(tree, &select(tree, options), options)
}
