//! Single linkage: the merges of clusters and their heights, from a spanning tree.
//!
//! In: the edges of a tree in ascending order. Out: a merge for each edge, cuts into clusters, and cophenetic
//! distances.
//! Three steps, each on all threads:
//! - [`contract`] contracts the tree along its lightest edges, level by level.
//! - [`chains`] finds the chains of the dendrogram from these levels, whatever its shape.
//! - Sizes are sums along the chains.
//!
//! Cost: O(n log n) at worst; 34 bytes per point, and 30 of temporary memory.
//! Source: Gower and Ross 1969 (single linkage from the minimum spanning tree); Sao, Prokopenko and Lebrun-Grandié
//! 2024 (contraction and chains).

mod chains;
mod contract;
mod cut;

pub(crate) use chains::Chains;

use std::cmp::Ordering;

use crate::cluster::mst::SpanningTree;
use crate::parallel::map;

/// Merges per parallel task.
const TASK: usize = 1 << 12;

/// A merge of two clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Merge {
    /// The two clusters, the lower number first. Points are clusters `0..n`; merge number i makes the cluster `n + i`.
    pub clusters: [u32; 2],
    /// The weight of the edge between them, in the units of the points.
    pub height: f64,
    /// The number of points in both clusters together.
    pub size: u32,
}

/// The merges of single linkage, in ascending order of height.
///
/// ```
/// use ropewalk::cluster::Dendrogram;
/// use ropewalk::minimum_spanning_tree;
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
    /// For each point, then for each chain, the next edge on the way up; and the chain of each edge.
    lightest: Vec<u32>,
    chain: Vec<u32>,
}

crate::brief::brief_debug!(Dendrogram, lists: [merges], others: []);

impl Dendrogram {
    /// The maximum number of points: clusters, including the points, are numbered below 2^32.
    pub(crate) const MOST_POINTS: usize = 1 << 31;

    /// Computes the merges along the edges of a spanning tree, in the order of the edges.
    ///
    /// # Panics
    /// If there are more than 2^31 points, because their clusters cannot be numbered.
    pub fn new(tree: &SpanningTree) -> Self {
        assert!(
            tree.n_points() <= Self::MOST_POINTS,
            "a dendrogram has at most {} points, got {}",
            Self::MOST_POINTS,
            tree.n_points()
        );
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

    /// Returns the merges in ascending order of height: one less than the number of points.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// Returns the height at which points `i` and `j` merge into one cluster; 0 if `i == j`. Cost: O(log n).
    ///
    /// # Panics
    /// If `i` or `j` is not less than the number of points.
    pub fn cophenetic_distance(&self, i: usize, j: usize) -> f64 {
        let of_points = &self.lightest[..self.merges.len() + 1];
        let (mut a, mut b) = (of_points[i], of_points[j]);
        if i == j {
            return 0.0;
        }
        loop {
            let (chain_of_a, chain_of_b) = (self.chain[a as usize], self.chain[b as usize]);
            // The edge of the lower chain moves up first.
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
