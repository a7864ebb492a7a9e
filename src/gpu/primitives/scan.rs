//! Exclusive prefix sums.
//!
//! In: counts. Out: for each count the sum of those before it, and the sum of all. Three kernels: sums of tiles,
//! prefix sums of these by recursion, and prefix sums within tiles. No block waits for another one, because not
//! every device guarantees forward progress.
//! Cost: two reads and one write of the counts.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};

/// Elements per thread.
const ITEMS: u32 = 4;
const TILE: u32 = ITEMS * THREADS_PER_BLOCK;

/// Replaces each element by the sum of those before it. If the last element is an extra 0, it becomes the sum of all.
pub(in crate::gpu) fn exclusive<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<u32>) {
    let n = values.len();
    let tiles = n.div_ceil(TILE as usize);
    let sums = Buffer::<u32>::new(client, tiles);
    let (tile_count, dim) = (grid(tiles), CubeDim::new_1d(THREADS_PER_BLOCK));
    if tiles > 1 {
        sum_tiles::launch::<R>(client, tile_count.clone(), dim, values.arg(), sums.arg(), n as u32);
        exclusive(client, &sums);
    }
    scan_tiles::launch::<R>(client, tile_count, dim, values.arg(), sums.arg(), n as u32);
}

/// Returns the last number of a buffer; after [`exclusive`] this is the sum of all. Waits for it.
pub(in crate::gpu) fn last<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<u32>) -> Result<usize> {
    let found = Buffer::<u32>::new(client, 1);
    take_last::launch::<R>(
        client,
        blocks_for(1),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        values.arg(),
        found.arg(),
        values.len() as u32,
    );
    Ok(found.read(client)?[0] as usize)
}

#[cube(launch)]
fn take_last(values: &Array<u32>, found: &mut Array<u32>, n: u32) {
    if ABSOLUTE_POS == 0 {
        found[0] = values[(n - 1) as usize];
    }
}

#[cube(launch)]
fn sum_tiles(values: &Array<u32>, sums: &mut Array<u32>, n: u32) {
    let tile = CUBE_POS as u32;
    if tile * TILE < n {
        let mut shared = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
        let first = tile * TILE + UNIT_POS * ITEMS;
        let mut sum = 0u32.runtime();
        for k in 0..ITEMS {
            if first + k < n {
                sum += values[(first + k) as usize];
            }
        }
        let total = scan_units(&mut shared, sum) + sum;
        if UNIT_POS == THREADS_PER_BLOCK - 1 {
            sums[tile as usize] = total;
        }
    }
}

#[cube(launch)]
fn scan_tiles(values: &mut Array<u32>, sums: &Array<u32>, n: u32) {
    let tile = CUBE_POS as u32;
    if tile * TILE < n {
        let mut shared = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
        let first = tile * TILE + UNIT_POS * ITEMS;
        let mut sum = 0u32.runtime();
        for k in 0..ITEMS {
            if first + k < n {
                sum += values[(first + k) as usize];
            }
        }
        let mut before = scan_units(&mut shared, sum);
        // Sums are not computed for a single tile, and the first tile needs none.
        if tile > 0 {
            before += sums[tile as usize];
        }
        for k in 0..ITEMS {
            if first + k < n {
                let own = values[(first + k) as usize];
                values[(first + k) as usize] = before;
                before += own;
            }
        }
    }
}

/// Returns the sum of `value` over the threads before this one in the block. All [`THREADS_PER_BLOCK`] threads
/// must call it.
#[cube]
pub(in crate::gpu) fn scan_units(shared: &mut SharedMemory<u32>, value: u32) -> u32 {
    let unit = UNIT_POS;
    shared[unit as usize] = value;
    sync_cube();
    let mut step = 1u32.runtime();
    while step < THREADS_PER_BLOCK {
        let mut sum = shared[unit as usize];
        if unit >= step {
            sum += shared[(unit - step) as usize];
        }
        sync_cube();
        shared[unit as usize] = sum;
        sync_cube();
        step *= 2;
    }
    let before = shared[unit as usize] - value;
    sync_cube();
    before
}
