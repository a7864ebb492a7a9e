//! The same on a GPU.
//!
//! ```text
//! points -> codes -> sort -> topology -> nodes -> Bvh -> walk -> neighbors, nearest, query, visitor
//!                                                             -> link -> labels -> dbscan, fof -> halos -> center
//! ```
//!
//! Points have two or three dimensions. What is found stays on the device until it is read.
//!
//! | on the CPU | here | kernels |
//! |---|---|---|
//! | [`Bvh`](crate::Bvh) | [`Bvh`], from [`Points`] | codes, digits and sort, topology, nodes |
//! | `count_neighbors`, `neighbors`, `count_pairs` | the same; [`DeviceVec`], [`Csr`] | walk |
//! | `nearest_neighbors` | the same, up to 64; [`Neighbors`] | nearest |
//! | `query_all`, `count_all` | the same, of balls | walk |
//! | `for_each_hit`, `for_each_pair` | `visit_all`, `visit_neighbors`, `visit_pairs` by a [`Visitor`] | walk |
//! | [`dbscan`](crate::cluster::dbscan()), [`Dbscan`](crate::Dbscan), [`Labels`](crate::Labels) | [`dbscan()`], [`Dbscan`], [`Labels`] | walk, link, labels |
//! | [`Fof`](crate::Fof), [`Halos`](crate::Halos) | [`Fof`], [`Halos`] | the same, and sort |
//! | [`CenterFinder`](crate::CenterFinder) | [`CenterFinder`], for most bound and most connected particles | center |
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
mod cluster;

mod csr;
mod device;
mod device_vec;
mod halo;
mod metric;
mod primitives;
mod search;

pub use bvh::{Bvh, Coordinate, Points};
pub use cluster::{Dbscan, Fof, Labels, dbscan};
pub use csr::Csr;
/// What a [`Visitor`] is written in.
pub use cubecl;
pub use device::{Device, Memory, devices};
pub use device_vec::DeviceVec;
#[cfg(feature = "halos")]
pub use halo::CenterFinder;
pub use halo::Halos;
pub use search::{Neighbors, Visitor};
