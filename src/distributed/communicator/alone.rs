//! A communicator of a single rank.

use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::error::Result;

/// A single rank, which receives what it sends.
///
/// ```
/// use ropewalk::distributed::{Alone, Communicator};
///
/// assert_eq!((Alone.rank(), Alone.size()), (0, 1));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_to_all_v(&self, send: &[u8], _sent: &[usize], receive: &mut [u8], _received: &[usize]) -> Result<()> {
        receive.copy_from_slice(send);
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], _counts: &[usize]) -> Result<()> {
        receive.copy_from_slice(own);
        Ok(())
    }

    fn all_reduce(&self, _numbers: &mut [u64], _reduction: Reduction) -> Result<()> {
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        Ok(())
    }

    fn split(&self, _color: usize, _key: usize) -> Result<Box<dyn Communicator>> {
        Ok(Box::new(Self))
    }
}
