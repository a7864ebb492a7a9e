//! The order of clusters.
//!
//! In: clusters with their parents. Out: the order of siblings, and the breadth-first order of the dendrogram, in
//! which clusters are numbered. Cost: a few passes over the clusters; for [`Ties::Sequential`](super::Ties) one over
//! the points, on one thread.

use crate::cluster::mst::Edge;
use crate::memory::{filled, zeroed};

/// A cluster before clusters are numbered. Children come before their parent.
pub(crate) struct UnnumberedCluster {
    /// The parent; for the root a number that no cluster has.
    pub parent: u32,
    pub birth2: f64,
    pub death2: f64,
    pub size: u32,
    /// The number of merges through which the cluster continues.
    pub merges: u32,
    /// The order among siblings.
    pub rank: u32,
    pub stability: f64,
}

/// For each point, the next point on the path along the tree to point 0.
pub(super) fn parents_to_point_0(n: usize, edges: &[Edge]) -> Vec<u32> {
    // The number of remaining neighbours of each point and their XOR: with one left, that neighbour.
    let mut left = filled(n, (0u32, 0));
    for &Edge { low, high, .. } in edges {
        for (end, other) in [(low, high), (high, low)] {
            let (count, neighbors) = &mut left[end as usize];
            *count += 1;
            *neighbors ^= other;
        }
    }
    for point in 1..n {
        let mut at = point;
        while let (1, up) = left[at]
            && at != 0
        {
            left[at].0 = 0;
            let (count, neighbors) = &mut left[up as usize];
            *count -= 1;
            *neighbors ^= at as u32;
            at = up as usize;
        }
    }
    left.into_iter().map(|(_, up)| up).collect()
}

/// Ranks clusters by their smallest member. `rank` must hold the smallest of the points whose last cluster is this
/// one.
pub(crate) fn rank_by_smallest_member(clusters: &mut [UnnumberedCluster]) {
    for at in 0..clusters.len() {
        let UnnumberedCluster { parent, rank, .. } = clusters[at];
        if let Some(parent) = clusters.get_mut(parent as usize) {
            parent.rank = parent.rank.min(rank);
        }
    }
}

/// The clusters in the order in which a breadth-first walk through the dendrogram reaches their splits, siblings by
/// rank.
pub(super) fn breadth_first(clusters: &[UnnumberedCluster]) -> Vec<u32> {
    // The children of each cluster as lists: their offsets and their values.
    let root = clusters.len() - 1;
    let mut begin = zeroed(clusters.len() + 1);
    clusters[..root].iter().for_each(|child| begin[child.parent as usize + 1] += 1);
    (0..clusters.len()).for_each(|at| begin[at + 1] += begin[at]);
    let (mut filled, mut children) = (begin.clone(), zeroed(root));
    for (at, child) in clusters[..root].iter().enumerate() {
        let place = &mut filled[child.parent as usize];
        children[*place] = at as u32;
        *place += 1;
    }
    for own in begin.windows(2) {
        children[own[0]..own[1]].sort_unstable_by_key(|&child| clusters[child as usize].rank);
    }
    let of = |parent: u32| &children[begin[parent as usize]..begin[parent as usize + 1]];
    // A depth-first walk records the depth of each split and meets the splits of one depth from first to last.
    let (mut open, mut splits) = (vec![(root as u32, 0)], vec![]);
    while let Some((cluster, depth)) = open.pop() {
        let depth = depth + clusters[cluster as usize].merges;
        if !of(cluster).is_empty() {
            splits.push((depth, cluster));
            open.extend(of(cluster).iter().rev().map(|&child| (child, depth + 1)));
        }
    }
    splits.sort_by_key(|&(depth, _)| depth);
    std::iter::once(root as u32).chain(splits.iter().flat_map(|&(_, parent)| of(parent)).copied()).collect()
}
