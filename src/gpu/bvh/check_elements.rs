//! The maximum number of coordinates on a device.

use crate::error::{Error, Result};

/// Returns an error if there are more coordinates than the 32-bit indices of kernels can address.
pub(super) fn check_elements(n: usize, dim: usize) -> Result<()> {
    let max = u32::MAX as usize / dim;
    if n > max { Err(Error::too_many_points(n, max)) } else { Ok(()) }
}
