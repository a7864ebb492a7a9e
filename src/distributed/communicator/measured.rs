//! Measures how much ranks send.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::error::Result;

/// The number of bytes that a rank has sent to other ranks, and the number of its collective calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent to other ranks. Bytes of a gather or reduction count once for each other rank.
    pub bytes: u64,
    /// The number of calls of collective methods.
    pub calls: u64,
}

/// A communicator that counts what is sent through it. Communicators split from it are not counted.
///
/// ```
/// use ropewalk::distributed::{Communicator, Measured, on_threads};
///
/// let sent = on_threads(2, |ranks| {
///     let measured = Measured::new(ranks);
///     measured.all_to_all_v(&[1, 2, 3, 4], &[2, 2], &mut [0; 4], &[2, 2])?;
///     Ok(measured.traffic().bytes)
/// });
/// assert_eq!(sent?, [2, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub struct Measured<'a> {
    ranks: &'a dyn Communicator,
    bytes: AtomicU64,
    calls: AtomicU64,
}

impl<'a> Measured<'a> {
    /// Creates a communicator that forwards all calls to `ranks`, and counts calls and sent bytes from 0.
    pub fn new(ranks: &'a dyn Communicator) -> Self {
        Self { ranks, bytes: AtomicU64::new(0), calls: AtomicU64::new(0) }
    }

    /// Returns the number of bytes that this rank has sent so far, and the number of its calls.
    pub fn traffic(&self) -> Traffic {
        Traffic { bytes: self.bytes.load(Relaxed), calls: self.calls.load(Relaxed) }
    }

    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.calls.fetch_add(1, Relaxed);
    }
}

impl Communicator for Measured<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        self.count(send.len() - sent[self.rank()]);
        self.ranks.all_to_all_v(send, sent, receive, received)
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        self.count(own.len() * (self.size() - 1));
        self.ranks.all_gather_v(own, receive, counts)
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        self.count(size_of_val(numbers) * (self.size() - 1));
        self.ranks.all_reduce(numbers, reduction)
    }

    fn barrier(&self) -> Result<()> {
        self.count(0);
        self.ranks.barrier()
    }

    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>> {
        self.count(0);
        self.ranks.split(color, key)
    }
}
