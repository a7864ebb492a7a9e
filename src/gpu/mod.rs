//! The same on a GPU.
//!
//! ```text
//! points -> codes -> sort -> topology -> nodes -> Bvh -> neighbors
//! ```
//!
//! A tree of points in two or three dimensions, with the nodes that the CPU's has, and counts of neighbours. Results stay on the
//! device until they are read.
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

// In kernels `&&` evaluates both sides, and not all methods of numbers exist.
#![allow(clippy::collapsible_if, clippy::manual_is_multiple_of)]

mod buffer;
mod bvh;
mod codes;
mod column;
mod device;
mod digits;
mod metric;
mod neighbors;
mod nodes;
mod planes;
mod scan;
mod sort;
mod topology;

pub use bvh::{Bvh, Coordinate, Points};
pub use column::Column;
pub use device::{Device, devices};
