//! Exclusive sums.
//!
//! In: counts. Out: for each the sum of those before it, and the sum of all. Three kernels: sums of tiles, their sums in the same
//! way, and the tiles again. Nothing waits for another cube, which not every device promises to run.
//! Cost: the counts are read twice and written once.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, count, cubes};

/// Elements of a unit, and of a cube.
const ITEMS: usize = 4;
const TILE: usize = ITEMS * UNITS as usize;

/// Replaces `values` by the sums before each; the sum of all is the last of the `n + 1`, where `n` are counts.
pub(in crate::gpu) fn exclusive<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<u32>) {
    let n = values.len();
    let tiles = n.div_ceil(TILE);
    let sums = Buffer::<u32>::new(client, tiles);
    let (tile_count, dim) = (count(tiles), CubeDim::new_1d(UNITS));
    if tiles > 1 {
        sum_tiles::launch::<R>(client, tile_count.clone(), dim, values.arg(), sums.arg(), n as u32);
        exclusive(client, &sums);
    }
    scan_tiles::launch::<R>(client, tile_count, dim, values.arg(), sums.arg(), n as u32);
}

/// The last number of a buffer: of such sums, that of all. Waits for it.
pub(in crate::gpu) fn last<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<u32>) -> Result<usize> {
    let found = Buffer::<u32>::new(client, 1);
    take_last::launch::<R>(client, cubes(1), CubeDim::new_1d(UNITS), values.arg(), found.arg(), values.len() as u32);
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
    if tile * 1024 < n {
        let mut shared = SharedMemory::<u32>::new(256usize);
        let first = tile * 1024 + UNIT_POS * 4;
        let mut sum = 0u32.runtime();
        for k in 0..4u32 {
            if first + k < n {
                sum += values[(first + k) as usize];
            }
        }
        let total = scan_units(&mut shared, sum) + sum;
        if UNIT_POS == 255 {
            sums[tile as usize] = total;
        }
    }
}

#[cube(launch)]
fn scan_tiles(values: &mut Array<u32>, sums: &Array<u32>, n: u32) {
    let tile = CUBE_POS as u32;
    if tile * 1024 < n {
        let mut shared = SharedMemory::<u32>::new(256usize);
        let first = tile * 1024 + UNIT_POS * 4;
        let mut sum = 0u32.runtime();
        for k in 0..4u32 {
            if first + k < n {
                sum += values[(first + k) as usize];
            }
        }
        let mut before = scan_units(&mut shared, sum);
        // The first has nothing before it, and need not be told.
        if tile > 0 {
            before += sums[tile as usize];
        }
        for k in 0..4u32 {
            if first + k < n {
                let own = values[(first + k) as usize];
                values[(first + k) as usize] = before;
                before += own;
            }
        }
    }
}

/// The sum of `value` over the units of the cube before this one, of which there are 256.
#[cube]
pub(in crate::gpu) fn scan_units(shared: &mut SharedMemory<u32>, value: u32) -> u32 {
    let unit = UNIT_POS;
    shared[unit as usize] = value;
    sync_cube();
    let mut step = 1u32.runtime();
    while step < 256 {
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
