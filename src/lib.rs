//! Geometric search and density clustering on large point sets.
//!
//! A linear bounding volume hierarchy is built from 64-bit Morton codes and walked along *ropes*, without a stack; on it
//! stand range and nearest-neighbour queries, pair traversal, and friends-of-friends halos.
//!
//! ```text
//! points -> morton -> sort -> tree -> traverse -> query, neighbors, nearest -> halo -> catalog
//! ```
//!
//! # Five minutes
//!
//! Build a tree over anything with a bounding box: arrays, glam vectors, boxes, spheres, [your own types](Bounded).
//! It keeps a copy of the coordinates; all results are `u32` indices into your slice.
//!
//! ```
//! use ropewalk::{Bvh, Sphere};
//!
//! let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [9.0, 9.0, 9.0]];
//! let bvh = Bvh::build(&points)?;
//!
//! // Everything within a radius, which is inclusive. The iterator walks as it is read, so stopping early is free.
//! let ball = Sphere::new(points[0], 2.0);
//! assert_eq!(bvh.query(ball).count(), 3);
//! assert!(bvh.query(ball).nth(2).is_some());
//!
//! // The k nearest, nearest first.
//! let near = bvh.nearest([0.9f32, 0.0, 0.0], 2);
//! assert_eq!((near[0].index, near[1].index), (1, 0));
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! Many queries at once run in parallel, and their answers come as [`Csr`] (CSR). Where the queries are the stored primitives
//! themselves, the methods without a query argument are faster: they are in tree order already, and one walk serves a leaf.
//!
//! ```
//! use ropewalk::{Bvh, Nearest};
//!
//! let bvh = Bvh::build(&[[0.0f64, 0.0], [1.0, 0.0], [5.0, 5.0]])?;
//! assert_eq!(bvh.count_neighbors(1.0), [2, 2, 1]);
//! assert_eq!(bvh.neighbors(1.0).of(2), [2]);
//! assert_eq!(bvh.count_pairs(1.0), 1);
//! let graph = bvh.nearest_neighbors(Nearest::new(1).excluding_self());
//! assert_eq!(graph.of(0)[0].index, 1);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! Friends-of-friends halos of an N-body snapshot, in a periodic box:
//!
//! ```
//! use ropewalk::Fof;
//!
//! let points = [[0.0f32, 5.0, 5.0], [9.9, 5.0, 5.0], [5.0, 5.0, 5.0]];
//! let halos = Fof::new(0.2).periodic(10.0).run(&points)?;
//! assert_eq!(halos.len(), 1);
//! assert_eq!(halos.members(0), [0, 1]);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! Their centres, most bound particles say, are a line more: [`Halos::centers`]. A [`Catalog`] measures them, [`overdensities`],
//! [`measure_structure`] and [`profiles`] what is about their centres.
//!
//! # Contract
//!
//! - **Exact.** Radii are inclusive. Whether two points are within a radius is decided as `f64` arithmetic on their
//!   coordinates decides it ([`Space::distance2`]), whatever the storage type: `f32` tests with an error bound settle nearly
//!   all pairs, and the few inside of the bound are redone in `f64`.
//! - **Deterministic.** Results do not depend on the number of threads or on timing.
//! - **No silent wrong answer.** NaN, infinite coordinates, a linking length that is negative, a periodic box that is too
//!   small: an [`Error`] that names the value and the index. Empty input, one point, a million copies of one point, `k = 0`,
//!   `k > n`: right answers.
//! - **Threads** are rayon's: run inside `ThreadPool::install` to choose their number.
//!
//! # Features
//!
//! `io`, `plot` and `sample` are modules of these names; `cli` is the program, with all three, and on by default. `cuda` and `vulkan`
//! add a module `gpu`, whose trees are built on a device.
//!
//! # When to use something else
//!
//! - Points that move a little between queries: there is no update, only [`Bvh::build`], at some 40 ns a point and thread.
//! - A few dozen points: [`BruteForce`] has the same methods and nothing to build.
//! - More than ten dimensions, or other metrics than the Euclidean: not here.

mod bvh;
mod cluster;
mod csr;
mod error;
mod geometry;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub mod gpu;
mod halo;
#[cfg(feature = "io")]
pub mod io;
mod parallel;
mod phases;
#[cfg(feature = "plot")]
pub mod plot;
mod precompiled;
#[cfg(feature = "reference")]
mod reference;
#[cfg(feature = "sample")]
pub mod sample;
mod search;
mod simd;
#[cfg(feature = "io")]
pub mod table;
#[cfg(any(feature = "halos", feature = "io"))]
mod units;
mod work;

pub use bvh::Bvh;
pub use cluster::{Dbscan, DbscanAlgorithm, Fof, FofAlgorithm, Labels, dbscan};
pub use csr::Csr;
pub use error::{Error, ErrorKind, Result};
pub use geometry::{Aabb, Boundary, Bounded, BoxSize, Query, Scalar, Space, Sphere};
pub use halo::Halos;
#[cfg(feature = "halos")]
pub use halo::{
    Background, Catalog, Center, CenterFinder, Centers, Column, Cosmology, Halo, HaloCenter, MassFunction, Meta,
    Motion, NfwFit, NoCenter, NoSphere, Overdensity, Particles, Places, Profile, Shell, SphericalOverdensity,
    Structure, Values, measure_structure, overdensities, profiles, write_ecsv,
};
pub use phases::phases;
#[cfg(feature = "reference")]
pub use reference::BruteForce;
pub use search::{Hits, Nearest, Neighbor};
#[cfg(any(feature = "halos", feature = "io"))]
pub use units::{Conversion, Frame, KnownUnits, LengthUnit, MassUnit, Quantity, Units, VelocityUnit};

/// What tests look at; no part of the interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::bvh::{LEAF, Node};
    pub use crate::simd::instruction_set;
}

/// The README's programs, compiled and run as documentation. One of them needs a device's features.
#[cfg(all(doctest, feature = "halos", any(feature = "cuda", feature = "vulkan")))]
#[doc = include_str!("../README.md")]
struct Readme;
