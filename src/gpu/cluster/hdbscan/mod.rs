//! HDBSCAN* on a device: the GPU version of `cluster::hdbscan`.
//!
//! In: points and a minimum cluster size. Out: labels and probabilities on the device, the tree of clusters on the
//! host.
//!
//! The steps:
//! - the spanning tree (`mst`), and its merges as chains (`dendrogram`);
//! - merges of equal weight as nodes, and their clusters (`nodes`);
//! - the table of clusters (`condense`, `stability`), which has at most 2 n / `min_cluster_size` rows and is copied to
//!   the host;
//! - the order and the selection of clusters, on the host with the functions of the CPU version (`select_on_host`);
//! - the labels of points, on the device (`clusters`), and of new points (`predict`).
//!
//! Lambdas are rounded as on the CPU. If a device rounds differently, or if there are fewer points than
//! `min_cluster_size`, the host performs all steps after the spanning tree. Source: as `cluster::hdbscan`; Sao,
//! Prokopenko and Lebrun-Grandié 2024 (PANDORA: the dendrogram in parallel).

mod select_on_host;
mod clusters;
mod condense;
mod nodes;
mod predict;
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

/// An HDBSCAN* finder for points on a device: set the options, then call [`Hdbscan::run`]. The GPU version of
/// [`crate::Hdbscan`], with the same meaning of options. Points are in a periodic box if they were uploaded with one.
/// Edges of equal weight are removed together ([`Ties::Together`]).
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
    /// Takes over the options of the CPU version. Options that a device does not support are errors when it runs. The
    /// periodic box is that of the points on the device.
    fn from(options: crate::Hdbscan) -> Self {
        Self { options }
    }
}

impl Hdbscan {
    /// Creates a finder of clusters with at least `min_cluster_size` points, which must be at least 2.
    pub fn new(min_cluster_size: usize) -> Self {
        Self { options: crate::Hdbscan::new(min_cluster_size) }
    }

    /// Sets the number of nearest points that determine a core distance, the point itself included. Default:
    /// `min_cluster_size`, or the number of points if that is smaller. See [`crate::Hdbscan::min_samples`].
    #[must_use]
    pub fn min_samples(self, min_samples: usize) -> Self {
        Self { options: self.options.min_samples(min_samples) }
    }

    /// Sets the criterion by which clusters are chosen. Default: [`ClusterSelection::ExcessOfMass`]. See
    /// [`crate::Hdbscan::cluster_selection`].
    #[must_use]
    pub fn cluster_selection(self, selection: ClusterSelection) -> Self {
        Self { options: self.options.cluster_selection(selection) }
    }

    /// Sets the minimum distance at which chosen clusters split off, in the unit of the points. Default: 0, no minimum.
    /// See [`crate::Hdbscan::cluster_selection_epsilon`].
    #[must_use]
    pub fn cluster_selection_epsilon(self, epsilon: f64) -> Self {
        Self { options: self.options.cluster_selection_epsilon(epsilon) }
    }

    /// Sets the maximum size of clusters chosen by excess of mass, in points. Default: no maximum. See
    /// [`crate::Hdbscan::max_cluster_size`].
    #[must_use]
    pub fn max_cluster_size(self, size: usize) -> Self {
        Self { options: self.options.max_cluster_size(size) }
    }

    /// Allows the root, which holds all points, to be chosen as the only cluster. Default: `false`. See
    /// [`crate::Hdbscan::allow_single_cluster`].
    #[must_use]
    pub fn allow_single_cluster(self, allow: bool) -> Self {
        Self { options: self.options.allow_single_cluster(allow) }
    }

    /// Sets the divisor of pair distances, but not of core distances. It must be positive, and its square
    /// a normal number of `f64`. Default: 1. See
    /// [`crate::Hdbscan::alpha`].
    #[must_use]
    pub fn alpha(self, alpha: f64) -> Self {
        Self { options: self.options.alpha(alpha) }
    }

    /// Finds the clusters of `points`. The result is exact, and the same in every run.
    ///
    /// Memory besides the spanning tree: 24 bytes per point for the result, and up to 90 while it runs.
    ///
    /// # Errors
    /// Returns an error if:
    /// - an option is invalid, as in [`crate::Hdbscan::run`];
    /// - the options are [`Ties::Sequential`], which a device does not support;
    /// - there are 2^31 or more points;
    /// - the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<HdbscanClusters> {
        self.check()?;
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Hdbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HdbscanClusters> {
        self.check()?;
        let tree = MinimumSpanningTree::new().min_samples(self.options.samples(bvh.len())).alpha(self.options.alpha);
        self.run_on_spanning_tree(&tree.run_on(bvh)?)
    }

    /// Finds the clusters of a spanning tree, for any edge weights; `min_samples` and alpha are not used. Further runs
    /// with other options therefore cost a fraction of the first run.
    ///
    /// # Errors
    /// Those of [`Hdbscan::run`] for the options.
    pub fn run_on_spanning_tree(&self, tree: &SpanningTree) -> Result<HdbscanClusters> {
        self.check()?;
        let &SpanningTree { device, n_points, ref weight2, ref low, ref high } = tree;
        on!(device, client => {
            if n_points < self.options.min_cluster_size || !rounds_well(client, device)? {
                let found = self.options.run_on_spanning_tree(&tree.read()?)?;
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
        if self.options.ties != Ties::Together {
            let sentence = "Ties::Sequential is not supported on a device; use Ties::Together";
            return Err(Error::new(ErrorKind::Unsupported, sentence));
        }
        Ok(())
    }
}
