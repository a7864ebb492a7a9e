//! The communicator of a program as a [`Communicator`].

use std::ffi::{c_int, c_void};
use std::ptr;

use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::{Error, ErrorKind, Result};

use crate::types;

type AllToAllV = unsafe extern "C" fn(*mut c_void, *const c_void, *const u64, *mut c_void, *const u64) -> c_int;
type AllGatherV = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *const u64) -> c_int;
type AllReduce = unsafe extern "C" fn(*mut c_void, *mut u64, u64, u32) -> c_int;

/// A communicator whose functions are all set. The raw pointer `context` makes it neither `Send` nor `Sync`, so that
/// the functions are called on the caller's thread only.
pub struct Ranks {
    context: *mut c_void,
    rank: usize,
    size: usize,
    all_to_all_v: AllToAllV,
    all_gather_v: AllGatherV,
    all_reduce: AllReduce,
}

impl Ranks {
    pub fn new(ranks: &types::Communicator) -> Result<Self> {
        let invalid = |sentence: String| Error::new(ErrorKind::Input, sentence);
        let types::Communicator { context, rank, size, .. } = *ranks;
        if rank >= size || size > i32::MAX as u64 {
            return Err(invalid(format!("the communicator has rank {rank} of {size}")));
        }
        let missing = |name: &str| invalid(format!("{name} of the communicator is NULL"));
        Ok(Self {
            context,
            rank: rank as usize,
            size: size as usize,
            all_to_all_v: ranks.all_to_all_v.ok_or_else(|| missing("all_to_all_v"))?,
            all_gather_v: ranks.all_gather_v.ok_or_else(|| missing("all_gather_v"))?,
            all_reduce: ranks.all_reduce.ok_or_else(|| missing("all_reduce"))?,
        })
    }

    /// Converts the counts of bytes per rank. There must be one for each rank, and their sum must be `bytes`.
    fn counts(&self, counts: &[usize], bytes: usize) -> Result<Vec<u64>> {
        if counts.len() != self.size || counts.iter().sum::<usize>() != bytes {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("internal error: counts {counts:?} do not add up to {bytes} bytes"),
            ));
        }
        Ok(counts.iter().map(|&count| count as u64).collect())
    }
}

/// Returns the address of bytes. It is NULL for no bytes, because the address of an empty slice could equal
/// `MPI_IN_PLACE`.
fn address(bytes: &[u8]) -> *const c_void {
    if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast() }
}

/// Returns the address of bytes to be written, NULL for no bytes.
fn address_mut(bytes: &mut [u8]) -> *mut c_void {
    if bytes.is_empty() { ptr::null_mut() } else { bytes.as_mut_ptr().cast() }
}

fn check(name: &str, status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Rank, format!("{name} of the communicator returns {status}")))
}

impl Communicator for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        let (sent, received) = (self.counts(sent, send.len())?, self.counts(received, receive.len())?);
        let (send, receive) = (address(send), address_mut(receive));
        // SAFETY: `counts` has checked that there is a count for each rank, and that the sums are the lengths of
        // `send` and `receive`. By the contract of the header the function reads and writes no more than that.
        let status = unsafe { (self.all_to_all_v)(self.context, send, sent.as_ptr(), receive, received.as_ptr()) };
        check("all_to_all_v", status)
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        let numbers = self.counts(counts, receive.len())?;
        if own.len() != counts[self.rank] {
            let sentence = format!(
                "internal error: {} bytes to gather, but the count of this rank is {}",
                own.len(),
                counts[self.rank]
            );
            return Err(Error::new(ErrorKind::Internal, sentence));
        }
        let (own, receive) = (address(own), address_mut(receive));
        // SAFETY: `counts` has checked that there is a count for each rank, and that their sum is the length of
        // `receive`. `own` has this rank's count, checked above.
        let status = unsafe { (self.all_gather_v)(self.context, own, receive, numbers.as_ptr()) };
        check("all_gather_v", status)
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        let reduction = match reduction {
            Reduction::Sum => types::SUM,
            Reduction::Min => types::MIN,
            Reduction::Max => types::MAX,
        };
        // SAFETY: the function gets the length of `numbers`, and writes no more than these.
        let status = unsafe { (self.all_reduce)(self.context, numbers.as_mut_ptr(), numbers.len() as u64, reduction) };
        check("all_reduce", status)
    }

    fn barrier(&self) -> Result<()> {
        self.all_reduce(&mut [0], Reduction::Sum)
    }

    /// Not supported, because the functions of this crate do not split communicators.
    fn split(&self, _color: usize, _key: usize) -> Result<Box<dyn Communicator>> {
        Err(Error::new(ErrorKind::Unsupported, "communicators of the C interface cannot be split"))
    }
}
