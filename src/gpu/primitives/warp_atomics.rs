//! Contributions of a warp or a block to one address, combined before an atomic operation.
//!
//! In: an address and a value of each thread. Out: the value that the thread must still apply atomically, if any.
//! Atomic operations on the same address are serialized, so one operation for many threads is faster.
//! Cost: the reductions of [`warp`](super::warp), and two numbers in shared memory per warp.

use cubecl::prelude::*;

use crate::gpu::primitives::warp::warp_max;
use crate::gpu::primitives::warp::{WARPS, WIDTH, Warp, warp_min, warp_or, warp_shuffle, warp_sum};

/// The operation that combines values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum ReduceOp {
    Min,
    Sum,
    Or,
}

impl ReduceOp {
    /// The neutral element of the operation.
    pub(in crate::gpu) fn identity(self) -> u32 {
        match self {
            Self::Min => u32::MAX,
            Self::Sum | Self::Or => 0,
        }
    }
}

#[cube]
fn reduce(a: u32, b: u32, #[comptime] op: ReduceOp) -> u32 {
    if comptime!(op == ReduceOp::Min) {
        min(a, b)
    } else if comptime!(op == ReduceOp::Sum) {
        a + b
    } else {
        a | b
    }
}

#[cube]
fn warp_reduce(value: u32, #[comptime] op: ReduceOp, #[comptime] warp: Warp) -> u32 {
    if comptime!(op == ReduceOp::Min) {
        warp_min::<u32>(value, warp)
    } else if comptime!(op == ReduceOp::Sum) {
        warp_sum::<u32>(value, warp)
    } else {
        warp_or(value, warp)
    }
}

/// Combines the contributions to the same address as the first thread's, per warp and then per block. Returns the
/// value that this thread must still apply atomically, or the identity. All threads of a block of
/// [`THREADS_PER_BLOCK`](crate::gpu::buffer::THREADS_PER_BLOCK) must call it.
#[cube]
pub(in crate::gpu) fn block_aggregate(at: u32, value: u32, #[comptime] op: ReduceOp, #[comptime] warp: Warp) -> u32 {
    let mut own = value + 0;
    if comptime!(warp.is_some()) {
        let identity = comptime!(op.identity());
        let is_common = at == warp_shuffle::<u32>(at, 0, warp);
        let mut all = warp_reduce(select(is_common, value, identity), op, warp);
        own = select(is_common, identity, value);
        let mut addresses = SharedMemory::<u32>::new(WARPS as usize);
        let mut parts = SharedMemory::<u32>::new(WARPS as usize);
        if UNIT_POS % WIDTH == 0 {
            addresses[(UNIT_POS / WIDTH) as usize] = at;
            parts[(UNIT_POS / WIDTH) as usize] = all;
        }
        sync_cube();
        if UNIT_POS == 0 {
            #[unroll]
            for other in 1..WARPS as usize {
                all = reduce(all, select(addresses[other] == at, parts[other], identity), op);
            }
            own = all;
        } else if UNIT_POS % WIDTH == 0 && at != addresses[0] {
            own = all;
        }
    }
    own
}

/// Raises the number at index `at` to `bits`, unless `bits` is 0. The first thread of a warp combines the values of
/// all threads with the same address as its own, whose atomic operations would be serialized. All threads of the
/// block must call it.
#[cube]
pub(in crate::gpu) fn warp_atomic_max(numbers: &mut Array<Atomic<u32>>, at: u32, bits: u32, #[comptime] warp: Warp) {
    let mut own = bits + 0;
    if comptime!(warp.is_some()) {
        let common = warp_shuffle::<u32>(at, 0, warp);
        let most = warp_max::<u32>(select(at == common, bits, 0u32), warp);
        if at == common {
            own = 0u32.runtime();
        }
        if UNIT_POS % WIDTH == 0 {
            own = most;
        }
        if own != 0 {
            numbers[at as usize].fetch_max(own);
        }
    } else if own != 0 {
        // Most values need only this load.
        if numbers[at as usize].load() < own {
            numbers[at as usize].fetch_max(own);
        }
    }
}
