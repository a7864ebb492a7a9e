//! Points that several ranks hold: processes of MPI, or threads of one process.
//!
//! ```text
//! communicator -> route -> domain (each rank gets a compact region) -> ghosts -> what one rank does -> boundary (unions across ranks)
//!                                                                   -> regions (boxes of all ranks) -> search
//! ```
//!
//! [`Bvh`] searches: what is within a radius or a box, the k nearest, neighbours of all points, pairs. A query goes to the ranks that have a
//! box it meets, and its results come back to the rank that asked, with global indices.

mod boundary;
mod cells;
pub(crate) mod communicator;
mod components;
mod dbscan;
mod domain;
mod fof;
mod ghosts;
mod halos;
mod labels;
mod regions;
mod route;
mod search;

#[cfg(feature = "mpi")]
pub use communicator::Mpi;
pub use communicator::{Alone, Communicator, Measured, Reduction, ThreadRank, Traffic, agree, on_threads};
pub use domain::Domain;
pub use halos::Halos;
pub use labels::Labels;
pub use search::{Bvh, Hit, Neighbor, Portable};
