//! GPU versions of the search, clustering and halo modules, with the same names and results.
//!
//! ```text
//! points -> morton -> radix_sort -> hierarchy -> ropes -> Bvh -> traverse
//! traverse -> neighbors, pairs, own_radii, map_neighbors, range, nearest, of_points, visitor
//!          -> cell -> CellBvh
//! boxes -> morton, .., ropes -> BoxBvh -> box_queries, box_pairs, nearest_boxes
//!          -> connect -> labels -> dbscan, fof -> halos -> centers
//!          -> hop -> halos
//!          -> mst -> cut, dendrogram -> hdbscan
//! points -> reference -> BruteForce
//! sources, targets -> nearest -> interpolate
//! vertices, faces -> search::mesh::build -> Mesh
//! Mesh, boxes, balls -> search::mesh (rays, nearest triangles)
//! Mesh, instances -> MeshGroup (rays)
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
//! Results are those of the CPU, entry for entry. They stay on the device until `read` copies them, so one
//! computation feeds the next without a transfer. [`Points`] are uploaded once, and a [`Bvh`] is built from them.
//! [`Dbscan`], [`Fof`], [`Hop`], [`Hdbscan`] and [`MinimumSpanningTree`] run on the tree. Calls return once their
//! kernels are launched; `wait` and `read` wait for them.
//!
//! Points have 1 to 10 dimensions. HOP supports 2 or 3 dimensions, and centres of halos support 3. Kernels are
//! compiled for each dimension; kernels for few dimensions are faster.
//!
//! With the feature `cuda`, memory is shared with other libraries by address. `DeviceVec::from_cuda` copies another
//! library's numbers within the device, [`Points::from_device`] takes the copy, and `DeviceVec::to_cuda` returns the
//! address of a result.
//!
//! **Data on the device.** [`Points::from_device`], [`BoxBvh::from_device`], [`Mesh::from_device`] and
//! [`Rays::from_device`] take numbers that are on the device already, which are checked there. [`Bvh::neighbors_of`],
//! [`Bvh::count_neighbors_of`] and `nearest_of` of [`Bvh`], [`BoxBvh`], [`ValueBvh`] and [`Mesh`] search around such
//! points.
//!
//! **Features.** `cuda` is for NVIDIA's GPUs. `vulkan` is for other GPUs, and for the CPU with a software driver.
//! Vulkan drivers whose distances differ from the CPU's are rejected, such as NVIDIA's, which fuses products with
//! sums.
//!
//! `hip` is for AMD's GPUs, with ROCm, and is experimental: it was compiled, but no AMD GPU was available to run it. If
//! ROCm's compiler rounds differently from the CPU, devices are rejected in the same way.
//!
//! **Units.** Choose units in which radii and distances of `f32` points are between 1e-15 and 1e15. Squares of others leave
//! the range of `f32`, so nearly every pair of points is compared in `f64`. Results are right, but the time can grow with
//! the square of the number of points. [`Points::exceed_f32`] finds such points, and [`Points::widened`] makes them
//! `f64`, which other units do not slow down. [`Fof`] across ranks does this by itself.
//!
//! **Compilation.** Kernels are compiled for the present device when they are first needed, which takes 1 to 12 s per
//! operation.
//! CUDA needs the library NVRTC and the header `cuda_runtime.h` for that, both of which the CUDA toolkit has. Headers
//! are looked for in `/usr/local/cuda`, or in the folder that `CUDA_PATH` names.
//!
//! With `cuda` on Linux, compiled kernels are cached for later processes of the same program, in `ropewalk/kernels` of
//! the user's cache. The variable `ROPEWALK_KERNEL_CACHE` names another directory; if it is empty, there is no cache. A
//! cache directory in cubecl's own configuration takes precedence.
//!
//! | on the CPU | on a device | what a device lacks |
//! |---|---|---|
//! | [`Bvh`](crate::Bvh) | [`Bvh`] of points, [`BoxBvh`] of boxes, with `refit`, `rebuild` and `degradation`; [`TreeView`] and [`Bvh::call`] for user-defined kernels | of boxes: neighbours and pairs within a radius |
//! | [`ValueBvh`](crate::ValueBvh), [`HitBy`](crate::geometry::HitBy), [`Distance`](crate::geometry::Distance), [`Crossed`](crate::geometry::Crossed) | [`ValueBvh`], [`HitBy`], [`Distance`], [`Crossed`]; user-defined types have a [`Shape`], [`HitTest`], [`DistanceTest`] or [`CrossingTest`] | a single `query`, `nearest` or `crossings` |
//! | `query_all`, `count_all`, [`Query`](crate::geometry::Query) | the same names for any shape; user-defined queries have a [`BoxTest`]; [`Csr`], [`DeviceVec`] | a single `query` |
//! | `map_hits` | the same name: a [`HitMapper`] emits values | closures |
//! | `crossings_all`, `k_crossings_all` | the same names, and [`Crossings::map`] with a [`CrossingMapper`] | |
//! | `neighbors`, `half_neighbors`, `neighbors_within`, `count_neighbors`, `count_pairs` | the same names | |
//! | `pairs`; `overlapping_pairs`, `overlapping_spheres` | the same names, the last two of a [`BoxBvh`]; [`Pairs`] | |
//! | [`Csr::symmetric`](crate::Csr::symmetric) | the same name | |
//! | `neighbors_into`, `count_neighbors_into` | the same names | |
//! | `nearest_neighbors`, `nearest_all`, `nearest_all_each` | the same names; [`Neighbors`], and [`Neighbors::map`] with a [`NearestMapper`] | a single `nearest`; filters: a [`DistanceTest`] may return NaN |
//! | [`search::CellBvh`](crate::search::CellBvh): triclinic cells | [`CellBvh`], [`CellLists`] | `for_each_pair`; closures: [`CellBvh::map_neighbors`] takes a [`NeighborMap`] |
//! | `map_neighbors`, `map_neighbors_into` | the same names | closures: a [`NeighborMap`] is a type with a value for each point; neighbours are in the order of the tree |
//! | `for_each_hit`, `for_each_pair` | the same names, and `for_each_neighbor` of all stored points; for boxes and shapes `map_hits` | closures: a [`Visitor`] is a type with a value for each point |
//! | [`Mesh`](crate::Mesh) | [`Mesh`], built there or uploaded, and `refit`; [`Rays`], [`RayHits`], [`RayLists`], [`MeshNeighbors`] | a single ray or point; `for_each_hit`; winding numbers |
//! | [`MeshGroup`](crate::search::MeshGroup) | [`MeshGroup`]; [`InstanceHits`], [`InstanceLists`] | a single ray |
//! | [`Bvh::cast`](crate::Bvh::cast) | [`Solids`]: boxes and balls; [`CastHits`] | user-defined shapes: use `crossings_all` |
//! | `reference::BruteForce` (feature `reference`) | [`BruteForce`] of points; lists in ascending order | queries other than spheres, boxes and points; `for_each_hit`, `for_each_pair`; a single `query` or `nearest` |
//! | [`MovingLeastSquares`](crate::interpolate::MovingLeastSquares) | [`MovingLeastSquares`] | |
//! | [`Interpolator`](crate::interpolate::Interpolator) | [`Interpolator`] | |
//! | [`Sph`](crate::interpolate::Sph), [`InverseDistance`](crate::interpolate::InverseDistance) | [`Sph`], [`InverseDistance`] | |
//! | [`dbscan`](crate::cluster::dbscan()), [`Dbscan`](crate::Dbscan) | [`dbscan()`], [`Dbscan`] | |
//! | [`Labels`](crate::Labels) | [`Labels`] | `get`, `is_core` and other accessors: use [`Labels::read`] |
//! | [`Fof`](crate::Fof) | [`Fof`], also across ranks | |
//! | [`minimum_spanning_tree`](crate::minimum_spanning_tree()), [`MinimumSpanningTree`](crate::MinimumSpanningTree) | [`minimum_spanning_tree()`], [`MinimumSpanningTree`] | |
//! | [`SpanningTree`](crate::cluster::SpanningTree) | [`SpanningTree`] | `edges`: use [`SpanningTree::read`] |
//! | [`Dendrogram`](crate::cluster::Dendrogram) | [`Dendrogram`] | `merges`: use [`Dendrogram::read`]; `cophenetic_distance` |
//! | [`Hdbscan`](crate::Hdbscan), [`HdbscanClusters`](crate::cluster::HdbscanClusters) | [`Hdbscan`], [`HdbscanClusters`] | [`Ties::Sequential`](crate::cluster::Ties); outlier scores, rows of the condensed tree and `dbscan_labels`: use [`HdbscanClusters::read`] |
//! | [`KernelDensity`](crate::cluster::KernelDensity) | [`KernelDensity`] | `n_density` above 128, or above 64 for a top hat of masses |
//! | [`Hop`](crate::Hop), [`HopChains`](crate::cluster::HopChains) | [`Hop`], [`HopChains`] | `n_hop` above 128, `n_merge` above 64; `peaks` and `boundaries`: use [`HopChains::read`] |
//! | [`Halos`](crate::Halos) | [`Halos`] | `labels`, `members` and other accessors: use [`Halos::read`] |
//! | [`CenterFinder`](crate::halo::CenterFinder) | [`CenterFinder`] | all centres except the most bound and the most connected particle |
//!
//! <a id="streams"></a>**Threads and streams.** Any number of threads may call this module at the same time, also with
//! the same tree. Results are those of one thread. The calls of a thread run in order on a stream of its own. With
//! CUDA, kernels of different streams may run at the same time. With Vulkan, all streams share one queue. A kernel that
//! reads a result of another stream waits for that stream on the device.
//! [`on_stream`] chooses the stream of a call, so that one thread may use several, and [`on_one_stream`] gives all
//! threads the same one. There are up to 128 streams: threads beyond share them in turn. Each stream keeps its own
//! memory, which [`Device::memory`] and [`Device::release`] count and free for the stream of the caller.
//!
//! **Profilers.** On Linux, profilers that support NVTX show a range for each operation, such as
//! `ropewalk::gpu::bvh::from_points`. Within it, the end of each phase has a mark. For Nsight Systems the command is
//! `nsys profile --trace=cuda,nvtx`. While a profiler listens, each phase waits for its kernels, as with
//! [`timed`](crate::phases::timed). A thread of cubecl launches the kernels, so a profiler does not assign them to the
//! ranges of the calling thread.
//!
//! **Why these are missing.**
//! - A single query: a launch takes longer than the search on the CPU. Use a slice of one query.
//! - Closures: kernels are compiled from types with `#[cube]` functions.
//! - Accessors of results: they borrow memory of the host, and `read` copies results there.
//! - `for_each_hit` of boxes, shapes and meshes: lists of hits and `map_hits` cover it.
//! - Neighbours and pairs of boxes within a radius: `nearest_all` with a radius finds them, nearest first.
//! - Winding numbers: they are sums of arctangents, which devices round differently from the CPU.
//! - Limits of `n_density`, `n_hop` and `n_merge`: kernels keep that many neighbours in registers or shared memory.
//! - [`Ties::Sequential`](crate::cluster::Ties): it follows scikit-learn's order of merges, one after the other.
//! - Other centres of halos: they are passes over the members, which the CPU does.
//!
//! **Stability.** [`Visitor`], [`NeighborMap`], [`Coordinate`] and the re-exported [`cubecl`] follow the versions of cubecl. A new
//! version of cubecl may change them, even in a release of ropewalk without other changes.
//!
//! **Terms.** This module uses CUDA's terms: thread, warp (32 threads that run in lockstep) and block (threads that
//! share memory and barriers). cubecl calls them unit, plane and cube.

// In kernels `&&` evaluates both operands, not all methods of numbers exist, and `let mut a = b` makes `a` an alias
// of `b`, whereas `b + 0` is a copy.
#![allow(clippy::collapsible_if, clippy::manual_is_multiple_of, clippy::identity_op)]

#[cfg(feature = "distributed")]
mod fof_across_ranks;
mod buffer;
mod bvh;
mod cluster;
mod csr;
#[cfg(feature = "cuda")]
mod cuda_compiler;
mod device;
mod device_vec;
mod errors;
mod geometry;
mod halo;
#[cfg(feature = "cuda")]
mod interop;
mod interpolate;
#[cfg(all(target_os = "linux", any(feature = "cuda", test)))]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Its tests need no device.
mod kernel_cache;
mod metric;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod nvtx;
mod primitives;
mod reference;
mod search;
mod warp_choice;

#[doc(hidden)]
pub use bvh::Origin;
pub use bvh::Widened;
pub use bvh::{BoxBvh, Bvh, Coordinate, KernelCall, Points, RopeWalk, TreeArg, TreeNode, TreeView, TreeViewLaunch};
#[cfg(feature = "distributed")]
pub(crate) use cluster::Groups;
pub use cluster::{
    Dbscan, Dendrogram, Fof, Halos, Hdbscan, HdbscanClusters, Hop, HopChains, KernelDensity, Labels,
    MinimumSpanningTree, SpanningTree, dbscan, minimum_spanning_tree,
};
pub use csr::Csr;
/// The crate in which a [`Visitor`] is written.
pub use cubecl;
pub use device::{Device, Memory, devices, on_one_stream, on_stream};
pub use device_vec::DeviceVec;
pub use halo::CenterFinder;
#[cfg(feature = "cuda")]
pub use interop::CudaMemory;
pub use interpolate::{Interpolator, InverseDistance, MovingLeastSquares, Sph};
pub use reference::{BruteForce, RangeQuery};
pub use search::{
    BoxTest, CastHits, CellBvh, CellLists, Crossed, CrossingMapper, CrossingTest, Crossings, Distance, DistanceTest,
    Emitter, HitBy, HitMapper, HitTest, InstanceHits, InstanceLists, Mesh, MeshGroup, MeshNeighbors, NearestMapper,
    NeighborMap, Neighbors, Pairs, Query, RayHits, RayLists, Rays, Shape, Solids, ValueBvh, Visitor,
};
