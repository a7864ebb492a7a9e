//! Searches and clustering of points that are distributed over ranks: MPI processes, or threads of one process.
//!
//! ```text
//! communicator -> route -> domain (each rank gets a compact region) -> ghosts -> algorithm of one rank -> boundary (unions across ranks)
//!                                                                   -> regions (boxes of all ranks) -> search
//! ```
//!
//! Every function that takes a [`Communicator`] or a [`Domain`] is *collective*: all ranks call it, in the same
//! order, and if one fails, all return an error. The same holds for every method of [`Bvh`] that returns a `Result`.
//! Plain getters such as [`Domain::points`], [`Bvh::len`] or [`Halos::owned`] are not collective. Each rank passes in
//! its own points, any number of them. Together they form one set, in which a point has a *global index*: its index
//! on its rank, plus the number of points on all lower ranks. Labels, members and neighbours are those that one
//! process finds in this set, for any number of ranks. They are returned to the rank that passed in the points, in
//! the order of these.
//!
//! | what | on one rank | across ranks |
//! |---|---|---|
//! | friends of friends | [`Fof::run`](crate::Fof::run) | [`Fof::run_across`](crate::Fof::run_across) |
//! | DBSCAN | [`Dbscan::run`](crate::Dbscan::run) | [`Dbscan::run_across`](crate::Dbscan::run_across) |
//! | DBSCAN and friends of friends, points of run-time type | `fof`, `dbscan` of `ropewalk-table` | `fof_across`, `dbscan_across` there |
//! | HOP | [`Hop::run`](crate::Hop::run) | [`Hop::run_across`](crate::Hop::run_across) |
//! | minimum spanning trees | [`MinimumSpanningTree::run`](crate::MinimumSpanningTree::run) | [`MinimumSpanningTree::run_across`](crate::MinimumSpanningTree::run_across) |
//! | searches | [`crate::Bvh`] | [`Bvh`] |
//! | a snapshot's halos, their catalogue, members, spheres and profiles | `Pipeline::new` of `ropewalk-pipeline` | `Pipeline::across` there |
//! | the picture of all particles | `projection` of `ropewalk-plot` | `projection_across` there |
//!
//! Points are moved first, so that each rank has those of a compact region ([`Domain`]; several searches can share
//! one). Then each rank gets ghosts, copies of the points of other ranks near its own. It runs the algorithm of a
//! single rank, and ranks exchange results that concern several ranks. Spanning trees need no ghosts, and each rank
//! keeps a part of the sorted edges.
//!
//! On ranks with devices, `gpu::Fof` finds groups across them. Several ranks may share a device; devices exchange
//! data through host memory. One process with several devices has a thread for each ([`on_threads`]), as in `ropewalk
//! halos --device cuda:0,1`.
//!
//! Not supported across ranks: weights of DBSCAN, AdaptaHOP, spanning trees by mutual reachability, HDBSCAN*. On
//! devices, DBSCAN, HOP, spanning trees and searches are not supported across ranks either.
//!
//! [`Bvh`] finds the points within a radius or a box, the k nearest neighbours, the neighbours of all points, and
//! pairs. A query is sent to the ranks with a box that it meets. Its results return to the rank of the query, with
//! global indices.
//!
//! # In a simulation
//!
//! A simulation calls these functions where its particles are; no file is written.
//! [`Fof::run_across`](crate::Fof::run_across) and [`Dbscan::run_across`](crate::Dbscan::run_across) borrow the
//! rank's points; `bytemuck` casts a slice of structs of three coordinates to a slice of arrays. Labels are in the
//! order of the points.
//!
//! For a catalogue, `Pipeline::across` of `ropewalk-pipeline` takes a `Snapshot` whose tables may share the
//! simulation's memory (`Table::shared`). Positions are not copied, and the properties of a halo's members are sent to
//! the rank that owns the halo. Columns stored in one struct, such as positions and masses together, must be collected
//! first. [`DomainOptions::in_place`] leaves points on their ranks, for ranks that already have compact regions. The
//! example `in_situ` computes a catalogue of each step.
//!
//! Ranks communicate through any [`Communicator`]. A simulation wraps an MPI communicator of its own in a type that
//! implements the trait, and creates errors with [`Error::new`](crate::Error::new). For programs in C and C++, the
//! repository has `capi/`.

mod attach;
pub(crate) mod boundary;
pub(crate) mod communicator;
pub(crate) mod components;
mod ghost_contacts;
mod dbscan;
pub(crate) mod domain;
pub(crate) mod errors;
mod extent;
mod fof;
pub(crate) mod ghosts;
pub(crate) mod halos;
mod hop;
mod mst;
pub(crate) mod labels;
mod global_order;
pub(crate) mod regions;
pub(crate) mod route;
mod search;
pub(crate) mod sends;

#[doc(hidden)]
pub use attach::AttachedPoints;
#[cfg(feature = "mpi")]
pub use communicator::Mpi;
pub use communicator::{
    Alone, Communicator, Measured, Reduction, Term, ThreadRank, Traffic, agree, agree_on, on_threads,
};
pub use domain::{Domain, DomainOptions};
pub use halos::Halos;
pub use labels::Labels;
pub use mst::{Edge, SpanningTree};
#[doc(hidden)]
pub use search::ShellAbout;
pub use search::{Bvh, Hit, Neighbor, Portable};
