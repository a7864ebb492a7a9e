//! Single linkage: which clusters merge at which height, from a spanning tree.
//!
//! In: the edges of a tree in ascending order. Out: a merge for each edge, cuts into clusters, and the height at which two points
//! come together. Three steps, each on all threads: the tree is contracted along its lightest edges, level by level ([`contract`]); these
//! levels tell the chains that the dendrogram is made of ([`chains`]), whatever its shape; sizes are sums along the chains. Cost:
//! O(n log n) at worst; 34 bytes a point, and 30 while it runs.
//! Source: Gower and Ross 1969 (single linkage from the minimum spanning tree); Sao, Prokopenko and Lebrun-Grandié 2024 (contraction and
//! chains).

mod chains;
mod contract;
mod cut;

pub(crate) use chains::Chains;

use std::cmp::Ordering;

use crate::cluster::mst::SpanningTree;
use crate::parallel::map;

/// Merges per parallel task.
const TASK: usize = 1 << 12;

/// Two clusters that become one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Merge {
    /// The clusters, the lower number first. Points are clusters `0..n`; merge number i makes the cluster `n + i`.
    pub clusters: [u32; 2],
    /// The weight of the edge between them, in the units of the points.
    pub height: f64,
    /// How many points they have together.
    pub size: u32,
}

/// The merges of single linkage, the lowest first.
///
/// ```
/// use ropewalk::{Dendrogram, minimum_spanning_tree};
///
/// let tree = minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [11.0]])?;
/// let dendrogram = Dendrogram::new(&tree);
/// // The rows of scipy.cluster.hierarchy.linkage(points, "single").
/// let rows: Vec<_> = dendrogram.merges().iter().map(|merge| (merge.clusters, merge.height, merge.size)).collect();
/// assert_eq!(rows, [([0, 1], 1.0, 2), ([2, 3], 2.0, 2), ([4, 5], 8.0, 4)]);
/// assert_eq!(dendrogram.cophenetic_distance(1, 3), 8.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Dendrogram {
    merges: Vec<Merge>,
    /// For each point, then for each chain, the edge that comes next on the way up; and the chain of each edge.
    lightest: Vec<u32>,
    chain: Vec<u32>,
}

crate::brief::brief_debug!(Dendrogram, lists: [merges], others: []);

impl Dendrogram {
    /// Clusters are numbered below 2^32, points among them.
    pub(crate) const MOST_POINTS: usize = 1 << 31;

    /// The merges along the edges of a spanning tree, in its order.
    ///
    /// # Panics
    /// If there are more than 2^31 points: there are no numbers for their clusters.
    pub fn new(tree: &SpanningTree) -> Self {
        assert!(tree.n_points() <= Self::MOST_POINTS, "the clusters of {} points have no numbers", tree.n_points());
        let chains = Chains::new(tree);
        let sizes = chains.sizes();
        let merges = map(sizes.len(), TASK, &|rank| {
            let [a, b] = chains.children(rank as u32);
            let size = sizes[chains.place[rank] as usize];
            Merge { clusters: [a.min(b), a.max(b)], height: tree.edges()[rank].weight(), size }
        });
        let chain = chains.of_edges();
        Self { merges, lightest: chains.lightest, chain }
    }

    /// The merges, lowest first: one less than there are points.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// The height at which two points come into one cluster; 0 for a point and itself. Cost: O(log n).
    ///
    /// # Panics
    /// If there is no such point.
    pub fn cophenetic_distance(&self, i: usize, j: usize) -> f64 {
        let of_points = &self.lightest[..self.merges.len() + 1];
        let (mut a, mut b) = (of_points[i], of_points[j]);
        if i == j {
            return 0.0;
        }
        loop {
            let (chain_of_a, chain_of_b) = (self.chain[a as usize], self.chain[b as usize]);
            // What is of the lower level goes up first.
            match chain_of_a.cmp(&chain_of_b) {
                Ordering::Equal => return self.merges[a.max(b) as usize].height,
                Ordering::Less => a = self.above(chain_of_a),
                Ordering::Greater => b = self.above(chain_of_b),
            }
        }
    }

    /// The edge above the last one of a chain.
    fn above(&self, chain: u32) -> u32 {
        self.lightest[self.merges.len() + 1 + chain as usize]
    }
}
