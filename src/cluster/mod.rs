//! Clustering of points: union-find, labels, DBSCAN, HDBSCAN*, friends of friends, HOP, spanning trees.

mod connect;
pub(crate) mod dbscan;
mod dendrogram;
mod dense_box;
pub(crate) mod errors;
mod flags;
pub(crate) mod fof;
pub(crate) mod halos;
pub(crate) mod hdbscan;
pub(crate) mod hop;
pub(crate) mod labels;
pub(crate) mod members;
pub(crate) mod mst;
mod rank_bitmap;
pub(crate) mod relabel;
pub(crate) mod union_find;

pub use dbscan::{Dbscan, DbscanAlgorithm, dbscan};
pub use dendrogram::{Dendrogram, Merge};
pub use fof::Fof;
pub use halos::{HaloMembers, Halos};
pub use hdbscan::{
    ClusterSelection, CondensedCluster, CondensedRow, CondensedTree, Hdbscan, HdbscanClusters, HdbscanPrediction, Ties,
};
pub use hop::{ChainBoundary, DensityKernel, DensityUnit, Hop, HopChains, KernelDensity, Peak};
pub use labels::Labels;
pub use mst::{Edge, MinimumSpanningTree, SpanningTree, minimum_spanning_tree};
