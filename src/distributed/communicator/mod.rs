//! Communication between ranks: MPI processes, threads of one process, or a single rank.
//!
//! The algorithms need seven functions of a message-passing library, collected in a trait, so that they can be tested
//! without one. Every function that communicates is called by all ranks of a communicator, in the same order. If one
//! rank fails, [`agree`] reports the error to all before they go on.
//!
//! A rank that is cancelled ([`Cancel`](crate::Cancel)) or panics sends nothing. The others wait for it until its
//! communicator is dropped. Then threads get an error ([`on_threads`]), and MPI processes are ended.

mod agree;
mod alone;
mod interface;
mod measured;
#[cfg(feature = "mpi")]
mod mpi;
mod same_options;
mod threads;
mod typed;

pub(crate) use agree::NO_RANK;
pub use agree::agree;
pub use alone::Alone;
pub use interface::{Communicator, Reduction};
pub use measured::{Measured, Traffic};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub(crate) use same_options::check_same_options;
pub use same_options::{Term, agree_on};
pub use threads::{ThreadRank, on_threads};
pub use typed::{all_gather, all_gather_v, broadcast, gather, reduce, starts};
pub(crate) use typed::{exchange, exchange_known, received};
