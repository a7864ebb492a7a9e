//! Which leaves there are, and how they join: the twin of `tree::topology`.
//!
//! In: sorted codes. Out: the leaves; for each gap between them the leaves below its node, and the gap above it.
//! The levels of gaps and the starts of leaves come from the codes beside each; how far the node of a gap reaches, from a search
//! in the codes to both sides; the node above, from the gaps at its ends. So no unit waits for another.
//! Cost: 24 bytes a leaf, 8 a point. Source: Karras 2012, section 4, for the search; Apetrei 2014, section 3, for what is above.

#![allow(unsafe_code)] // Kernels that test their bounds themselves.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, count, cubes};
use super::scan::exclusive;
use crate::error::Result;

/// Positions of a unit, and of a cube, and words of as many bits.
const ITEMS: u32 = 4;
const TILE: u32 = ITEMS * UNITS;
const WORDS: u32 = TILE / 32;
const LEAF: u32 = crate::tree::LEAF as u32;
/// The level of the gaps at the ends.
const OUTSIDE: u32 = 255;

pub(super) struct Topology {
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
pub(super) struct Leaves {
    /// A bit for each position: whether a leaf starts there.
    bits: Buffer<u32>,
    /// For each tile the leaves that start before it, and the sum of all.
    before: Buffer<u32>,
    len: usize,
    /// Whether more points than a leaf holds have one code.
    pub is_crowded: bool,
    /// What was asked to be read along.
    pub is_wrong: bool,
}

/// Looks for leaves. What is found goes to the host, and with it `is_wrong`.
pub(super) fn find_leaves<R: Runtime>(
    client: &ComputeClient<R>,
    codes: &Buffer<u64>,
    is_wrong: &Buffer<u32>,
) -> Result<Leaves> {
    let (n, dim) = (codes.len(), CubeDim::new_1d(UNITS));
    let tiles = n.div_ceil(TILE as usize);
    let (bits, before) = (Buffer::new(client, tiles * WORDS as usize), Buffer::new(client, tiles + 1));
    let is_crowded = Buffer::<u32>::from_slice(client, &[0]);
    let found = Buffer::<u32>::new(client, 3);
    // SAFETY: positions are compared with the number of codes, of tiles or of words; buffers have room for these.
    unsafe {
        find_starts::launch_unchecked::<R>(
            client,
            count(tiles),
            dim,
            codes.arg(),
            bits.arg(),
            before.arg(),
            is_crowded.arg(),
            n as u32,
        );
        exclusive(client, &before);
        report::launch_unchecked::<R>(
            client,
            count(1),
            dim,
            before.arg(),
            is_crowded.arg(),
            is_wrong.arg(),
            found.arg(),
            tiles as u32,
        );
    }
    let found = found.read(client)?;
    Ok(Leaves { bits, before, len: found[0] as usize, is_crowded: found[1] != 0, is_wrong: found[2] != 0 })
}

pub(super) fn topology<R: Runtime>(client: &ComputeClient<R>, codes: &Buffer<u64>, found: &Leaves) -> Topology {
    let (n, leaves, dim) = (codes.len(), found.len, CubeDim::new_1d(UNITS));
    let tiles = n.div_ceil(TILE as usize);
    let starts = Buffer::<u32>::new(client, leaves + 1);
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
            gaps.arg(),
            n as u32,
            tiles as u32,
        );
        find_nodes::launch_unchecked::<R>(
            client,
            cubes(leaves),
            dim,
            codes.arg(),
            starts.arg(),
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
#[cube(launch_unchecked)]
fn find_starts(
    codes: &Array<u64>,
    bits: &mut Array<u32>,
    before: &mut Array<u32>,
    is_crowded: &mut Array<u32>,
    n: u32,
) {
    let tile = CUBE_POS as u32;
    if tile <= (n - 1) / TILE {
        // Those of the tile, with some before and some behind.
        let mut shared = SharedMemory::<u64>::new(comptime!((TILE + 2 * LEAF) as usize));
        let words = SharedMemory::<Atomic<u32>>::new(comptime!(WORDS as usize));
        let mut counts = SharedMemory::<u32>::new(comptime!(WORDS as usize));
        let first = tile * TILE;
        let len = n - first;
        #[unroll]
        for k in 0..ITEMS {
            let at = k * UNITS + UNIT_POS;
            if at < len {
                shared[(LEAF + at) as usize] = codes[(first + at) as usize];
            }
        }
        if UNIT_POS < LEAF {
            if first > 0 {
                shared[UNIT_POS as usize] = codes[(first + UNIT_POS - LEAF) as usize];
            }
            let behind = TILE + UNIT_POS;
            if behind < len {
                shared[(LEAF + behind) as usize] = codes[(first + behind) as usize];
            }
        }
        if UNIT_POS < WORDS {
            words[UNIT_POS as usize].store(0);
        }
        sync_cube();
        #[unroll]
        for k in 0..ITEMS {
            let at = k * UNITS + UNIT_POS;
            if at < len {
                let here = LEAF + at;
                let mut is_start = first + at == 0;
                if first + at > 0 {
                    let own = shared[here as usize];
                    let differing = own ^ shared[(here - 1) as usize];
                    // The subtree of a gap between equal codes has no others, and so is no larger than a leaf.
                    if differing != 0 {
                        // The gap's subtree is where all higher bits are the same. Its first point is a leaf's length before
                        // at the most, or it is large enough.
                        let shift = u64::cast_from(highest(differing)) + 1u64;
                        let prefix = own >> shift;
                        let mut most = first + at;
                        if most > LEAF {
                            most = LEAF.runtime();
                        }
                        let mut back = 1u32.runtime();
                        // The farthest of `most` to have the prefix.
                        let mut step = comptime!(LEAF / 2).runtime();
                        while step > 0 {
                            if back + step <= most {
                                if shared[(here - back - step) as usize] >> shift == prefix {
                                    back += step;
                                }
                            }
                            step /= 2;
                        }
                        is_start = back == LEAF;
                        if back < LEAF {
                            let last = at + LEAF - back;
                            if last < len {
                                is_start = shared[(LEAF + last) as usize] >> shift == prefix;
                            }
                        }
                    }
                    if first + at >= LEAF {
                        if own == shared[(here - LEAF) as usize] {
                            is_crowded[0] = 1;
                        }
                    }
                }
                if is_start {
                    words[(at / 32) as usize].fetch_or(1 << (at % 32));
                }
            }
        }
        sync_cube();
        if UNIT_POS < WORDS {
            let word = words[UNIT_POS as usize].load();
            bits[(tile * WORDS + UNIT_POS) as usize] = word;
            counts[UNIT_POS as usize] = word.count_ones();
        }
        sync_cube();
        if UNIT_POS == 0 {
            let mut sum = 0u32.runtime();
            for k in 0..WORDS {
                sum += counts[k as usize];
            }
            before[tile as usize] = sum;
        }
    }
}

/// What the host has to know.
#[cube(launch_unchecked)]
fn report(before: &Array<u32>, is_crowded: &Array<u32>, is_wrong: &Array<u32>, found: &mut Array<u32>, tiles: u32) {
    if ABSOLUTE_POS == 0 {
        found[0] = before[tiles as usize];
        found[1] = is_crowded[0];
        found[2] = is_wrong[0];
    }
}

/// The leaves that start in the positions of a word.
#[cube(launch_unchecked)]
fn take_starts(
    codes: &Array<u64>,
    bits: &Array<u32>,
    before: &Array<u32>,
    starts: &mut Array<u32>,
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
            let mut level = OUTSIDE.runtime();
            if at > 0 {
                level = between(codes, at - 1, at);
            }
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

/// The highest level between two different positions.
#[cube]
fn between(codes: &Array<u64>, a: u32, b: u32) -> u32 {
    let differing = codes[a as usize] ^ codes[b as usize];
    let mut level = 31 - (a ^ b).leading_zeros();
    if differing != 0 {
        level = 32 + highest(differing);
    }
    level
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

/// The leaves below each gap, as far as levels are lower: by steps of twice the length, and then of half.
#[cube(launch_unchecked)]
fn find_nodes(
    codes: &Array<u64>,
    starts: &Array<u32>,
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
            let level = gaps[gap as usize];
            let right = starts[gap as usize];
            let left = right - 1;

            let mut first = gap - 1;
            let mut step = 1u32.runtime();
            while step > 0 {
                let mut is_below = false.runtime();
                if step <= first {
                    let at = starts[(first - step) as usize];
                    is_below = between(codes, at, left) < level;
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
                    let at = starts[(last + ahead) as usize];
                    is_below = between(codes, right, at) < level;
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
