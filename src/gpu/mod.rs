//! The same on a GPU.
//!
//! ```text
//! points -> morton -> radix_sort -> hierarchy -> ropes -> Bvh -> traverse -> neighbors, range, nearest, visitor
//!                                                                        -> connect -> labels -> dbscan, fof -> halos -> centers
//!                                                                        -> hop -> halos
//!                                                                        -> mst -> cut, dendrogram -> hdbscan
//! sources, targets -> nearest -> interpolate
//! Mesh, boxes, balls -> search::mesh (rays, nearest triangles)
//! ```
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
//! Results are those of the CPU, entry for entry. They stay on the device until `read` copies them, so one step feeds the next without a
//! transfer: [`Points`] are uploaded once, a [`Bvh`] is built of them, and [`Dbscan`], [`Fof`], [`Hop`], [`Hdbscan`] and
//! [`MinimumSpanningTree`] run on it. Calls return once their kernels are launched; `wait` and `read` wait for them.
//!
//! Points have 1 to 10 dimensions; HOP is for 2 or 3, and centres of halos are for 3. Kernels are compiled for each dimension, and those of
//! few are faster.
//!
//! With `cuda` memory is shared with other libraries by its address: `DeviceVec::from_cuda` copies their numbers within the device,
//! [`Points::of`] takes these, and `DeviceVec::to_cuda` gives the address of a result.
//!
//! Features: `cuda` for NVIDIA's GPUs, `vulkan` for others, and for the processor with a software driver. A Vulkan driver whose distances are
//! not those of the CPU is refused, as NVIDIA's is, which fuses products with sums. Kernels are compiled when they are
//! first needed, for the device that is there, which takes 0.2 to 5 s the first time. With `cuda` on Linux they are kept for the next
//! process of the same program, in `ropewalk/kernels` of the user's cache, or where the variable `ROPEWALK_KERNEL_CACHE` says; if that is
//! empty, nowhere. A configuration of cubecl that names a place goes first.
//!
//! | on the CPU | here | what is missing here |
//! |---|---|---|
//! | [`Bvh`](crate::Bvh) | [`Bvh`] | other primitives than points, but for rays; `for_each_pair` without a [`Visitor`] |
//! | `query_all`, `count_all` | the same, of [`Sphere`](crate::Sphere)s and [`Aabb`](crate::Aabb)s; [`Csr`], [`DeviceVec`] | queries of your own; a single `query` |
//! | `neighbors`, `count_neighbors`, `count_pairs` | the same | |
//! | `nearest_neighbors`, `nearest_all` | the same; [`Neighbors`] | a single `nearest` |
//! | `for_each_hit`, `for_each_pair` | the same, and `for_each_neighbor` of all stored points | closures: a [`Visitor`] is a type with a value for each point |
//! | [`Mesh`](crate::Mesh) | [`Mesh`], uploaded; [`Rays`], [`RayHits`], [`RayLists`], [`MeshNeighbors`] | a single ray or point; `k_hits`, `for_each_hit`; winding numbers |
//! | [`Bvh::cast`](crate::Bvh::cast) | [`Solids`]: boxes and balls; [`CastHits`] | shapes of your own |
//! | [`MovingLeastSquares`](crate::MovingLeastSquares) | [`MovingLeastSquares`] | `radius`, `fallback` |
//! | [`Interpolator`](crate::Interpolator) | [`Interpolator`] | `n_lower`, `n_without_neighbors`, which [`Interpolator::read`] gives |
//! | [`Sph`](crate::Sph), [`InverseDistance`](crate::InverseDistance) | | all of it |
//! | [`dbscan`](crate::cluster::dbscan()), [`Dbscan`](crate::Dbscan) | [`dbscan()`], [`Dbscan`] | |
//! | [`Labels`](crate::Labels) | [`Labels`] | `get`, `is_core` and the like, which [`Labels::read`] gives |
//! | [`Fof`](crate::Fof) | [`Fof`], also across ranks | |
//! | [`minimum_spanning_tree`](crate::minimum_spanning_tree()), [`MinimumSpanningTree`](crate::MinimumSpanningTree) | [`minimum_spanning_tree()`], [`MinimumSpanningTree`] | `alpha`; `min_samples` above 65 |
//! | [`SpanningTree`](crate::SpanningTree) | [`SpanningTree`] | `edges`, which [`SpanningTree::read`] gives |
//! | [`Dendrogram`](crate::Dendrogram) | [`Dendrogram`] | `merges`, which [`Dendrogram::read`] gives; `cophenetic_distance` |
//! | [`Hdbscan`](crate::Hdbscan), [`HdbscanClusters`](crate::HdbscanClusters) | [`Hdbscan`], [`HdbscanClusters`] | `alpha`, [`Ties::Sequential`](crate::Ties); `min_samples` above 65; `predict`; outlier scores, rows of the condensed tree and `dbscan_labels`, which [`HdbscanClusters::read`] gives |
//! | [`KernelDensity`](crate::KernelDensity) | [`KernelDensity`] | `n_density` above 128, or above 64 for a top hat of masses |
//! | [`Hop`](crate::Hop), [`HopChains`](crate::HopChains) | [`Hop`], [`HopChains`] | `n_hop` above 128, `n_merge` above 64; `peaks` and `boundaries`, which [`HopChains::read`] gives |
//! | [`Halos`](crate::Halos) | [`Halos`] | `labels`, `members` and the like, which [`Halos::read`] gives |
//! | [`CenterFinder`](crate::CenterFinder) | [`CenterFinder`] | all centres but the most bound and the most connected particle |
//!
//! **What is not stable.** [`Visitor`], [`Coordinate`] and the re-exported [`cubecl`] follow the versions of cubecl: a new one may change
//! them in a release of ropewalk that changes nothing else.
//!
//! **Words.** Papers say warp and block; cubecl says plane and cube. A unit is a thread of CUDA, a warp 32 units that run in
//! step, a block the units that share memory and barriers.

// In kernels `&&` evaluates both sides, not all methods of numbers exist, and `let mut a = b` makes `a` another name of `b`, where
// `b + 0` is a copy.
#![allow(clippy::collapsible_if, clippy::manual_is_multiple_of, clippy::identity_op)]

#[cfg(feature = "distributed")]
mod across;
mod buffer;
mod bvh;
mod cluster;
mod csr;
mod device;
mod device_vec;
mod errors;
mod halo;
#[cfg(feature = "cuda")]
mod interop;
mod interpolate;
#[cfg(all(target_os = "linux", any(feature = "cuda", test)))]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Its tests need no device.
mod kernel_cache;
mod metric;
mod primitives;
mod search;
mod warp_choice;

#[doc(hidden)]
pub use bvh::Origin;
pub use bvh::Widened;
pub use bvh::{Bvh, Coordinate, Points};
#[cfg(feature = "distributed")]
pub(crate) use cluster::Groups;
pub use cluster::{
    Dbscan, Dendrogram, Fof, Halos, Hdbscan, HdbscanClusters, Hop, HopChains, KernelDensity, Labels,
    MinimumSpanningTree, SpanningTree, dbscan, minimum_spanning_tree,
};
pub use csr::Csr;
/// What a [`Visitor`] is written in.
pub use cubecl;
pub use device::{Device, Memory, devices, on_one_stream};
pub use device_vec::DeviceVec;
pub use halo::CenterFinder;
#[cfg(feature = "cuda")]
pub use interop::CudaMemory;
pub use interpolate::{Interpolator, MovingLeastSquares};
pub use search::{CastHits, Mesh, MeshNeighbors, Neighbors, Query, RayHits, RayLists, Rays, Solids, Visitor};
