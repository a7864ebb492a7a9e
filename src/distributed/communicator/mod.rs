//! How ranks talk: processes of MPI, threads of one process, or one rank alone.
//!
//! In: bytes for each rank. Out: bytes from each. What the algorithms need of a message-passing library is seven functions, so that all
//! of them can be tried without one. Every function that talks is called by all ranks of a communicator, in the same order; what one rank
//! refuses is made known to all by [`agree`] before they go on. A rank that is cancelled ([`Cancel`](crate::Cancel)) or panics tells nothing:
//! the others wait for it until its communicator is dropped, where threads get an error ([`on_threads`]) and processes of MPI are ended.

mod agree;
mod alone;
mod interface;
mod measured;
#[cfg(feature = "mpi")]
mod mpi;
mod terms;
mod threads;
mod typed;

pub use agree::agree;
pub use alone::Alone;
pub use interface::{Communicator, Reduction};
pub use measured::{Measured, Traffic};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub(crate) use terms::check_same;
pub use terms::{Term, agree_on};
pub use threads::{ThreadRank, on_threads};
pub use typed::{all_gather, all_gather_v, broadcast, gather, reduce, starts};
pub(crate) use typed::{exchange, exchange_known, received};
