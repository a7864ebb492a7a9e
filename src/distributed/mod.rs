//! Points that several ranks hold: processes of MPI, or threads of one process.
//!
//! ```text
//! communicator -> route -> domain (each rank gets a compact region) -> ghosts -> what one rank does -> boundary (unions across ranks)
//!                                                                   -> regions (boxes of all ranks) -> search
//! ```
//!
//! Every function that takes a [`Communicator`] or a [`Domain`] is *collective*: all ranks call it, in the same order, and what one refuses is
//! an error on all. So is every method of [`Bvh`] that returns a `Result`. What tells what there is, as [`Domain::points`], [`Bvh::len`] or
//! [`Halos::owned`], is not. Each rank gives its own points, any number of them. Together they are one set, in which a
//! point has a *global index*: its index on its rank, plus the number of points on all lower ranks. Labels, members and neighbours are those
//! that one process finds in this set, whatever the number of ranks; they arrive where the points came from, in their order.
//!
//! | what | on one rank | across ranks |
//! |---|---|---|
//! | friends of friends | [`Fof::run`](crate::Fof::run) | [`Fof::run_across`](crate::Fof::run_across) |
//! | DBSCAN | [`Dbscan::run`](crate::Dbscan::run) | [`Dbscan::run_across`](crate::Dbscan::run_across) |
//! | both of points whose kind is known at run time | `fof`, `dbscan` of `ropewalk-table` | `fof_across`, `dbscan_across` there |
//! | HOP | [`Hop::run`](crate::Hop::run) | [`Hop::run_across`](crate::Hop::run_across) |
//! | searches | [`crate::Bvh`] | [`Bvh`] |
//! | a snapshot's halos, their catalogue, members, spheres and profiles | `Pipeline::new` of `ropewalk-pipeline` | `Pipeline::across` there |
//! | the picture of all particles | `projection` of `ropewalk-plot` | `projection_across` there |
//!
//! Points are moved first, so that each rank has those of a compact region ([`Domain`]; several searches share one). Then each rank gets
//! copies of the points of others that are near its own, does what one rank does, and ranks agree on what reaches over several.
//!
//! Where ranks have devices, `gpu::Fof` finds groups across them; several ranks may share a device, and what they tell each other goes by
//! way of the hosts. One process with several devices has a thread for each ([`on_threads`]), as `ropewalk halos --device cuda:0,1` does.
//!
//! Not across ranks: weights of DBSCAN, AdaptaHOP, spanning trees; on devices also DBSCAN, HOP and searches.
//!
//! [`Bvh`] searches: what is within a radius or a box, the k nearest, neighbours of all points, pairs. A query goes to the ranks that have a
//! box it meets, and its results come back to the rank that asked, with global indices.
//!
//! # In a simulation
//!
//! A simulation calls these where its particles are, and nothing is written. [`Fof::run_across`](crate::Fof::run_across) and
//! [`Dbscan::run_across`](crate::Dbscan::run_across) borrow the rank's points; bytemuck casts a slice of a struct of three coordinates to
//! one of arrays. Labels come in the order of the points. For a catalogue `Pipeline::across` of `ropewalk-pipeline` takes a `Snapshot` whose tables may share
//! the simulation's memory (`Table::shared`): positions are not copied, and what is known of a halo's members goes to the rank that owns it.
//! What has several columns in one struct, as positions and masses, is collected first. [`Domain::in_place`] leaves points on the ranks that have them, where these have compact regions. The example `in_situ` has a
//! catalogue of each step.
//!
//! How ranks talk is any [`Communicator`]: one of MPI that a simulation has opened itself is wrapped in a type of its own, whose
//! functions make their errors by [`Error::new`](crate::Error::new). For programs in C and C++ there is `capi/` in the repository.

mod attach;
pub(crate) mod boundary;
pub(crate) mod communicator;
pub(crate) mod components;
mod contacts;
mod dbscan;
pub(crate) mod domain;
pub(crate) mod errors;
mod extent;
mod fof;
pub(crate) mod ghosts;
pub(crate) mod halos;
mod hop;
pub(crate) mod labels;
mod order;
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
pub use domain::Domain;
pub use halos::Halos;
pub use labels::Labels;
#[doc(hidden)]
pub use search::ShellAbout;
pub use search::{Bvh, Hit, Neighbor, Portable};
