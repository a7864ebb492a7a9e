//! Points whose dimension and type are known at run time, as files hold them, and the functions of `ropewalk` on
//! them.
//!
//! In: [`Points`] of 1 to 10 coordinates, `f32` or `f64`. Out: results of the generic functions.
//!
//! These functions are not generic, so a program that calls them does not compile the algorithms. To limit compile
//! time, they are compiled for few kinds of points: two and three dimensions in either precision, and 6 and 10
//! dimensions of 64 bits. Other points are converted to the next wider kind. Added axes are 0 everywhere and do not
//! change distances; `f32` is converted to `f64` exactly. So results are the same. Cost: a copy of 8 bytes per
//! coordinate.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod across;
mod bvh;
mod catalog;
pub mod columns;
mod dbscan;
#[cfg(feature = "gpu")]
mod device;
mod errors;
#[doc(hidden)]
pub mod extent_across;
mod fof;
mod hdbscan;
mod hop;
mod interpolate;
mod k_distances;
mod knee;
mod mass_counts;
mod neighbors;
mod pair_lists;
mod pairs;
pub mod points;
mod predict;
mod queries;
mod rows;
mod spanning_tree;
mod tree_format;

pub use across::{dbscan_across, fof_across};
pub use bvh::{AfterHit, Bvh};
pub use catalog::{Catalog, Halo, Motion};
pub use dbscan::dbscan;
#[cfg(feature = "gpu")]
pub use device::{Coordinates, DeviceBvh, DevicePoints};
pub use extent_across::{check_box_across, check_sides_across};
pub use fof::fof;
pub use hdbscan::hdbscan;
pub use hop::{adaptahop, density, hop, hop_chains};
pub use interpolate::{Interpolation, interpolator};
pub use k_distances::k_distances;
pub use knee::knee;
pub use mass_counts::{ExpectedMassFunction, MassCounts, poisson_limits};
pub use neighbors::{nearest_neighbors, nearest_to};
pub use pair_lists::Pairs;
pub use pairs::pairs;
pub use points::{Points, Table};
pub use predict::{dbscan_predict, hdbscan_predict};
pub use queries::Radii;
pub use spanning_tree::minimum_spanning_tree;
pub use tree_format::TreeFormat;
