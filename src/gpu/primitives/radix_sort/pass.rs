//! A pass of the radix sort: counts of digits, and output positions of keys. `words` writes words that hold an index.
//!
//! In: keys, and the position of a digit in them. Out: the count of each digit in each part of the keys, then the
//! keys sorted by the digit. Each tile is sorted in shared memory first, so that neighbouring threads write to
//! neighbouring addresses. Keys with the same digit are ranked 32 at a time, by a mask of the threads of the warp
//! that have the digit.
//! Sources: Satish, Harris and Garland 2009, sections 3 and 4. Ranks: Ashkiani et al. 2016, section 5.

use cubecl::prelude::*;

use crate::gpu::buffer::THREADS_PER_BLOCK;
use crate::gpu::primitives::warp::{WARPS, WIDTH, Warp, block_sums, match_any, sync_warp};

pub(in crate::gpu) const BITS: u32 = 9;
pub(in crate::gpu) const DIGITS: u32 = 1 << BITS;
/// Each thread handles two digits, which differ in the highest bit. Their counts share a word, with one word per
/// warp.
const HALF: u32 = DIGITS / 2;
pub(in crate::gpu) const CODE: u32 = 63;

/// The tile size and the warp mode for which the kernels of a sort are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct SortSpec {
    /// Keys per thread in a tile.
    pub items: u32,
    pub warp: Warp,
}

impl SortSpec {
    pub fn new<R: Runtime>(client: &ComputeClient<R>) -> Self {
        let rest = (HALF * WARPS + DIGITS + THREADS_PER_BLOCK) * 4;
        let room = client.properties().hardware.max_shared_memory_size as u32 - rest;
        // Larger tiles are written in longer contiguous runs, but fewer of them run concurrently. Measured from 8 to
        // 24.
        let warp = Warp::new(client);
        // Kernels with emulated warps are long; few items keep them shorter.
        let most = if let Warp::Emulated { .. } = warp { 2 } else { 14 };
        Self { items: (room / (8 * THREADS_PER_BLOCK)).min(most), warp }
    }

    pub fn tile(self) -> u32 {
        self.items * THREADS_PER_BLOCK
    }
}

#[cube]
pub(super) fn digit(key: u64, shift: u32) -> u32 {
    u32::cast_from(key >> u64::cast_from(shift)) & comptime!(DIGITS - 1)
}

/// The arguments of a pass. A part is a sequence of tiles, processed by one block.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct PassArg {
    /// For each digit and each part, the count of the digit in earlier parts.
    pub offsets: Array<u32>,
    pub totals: Array<u32>,
    pub n: u32,
    pub parts: u32,
    pub tiles_of_part: u32,
    /// The lowest bit of the digit.
    pub shift: u32,
}

/// Counts each digit in each part. The counts are stored digit by digit, and for each digit part by part.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn count_digits(
    keys: &Array<u64>,
    counts: &mut Array<u32>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    shift: u32,
    #[comptime] spec: SortSpec,
) {
    let part = CUBE_POS as u32;
    if part < parts {
        let found = SharedMemory::<Atomic<u32>>::new(comptime!(DIGITS as usize));
        for k in 0..comptime!(DIGITS / THREADS_PER_BLOCK) {
            found[(k * THREADS_PER_BLOCK + UNIT_POS) as usize].store(0);
        }
        sync_cube();
        for tile in 0..tiles_of_part {
            let own_tile = part * tiles_of_part + tile;
            if own_tile <= (n - 1) / comptime!(spec.tile()) {
                let first = own_tile * comptime!(spec.tile());
                let len = n - first;
                let mut own = Array::<u64>::new(comptime!(spec.items as usize));
                #[unroll]
                for k in 0..spec.items {
                    let at = k * THREADS_PER_BLOCK + UNIT_POS;
                    if at < len {
                        own[k as usize] = keys[(first + at) as usize];
                    }
                }
                #[unroll]
                for k in 0..spec.items {
                    let at = k * THREADS_PER_BLOCK + UNIT_POS;
                    if at < len {
                        found[digit(own[k as usize], shift) as usize].fetch_add(1);
                    }
                }
            }
        }
        sync_cube();
        for k in 0..comptime!(DIGITS / THREADS_PER_BLOCK) {
            let own = k * THREADS_PER_BLOCK + UNIT_POS;
            counts[(own * parts + part) as usize] = found[own as usize].load();
        }
    }
}

/// Replaces the counts of each digit by the sums over earlier parts, and writes the total. Uses one thread per digit.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn sum_few(counts: &mut Array<u32>, totals: &mut Array<u32>, parts: u32) {
    let digit = ABSOLUTE_POS as u32;
    if digit < comptime!(DIGITS) {
        let mut sum = 0u32.runtime();
        for part in 0..parts {
            let at = (digit * parts + part) as usize;
            let own = counts[at];
            counts[at] = sum;
            sum += own;
        }
        totals[digit as usize] = sum;
    }
}

/// Does the same as `sum_few` with one block per digit.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn sum_digits(counts: &mut Array<u32>, totals: &mut Array<u32>, parts: u32, #[comptime] warp: Warp) {
    let digit = CUBE_POS as u32;
    if digit < comptime!(DIGITS) {
        let mut shared = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
        let mut so_far = 0u32.runtime();
        for round in 0..parts.div_ceil(4 * THREADS_PER_BLOCK) {
            let first = (round * THREADS_PER_BLOCK + UNIT_POS) * 4;
            let mut own = Array::<u32>::new(4usize);
            let mut sum = 0u32.runtime();
            #[unroll]
            for k in 0..4u32 {
                own[k as usize] = 0u32.runtime();
                if first + k < parts {
                    own[k as usize] = counts[(digit * parts + first + k) as usize];
                }
                sum += own[k as usize];
            }
            let found = block_sums(sum, &mut shared, warp);
            let mut before = so_far + found.before;
            #[unroll]
            for k in 0..4u32 {
                if first + k < parts {
                    counts[(digit * parts + first + k) as usize] = before;
                }
                before += own[k as usize];
            }
            so_far += found.all;
        }
        if UNIT_POS == 0 {
            totals[digit as usize] = so_far;
        }
    }
}

/// Shared memory of a block while it sorts tiles.
#[derive(CubeType)]
pub(super) struct SharedState {
    pub keys: SharedMemory<u64>,
    /// First the count of each digit in each warp; then the slot where the keys of that digit and warp begin.
    counts: SharedMemory<u32>,
    /// For each digit, the difference between a key's position among all keys and its slot in the sorted tile.
    pub bases: SharedMemory<u32>,
    shared: SharedMemory<u32>,
}

#[cube]
pub(super) fn shared_state(#[comptime] spec: SortSpec) -> SharedState {
    SharedState {
        keys: SharedMemory::<u64>::new(comptime!(spec.tile() as usize)),
        counts: SharedMemory::<u32>::new(comptime!((HALF * WARPS) as usize)),
        bases: SharedMemory::<u32>::new(comptime!(DIGITS as usize)),
        shared: SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize)),
    }
}

/// Returns the slot of a thread's item in an unsorted tile. Each warp reads consecutive slots, so that counting warp
/// by warp keeps the order.
#[cube]
pub(super) fn tile_slot(#[comptime] item: u32, #[comptime] spec: SortSpec) -> u32 {
    UNIT_POS / WIDTH * comptime!(spec.items * WIDTH) + comptime!(item * WIDTH) + UNIT_POS % WIDTH
}

/// Finds the positions among all keys where the part's keys with the thread's two digits begin.
#[cube]
pub(super) fn digit_base(
    state: &mut SharedState,
    next: &mut Array<u32>,
    pass: &PassArg,
    part: u32,
    #[comptime] spec: SortSpec,
) {
    let low = block_sums(pass.totals[UNIT_POS as usize], &mut state.shared, spec.warp);
    let high = block_sums(pass.totals[(UNIT_POS + HALF) as usize], &mut state.shared, spec.warp);
    next[0] = low.before + pass.offsets[(UNIT_POS * pass.parts + part) as usize];
    next[1] = low.all + high.before + pass.offsets[((UNIT_POS + HALF) * pass.parts + part) as usize];
}

/// Reads a tile's keys. Slots beyond the end get the highest digit, so that they stay behind all keys.
#[cube]
pub(super) fn read_tile(keys: &Array<u64>, own: &mut Array<u64>, first: u32, len: u32, #[comptime] spec: SortSpec) {
    #[unroll]
    for k in 0..spec.items {
        let at = tile_slot(k, spec);
        own[k as usize] = 0xffff_ffff_ffff_ffffu64.runtime();
        if at < len {
            own[k as usize] = keys[(first + at) as usize];
        }
    }
}

/// Finds the slot of each key in the sorted tile, and the output positions of the tile's digits.
#[cube]
pub(super) fn rank(
    state: &mut SharedState,
    own: &Array<u64>,
    places: &mut Array<u32>,
    next: &mut Array<u32>,
    shift: u32,
    #[comptime] spec: SortSpec,
) {
    let unit = UNIT_POS;
    let own_counts = unit / WIDTH * HALF;
    let lower = (1 << (unit % WIDTH)) - 1;
    #[unroll]
    for k in 0..WARPS {
        state.counts[(k * HALF + unit) as usize] = 0;
    }
    // Ballots need no loads, so all loads of keys can be in flight at once. To save registers, one word per key holds
    // three values. The lowest 5 bits: how many of its peers come before it. Then, if the key is the first of the
    // warp with its low bits: the number of peers without and with the highest bit. From bit 17: the digit.
    #[unroll]
    for k in 0..spec.items {
        let found = digit(own[k as usize], shift);
        let all = match_any(found, &mut state.shared, BITS, spec.warp);
        let highs = all.same & all.high;
        let lows = all.same ^ highs;
        let same = select(found >= HALF, highs, lows);
        let mut increments = 0u32.runtime();
        if all.same & lower == 0 {
            increments = (lows.count_ones() << 5) | (highs.count_ones() << 11);
        }
        places[k as usize] = (same & lower).count_ones() | increments | (found << 17);
    }
    sync_cube();
    #[unroll]
    for k in 0..spec.items {
        let word = places[k as usize];
        let found = word >> 17;
        let slot = own_counts + found % HALF;
        let before = state.counts[slot as usize];
        sync_warp(spec.warp);
        if (word >> 5) & 0xfff != 0 {
            state.counts[slot as usize] = before + ((word >> 5) & 63) + (((word >> 11) & 63) << 16);
        }
        sync_warp(spec.warp);
        places[k as usize] = (found << 16) | ((word & 31) + ((before >> (found / HALF * 16)) & 0xffff));
    }
    sync_cube();

    // A warp's keys of a digit come after the same digit's keys of earlier warps, and after all keys of lower digits.
    let mut before = Array::<u32>::new(comptime!(WARPS as usize));
    let mut both = 0u32.runtime();
    #[unroll]
    for k in 0..WARPS {
        let here = state.counts[(k * HALF + unit) as usize];
        before[k as usize] = both;
        both += here;
    }
    let found = block_sums(both, &mut state.shared, spec.warp);
    let start = found.before + (found.all << 16);
    #[unroll]
    for k in 0..WARPS {
        state.counts[(k * HALF + unit) as usize] = before[k as usize] + start;
    }
    state.bases[unit as usize] = next[0] - (start & 0xffff);
    state.bases[(unit + HALF) as usize] = next[1] - (start >> 16);
    next[0] += both & 0xffff;
    next[1] += both >> 16;
    sync_cube();
    #[unroll]
    for k in 0..spec.items {
        let found = places[k as usize] >> 16;
        let counts = state.counts[(own_counts + found % HALF) as usize];
        places[k as usize] = (places[k as usize] & 0xffff) + ((counts >> (found / HALF * 16)) & 0xffff);
    }
}

/// Writes keys and values to their positions in the order of this digit.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn scatter_pairs(
    keys: &Array<u64>,
    values: &Array<u32>,
    sorted_keys: &mut Array<u64>,
    sorted_values: &mut Array<u32>,
    pass: &PassArg,
    #[comptime] spec: SortSpec,
) {
    let part = CUBE_POS as u32;
    let (n, shift) = (pass.n, pass.shift);
    if part < pass.parts {
        let mut state = shared_state(spec);
        let mut next = Array::<u32>::new(2usize);
        digit_base(&mut state, &mut next, pass, part, spec);
        for tile in 0..pass.tiles_of_part {
            let own_tile = part * pass.tiles_of_part + tile;
            if own_tile <= (n - 1) / comptime!(spec.tile()) {
                let first = own_tile * comptime!(spec.tile());
                let len = n - first;
                let mut own = Array::<u64>::new(comptime!(spec.items as usize));
                let mut places = Array::<u32>::new(comptime!(spec.items as usize));
                let mut goals = Array::<u32>::new(comptime!(spec.items as usize));
                read_tile(keys, &mut own, first, len, spec);
                rank(&mut state, &own, &mut places, &mut next, shift, spec);
                #[unroll]
                for k in 0..spec.items {
                    state.keys[places[k as usize] as usize] = own[k as usize];
                }
                sync_cube();
                #[unroll]
                for k in 0..spec.items {
                    let at = k * THREADS_PER_BLOCK + UNIT_POS;
                    if at < len {
                        let key = state.keys[at as usize];
                        let to = state.bases[digit(key, shift) as usize] + at;
                        sorted_keys[to as usize] = key;
                        goals[k as usize] = to;
                    }
                }
                sync_cube();
                // Values are moved in the same way.
                #[unroll]
                for k in 0..spec.items {
                    let at = tile_slot(k, spec);
                    if at < len {
                        state.keys[places[k as usize] as usize] = u64::cast_from(values[(first + at) as usize]);
                    }
                }
                sync_cube();
                #[unroll]
                for k in 0..spec.items {
                    let at = k * THREADS_PER_BLOCK + UNIT_POS;
                    if at < len {
                        let to = goals[k as usize];
                        sorted_values[to as usize] = u32::cast_from(state.keys[at as usize]);
                    }
                }
                sync_cube();
            }
        }
    }
}
