//! The functions that ranks need of a message-passing library.

use crate::error::Result;

/// What [`Communicator::all_reduce`] makes of the numbers of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum, modulo 2^64.
    Sum,
    /// The least.
    Min,
    /// The largest.
    Max,
}

impl Reduction {
    /// Of two numbers.
    pub fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Sum => a.wrapping_add(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// Some ranks that talk to each other: [`Alone`](crate::distributed::Alone), [`ThreadRank`](crate::distributed::ThreadRank), or processes of MPI (feature `mpi`).
///
/// All functions but `rank` and `size` are *collective*: all ranks call them, in the same order. Counts are bytes, and may be beyond 2^31.
///
/// ```
/// use ropewalk::distributed::{Communicator, Reduction, on_threads};
///
/// let sums = on_threads(3, |ranks| {
///     let mut numbers = [ranks.rank() as u64, 1];
///     ranks.all_reduce(&mut numbers, Reduction::Sum)?;
///     Ok(numbers)
/// })?;
/// assert_eq!(sums, [[3, 3]; 3]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub trait Communicator {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends to each rank its stretch of `send`, one after the other and `sent[rank]` bytes long, and puts what comes from each
    /// into `receive` likewise. A count that one rank sends is the count that the other receives.
    ///
    /// # Errors
    /// If a rank has ended; if the engine fails.
    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()>;

    /// Puts the bytes of all ranks into `receive`, one after the other; `counts` has their lengths.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()>;

    /// Makes each number what the reduction makes of those of all ranks at its place; all ranks give as many. This library asks for the least
    /// and the largest only of numbers below 2^63, as some libraries of MPI compare larger ones wrongly.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()>;

    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn barrier(&self) -> Result<()>;

    /// One communicator for each color, of the ranks that give it; in it they are numbered by `key`, ties by their rank here.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>>;
}
