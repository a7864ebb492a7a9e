//! Atomic minima.
//!
//! In: indices and values. Out: at each index the minimum of its values.
//! Cost: an atomic minimum for each value that is less than the stored one.

use cubecl::prelude::*;

use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// Lowers the number at index `at` to `value`, if that is less.
#[cube]
pub(in crate::gpu) fn lower(numbers: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    // Most values need only this load.
    if numbers[at as usize].load() > value {
        numbers[at as usize].fetch_min(value);
    }
}

/// Lowers the number at index `at` to `value`. Faster than `lower` if neighbouring threads often have the same
/// index. A `value` of `u32::MAX` changes nothing. All threads of a block of
/// [`THREADS_PER_BLOCK`](crate::gpu::buffer::THREADS_PER_BLOCK) must call it.
#[cube]
pub(in crate::gpu) fn lower_to(numbers: &mut Array<Atomic<u32>>, at: u32, value: u32, #[comptime] warp: Warp) {
    let own = block_aggregate(at, value, ReduceOp::Min, warp);
    if own != u32::MAX {
        lower(numbers, at, own);
    }
}
