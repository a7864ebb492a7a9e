//! The sum of an array.
//!
//! In: counts. Out: their sum. Each thread sums every 262,144th count; the host adds the sums of 1024 blocks.
//! Cost: one read of the counts.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};

/// Enough blocks to keep a device busy.
const BLOCKS: u32 = 1024;

/// Sums `values`. Waits for all launched kernels.
pub(in crate::gpu) fn sum<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<u32>) -> Result<u64> {
    let sums = Buffer::<u64>::new(client, BLOCKS as usize);
    let (count, dim) = (CubeCount::Static(BLOCKS, 1, 1), CubeDim::new_1d(THREADS_PER_BLOCK));
    sum_strides::launch::<R>(client, count, dim, values.arg(), sums.arg(), values.len() as u32);
    Ok(sums.read(client)?.into_iter().sum())
}

#[cube(launch)]
fn sum_strides(values: &Array<u32>, sums: &mut Array<u64>, n: u32) {
    let mut shared = SharedMemory::<u64>::new(comptime!(THREADS_PER_BLOCK as usize));
    let mut sum = 0u64.runtime();
    // Positions in `u64`, which does not overflow.
    let mut at = u64::cast_from(ABSOLUTE_POS);
    while at < u64::cast_from(n) {
        sum += u64::cast_from(values[at as usize]);
        at += comptime!((BLOCKS * THREADS_PER_BLOCK) as u64);
    }
    shared[UNIT_POS as usize] = sum;
    sync_cube();
    let mut half = comptime!(THREADS_PER_BLOCK / 2).runtime();
    while half > 0 {
        if UNIT_POS < half {
            let other = shared[(UNIT_POS + half) as usize];
            shared[UNIT_POS as usize] += other;
        }
        sync_cube();
        half /= 2;
    }
    if UNIT_POS == 0 {
        sums[CUBE_POS] = shared[0];
    }
}
