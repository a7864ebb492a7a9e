//! Clusters, groups and spanning trees of points on a device.

pub(super) mod connect;
pub(super) mod dbscan;
pub(super) mod dendrogram;
pub(super) mod fof;
pub(super) mod halos;
pub(super) mod hdbscan;
pub(super) mod hop;
pub(super) mod labels;
pub(super) mod mst;
#[cfg(feature = "distributed")]
mod fof_with_ghosts;

pub use dbscan::{Dbscan, dbscan};
pub use dendrogram::Dendrogram;
pub use fof::Fof;
#[cfg(feature = "distributed")]
pub(crate) use fof_with_ghosts::Groups;
pub use halos::Halos;
pub use hdbscan::{Hdbscan, HdbscanClusters};
pub use hop::{Hop, HopChains, KernelDensity};
pub use labels::Labels;
pub use mst::{MinimumSpanningTree, SpanningTree, minimum_spanning_tree};
