//! The same on a GPU.
//!
//! ```text
//! points -> codes -> sort -> topology -> nodes -> Bvh -> neighbors
//! labels -> halos -> center
//! ```
//!
//! A tree of points in two or three dimensions, with the nodes that the CPU's has, and counts of neighbours; halos, and the
//! centres of halos. Results stay on the device until they are read.
//!
//! ```no_run
//! use ropewalk::gpu::{Bvh, Device};
//!
//! let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]];
//! let bvh = Bvh::build(&points, Device::first()?)?;
//! assert_eq!(bvh.count_neighbors(1.0)?.read()?, [2, 2, 1]);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! Results are those of the CPU's modules of the same names. Kernels are compiled when they are first needed, for the device that
//! is there. Features: `cuda` for NVIDIA's, `vulkan` for others.
//!
//! Code of your own runs inside the walk, keeps a state for each query, and ends it when it has seen enough: see [`Visitor`].

// In kernels `&&` evaluates both sides, not all methods of numbers exist, and `let mut a = b` makes `a` another name of `b`, where
// `b + 0` is a copy.
#![allow(clippy::collapsible_if, clippy::manual_is_multiple_of, clippy::identity_op)]

mod buffer;
mod bvh;
mod center;
mod codes;
mod column;
mod dbscan;
mod device;
mod digits;
mod fof;
mod gather;
mod halos;
mod labels;
mod link;
mod lists;
mod metric;
mod nearest;
mod neighbors;
mod nodes;
mod planes;
mod query;
mod scan;
mod sort;
mod sum;
mod topology;
mod visitor;
mod walk;

pub use bvh::{Bvh, Coordinate, Points};
pub use center::Centering;
pub use column::Column;
/// What a [`Visitor`] is written in.
pub use cubecl;
pub use dbscan::{Dbscan, dbscan};
pub use device::{Device, devices};
pub use fof::Fof;
pub use halos::Halos;
pub use labels::Labels;
pub use lists::Lists;
pub use nearest::Neighbors;
pub use visitor::Visitor;
