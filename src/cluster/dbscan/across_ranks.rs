//! The steps of DBSCAN as separate functions, for points that are distributed over ranks.
//!
//! In: a tree of a rank's points. Out: the core points, their clusters, and the clusters of border points, once
//! clusters are numbered across ranks. Cost: that of DBSCAN.

use crate::bvh::Bvh;
use crate::cluster::connect::{Participants, connect};
use crate::cluster::dbscan::border::{self, Cores};
use crate::cluster::dbscan::core;
use crate::cluster::dbscan::{Dbscan, DbscanAlgorithm};
use crate::cluster::flags::Flags;
use crate::cluster::labels::Labels;
use crate::cluster::relabel::{CompactLabels, IsCore};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{BoxSize, Scalar, Space};
use crate::memory::{filled, zeroed};
use crate::precompiled::precompiled;

impl Dbscan {
    pub(crate) fn check_across<const D: usize>(&self, space: &Space<D>) -> Result<()> {
        self.check_options(space)?;
        if self.weights.is_some() {
            let sentence = "DBSCAN across ranks does not support weights; run it on one rank";
            return Err(Error::new(ErrorKind::Unsupported, sentence));
        }
        Ok(())
    }

    /// The options that must be equal on all ranks, with their names.
    pub(crate) fn options(&self) -> [(&'static str, f64); 3] {
        [("eps", self.eps), ("min_samples", self.min_samples as f64), ("star", self.star.into())]
    }

    pub(crate) fn size(&self) -> &BoxSize {
        &self.size
    }

    pub(crate) fn eps(&self) -> f64 {
        self.eps
    }

    pub(crate) fn min_samples(&self) -> usize {
        self.min_samples
    }

    pub(crate) fn is_star(&self) -> bool {
        self.star
    }
}

precompiled! {
    /// A flag per primitive, by its index: 1 for core points, 0 for others.
    pub(crate) fn core_of = find_core(tree: same_ref &Bvh<S, D>, options: keep &Dbscan) -> Vec<u8>
}

fn find_core<S: Scalar, const D: usize>(tree: &Bvh<S, D>, options: &Dbscan) -> Vec<u8> {
    let dense = options.algorithm != DbscanAlgorithm::Fdbscan;
    let masks = core::find(tree, options.eps, options.min_samples, None, dense);
    let mut core = zeroed(tree.len());
    for leaf in (0..tree.end()).filter(|&at| tree.is_leaf(at)) {
        for (bit, at) in tree.span(leaf).enumerate() {
            core[tree.order()[at] as usize] = (masks[leaf] >> bit & 1) as u8;
        }
    }
    core
}

/// The core points of a rank and their clusters.
pub(crate) struct CoreClusters {
    masks: Vec<u32>,
    flags: Flags,
    clusters: CompactLabels,
}

precompiled! {
    /// Unites the core points, for which `core` is 1, by their index.
    pub(crate) fn core_clusters = unite_core(
        tree: same_ref &Bvh<S, D>, options: keep &Dbscan, core: keep &[u8]
    ) -> Result<CoreClusters>
}

fn unite_core<S: Scalar, const D: usize>(tree: &Bvh<S, D>, options: &Dbscan, core: &[u8]) -> Result<CoreClusters> {
    let order = tree.order();
    let of_leaf = |leaf| {
        let span = tree.span(leaf);
        let bits = order[span].iter().zip(0..);
        bits.fold(0, |mask, (&index, bit)| mask | u32::from(core[index as usize]) << bit)
    };
    let masks = tree.reduce(of_leaf, |_, [left, right]| u32::from(left | right != 0));
    let flags = Flags::from_masks(tree, &masks);
    let forest = connect(tree, options.eps, Participants::Masks(&masks));
    let clusters = forest.relabel(order, IsCore::Flagged(&flags))?;
    Ok(CoreClusters { masks, flags, clusters })
}

impl CoreClusters {
    /// Returns the cluster of each core point by its index, -1 for other points, and the number of clusters.
    pub fn labels(&self, order: &[u32]) -> (Vec<i32>, usize) {
        let mut labels = filled(order.len(), -1);
        for (at, &index) in (0..).zip(order) {
            if self.flags.at(at) {
                labels[index as usize] = self.clusters.of(at).map_or(-1, |cluster| cluster as i32);
            }
        }
        (labels, self.clusters.n_clusters() as usize)
    }

    /// Returns the root of the tree of position `at` if this is a core point.
    pub fn root(&self, at: u32) -> Option<u32> {
        self.flags.at(at).then(|| self.clusters.root(at))
    }

    /// Replaces the number of each cluster; two clusters may get the same number.
    pub fn renumber(self, number: &(dyn Fn(u32) -> u32 + Sync)) -> Self {
        Self { clusters: self.clusters.renumber(number), ..self }
    }
}

precompiled! {
    /// Labels core points and border points.
    pub(crate) fn join_borders = label_borders(
        tree: same_ref &Bvh<S, D>, options: keep &Dbscan, clusters: keep CoreClusters
    ) -> Labels
}

fn label_borders<S: Scalar, const D: usize>(tree: &Bvh<S, D>, options: &Dbscan, clusters: CoreClusters) -> Labels {
    let CoreClusters { masks, flags, clusters } = clusters;
    border::label(tree, options.eps, Cores { masks: &masks, flags: &flags, clusters }, options.star)
}
