//! HDBSCAN* on a device: the twin of `cluster::hdbscan`.
//!
//! In: points and a least cluster size. Out: labels and probabilities on the device, the tree of clusters on the host.
//! The spanning tree (`mst`), its merges as chains (`dendrogram`), nodes of one weight and their clusters (`nodes`), the table of clusters
//! (`condense`, `stability`). That table, at most 2 n / `min_cluster_size` rows, goes to the host, which orders clusters and chooses among
//! them as it does its own; and back, to where points look up what became of theirs (`clusters`).
//! Lambdas are rounded as on the CPU. A device that does not do so leaves all behind the spanning tree to the host, as do points that are
//! fewer than a cluster must have.
//! Source: as `cluster::hdbscan`; Sao, Prokopenko and Lebrun-Grandié 2024 (PANDORA: the dendrogram in parallel).

mod choose;
mod clusters;
mod condense;
mod nodes;
mod stability;

pub use clusters::HdbscanClusters;

use crate::cluster::{ClusterSelection, Ties};
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::dendrogram::chains::Chains;
use crate::gpu::cluster::hdbscan::condense::condense;
use crate::gpu::cluster::mst::{MinimumSpanningTree, SpanningTree};
use crate::gpu::device::on;
use crate::gpu::primitives::rounding::rounds_well;

/// HDBSCAN* with options, then [`Hdbscan::run`]: the twin of [`crate::Hdbscan`], whose options mean the same. Points are in a periodic box
/// if they were uploaded so. Edges of equal weight are removed together ([`Ties::Together`]), and alpha is 1.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Hdbscan, Points};
///
/// let points = [[0.0f32, 0.0], [1.0, 0.0], [2.0, 0.0], [30.0, 0.0], [30.1, 0.0], [30.2, 0.0], [90.0, 0.0]];
/// let clusters = Hdbscan::new(3).min_samples(2).run(&Points::new(&points, Device::first()?)?)?;
/// assert_eq!(clusters.labels().read()?.as_slice(), [0, 0, 0, 1, 1, 1, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hdbscan {
    options: crate::Hdbscan,
}

impl From<crate::Hdbscan> for Hdbscan {
    /// The options of the CPU's; what a device cannot do is refused when it runs. The box is that of the points there.
    fn from(options: crate::Hdbscan) -> Self {
        Self { options }
    }
}

impl Hdbscan {
    /// Clusters have at least this many points; at least 2.
    pub fn new(min_cluster_size: usize) -> Self {
        Self { options: crate::Hdbscan::new(min_cluster_size) }
    }

    /// As [`crate::Hdbscan::min_samples`]; at most 65.
    #[must_use]
    pub fn min_samples(self, min_samples: usize) -> Self {
        Self { options: self.options.min_samples(min_samples) }
    }

    /// As [`crate::Hdbscan::cluster_selection`].
    #[must_use]
    pub fn cluster_selection(self, selection: ClusterSelection) -> Self {
        Self { options: self.options.cluster_selection(selection) }
    }

    /// As [`crate::Hdbscan::cluster_selection_epsilon`].
    #[must_use]
    pub fn cluster_selection_epsilon(self, epsilon: f64) -> Self {
        Self { options: self.options.cluster_selection_epsilon(epsilon) }
    }

    /// As [`crate::Hdbscan::max_cluster_size`].
    #[must_use]
    pub fn max_cluster_size(self, size: usize) -> Self {
        Self { options: self.options.max_cluster_size(size) }
    }

    /// As [`crate::Hdbscan::allow_single_cluster`].
    #[must_use]
    pub fn allow_single_cluster(self, allow: bool) -> Self {
        Self { options: self.options.allow_single_cluster(allow) }
    }

    /// Finds the clusters of `points`.
    ///
    /// Exact, and the same in every run. Beside the spanning tree it takes 24 bytes a point for the result, and up to 90
    /// while it runs.
    ///
    /// Errors: as [`crate::Hdbscan::run`], for the options; [`Ties::Sequential`] and another alpha than 1, which a device does not have;
    /// more than 65 samples; 2^31 points or more; if the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<HdbscanClusters> {
        self.check()?;
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// Errors: as [`Hdbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HdbscanClusters> {
        self.check()?;
        let tree = MinimumSpanningTree::new().min_samples(self.options.samples(bvh.len())).run_on(bvh)?;
        self.run_on_tree(&tree)
    }

    /// Finds the clusters of a spanning tree, whatever its edges weigh; `min_samples` is not asked again. So trials of the other options
    /// cost a fraction of the first.
    ///
    /// Errors: as [`Hdbscan::run`], for the options.
    pub fn run_on_tree(&self, tree: &SpanningTree) -> Result<HdbscanClusters> {
        self.check()?;
        let &SpanningTree { device, n_points, ref weight2, ref low, ref high } = tree;
        on!(device, client => {
            if n_points < self.options.min_cluster_size || !rounds_well(client, device)? {
                let found = self.options.run_on_tree(&tree.read()?)?;
                return Ok(HdbscanClusters::upload(client, device, found));
            }
            let (chains, _) = Chains::new(client, n_points, low, high)?;
            let (rows, departures) = condense(client, &chains, weight2, self.options.min_cluster_size)?;
            drop(chains);
            HdbscanClusters::new(client, device, rows, departures, &self.options)
        })
    }

    fn check(&self) -> Result<()> {
        self.options.check()?;
        let refuse = |name, value, must| Err(Error::parameter_must(name, value, must));
        if self.options.ties != Ties::Together {
            let sentence =
                "on a device, edges of equal weight are removed together (Ties::Together), not one after the other";
            return Err(Error::new(ErrorKind::Unsupported, sentence));
        }
        if self.options.alpha != 1.0 {
            return refuse("alpha", self.options.alpha, "1 on a device");
        }
        Ok(())
    }
}
