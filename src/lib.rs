//! Geometric search and density clustering on large point sets, on the CPU and on GPUs.
//!
//! A linear bounding volume hierarchy (LBVH) is built from 64-bit Morton codes, and traversed along *ropes*, without
//! a stack. It is the basis of range and nearest-neighbour queries, pairs, DBSCAN, HDBSCAN*, friends-of-friends (FOF)
//! and HOP halos and their centres, and interpolation.
//!
//! ```text
//! geometry -> bvh (morton, radix sort, hierarchy, ropes) -> search (range, neighbors, pairs, nearest, values)
//!          -> cluster (union-find, DBSCAN, FOF, spanning trees, HDBSCAN*, HOP)
//!          -> interpolate (moving least squares, smoothing kernels, inverse distances)
//!          -> halo (centers, overdensity, profile, subhalos)
//! sample: random point sets
//! gpu: the same modules on a device
//! distributed: the same results for points that are distributed over processes
//! ```
//!
//! The crate root has the types that most programs begin with. Their results, options and relatives are in the module
//! of each step: [`geometry`], [`search`], [`cluster`], [`interpolate`], [`halo`].
//!
//! # Search
//!
//! A tree stores anything with a bounding box: arrays, `glam` vectors, boxes, spheres, [your own types](Bounded). It
//! keeps a copy of the coordinates. All results are `u32` indices into your slice. [`Bvh`] has a table of its
//! methods.
//!
//! ```
//! use ropewalk::{Bvh, Sphere};
//!
//! let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [9.0, 9.0, 9.0]];
//! let bvh = Bvh::build(&points)?;
//!
//! // All points within a radius, which is inclusive. The iterator is lazy, so stopping early costs nothing.
//! let ball = Sphere::new(points[0], 2.0);
//! assert_eq!(bvh.query(ball).count(), 3);
//! assert!(bvh.query(ball).nth(2).is_some());
//!
//! // The k nearest points, nearest first, with exact squared distances.
//! let near = bvh.nearest([0.75f32, 0.0, 0.0], 2);
//! assert_eq!((near[0].index, near[0].distance2), (1, 0.0625));
//!
//! // Many queries at once run in parallel; their results are lists in one allocation.
//! let lists = bvh.query_all(&[ball, Sphere::new(points[3], 1.0)]);
//! assert_eq!((lists[0].len(), &lists[1]), (3, &[3][..]));
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! A [`ValueBvh`] owns its shapes and values attached to them. It queries the shapes themselves
//! ([`Distance`](geometry::Distance), [`HitBy`](geometry::HitBy)), whereas a [`Bvh`] queries their bounding boxes.
//!
//! ```
//! use ropewalk::{Sphere, ValueBvh};
//!
//! let lamps = vec![(Sphere::new([0.0f32, 0.0], 5.0), "tower"), (Sphere::new([6.0, 6.0], 1.0), "gate")];
//! let bvh = ValueBvh::build(lamps)?;
//! assert_eq!(bvh.nearest([5.0f32, 5.0], 1)[0].value.1, "gate");
//! let from_here = bvh.nearest_where([5.0f32, 5.0], 1, |hit| hit.value.1 != "gate");
//! assert_eq!(from_here[0].index, 0);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # What to call
//!
//! | I have | I want | call |
//! |---|---|---|
//! | points | the points within a radius of a place, or in a box | [`Bvh::query`]; for many places [`Bvh::query_all`], [`Bvh::count_all`] |
//! | points | the k nearest points to a place | [`Bvh::nearest`]; for many places [`Bvh::nearest_all`] |
//! | points | the neighbours of each point, or their number | [`Bvh::neighbors`], [`Bvh::count_neighbors`], [`Bvh::nearest_neighbors`] |
//! | points | all pairs within a radius | [`Bvh::pairs`], [`Bvh::half_neighbors`], [`Bvh::for_each_pair`], [`Bvh::count_pairs`] |
//! | points or spheres with own radii | neighbours, pairs that overlap | [`Bvh::neighbors_within`], [`Bvh::overlapping_spheres`] |
//! | points | clusters of a density that I know | [`dbscan`], [`Dbscan`] |
//! | points | clusters of varying density | [`Hdbscan`] |
//! | points | the minimum spanning tree | [`minimum_spanning_tree`], [`MinimumSpanningTree`] |
//! | points with values | values at other places | [`MovingLeastSquares`](interpolate::MovingLeastSquares), [`Sph`](interpolate::Sph), [`InverseDistance`](interpolate::InverseDistance) |
//! | particles of a simulation | halos | [`Fof`], [`Hop`]; with subhalos [`AdaptaHop`] |
//! | halos | centres, masses, profiles, shapes | [`Halos::centers`], module [`halo`] |
//! | triangles | first hits of rays, nearest triangles, inside or outside | [`Mesh`] |
//! | several meshes, each with a transform | hits of rays | [`search::MeshGroup`] |
//! | shapes with values | the nearest, or those that a ray hits | [`ValueBvh`] |
//! | a tree | a picture of its nodes | [`Bvh::write_graphviz`], [`Bvh::write_tikz`], [`Bvh::write_vtk`] |
//! | points of run-time type and dimension | any of these | the crate `ropewalk-table` |
//!
//! # Meshes
//!
//! A [`Mesh`] is searched by rays (first hit, any hit, all hits in order) and for the nearest triangle. Its winding
//! number tells inside from outside. [`Bvh::cast`] casts rays at shapes of your own.
//!
//! ```
//! use ropewalk::{Mesh, Ray};
//!
//! let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
//! let mesh = Mesh::build(&corners, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
//! let ray = Ray::new([0.25, 0.25, -1.0], [0.0, 0.0, 1.0]);
//! assert_eq!(mesh.first_hit(&ray).unwrap().t, 1.0);
//! assert_eq!(mesh.hits(&ray).len(), 2);
//! assert_eq!(mesh.signed_distance([0.25, 0.25, 0.125]), -0.125);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # Neighbours and pairs of the stored points
//!
//! If the queries are the stored points themselves, the methods without a query argument are faster: one traversal
//! serves a whole leaf.
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
//! # DBSCAN
//!
//! Labels equal those of scikit-learn, number for number. [`Dbscan`] supports weights, periodic boxes, DBSCAN* and
//! prediction.
//!
//! ```
//! let points = [[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]];
//! let labels = ropewalk::dbscan(&points, 0.2, 3)?;
//! assert_eq!(labels.as_slice(), [0, 0, 0, -1]);
//! assert_eq!((labels.n_clusters(), labels.n_noise()), (1, 1));
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # Spanning trees
//!
//! The minimum spanning tree of distances, or of mutual reachability ([`MinimumSpanningTree`]), contains the
//! friends-of-friends groups of all linking lengths:
//!
//! ```
//! let tree = ropewalk::minimum_spanning_tree(&[[0.0f32, 0.0], [1.0, 0.0], [9.0, 0.0], [3.0, 0.0]])?;
//! assert_eq!(tree.edges()[0].weight(), 1.0);
//! assert_eq!(tree.cut(1.0)?.as_slice(), [0, 0, -1, -1]);
//! assert_eq!(tree.cut(2.0)?.as_slice(), [0, 0, -1, 0]);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # HDBSCAN*
//!
//! Clusters of varying density, without a radius. [`Hdbscan`] selects the most stable clusters over all radii, with
//! probabilities, outlier scores and the condensed tree.
//!
//! ```
//! use ropewalk::Hdbscan;
//!
//! let points = [[0.0f32], [1.0], [2.0], [30.0], [30.1], [30.2], [90.0]];
//! let clusters = Hdbscan::new(3).min_samples(2).run(&points)?;
//! assert_eq!(clusters.labels().as_slice(), [0, 0, 0, 1, 1, 1, -1]);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # HOP
//!
//! Halos around density peaks, defined by density thresholds instead of a length ([`Hop`]). Chains of particles climb
//! to a peak each; chains are joined across dense boundaries.
//!
//! ```
//! use ropewalk::Hop;
//!
//! // Two clumps of twenty points.
//! let points: Vec<[f64; 2]> = (0..40).map(|i| [i % 5, i / 5 % 4].map(|x| f64::from(x + i / 20 * 50))).collect();
//! let halos = Hop::new(5.0).n_density(6).n_hop(6).run(&points)?;
//! assert_eq!((halos.len(), halos.members(1)[0]), (2, 20));
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # Interpolation
//!
//! Interpolation of scattered values: moving least squares ([`MovingLeastSquares`](interpolate::MovingLeastSquares)),
//! which reproduces polynomials, smoothing kernels ([`Sph`](interpolate::Sph)) and inverse distances
//! ([`InverseDistance`](interpolate::InverseDistance)).
//!
//! ```
//! use ropewalk::interpolate::MovingLeastSquares;
//!
//! let sources: Vec<[f64; 2]> = (0..36).map(|i| [f64::from(i % 6), f64::from(i / 6)]).collect();
//! let parabola: Vec<f64> = sources.iter().map(|[x, y]| x * x + y).collect();
//! let interpolator = MovingLeastSquares::new(2).prepare(&sources, &[[2.5, 2.25]])?;
//! assert!((interpolator.apply(&parabola)?[0] - 8.5).abs() < 1e-12);
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # Friends-of-friends halos
//!
//! Halos are the connected components of points within a linking length of each other, here in a periodic box:
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
//! # Halo centres and properties
//!
//! Most bound and most connected particles, catalogues, spherical overdensities, profiles. Halos store the box in
//! which they were found, and are measured in it.
//!
//! ```
//! use ropewalk::{Center, Fof};
//!
//! let points = [[9.5f32, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]];
//! let halos = Fof::new(1.0).periodic(10.0).run(&points)?;
//! let centers = halos.centers(&points, Center::MostBound { softening: 0.0 })?;
//! assert_eq!(centers.as_slice()[0].member, Some(1));
//! # Ok::<(), ropewalk::Error>(())
//! ```
//!
//! # GPUs
//!
//! With the features `cuda` or `vulkan`, the module `gpu` has types of the same names, with the same results as on
//! the CPU. Data stays on its device until results are read.
//!
#![cfg_attr(
    feature = "gpu",
    doc = "
```no_run
use ropewalk::gpu::{Device, Fof, Points};

let points = [[0.0f32, 0.0, 0.0], [0.1, 0.0, 0.0], [5.0, 0.0, 0.0]];
let halos = Fof::new(0.2).run(&Points::new(&points, Device::first()?)?)?;
assert_eq!(halos.read()?.members(0), [0, 1]);
# Ok::<(), ropewalk::Error>(())
```
"
)]
//!
//! # Many processes
//!
//! With the feature `distributed`, points are distributed over ranks: threads, or MPI processes (`mpi`). Each rank
//! gets its part of the result that one process would compute.
//!
#![cfg_attr(
    feature = "distributed",
    doc = "
```
use ropewalk::{Fof, distributed::{Communicator, on_threads}};

// Three ranks have one point each; `Mpi::run` is for processes what `on_threads` is here.
let labels = on_threads(3, |ranks| {
    let points = [[ranks.rank() as f32, 0.0]];
    Ok(Fof::new(1.0).run_across(ranks, &points)?.labels().get(0))
})?;
assert_eq!(labels, [Some(0); 3]);
# Ok::<(), ropewalk::Error>(())
```
"
)]
//!
//! # Points of run-time type
//!
//! The crate `ropewalk-table` takes points of any dimension and precision, as files hold them, and needs no generic
//! code compiled in your program. `ropewalk-io` reads and writes files, `ropewalk-pipeline` computes catalogues of
//! halos, `ropewalk-plot` draws figures. The command line and the Python package use these crates.
//!
//! # Contract
//!
//! - **Exact.** Radii are inclusive. A pair is within a radius if `f64` arithmetic on its coordinates says so
//!   ([`Space::distance2`](geometry::Space::distance2)), for any storage type. `f32` tests with an error bound decide
//!   nearly all pairs; the few within the error bound are tested again in `f64`.
//! - **Deterministic.** Results do not depend on the number of threads, the device, or timing.
//! - **No silent wrong answer.** NaN, infinite coordinates, a negative linking length or one of more than half the
//!   periodic box give an [`Error`] with a [kind](ErrorKind). It names the value and the index. Queries of a tree
//!   return no error: a [`Sphere`] whose radius is negative or NaN is empty. Points outside a periodic box are wrapped
//!   into it; the program and the Python package refuse points that are spread wider than the box. Empty input, one
//!   point, a million copies of one point, `k = 0` and `k > n` give correct results.
//! - **Threads** are those of rayon: call from within `ThreadPool::install` to choose their number. [`Cancel`] ends
//!   long calls.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `glam` (default) | `glam` vectors as points |
//! | `sample` | clustered point sets for tests and benchmarks |
//! | `reference` | reference implementations of other algorithms |
//! | `serde` | serialization of options, labels, centres, profiles and units |
//! | `distributed` | points distributed over ranks: module `distributed` |
//! | `mpi` | MPI processes as ranks: `distributed::Mpi`; needs the MPI library and headers at build time |
//! | `cuda`, `vulkan` | GPUs: module `gpu` |
//!
//! Searches and clusterings of `f32` and `f64` points in two and three dimensions are compiled with the library. To
//! optimize them in debug builds, too, add to your `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package.ropewalk]
//! opt-level = 3
//! ```
//!
//! # When to use something else
//!
//! - Points that are inserted and removed between queries: use [`Bvh::rebuild`]. [`Bvh::refit`] only follows points
//!   that move.
//! - A few dozen points: use plain loops.
//! - More than ten dimensions, or metrics other than the Euclidean one: not supported.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod format;
mod brief;
mod cancel;
#[doc(hidden)]
pub mod internals;
pub mod memory;
mod parallel;
mod precompiled;
mod reserve;
mod simd;
mod csr;
mod mass_sum;
pub mod phases;
mod random;
mod work;
pub mod geometry;
mod bvh;
pub mod search;
pub mod cluster;
pub mod interpolate;
pub mod halo;
pub mod units;
#[cfg(feature = "distributed")]
pub mod distributed;
#[cfg(feature = "reference")]
pub mod reference;
#[cfg(feature = "sample")]
pub mod sample;
#[cfg(feature = "gpu")]
pub mod gpu;

pub use bvh::Bvh;
pub use cancel::Cancel;
pub use cluster::{Dbscan, Fof, Halos, Hdbscan, Hop, Labels, MinimumSpanningTree, dbscan, minimum_spanning_tree};
pub use csr::Csr;
pub use error::{Error, ErrorKind, Result};
pub use geometry::{Aabb, Bounded, Ray, Scalar, Sphere};
pub use halo::{AdaptaHop, Center};
pub use search::{Mesh, Nearest, ValueBvh};

/// The programs of the README, compiled and run as documentation tests. One of them needs a GPU feature.
#[cfg(all(doctest, feature = "distributed", feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
