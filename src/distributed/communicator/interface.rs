//! The functions that the algorithms need from a message-passing library.

use crate::error::Result;

/// The operation by which [`Communicator::all_reduce`] combines the numbers of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum, modulo 2^64.
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

impl Reduction {
    /// Combines two numbers by this operation.
    pub fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Sum => a.wrapping_add(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// A group of ranks that exchange messages: [`Alone`](crate::distributed::Alone),
/// [`ThreadRank`](crate::distributed::ThreadRank), or MPI processes (feature `mpi`).
///
/// All methods except `rank` and `size` are *collective*: all ranks call them, in the same order. Counts are in
/// bytes, and may exceed 2^31.
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
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn size(&self) -> usize;

    /// Sends each rank its block of `send`, and writes the blocks from all ranks to `receive`. Blocks are
    /// concatenated by rank; `sent` and `received` hold their lengths. Each count in `sent` must equal the
    /// corresponding count in `received` on the other rank.
    ///
    /// # Errors
    /// Fails if a rank has ended, or if the message-passing library fails.
    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()>;

    /// Concatenates the bytes of all ranks in `receive`; `counts` holds their lengths.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()>;

    /// Replaces each number by the reduction of the numbers at the same index on all ranks. All ranks pass slices of
    /// equal length. This library uses `Min` and `Max` only with numbers below 2^63, because some MPI libraries
    /// compare larger ones incorrectly.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()>;

    /// Blocks until all ranks have called it.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn barrier(&self) -> Result<()>;

    /// Splits the ranks into one communicator per color. Ranks of a color are numbered by `key`, ties by their rank
    /// in this communicator.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`].
    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>>;
}
