//! Numbers that many units lower.
//!
//! In: places and values. Out: at each place the least of its values.
//! Cost: an atomic minimum for each value that is less than what is there.

use cubecl::prelude::*;

use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// Lowers the number at `at` to `value`.
#[cube]
pub(in crate::gpu) fn lower(numbers: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    // Most are satisfied by a look.
    if numbers[at as usize].load() > value {
        numbers[at as usize].fetch_min(value);
    }
}

/// The same where neighbours often lower the same number; `u32::MAX` changes nothing. All units of a block of
/// [`UNITS`](crate::gpu::buffer::UNITS) call it.
#[cube]
pub(in crate::gpu) fn lower_to(numbers: &mut Array<Atomic<u32>>, at: u32, value: u32, #[comptime] warp: Warp) {
    let own = block_aggregate(at, value, ReduceOp::Min, warp);
    if own != u32::MAX {
        lower(numbers, at, own);
    }
}
