//! The condensed tree: the clusters of at least `min_cluster_size` points at each distance, and where points leave
//! them.

use std::ops::Range;

/// 1 / weight, from the squared weight.
pub(crate) fn lambda(weight2: f64) -> f64 {
    1.0 / weight2.sqrt()
}

/// A cluster of a [`CondensedTree`]: in an icicle plot, a bar from `birth` to `death`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CondensedCluster {
    /// The cluster from which this one splits off; `None` for the root.
    pub parent: Option<u32>,
    /// The clusters into which it splits: none, or at least two.
    pub children: Range<u32>,
    /// The lambda at which the cluster begins; 0 for the root.
    pub birth: f64,
    /// The lambda at which the cluster splits or ends, the maximum of its rows. Infinite if copies of a point hold it
    /// together.
    pub death: f64,
    /// The number of points at its birth.
    pub size: u32,
    /// The sum over its points of the lambda at which each leaves, minus `birth`.
    pub stability: f64,
    /// The label of the cluster, if it is chosen and has members.
    pub label: Option<u32>,
    /// The squared weights at birth and death.
    pub(crate) birth2: f64,
    pub(crate) death2: f64,
}

/// A row of a [`CondensedTree`], in the form of the papers and Python packages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CondensedRow {
    /// The cluster that the child leaves: n for the root, n + c for cluster c.
    pub parent: u64,
    /// The point or cluster that leaves: `0..n` for a point, n + c for cluster c.
    pub child: u64,
    /// The lambda at which the child leaves: the inverse of the distance.
    pub lambda: f64,
    /// The number of points of the child.
    pub size: u32,
}

/// The hierarchy of clusters of at least `min_cluster_size` points, the root first.
///
/// ```
/// use ropewalk::Hdbscan;
///
/// let clusters = Hdbscan::new(2).min_samples(1).run(&[[0.0f64], [1.0], [9.0], [11.0]])?;
/// let tree = clusters.condensed_tree();
/// assert_eq!(tree.clusters()[0].children, 1..3);
/// assert_eq!((tree.clusters()[2].birth, tree.clusters()[2].death), (0.125, 0.5));
/// assert_eq!(tree.clusters()[2].stability, 2.0 * (0.5 - 0.125));
/// let rows: Vec<_> = tree.rows().map(|row| (row.parent, row.child, row.lambda, row.size)).collect();
/// assert_eq!(rows[..2], [(5, 0, 1.0, 1), (5, 1, 1.0, 1)]);
/// assert_eq!(rows[4..], [(4, 5, 0.125, 2), (4, 6, 0.125, 2)]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct CondensedTree {
    /// Parents come before their children.
    pub(crate) clusters: Vec<CondensedCluster>,
    /// For each point, its last cluster, and the squared weight at which it leaves this cluster.
    pub(crate) cluster: Vec<u32>,
    pub(crate) weight2: Vec<f64>,
    pub(crate) min_cluster_size: usize,
}

crate::brief::brief_debug!(CondensedTree, lists: [clusters, cluster, weight2], others: [min_cluster_size]);

impl CondensedTree {
    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        self.cluster.len()
    }

    /// Returns the clusters, in breadth-first order of the dendrogram.
    ///
    /// The first is the root, which holds all points, even if these are fewer than `min_cluster_size`. Children of one
    /// parent are ordered by their smallest member. For [`Ties::Sequential`](crate::cluster::Ties::Sequential) they are
    /// ordered as in scikit-learn; its numbers are then these plus n.
    pub fn clusters(&self) -> &[CondensedCluster] {
        &self.clusters
    }

    /// Returns the last cluster of point `i`.
    ///
    /// # Panics
    /// If `i` is not less than the number of points.
    pub fn cluster(&self, i: usize) -> u32 {
        self.cluster[i]
    }

    /// Returns the lambda at which point `i` leaves its last cluster.
    ///
    /// # Panics
    /// If `i` is not less than the number of points.
    pub fn lambda(&self, i: usize) -> f64 {
        lambda(self.weight2[i])
    }

    /// Returns the rows of the tree: one for each point, in order, then one for each cluster except the root.
    pub fn rows(&self) -> impl Iterator<Item = CondensedRow> {
        let number = |cluster: usize| (self.n_points() + cluster) as u64;
        let points = (0..self.n_points()).map(move |i| CondensedRow {
            parent: number(self.cluster[i] as usize),
            child: i as u64,
            lambda: self.lambda(i),
            size: 1,
        });
        let row = move |(child, cluster): (usize, &CondensedCluster)| {
            let parent = number(cluster.parent? as usize);
            Some(CondensedRow { parent, child: number(child), lambda: cluster.birth, size: cluster.size })
        };
        points.chain(self.clusters.iter().enumerate().filter_map(row))
    }

    /// Returns `true` if there are fewer points than `min_cluster_size`.
    pub(super) fn is_too_small(&self) -> bool {
        self.clusters.first().is_some_and(|root| (root.size as usize) < self.min_cluster_size)
    }

    /// The maximum lambda of each cluster and of all clusters below it.
    pub(super) fn deepest(&self) -> Vec<f64> {
        let mut deepest: Vec<f64> = self.clusters.iter().map(|cluster| cluster.death).collect();
        for (at, cluster) in self.clusters.iter().enumerate().rev() {
            if let Some(parent) = cluster.parent {
                deepest[parent as usize] = deepest[parent as usize].max(deepest[at]);
            }
        }
        deepest
    }
}
