//! Cluster labels of points across ranks.

use crate::distributed::boundary::{NONE, Numbered};
use crate::distributed::domain::Domain;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// A cluster number, or none, for each point of this rank, in the order in which the rank passed in its points. The
/// numbers equal those that one process would assign to the points of all ranks.
#[derive(Clone, PartialEq, Eq)]
pub struct Labels {
    pub(crate) labels: Vec<i64>,
    /// The core flag of each point; `None` if every point with a label is core.
    pub(crate) core: Option<Vec<bool>>,
    pub(crate) n_clusters: u64,
}

crate::brief::brief_debug!(Labels, lists: [labels], others: [n_clusters]);

impl Labels {
    /// Returns the numbers of the components of a domain's points to the ranks that passed in the points. `own` is
    /// negative for points without a component. Collective.
    pub(crate) fn send_back<S: Scalar, const D: usize>(
        domain: &Domain<'_, S, D>,
        own: &[i32],
        numbered: &Numbered,
    ) -> Result<Self> {
        let numbers = &numbered.numbers;
        let of = |at: usize| usize::try_from(own[at]).map_or(NONE, |label| numbers[label]);
        // 32-bit numbers halve the message.
        let labels = if numbered.count < u64::from(u32::MAX) {
            let narrow = domain.home.send_back(domain.ranks, &map(own.len(), TASK, &|at| of(at) as u32))?;
            map(narrow.len(), TASK, &|at| if narrow[at] == u32::MAX { -1 } else { i64::from(narrow[at]) })
        } else {
            let wide = domain.home.send_back(domain.ranks, &map(own.len(), TASK, &of))?;
            wide.into_iter().map(|number| number as i64).collect()
        };
        mark("labels sent back");
        Ok(Self { labels, core: None, n_clusters: numbered.count })
    }

    /// Returns one label per point of this rank, -1 if the point has no cluster.
    pub fn as_slice(&self) -> &[i64] {
        &self.labels
    }

    /// Returns the labels without a copy.
    pub fn into_vec(self) -> Vec<i64> {
        self.labels
    }

    /// Returns the cluster of point `i` of this rank; `None` if it has no cluster or `i` is out of bounds.
    pub fn get(&self, i: usize) -> Option<u64> {
        self.labels.get(i).and_then(|&label| u64::try_from(label).ok())
    }

    /// Returns `true` if point `i` of this rank is core. Every point of a friends-of-friends group is core.
    pub fn is_core(&self, i: usize) -> bool {
        self.core.as_ref().map_or_else(|| self.get(i).is_some(), |core| core.get(i) == Some(&true))
    }

    /// Returns the number of clusters of the points of all ranks; cluster numbers are `0..n_clusters()`.
    pub fn n_clusters(&self) -> u64 {
        self.n_clusters
    }
}
