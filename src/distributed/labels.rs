//! Which points belong together, across ranks.

/// A cluster number for each point of this rank, or none, in the order in which the rank gave its points. Numbers are those that one
/// process would give to the points of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub(super) labels: Vec<i64>,
    /// Whether each point is core, unless every point with a label is.
    pub(super) core: Option<Vec<bool>>,
    pub(super) n_clusters: u64,
}

impl Labels {
    /// One label per point of this rank, -1 for none.
    pub fn as_slice(&self) -> &[i64] {
        &self.labels
    }

    /// The same, without a copy.
    pub fn into_vec(self) -> Vec<i64> {
        self.labels
    }

    /// The cluster of point `i` of this rank, if it has one and there is such a point.
    pub fn get(&self, i: usize) -> Option<u64> {
        self.labels.get(i).and_then(|&label| u64::try_from(label).ok())
    }

    /// Whether point `i` of this rank is core. Every point of a friends-of-friends group is.
    pub fn is_core(&self, i: usize) -> bool {
        self.core.as_ref().map_or_else(|| self.get(i).is_some(), |core| core.get(i) == Some(&true))
    }

    /// How many clusters the points of all ranks have; their numbers are `0..n_clusters()`.
    pub fn n_clusters(&self) -> u64 {
        self.n_clusters
    }
}
