//! HDBSCAN*: clusters of varying density, chosen from all those that DBSCAN* finds.
//!
//! In: points and a least cluster size. Out: [`HdbscanClusters`]: labels, probabilities, and the tree they are chosen from.
//! Three steps: the spanning tree by mutual reachability (`mst`), the condensed tree (`condense`), and the choice (`select`).
//! Cost: that of the spanning tree; the rest is that of the dendrogram and some passes over edges and points, on all threads, and takes up to
//! 56 bytes a point beside the result's 24, and up to 40 a cluster.
//! Source: Campello, Moulavi and Sander 2013 (the hierarchy and the choice by stability); Campello, Moulavi, Zimek and Sander 2015
//! (outliers); Malzer and Baum 2020 (the choice with a least distance).

pub(crate) mod clusters;
pub(crate) mod condense;
mod nodes;
mod options;
pub(crate) mod order;
mod outliers;
mod predict;
pub(crate) mod select;
mod stability;
pub(crate) mod tree;

pub use clusters::HdbscanClusters;
pub use options::{ClusterSelection, Hdbscan, Ties};
pub use predict::HdbscanPrediction;
pub use tree::{CondensedCluster, CondensedRow, CondensedTree};

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::cluster::dendrogram::Dendrogram;
use crate::cluster::mst::{MinimumSpanningTree, SpanningTree};
use crate::error::{Error, Result};
use crate::geometry::{Bounded, Scalar, Space};

impl Hdbscan {
    /// Finds the clusters of `points`.
    ///
    /// Exact, and the same for any number of threads.
    ///
    /// Errors: `min_cluster_size` below 2; `min_samples` of 0 or of more than there are points; an epsilon that is NaN or negative; a
    /// `max_cluster_size` of 0; an alpha that is not positive and finite; a box or points that [`Bvh::build`] refuses, among them any with
    /// a coordinate that is NaN or infinite.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<HdbscanClusters> {
        guarded(|| {
            self.check()?;
            self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?)
        })
    }

    /// Finds the clusters in a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`Hdbscan::run`], for the options.
    pub fn run_on<S: Scalar, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HdbscanClusters> {
        guarded(|| {
            self.check()?;
            let tree = MinimumSpanningTree::new().min_samples(self.samples(bvh.len())).alpha(self.alpha);
            self.run_on_tree(&tree.run_on(bvh)?)
        })
    }

    /// Finds the clusters of a spanning tree, whatever its edges weigh; `min_samples`, alpha and the box are not asked again. So trials
    /// of the other options cost a fraction of the first.
    ///
    /// Errors: as [`Hdbscan::run`], for the options; a tree of more than 2^31 points.
    ///
    /// ```
    /// use ropewalk::{Hdbscan, MinimumSpanningTree};
    ///
    /// let points = [[0.0f64], [1.0], [2.0], [10.0], [11.0], [20.0], [21.0], [22.0]];
    /// let tree = MinimumSpanningTree::new().min_samples(2).run(&points)?;
    /// let counts = [2, 3, 4].map(|size| Hdbscan::new(size).run_on_tree(&tree).map(|found| found.labels().n_clusters()));
    /// assert_eq!(counts.into_iter().collect::<Result<Vec<_>, _>>()?, [3, 2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn run_on_tree(&self, tree: &SpanningTree) -> Result<HdbscanClusters> {
        guarded(|| {
            self.check()?;
            let (n, max) = (tree.n_points(), Dendrogram::MOST_POINTS);
            if n > max {
                return Err(Error::too_many_points(n, max));
            }
            let condensed = condense::condense(tree, self.min_cluster_size, self.ties);
            let selected = select::select(&condensed, self);
            Ok(HdbscanClusters::new(condensed, &selected, self))
        })
    }
}
