//! The limit of the number of coordinates on a device.

use crate::error::{Error, Result};

/// Refuses more coordinates than kernels have indices for, which are 32 bits.
pub(super) fn check_elements(n: usize, dim: usize) -> Result<()> {
    let max = u32::MAX as usize / dim;
    if n > max { Err(Error::too_many_points(n, max)) } else { Ok(()) }
}
