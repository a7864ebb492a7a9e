//! The choice of clusters from the condensed tree.
//!
//! In: the condensed tree and the options. Out: a flag per cluster. Cost: a few passes over the clusters. Parents have
//! lower numbers than their children, so a pass from either end meets them in order.
//! Source: Campello, Moulavi and Sander 2013, algorithm 3 (excess of mass). Malzer and Baum 2020 (a minimum distance).
//! ties and limits as in scikit-learn 1.9.

use super::tree::{CondensedCluster, CondensedTree};
use super::{ClusterSelection, Hdbscan};
use crate::geometry::distance_from_square;
use crate::memory::{collected, zeroed};

/// A flag per cluster, `true` if the cluster is chosen.
pub(crate) fn select(tree: &CondensedTree, options: &Hdbscan) -> Vec<bool> {
    let clusters = &tree.clusters;
    let mut chosen = match options.selection {
        ClusterSelection::ExcessOfMass => {
            excess_of_mass(clusters, options, options.allow_single_cluster && !tree.is_too_small())
        }
        // A root that never splits is not a leaf.
        ClusterSelection::Leaf => clusters.iter().map(|own| own.parent.is_some() && own.children.is_empty()).collect(),
    };
    if options.epsilon > 0.0 {
        chosen = climb(clusters, &chosen, options);
    }
    chosen
}

/// Chooses a cluster unless the clusters below it are more stable together, it is too large, or a cluster above it is
/// chosen.
fn excess_of_mass(clusters: &[CondensedCluster], options: &Hdbscan, may_be_root: bool) -> Vec<bool> {
    let most = options.max_cluster_size.unwrap_or(usize::MAX);
    let mut best: Vec<f64> = collected(clusters.iter().map(|cluster| cluster.stability));
    let mut chosen = zeroed(clusters.len());
    let mut terms = vec![];
    for (at, cluster) in clusters.iter().enumerate().rev() {
        let children = cluster.children.start as usize..cluster.children.end as usize;
        // The terms are sorted, so that the rounding of the sum does not depend on how the children are numbered.
        terms.clear();
        terms.extend_from_slice(&best[children.clone()]);
        terms.sort_unstable_by(f64::total_cmp);
        let below: f64 = terms.iter().sum();
        let size = match cluster.parent {
            Some(_) => cluster.size as usize,
            None => clusters[children].iter().map(|child| child.size as usize).sum(),
        };
        chosen[at] = below <= best[at] && size <= most;
        if !chosen[at] {
            best[at] = below;
        }
    }
    chosen.iter_mut().take(1).for_each(|root| *root &= may_be_root);
    uncovered(clusters, &chosen)
}

/// Removes the clusters that lie in a chosen cluster.
fn uncovered(clusters: &[CondensedCluster], chosen: &[bool]) -> Vec<bool> {
    let mut covered = zeroed(clusters.len());
    for (at, cluster) in clusters.iter().enumerate() {
        covered[at] = cluster.parent.is_some_and(|parent| covered[parent as usize] || chosen[parent as usize]);
    }
    collected(chosen.iter().zip(covered).map(|(&chosen, covered)| chosen && !covered))
}

/// Replaces chosen clusters that split off at less than epsilon by the first cluster above that splits off at more.
fn climb(clusters: &[CondensedCluster], chosen: &[bool], options: &Hdbscan) -> Vec<bool> {
    let epsilon = options.epsilon;
    // The cluster that replaces each cluster if it is chosen.
    let mut end: Vec<usize> = collected(0..clusters.len());
    let mut replaced = zeroed(clusters.len());
    for (at, cluster) in clusters.iter().enumerate() {
        if let Some(parent) = cluster.parent.map(|parent| parent as usize) {
            end[at] = match parent {
                0 if options.allow_single_cluster => 0,
                0 => at,
                _ if distance_from_square(clusters[parent].birth2) > epsilon => parent,
                _ => end[parent],
            };
        }
        if chosen[at] {
            replaced[if distance_from_square(cluster.birth2) < epsilon { end[at] } else { at }] = true;
        }
    }
    replaced
}
