//! Options of HDBSCAN*: the choice of clusters, and the treatment of edges of equal weight.

use crate::error::{Error, Result};
use crate::geometry::BoxSize;

/// The criterion by which clusters of the [`CondensedTree`](crate::cluster::CondensedTree) are chosen. No chosen
/// cluster lies in another, except as described for [`Hdbscan::cluster_selection_epsilon`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClusterSelection {
    /// The clusters with the largest sum of stabilities. A cluster that is as stable as the clusters below it together
    /// is preferred to them.
    #[default]
    ExcessOfMass,
    /// The clusters that do not split: more clusters, smaller, and more similar in size.
    Leaf,
}

/// The treatment of edges of equal weight. Mutual reachability gives equal weights in any data, because one core
/// distance is the weight of several edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Ties {
    /// Edges of equal weight are removed at once, as defined by Campello et al. 2013. The clusters do not depend on
    /// the order of the points. They are numbered by their smallest member.
    #[default]
    Together,
    /// Edges of equal weight are removed one by one, the last first in the order of
    /// [`SpanningTree::edges`](crate::cluster::SpanningTree::edges). scikit-learn removes them in this way from its own
    /// tree. So clusters and numbers equal those of scikit-learn for the same tree, and for any tree without equal
    /// weights.
    Sequential,
}

/// An HDBSCAN* finder: set the options, then call [`Hdbscan::run`].
///
/// A point is core at a distance d if at least `min_samples` points, itself included, are within d. Core points that
/// are linked by steps of at most d form the clusters of DBSCAN*. As d shrinks, clusters lose points, split into
/// several clusters of at least `min_cluster_size` points, or end. With lambda = 1/d, the stability of a cluster that
/// is born at lambda_birth is
///
/// ```text
/// S = sum over its points p of (lambda_p - lambda_birth),
/// ```
///
/// where p leaves at lambda_p, alone or with a child cluster. The clusters with the largest sum of S are chosen. The
/// probability of a point is lambda_p over the maximum lambda of its cluster, at most 1.
///
/// # Choosing the parameters
///
/// `min_cluster_size` is the size of the smallest clusters of interest. A larger `min_samples` smooths the density:
/// more noise and fewer clusters. No distance is needed. If structure below a known distance is irrelevant, set
/// [`Hdbscan::cluster_selection_epsilon`].
///
/// For clusters of one known density, [`Dbscan`](crate::Dbscan) is faster.
///
/// # Example
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
    /// Creates a finder of clusters with at least `min_cluster_size` points, which must be at least 2.
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

    /// Sets the number of nearest points, the point itself included, whose maximum distance is the core distance; at
    /// least 1. This is as in scikit-learn; the Python package `hdbscan` does not count the point itself. Default:
    /// `min_cluster_size`, or the number of points if that is smaller.
    #[must_use]
    pub fn min_samples(mut self, min_samples: usize) -> Self {
        self.min_samples = Some(min_samples);
        self
    }

    /// Sets the criterion by which clusters are chosen. Default: [`ClusterSelection::ExcessOfMass`].
    #[must_use]
    pub fn cluster_selection(mut self, selection: ClusterSelection) -> Self {
        self.selection = selection;
        self
    }

    /// Sets the minimum distance at which chosen clusters split off, in the unit of the points and not negative.
    /// Default: 0, no minimum.
    ///
    /// A chosen cluster that splits off at less is replaced by the first cluster above it that splits off at more than
    /// this distance. If there is no such cluster, it is replaced by the last one below the root, or by the root if
    /// [`Hdbscan::allow_single_cluster`] is set. Takes precedence over [`Hdbscan::max_cluster_size`].
    ///
    /// As in scikit-learn, a chosen cluster that splits off at exactly this distance or more is kept, even if a cluster
    /// that contains it replaces others. Its points are then members of the inner cluster only.
    #[must_use]
    pub fn cluster_selection_epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Sets the maximum size of clusters chosen by excess of mass, in points; a larger cluster that does not split is
    /// noise. The size of the root is the sum of the sizes of its children, as in scikit-learn. Default: no maximum.
    #[must_use]
    pub fn max_cluster_size(mut self, size: usize) -> Self {
        self.max_cluster_size = Some(size);
        self
    }

    /// Allows the root, which holds all points, to be chosen as the only cluster. Default: `false`.
    ///
    /// The members of the root are the points that stay up to its maximum lambda, or with an epsilon, up to lambda =
    /// 1/epsilon. Unlike in scikit-learn, the root is never chosen for fewer points than `min_cluster_size`.
    #[must_use]
    pub fn allow_single_cluster(mut self, allow: bool) -> Self {
        self.allow_single_cluster = allow;
        self
    }

    /// Sets the divisor of pair distances, but not of core distances: w(i, j) = max(core(i), core(j), d(i, j) / alpha).
    /// It must be positive and finite. Default: 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the treatment of edges of equal weight. Default: [`Ties::Together`].
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// Returns the `min_samples` for this number of points: the value of [`Hdbscan::min_samples`], or the default.
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
            return refuse("cluster_selection_epsilon", self.epsilon, "non-negative");
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
