//! Points whose dimension and type are known at run time: what files hold, and what programs ask about them.
//!
//! In: [`Points`] of 1 to 10 coordinates, `f32` or `f64`. Out: what the generic functions give.
//! These functions are not generic, so a program that calls them compiles none of the algorithms. They are compiled for few kinds of
//! points, for each takes its time: two and three dimensions in either precision, and 6 and 10 dimensions of 64 bits. Other
//! points become the next wider ones: the axes that are added are 0 everywhere and leave distances alone, and each `f32` is
//! an `f64`. So answers stay what they are. Cost: that of the copy, 8 bytes a coordinate.

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
mod mass_counts;
mod neighbors;
mod pair_lists;
mod pairs;
pub mod points;
mod predict;
mod queries;
mod rows;
mod spanning_tree;

pub use across::{dbscan_across, fof_across};
pub use bvh::Bvh;
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
pub use mass_counts::{Expected, MassCounts};
pub use neighbors::{nearest_neighbors, nearest_to};
pub use pair_lists::Pairs;
pub use pairs::pairs;
pub use points::{Points, Table};
pub use predict::{dbscan_predict, hdbscan_predict};
pub use queries::Radii;
pub use spanning_tree::minimum_spanning_tree;
