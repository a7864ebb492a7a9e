//! HDBSCAN*: clusters of varying density, chosen from the hierarchy of all DBSCAN* clusters.
//!
//! In: points and a minimum cluster size. Out: [`HdbscanClusters`]: labels, probabilities, and the tree from which the
//! clusters are chosen.
//! Three steps: the spanning tree by mutual reachability (`mst`), the condensed tree (`condense`), the choice of
//! clusters (`select`).
//! Cost: that of the spanning tree, that of the dendrogram, and some passes over edges and points, on all threads.
//! Memory beside the spanning tree: up to 56 bytes per point beside the result's 24, and up to 40 per cluster.
//! Source: Campello, Moulavi and Sander 2013 (the hierarchy and the choice by stability). Campello, Moulavi, Zimek and
//! Sander 2015 (outliers). Malzer and Baum 2020 (the choice with a minimum distance).

pub(crate) mod cluster_order;
pub(crate) mod clusters;
pub(crate) mod condense;
mod nodes;
mod options;
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
    /// The result is exact, and the same for any number of threads.
    ///
    /// # Errors
    /// - `min_cluster_size` below 2; `min_samples` of 0 or of more than the number of points.
    /// - An epsilon that is NaN or negative; a `max_cluster_size` of 0.
    /// - An alpha that is not positive, or whose square is not a normal number of `f64`.
    /// - A box or points that [`Bvh::build`] rejects, for example points with a coordinate that is NaN or infinite.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<HdbscanClusters> {
        guarded(|| {
            self.check()?;
            self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?)
        })
    }

    /// Finds the clusters of the points in an existing tree. The space is that of the tree, open or periodic.
    ///
    /// # Errors
    /// As for [`Hdbscan::run`], for the options.
    pub fn run_on<S: Scalar, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HdbscanClusters> {
        guarded(|| {
            self.check()?;
            let tree = MinimumSpanningTree::new().min_samples(self.samples(bvh.len())).alpha(self.alpha);
            self.run_on_spanning_tree(&tree.run_on(bvh)?)
        })
    }

    /// Finds the clusters from a spanning tree with any edge weights. `min_samples`, alpha and the box are ignored.
    /// Further runs with other options on the same tree cost a fraction of the first.
    ///
    /// # Errors
    /// As for [`Hdbscan::run`], for the options; a tree of more than 2^31 points.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::{Hdbscan, MinimumSpanningTree};
    ///
    /// let points = [[0.0f64], [1.0], [2.0], [10.0], [11.0], [20.0], [21.0], [22.0]];
    /// let tree = MinimumSpanningTree::new().min_samples(2).run(&points)?;
    /// let counts = [2, 3, 4].map(|size| Hdbscan::new(size).run_on_spanning_tree(&tree).map(|found| found.labels().n_clusters()));
    /// assert_eq!(counts.into_iter().collect::<Result<Vec<_>, _>>()?, [3, 2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn run_on_spanning_tree(&self, tree: &SpanningTree) -> Result<HdbscanClusters> {
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
