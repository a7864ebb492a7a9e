//! The options of HDBSCAN*: how clusters are chosen, and how edges of equal weight are removed.

use crate::error::{Error, Result};
use crate::geometry::BoxSize;

/// Which clusters of the [`CondensedTree`](crate::CondensedTree) are chosen. No chosen cluster lies in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClusterSelection {
    /// Those of the largest sum of stabilities; a cluster as stable as those below it together is preferred to them.
    #[default]
    ExcessOfMass,
    /// Those that do not fall apart into others: more clusters, smaller, and more alike in size.
    Leaf,
}

/// What becomes of edges of equal weight. By mutual reachability there are many in any data, since one core distance is the weight
/// of several edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Ties {
    /// They are removed at once, as Campello et al. 2013 define it: the clusters do not depend on the order of the points. Clusters are
    /// numbered by their smallest member.
    #[default]
    Together,
    /// They are removed one after the other, the last first in the order of [`SpanningTree::edges`](crate::SpanningTree::edges), as scikit-learn removes them from a
    /// tree of its own: its clusters and numbers if it is given this tree, and of any tree that has no equal weights.
    Sequential,
}

/// HDBSCAN* with options, then [`Hdbscan::run`].
///
/// At a distance d the points with `min_samples` points, themselves included, within d form the clusters of DBSCAN*: those of a
/// chain of steps of at most d. As d shrinks, clusters lose points, fall apart into several of at least `min_cluster_size` points, or
/// end. With lambda = 1/d, the stability of a cluster that is born at lambda_birth is
///
/// ```text
/// S = sum over its points p of (lambda_p - lambda_birth),
/// ```
///
/// where p leaves at lambda_p: alone, or into a cluster below. The clusters of the largest sum of S are chosen. A point's probability
/// is lambda_p over the largest lambda of its cluster, which is at most 1.
///
/// # Choosing
///
/// `min_cluster_size` says what a cluster is at least. `min_samples` smooths: more of them, more noise and fewer clusters. No distance is
/// asked; where one is known below which nothing is worth telling apart, [`Hdbscan::cluster_selection_epsilon`] takes it.
///
/// Not for clusters of one known density, which [`Dbscan`](crate::Dbscan) finds faster.
///
/// ```
/// use ropewalk::Hdbscan;
///
/// let points = [[0.0f32], [1.0], [2.0], [3.0], [30.0], [30.1], [30.2], [30.4], [90.0]];
/// let clusters = Hdbscan::new(3).min_samples(2).run(&points)?;
/// assert_eq!(clusters.labels().as_slice(), [0, 0, 0, 0, 1, 1, 1, 1, -1]);
/// assert_eq!(clusters.probabilities()[4], 1.0);
/// // The point that leaves its cluster at a distance of 0.2, where the others leave at 0.1.
/// assert!((clusters.probabilities()[7] - 0.5).abs() < 1e-4);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hdbscan {
    pub(crate) min_cluster_size: usize,
    pub(super) min_samples: Option<usize>,
    pub(super) selection: ClusterSelection,
    pub(super) epsilon: f64,
    pub(super) max_cluster_size: Option<usize>,
    pub(super) allow_single_cluster: bool,
    pub(crate) alpha: f64,
    pub(crate) ties: Ties,
    pub(super) size: BoxSize,
}

impl Hdbscan {
    /// Clusters have at least this many points; at least 2.
    pub fn new(min_cluster_size: usize) -> Self {
        Self {
            min_cluster_size,
            min_samples: None,
            selection: ClusterSelection::ExcessOfMass,
            epsilon: 0.0,
            max_cluster_size: None,
            allow_single_cluster: false,
            alpha: 1.0,
            ties: Ties::Together,
            size: BoxSize::default(),
        }
    }

    /// The core distance of a point is that to its nearest of this number, the point itself counted, as in scikit-learn; the Python package
    /// `hdbscan` counts one less. By default `min_cluster_size`, or the number of points if they are fewer.
    #[must_use]
    pub fn min_samples(mut self, min_samples: usize) -> Self {
        self.min_samples = Some(min_samples);
        self
    }

    /// Which clusters are chosen.
    #[must_use]
    pub fn cluster_selection(mut self, selection: ClusterSelection) -> Self {
        self.selection = selection;
        self
    }

    /// A chosen cluster that splits off at a distance of less than this is replaced by the first cluster above it that splits off at more
    /// than this, or by the last below the root. 0, the default, replaces none. It precedes [`Hdbscan::max_cluster_size`].
    #[must_use]
    pub fn cluster_selection_epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// By excess of mass no larger cluster is chosen; so a larger one that does not fall apart is noise. The size of the root is here that
    /// of the clusters it falls into, as in scikit-learn.
    #[must_use]
    pub fn max_cluster_size(mut self, size: usize) -> Self {
        self.max_cluster_size = Some(size);
        self
    }

    /// Whether the root, all points, may be the one cluster. Its members are then those points that stay up to its largest lambda, or
    /// with an epsilon up to lambda = 1/epsilon. Never of fewer points than `min_cluster_size`, which scikit-learn allows.
    #[must_use]
    pub fn allow_single_cluster(mut self, allow: bool) -> Self {
        self.allow_single_cluster = allow;
        self
    }

    /// Distances of pairs are divided by this, core distances are not: w(i, j) = max(core(i), core(j), d(i, j) / alpha). 1 by
    /// default.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// What becomes of edges of equal weight.
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// A periodic box: one side, or one per axis; `None` for open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// The `min_samples` for this number of points: what [`Hdbscan::min_samples`] set, else the default.
    ///
    /// ```
    /// let hdbscan = ropewalk::Hdbscan::new(5);
    /// assert_eq!([hdbscan.samples(100), hdbscan.samples(3)], [5, 3]);
    /// ```
    #[must_use]
    pub fn samples(&self, points: usize) -> usize {
        self.min_samples.unwrap_or(self.min_cluster_size.min(points.max(1)))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |name, value, must| Err(Error::parameter_must(name, value, must));
        if self.min_cluster_size < 2 {
            return refuse("min_cluster_size", self.min_cluster_size as f64, "at least 2");
        }
        if self.min_samples == Some(0) {
            return refuse("min_samples", 0.0, "at least 1");
        }
        if self.epsilon.is_nan() || self.epsilon < 0.0 {
            return refuse("cluster_selection_epsilon", self.epsilon, "a number, not negative");
        }
        if self.max_cluster_size == Some(0) {
            return refuse("max_cluster_size", 0.0, "at least 1");
        }
        if !(self.alpha > 0.0 && self.alpha < f64::INFINITY) {
            return refuse("alpha", self.alpha, "positive and finite");
        }
        Ok(())
    }
}
