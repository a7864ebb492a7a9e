//! A stable radix sort of 64-bit keys with 32-bit values.
//!
//! In: keys and values. Out: both in the order of the keys; equal keys keep their order. Digit by digit of eight bits from the
//! lowest, only those in which keys differ: each tile counts its digits, the counts are summed up, and each tile, sorted by the
//! digit in the cube's own memory, is written to where its digits go.
//! Cost: 40 bytes a key and digit. Source: Satish, Harris and Garland 2009, sections 3 and 4.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, count, cubes};
use super::scan::{exclusive, scan_units};
use crate::error::Result;

/// Keys of a cube.
const TILE: usize = 1024;
const DIGITS: usize = 256;

pub(super) struct Pairs {
    pub keys: Buffer<u64>,
    pub values: Buffer<u32>,
}

/// Sorts; `pairs` is used up.
pub(super) fn sort<R: Runtime>(client: &ComputeClient<R>, pairs: Pairs) -> Result<Pairs> {
    let n = pairs.keys.len();
    if n < 2 {
        return Ok(pairs);
    }
    let dim = CubeDim::new_1d(UNITS);
    let words = Buffer::<u32>::from_slice(client, &[0, 0]);
    differing::launch::<R>(client, cubes(n), dim, pairs.keys.arg(), words.arg(), n as u32);
    let words = words.read(client)?;
    let differing = u64::from(words[0]) | u64::from(words[1]) << 32;

    let tiles = n.div_ceil(TILE);
    let offsets = Buffer::<u32>::new(client, tiles * DIGITS);
    let mut from = pairs;
    let mut to = Pairs { keys: Buffer::new(client, n), values: Buffer::new(client, n) };
    for shift in (0..64).step_by(8).filter(|shift| differing >> shift & 0xff != 0) {
        let shift = shift as u32;
        count_digits::launch::<R>(
            client,
            count(tiles),
            dim,
            from.keys.arg(),
            offsets.arg(),
            n as u32,
            tiles as u32,
            shift,
        );
        exclusive(client, &offsets);
        scatter::launch::<R>(
            client,
            count(tiles),
            dim,
            from.keys.arg(),
            from.values.arg(),
            to.keys.arg(),
            to.values.arg(),
            offsets.arg(),
            n as u32,
            tiles as u32,
            shift,
        );
        std::mem::swap(&mut from, &mut to);
    }
    Ok(from)
}

/// The bits in which keys differ, as two words.
#[cube(launch)]
fn differing(keys: &Array<u64>, words: &mut Array<Atomic<u32>>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i > 0 && i < n {
        let bits = keys[i as usize] ^ keys[(i - 1) as usize];
        let low = u32::cast_from(bits & 0xffff_ffffu64);
        let high = u32::cast_from(bits >> 32u64);
        // Few keys still have news: most are satisfied by a look.
        if (words[0].load() | low) != words[0].load() {
            words[0].fetch_or(low);
        }
        if (words[1].load() | high) != words[1].load() {
            words[1].fetch_or(high);
        }
    }
}

#[cube]
fn digit(key: u64, shift: u32) -> u32 {
    u32::cast_from((key >> u64::cast_from(shift)) & 255u64)
}

/// How often each digit is in each tile: digit by digit, and tile by tile for each.
#[cube(launch)]
fn count_digits(keys: &Array<u64>, counts: &mut Array<u32>, n: u32, tiles: u32, shift: u32) {
    let tile = CUBE_POS as u32;
    if tile < tiles {
        let found = SharedMemory::<Atomic<u32>>::new(256usize);
        found[UNIT_POS as usize].store(0);
        sync_cube();
        for k in 0..4u32 {
            let i = tile * 1024 + k * 256 + UNIT_POS;
            if i < n {
                found[digit(keys[i as usize], shift) as usize].fetch_add(1);
            }
        }
        sync_cube();
        counts[(UNIT_POS * tiles + tile) as usize] = found[UNIT_POS as usize].load();
    }
}

/// Sorts each tile by the digit, bit by bit, and writes it to where `offsets` say.
#[cube(launch)]
fn scatter(
    keys: &Array<u64>,
    values: &Array<u32>,
    sorted_keys: &mut Array<u64>,
    sorted_values: &mut Array<u32>,
    offsets: &Array<u32>,
    n: u32,
    tiles: u32,
    shift: u32,
) {
    let tile = CUBE_POS as u32;
    if tile < tiles {
        let mut tile_keys = SharedMemory::<u64>::new(1024usize);
        let mut tile_values = SharedMemory::<u32>::new(1024usize);
        let mut starts = SharedMemory::<u32>::new(256usize);
        let mut shared = SharedMemory::<u32>::new(256usize);
        let first = tile * 1024;
        let mut len = n - first;
        if len > 1024 {
            len = 1024;
        }
        for k in 0..4u32 {
            let at = k * 256 + UNIT_POS;
            if at < len {
                tile_keys[at as usize] = keys[(first + at) as usize];
                tile_values[at as usize] = values[(first + at) as usize];
            }
        }
        sync_cube();

        let mut own_keys = Array::<u64>::new(4usize);
        let mut own_values = Array::<u32>::new(4usize);
        for bit in 0..8u32 {
            // What is beyond the end counts as one, and so stays behind all else.
            let mut zeros = 0u32.runtime();
            for k in 0..4u32 {
                let at = UNIT_POS * 4 + k;
                if at < len {
                    own_keys[k as usize] = tile_keys[at as usize];
                    own_values[k as usize] = tile_values[at as usize];
                    zeros += 1 - ((digit(own_keys[k as usize], shift) >> bit) & 1);
                }
            }
            let mut zeros_before = scan_units(&mut shared, zeros);
            if UNIT_POS == 255 {
                shared[0] = zeros_before + zeros;
            }
            sync_cube();
            let all_zeros = shared[0];
            for k in 0..4u32 {
                let at = UNIT_POS * 4 + k;
                if at < len {
                    let key = own_keys[k as usize];
                    let one = (digit(key, shift) >> bit) & 1;
                    let mut to = zeros_before;
                    if one == 1 {
                        to = all_zeros + at - zeros_before;
                    } else {
                        zeros_before += 1;
                    }
                    tile_keys[to as usize] = key;
                    tile_values[to as usize] = own_values[k as usize];
                }
            }
            sync_cube();
        }

        for k in 0..4u32 {
            let at = k * 256 + UNIT_POS;
            if at < len {
                let own = digit(tile_keys[at as usize], shift);
                let mut is_first = at == 0;
                if at > 0 {
                    is_first = digit(tile_keys[(at - 1) as usize], shift) != own;
                }
                if is_first {
                    starts[own as usize] = at;
                }
            }
        }
        sync_cube();
        for k in 0..4u32 {
            let at = k * 256 + UNIT_POS;
            if at < len {
                let key = tile_keys[at as usize];
                let own = digit(key, shift);
                let to = offsets[(own * tiles + tile) as usize] + at - starts[own as usize];
                sorted_keys[to as usize] = key;
                sorted_values[to as usize] = tile_values[at as usize];
            }
        }
    }
}
