//! Which leaves there are, and how they join: the twin of `tree::topology`.
//!
//! In: sorted codes. Out: the leaves; for each gap between them the leaves below its node, and the gap above it.
//! The levels of gaps and the starts of leaves come from the codes beside each; how far the node of a gap reaches, from a search
//! in the codes to both sides; the node above, from the gaps at its ends. So no unit waits for another.
//! Cost: 32 bytes a leaf, 8 a point. Source: Karras 2012, section 4, for the search; Apetrei 2014, section 3, for what is above.

#![allow(unsafe_code)] // Kernels that test their bounds themselves.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, count, cubes};
use crate::gpu::bvh::morton::Flag;
use crate::gpu::primitives::scan::exclusive;

/// Positions of a unit, and of a cube, and words of as many bits.
const ITEMS: u32 = 4;
const TILE: u32 = ITEMS * UNITS;
const WORDS: u32 = TILE / 32;
const LEAF: u32 = crate::bvh::LEAF as u32;
/// The level of the gaps at the ends.
const OUTSIDE: u32 = 255;

pub(in crate::gpu) struct Topology {
    /// The first point of each leaf, and the number of points.
    pub starts: Buffer<u32>,
    pub leaves: usize,
    /// First and last leaf of the node of each gap; gap `g` stands before leaf `g`.
    pub first: Buffer<u32>,
    pub last: Buffer<u32>,
    /// The gap above the node of a gap, and above a leaf.
    pub above: Buffer<u32>,
    pub above_leaf: Buffer<u32>,
}

/// The leaves, and what the host has to know of them before it asks for more memory.
pub(in crate::gpu) struct Leaves {
    /// A bit for each position: whether a leaf starts there.
    bits: Buffer<u32>,
    /// For each tile the leaves that start before it, and the sum of all.
    before: Buffer<u32>,
    len: usize,
    /// Whether more points than a leaf holds have one code.
    pub is_crowded: bool,
    /// Whether too many have the same leading bits, and all this is wrong.
    pub is_close: bool,
}

/// Looks for leaves. What is found goes to the host, and with it what `flags` say.
pub(in crate::gpu) fn find_leaves<R: Runtime>(
    client: &ComputeClient<R>,
    codes: &Buffer<u64>,
    flags: &Buffer<u32>,
) -> Result<Leaves> {
    let (n, dim) = (codes.len(), CubeDim::new_1d(UNITS));
    let tiles = n.div_ceil(TILE as usize);
    let (bits, before) = (Buffer::new(client, tiles * WORDS as usize), Buffer::new(client, tiles + 1));
    let found = Buffer::<u32>::new(client, 1 + Flag::ALL);
    // SAFETY: positions are compared with the number of codes, of tiles or of words; buffers have room for these.
    unsafe {
        find_starts::launch_unchecked::<R>(
            client,
            count(tiles),
            dim,
            codes.arg(),
            bits.arg(),
            before.arg(),
            flags.arg(),
            n as u32,
        );
        exclusive(client, &before);
        report::launch_unchecked::<R>(client, count(1), dim, before.arg(), flags.arg(), found.arg(), tiles as u32);
    }
    let found = found.read(client)?;
    Ok(Leaves {
        bits,
        before,
        len: found[0] as usize,
        is_crowded: found[1 + Flag::CROWDED] != 0,
        is_close: found[1 + Flag::CLOSE] != 0,
    })
}

pub(in crate::gpu) fn topology<R: Runtime>(client: &ComputeClient<R>, codes: &Buffer<u64>, found: &Leaves) -> Topology {
    let (n, leaves, dim) = (codes.len(), found.len, CubeDim::new_1d(UNITS));
    let tiles = n.div_ceil(TILE as usize);
    let starts = Buffer::<u32>::new(client, leaves + 1);
    let first_codes = Buffer::<u64>::new(client, leaves);
    let gaps = Buffer::<u32>::new(client, leaves + 1);
    let new = || Buffer::<u32>::new(client, leaves);
    let (first, last, above, above_leaf) = (new(), new(), new(), new());
    // SAFETY: positions are compared with the number of words, of codes or of leaves; there are as many leaves as bits set.
    unsafe {
        take_starts::launch_unchecked::<R>(
            client,
            cubes(tiles * WORDS as usize),
            dim,
            codes.arg(),
            found.bits.arg(),
            found.before.arg(),
            starts.arg(),
            first_codes.arg(),
            gaps.arg(),
            n as u32,
            tiles as u32,
        );
        find_nodes::launch_unchecked::<R>(
            client,
            cubes(leaves),
            dim,
            first_codes.arg(),
            gaps.arg(),
            first.arg(),
            last.arg(),
            above.arg(),
            above_leaf.arg(),
            leaves as u32,
        );
    }
    Topology { starts, leaves, first, last, above, above_leaf }
}

/// The highest bit of a number that is not zero.
#[cube]
fn highest(x: u64) -> u32 {
    let high = u32::cast_from(x >> 32u64);
    let low = u32::cast_from(x & 0xffff_ffffu64);
    let mut bit = 31 - low.leading_zeros();
    if high != 0 {
        bit = 63 - high.leading_zeros();
    }
    bit
}

/// Finds the positions where a leaf starts: where the subtree of the gap before has more points than a leaf holds.
///
/// Such a subtree holds a row of one point more than a leaf, across the gap, and the ends of any row across a gap differ at least
/// where the points beside it do. So it is to find the row whose ends differ least.
#[cube(launch_unchecked)]
fn find_starts(codes: &Array<u64>, bits: &mut Array<u32>, before: &mut Array<u32>, flags: &mut Array<u32>, n: u32) {
    let tile = CUBE_POS as u32;
    if tile <= (n - 1) / TILE {
        // By the last point of each row, and then the least of as many rows as have the same gap in them.
        let mut rows = SharedMemory::<u32>::new(comptime!((TILE + LEAF) as usize));
        let mut least = SharedMemory::<u32>::new(comptime!((TILE + LEAF) as usize));
        let words = SharedMemory::<Atomic<u32>>::new(comptime!(WORDS as usize + 1));
        let first = tile * TILE;
        let len = n - first;
        // Those before and a leaf's length before; for what is not there, any others. All are on their way before one is looked at.
        let mut own = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut other = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut behind = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut own_levels = Array::<u32>::new(comptime!(ITEMS as usize));
        #[unroll]
        for k in 0..ITEMS {
            let at = (k * UNITS + UNIT_POS).min(len - 1) + first;
            own[k as usize] = codes[at as usize];
            other[k as usize] = codes[(at.max(1) - 1) as usize];
            behind[k as usize] = codes[(at.max(LEAF) - LEAF) as usize];
        }
        #[unroll]
        for k in 0..ITEMS {
            let at = k * UNITS + UNIT_POS;
            let differing = own[k as usize] ^ other[k as usize];
            let across = own[k as usize] ^ behind[k as usize];
            // The subtree of a gap between equal codes has no others, and so is no larger than a leaf.
            own_levels[k as usize] = 0u32.runtime();
            if differing != 0 {
                own_levels[k as usize] = 32 + highest(differing);
            }
            let mut row = OUTSIDE.runtime();
            if at < len && first + at >= LEAF {
                if across == 0 {
                    flags[Flag::CROWDED] = 1;
                } else {
                    row = 32 + highest(across);
                }
            }
            rows[at as usize] = row;
        }
        if UNIT_POS < LEAF {
            let at = TILE + UNIT_POS;
            let mut row = OUTSIDE.runtime();
            if at < len {
                let across = codes[(first + at) as usize] ^ codes[(first + at - LEAF) as usize];
                if across != 0 {
                    row = 32 + highest(across);
                }
            }
            rows[at as usize] = row;
        }
        // The last counts leaves.
        if UNIT_POS <= WORDS {
            words[UNIT_POS as usize].store(0);
        }
        sync_cube();
        // One row, two, four, and so on.
        least_of_two(&rows, &mut least, 1u32);
        least_of_two(&least, &mut rows, 2u32);
        least_of_two(&rows, &mut least, 4u32);
        least_of_two(&least, &mut rows, 8u32);
        least_of_two(&rows, &mut least, 16u32);
        #[unroll]
        for k in 0..ITEMS {
            let at = k * UNITS + UNIT_POS;
            let is_start = own_levels[k as usize] == least[at as usize] || first + at == 0;
            if at < len && is_start {
                words[(at / 32) as usize].fetch_or(1 << (at % 32));
            }
        }
        sync_cube();
        if UNIT_POS < WORDS {
            let word = words[UNIT_POS as usize].load();
            bits[(tile * WORDS + UNIT_POS) as usize] = word;
            words[comptime!(WORDS as usize)].fetch_add(word.count_ones());
        }
        sync_cube();
        if UNIT_POS == 0 {
            before[tile as usize] = words[comptime!(WORDS as usize)].load();
        }
    }
}

/// The lesser of each number and that so many places on.
#[cube]
fn least_of_two(from: &SharedMemory<u32>, to: &mut SharedMemory<u32>, #[comptime] step: u32) {
    #[unroll]
    for k in 0..ITEMS {
        let at = k * UNITS + UNIT_POS;
        to[at as usize] = from[at as usize].min(from[(at + step) as usize]);
    }
    if UNIT_POS < comptime!(LEAF - step) {
        let at = TILE + UNIT_POS;
        to[at as usize] = from[at as usize].min(from[(at + step) as usize]);
    }
    sync_cube();
}

/// What the host has to know.
#[cube(launch_unchecked)]
fn report(before: &Array<u32>, flags: &Array<u32>, found: &mut Array<u32>, tiles: u32) {
    if ABSOLUTE_POS == 0 {
        found[0] = before[tiles as usize];
        #[unroll]
        for k in 0..Flag::ALL {
            found[1 + k] = flags[k];
        }
    }
}

/// The leaves that start in the positions of a word.
#[cube(launch_unchecked)]
fn take_starts(
    codes: &Array<u64>,
    bits: &Array<u32>,
    before: &Array<u32>,
    starts: &mut Array<u32>,
    first_codes: &mut Array<u64>,
    gaps: &mut Array<u32>,
    n: u32,
    tiles: u32,
) {
    let mut counts = SharedMemory::<u32>::new(comptime!(UNITS as usize));
    let word = ABSOLUTE_POS as u32;
    let mut own = 0u32.runtime();
    if word < tiles * WORDS {
        own = bits[word as usize];
    }
    counts[UNIT_POS as usize] = own.count_ones();
    sync_cube();
    if word < tiles * WORDS {
        let mut leaf = before[(word / WORDS) as usize];
        for k in UNIT_POS / WORDS * WORDS..UNIT_POS {
            leaf += counts[k as usize];
        }
        while own != 0 {
            // The lowest bit.
            let bit = 31 - (own & (0 - own)).leading_zeros();
            let at = word * 32 + bit;
            starts[leaf as usize] = at;
            let code = codes[at as usize];
            let mut level = OUTSIDE.runtime();
            if at > 0 {
                level = 32 + highest(code ^ codes[(at - 1) as usize]);
            }
            first_codes[leaf as usize] = code;
            gaps[leaf as usize] = level;
            leaf += 1;
            own &= own - 1;
        }
        if word == tiles * WORDS - 1 {
            starts[leaf as usize] = n;
            gaps[leaf as usize] = OUTSIDE;
        }
    }
}

/// The lower of the gaps beside a range of leaves; none if these are all.
#[cube]
fn parent(gaps: &Array<u32>, first: u32, last: u32, leaves: u32) -> u32 {
    let mut parent = last + 1;
    if gaps[first as usize] < gaps[(last + 1) as usize] {
        parent = first;
    }
    if first == 0 && last == leaves - 1 {
        parent = 0xffff_ffffu32.runtime();
    }
    parent
}

/// The leaves below each gap, by the codes of their first points: by steps of twice the length, and then of half.
#[cube(launch_unchecked)]
fn find_nodes(
    codes: &Array<u64>,
    gaps: &Array<u32>,
    first_of: &mut Array<u32>,
    last_of: &mut Array<u32>,
    above: &mut Array<u32>,
    above_leaf: &mut Array<u32>,
    leaves: u32,
) {
    let gap = ABSOLUTE_POS as u32;
    if gap < leaves {
        above_leaf[gap as usize] = parent(gaps, gap, gap, leaves);
        if gap > 0 {
            // All codes to either side agree with those beside the gap from this bit on.
            let bit = u64::cast_from(gaps[gap as usize] - 32);
            let left = codes[(gap - 1) as usize] >> bit;
            let right = codes[gap as usize] >> bit;

            let mut first = gap - 1;
            let mut step = 1u32.runtime();
            while step > 0 {
                let mut is_below = false.runtime();
                if step <= first {
                    is_below = codes[(first - step) as usize] >> bit == left;
                }
                if is_below {
                    first -= step;
                    step *= 2;
                } else {
                    step /= 2;
                }
            }
            let mut last = gap;
            let mut ahead = 1u32.runtime();
            while ahead > 0 {
                let mut is_below = false.runtime();
                if last + ahead < leaves {
                    is_below = codes[(last + ahead) as usize] >> bit == right;
                }
                if is_below {
                    last += ahead;
                    ahead *= 2;
                } else {
                    ahead /= 2;
                }
            }
            first_of[gap as usize] = first;
            last_of[gap as usize] = last;
            above[gap as usize] = parent(gaps, first, last, leaves);
        }
    }
}
