//! The condensed tree: which clusters of at least a size there are at each distance, and where each point leaves them.

use std::ops::Range;

/// 1 / weight, from the squared weight.
pub(crate) fn lambda(weight2: f64) -> f64 {
    1.0 / weight2.sqrt()
}

/// A cluster of a [`CondensedTree`]: what an icicle plot draws is a bar from `birth` to `death`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CondensedCluster {
    /// The cluster that it falls out of; none for the root.
    pub parent: Option<u32>,
    /// The clusters that it falls into: none, or at least two.
    pub children: Range<u32>,
    /// The lambda at which it comes to be; 0 for the root.
    pub birth: f64,
    /// The lambda at which it falls apart or ends, the largest of its rows; infinite where copies of a point hold it together.
    pub death: f64,
    /// How many points it has at its birth.
    pub size: u32,
    /// The sum over its points of the lambda at which each leaves, less `birth`.
    pub stability: f64,
    /// Its label, if it is chosen and has members.
    pub label: Option<u32>,
    /// The squared weights of birth and death.
    pub(crate) birth2: f64,
    pub(crate) death2: f64,
}

/// A row of a [`CondensedTree`], as the papers and Python packages have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CondensedRow {
    /// The cluster that is left: n for the root, n + c for cluster c.
    pub parent: u64,
    /// What leaves: a point `0..n`, or cluster c as n + c.
    pub child: u64,
    /// One over the distance at which it leaves.
    pub lambda: f64,
    /// How many points it has.
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
    /// For each point the last cluster that it is in, and the squared weight at which it leaves it.
    pub(crate) cluster: Vec<u32>,
    pub(crate) weight2: Vec<f64>,
    pub(crate) min_cluster_size: usize,
}

crate::brief::brief_debug!(CondensedTree, lists: [clusters, cluster, weight2], others: [min_cluster_size]);

impl CondensedTree {
    /// How many points there are.
    pub fn n_points(&self) -> usize {
        self.cluster.len()
    }

    /// The clusters, in the order of a breadth-first walk through the dendrogram: the root, all points, is the first, also if it has
    /// fewer points than a cluster must have. Children of one parent are ordered by their smallest member, or for
    /// [`Ties::Sequential`](crate::Ties::Sequential) as in scikit-learn, whose numbers these then are, less n.
    pub fn clusters(&self) -> &[CondensedCluster] {
        &self.clusters
    }

    /// The last cluster that point `i` is in.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn cluster(&self, i: usize) -> u32 {
        self.cluster[i]
    }

    /// The lambda at which point `i` leaves its last cluster.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn lambda(&self, i: usize) -> f64 {
        lambda(self.weight2[i])
    }

    /// A row for each point, in order, then one for each cluster but the root.
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

    /// Whether all points are fewer than a cluster must have.
    pub(super) fn is_too_small(&self) -> bool {
        self.clusters.first().is_some_and(|root| (root.size as usize) < self.min_cluster_size)
    }

    /// The largest lambda of each cluster and all those below it.
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
