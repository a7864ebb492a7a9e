//! What those who share the particles of a picture know together.
//!
//! In: numbers of each rank's part. Out: those of the whole, which do not depend on how it is shared. One process has all of it.

use ropewalk::Result;
use ropewalk::distributed::{Communicator, Reduction};

/// All who share the particles. What they do together all of them do, in the same order.
pub trait Shares {
    /// Makes each number the sum of theirs, modulo 2^64.
    fn sum(&self, numbers: &mut [u64]) -> Result<()>;
}

/// One that has all particles.
pub struct Whole;

impl Shares for Whole {
    fn sum(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
}

impl Shares for &dyn Communicator {
    fn sum(&self, numbers: &mut [u64]) -> Result<()> {
        self.all_reduce(numbers, Reduction::Sum)
    }
}
