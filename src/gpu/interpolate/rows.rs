//! Rows of sources with their coefficients, one row per target.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::device::{MAX_ITERATIONS, is_cuda};
use crate::gpu::errors;

/// The degree of targets without usable coefficients, until they have those of the fallback.
pub(super) const UNUSABLE: i32 = -2;
/// The maximum number of passes of a kernel over a row.
const PASSES: usize = 3;

/// The sources of each target with their coefficients.
pub(super) struct Rows {
    /// The first place of each row, followed by the number of all coefficients.
    pub offsets: Buffer<u32>,
    pub indices: Buffer<u32>,
    pub coefficients: Buffer<f64>,
    /// The gradient coefficients, one for each axis of a source.
    pub slopes: Option<Buffer<f64>>,
    /// The degree of each target, [`UNUSABLE`] without usable coefficients.
    pub degrees: Buffer<i32>,
    /// The number of sources in the longest row.
    pub longest: usize,
}

/// Returns the length of the longest row.
///
/// Errors: rows that are too long for the loops of a driver; a failing device.
pub(super) fn checked_longest<R: Runtime>(client: &ComputeClient<R>, offsets: &Buffer<u32>) -> Result<usize> {
    let offsets = offsets.read(client)?;
    let longest = offsets.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0) as usize;
    if !is_cuda(client) && longest > MAX_ITERATIONS / PASSES {
        return Err(errors::long_loops(format!("a row of {longest} sources")));
    }
    Ok(longest)
}
