//! The leaves and the hierarchy above them: the GPU counterpart of `bvh::hierarchy`.
//!
//! In: sorted codes. Out: the leaves and, for each split between two leaves, the range of leaves below its node and
//! the split of its parent.
//! Split `i` is before leaf `i`. Its delta is the number of the highest bit in which the codes on both sides differ
//! (Apetrei's δ). The deltas and the starts of leaves follow from the codes on both sides of each split. The range of
//! a node is found by a search in the codes to both sides, and its parent from the deltas at its ends. So no thread
//! waits for another.
//! Cost: 32 bytes per leaf, 8 per point.
//! Sources: Karras 2012, section 4, for the search. Apetrei 2014, section 3, for the parents.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `bvh`.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::bvh::morton::Flag;
use crate::gpu::primitives::bits::{Bits, highest_bit};
use crate::gpu::primitives::scan::exclusive;

/// Positions per thread and per block, and words with a bit for each position of a block.
const ITEMS: u32 = 4;
const TILE: u32 = ITEMS * THREADS_PER_BLOCK;
const WORDS: u32 = TILE / 32;
const LEAF: u32 = crate::bvh::LEAF as u32;
/// The delta of the splits at both ends, and of windows that do not exist. Other deltas are at least 32.
const OUTSIDE: u32 = 255;
/// The parent of the root, which does not exist.
pub(in crate::gpu) const NO_SPLIT: u32 = u32::MAX;

pub(in crate::gpu) struct Hierarchy {
    /// The first point of each leaf, followed by the number of points.
    pub starts: Buffer<u32>,
    pub leaves: usize,
    /// The first and last leaf of each split's node.
    pub first: Buffer<u32>,
    pub last: Buffer<u32>,
    /// The split of the parent of each split's node, and of each leaf; [`NO_SPLIT`] for the root.
    pub parent: Buffer<u32>,
    pub parent_of_leaf: Buffer<u32>,
}

/// The kernel argument for a [`Hierarchy`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct HierarchyArg {
    pub starts: Array<u32>,
    pub first: Array<u32>,
    pub last: Array<u32>,
    pub parent: Array<u32>,
    pub parent_of_leaf: Array<u32>,
}

impl Hierarchy {
    /// Returns the hierarchy as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> HierarchyArgLaunch<R> {
        let Self { starts, first, last, parent, parent_of_leaf, .. } = self;
        HierarchyArgLaunch::new(starts.arg(), first.arg(), last.arg(), parent.arg(), parent_of_leaf.arg())
    }
}

/// The leaves, and the numbers that the host needs before it allocates further buffers.
pub(in crate::gpu) struct Leaves {
    /// A bit for each position, set if a leaf starts there.
    bits: Buffer<u32>,
    /// For each tile, the number of leaves that start before it, followed by the number of leaves.
    before: Buffer<u32>,
    len: usize,
    /// `true` if more points than fit in a leaf have the same code.
    pub has_duplicate_codes: bool,
    /// `true` if more points tie in their leading bits than counting can sort. Then the order is wrong, and so are
    /// the leaves.
    pub has_prefix_ties: bool,
}

/// Finds the leaves, and copies their number and `flags` to the host.
pub(in crate::gpu) fn find_leaves<R: Runtime>(
    client: &ComputeClient<R>,
    codes: &Buffer<u64>,
    flags: &Buffer<u32>,
) -> Result<Leaves> {
    let (n, dim) = (codes.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let tiles = n.div_ceil(TILE as usize);
    let (bits, before) = (Buffer::new(client, tiles * WORDS as usize), Buffer::new(client, tiles + 1));
    let found = Buffer::<u32>::new(client, 1 + Flag::ALL);
    // SAFETY: the launch contract of `bvh`, with the number of codes. `bits` and `before` are padded to whole tiles:
    // `tiles * WORDS` and `tiles + 1` elements.
    unsafe {
        find_starts::launch_unchecked::<R>(
            client,
            grid(tiles),
            dim,
            codes.arg(),
            bits.arg(),
            before.arg(),
            flags.arg(),
            n as u32,
        );
        exclusive(client, &before);
        report::launch_unchecked::<R>(client, grid(1), dim, before.arg(), flags.arg(), found.arg(), tiles as u32);
    }
    let found = found.read(client)?;
    Ok(Leaves {
        bits,
        before,
        len: found[0] as usize,
        has_duplicate_codes: found[1 + Flag::DUPLICATE_CODES] != 0,
        has_prefix_ties: found[1 + Flag::PREFIX_TIES] != 0,
    })
}

pub(in crate::gpu) fn hierarchy<R: Runtime>(
    client: &ComputeClient<R>,
    codes: &Buffer<u64>,
    found: &Leaves,
) -> Hierarchy {
    let (n, leaves, dim) = (codes.len(), found.len, CubeDim::new_1d(THREADS_PER_BLOCK));
    let tiles = n.div_ceil(TILE as usize);
    let starts = Buffer::<u32>::new(client, leaves + 1);
    let first_codes = Buffer::<u64>::new(client, leaves);
    let deltas = Buffer::<u32>::new(client, leaves + 1);
    let new = || Buffer::<u32>::new(client, leaves);
    let (first, last, parent, parent_of_leaf) = (new(), new(), new(), new());
    let hierarchy = Hierarchy { starts, leaves, first, last, parent, parent_of_leaf };
    // SAFETY: the launch contract of `bvh`, with the numbers of words and of leaves. `found.len` is the number of
    // bits set in `found.bits`, counted by `find_starts`.
    unsafe {
        take_starts::launch_unchecked::<R>(
            client,
            blocks_for(tiles * WORDS as usize),
            dim,
            codes.arg(),
            found.bits.arg(),
            found.before.arg(),
            hierarchy.starts.arg(),
            first_codes.arg(),
            deltas.arg(),
            n as u32,
            tiles as u32,
        );
        find_nodes::launch_unchecked::<R>(
            client,
            blocks_for(leaves),
            dim,
            first_codes.arg(),
            deltas.arg(),
            hierarchy.arg(),
            leaves as u32,
        );
    }
    hierarchy
}

/// Finds the positions where a leaf starts: those whose preceding split has a subtree of more points than a leaf
/// holds.
///
/// A subtree has more than `LEAF` points if and only if it contains some window of `LEAF + 1` consecutive codes
/// across the split. The ends of each window across the split differ at least in the bit of the split's own delta. So
/// with `d(i, j)` the delta of codes `i` and `j`, a leaf starts at `i` if `d(i - 1, i) = min d(j - LEAF, j)` over the
/// windows `i <= j < i + LEAF`.
#[cube(launch_unchecked)]
fn find_starts(codes: &Array<u64>, bits: &mut Array<u32>, before: &mut Array<u32>, flags: &mut Array<u32>, n: u32) {
    let tile = CUBE_POS as u32;
    if tile <= (n - 1) / TILE {
        // The delta of each window, indexed by its last point; then the minimum over the windows across each split.
        let mut windows = SharedMemory::<u32>::new(comptime!((TILE + LEAF) as usize));
        let mut least = SharedMemory::<u32>::new(comptime!((TILE + LEAF) as usize));
        let words = SharedMemory::<Atomic<u32>>::new(comptime!(WORDS as usize + 1));
        let first = tile * TILE;
        let len = n - first;
        // The code of each position, the one before, and the one `LEAF` positions before; any other code if there is
        // no such position. All loads are issued before one is used.
        let mut own = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut other = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut behind = Array::<u64>::new(comptime!(ITEMS as usize));
        let mut own_deltas = Array::<u32>::new(comptime!(ITEMS as usize));
        #[unroll]
        for k in 0..ITEMS {
            let at = (k * THREADS_PER_BLOCK + UNIT_POS).min(len - 1) + first;
            own[k as usize] = codes[at as usize];
            other[k as usize] = codes[(at.max(1) - 1) as usize];
            behind[k as usize] = codes[(at.max(LEAF) - LEAF) as usize];
        }
        #[unroll]
        for k in 0..ITEMS {
            let at = k * THREADS_PER_BLOCK + UNIT_POS;
            let differing = own[k as usize] ^ other[k as usize];
            let across = own[k as usize] ^ behind[k as usize];
            // A split between equal codes has a subtree of equal codes only, which is no larger than a leaf.
            own_deltas[k as usize] = 0u32.runtime();
            if differing != 0 {
                own_deltas[k as usize] = 32 + highest_bit(differing);
            }
            let mut window = OUTSIDE.runtime();
            if at < len && first + at >= LEAF {
                if across == 0 {
                    flags[Flag::DUPLICATE_CODES] = 1;
                } else {
                    window = 32 + highest_bit(across);
                }
            }
            windows[at as usize] = window;
        }
        if UNIT_POS < LEAF {
            let at = TILE + UNIT_POS;
            let mut window = OUTSIDE.runtime();
            if at < len {
                let across = codes[(first + at) as usize] ^ codes[(first + at - LEAF) as usize];
                if across != 0 {
                    window = 32 + highest_bit(across);
                }
            }
            windows[at as usize] = window;
        }
        // The last word is the count of leaves.
        if UNIT_POS <= WORDS {
            words[UNIT_POS as usize].store(0);
        }
        sync_cube();
        // The minimum of one window, of two, four, and so on.
        least_of_two(&windows, &mut least, 1u32);
        least_of_two(&least, &mut windows, 2u32);
        least_of_two(&windows, &mut least, 4u32);
        least_of_two(&least, &mut windows, 8u32);
        least_of_two(&windows, &mut least, 16u32);
        #[unroll]
        for k in 0..ITEMS {
            let at = k * THREADS_PER_BLOCK + UNIT_POS;
            let is_start = own_deltas[k as usize] == least[at as usize] || first + at == 0;
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

/// Writes the minimum of each number and the one `step` places after it.
#[cube]
fn least_of_two(from: &SharedMemory<u32>, to: &mut SharedMemory<u32>, #[comptime] step: u32) {
    #[unroll]
    for k in 0..ITEMS {
        let at = k * THREADS_PER_BLOCK + UNIT_POS;
        to[at as usize] = from[at as usize].min(from[(at + step) as usize]);
    }
    if UNIT_POS < comptime!(LEAF - step) {
        let at = TILE + UNIT_POS;
        to[at as usize] = from[at as usize].min(from[(at + step) as usize]);
    }
    sync_cube();
}

/// Copies the numbers that the host needs into one buffer.
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

/// Writes the leaves that start at the positions of a word.
#[cube(launch_unchecked)]
fn take_starts(
    codes: &Array<u64>,
    bits: &Array<u32>,
    before: &Array<u32>,
    starts: &mut Array<u32>,
    first_codes: &mut Array<u64>,
    deltas: &mut Array<u32>,
    n: u32,
    tiles: u32,
) {
    let mut counts = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
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
        let mut left = Bits::new(own);
        while left.any() {
            let at = word * 32 + left.pop();
            starts[leaf as usize] = at;
            let code = codes[at as usize];
            let mut delta = OUTSIDE.runtime();
            if at > 0 {
                delta = 32 + highest_bit(code ^ codes[(at - 1) as usize]);
            }
            first_codes[leaf as usize] = code;
            deltas[leaf as usize] = delta;
            leaf += 1;
        }
        if word == tiles * WORDS - 1 {
            starts[leaf as usize] = n;
            deltas[leaf as usize] = OUTSIDE;
        }
    }
}

/// Returns the split of the parent of a range of leaves: the one of the two splits at its ends with the lower delta.
#[cube]
fn parent(deltas: &Array<u32>, first: u32, last: u32, leaves: u32) -> u32 {
    let mut parent = last + 1;
    if deltas[first as usize] < deltas[(last + 1) as usize] {
        parent = first;
    }
    if first == 0 && last == leaves - 1 {
        parent = NO_SPLIT.runtime();
    }
    parent
}

/// Finds the range of leaves below each split by their first codes, with steps that double while they succeed and
/// halve when they fail.
#[cube(launch_unchecked)]
fn find_nodes(codes: &Array<u64>, deltas: &Array<u32>, hierarchy: &mut HierarchyArg, leaves: u32) {
    let split = ABSOLUTE_POS as u32;
    if split < leaves {
        hierarchy.parent_of_leaf[split as usize] = parent(deltas, split, split, leaves);
        if split > 0 {
            // All codes on one side of the split within the node are equal from this bit on.
            let bit = u64::cast_from(deltas[split as usize] - 32);
            let left = codes[(split - 1) as usize] >> bit;
            let right = codes[split as usize] >> bit;

            let mut first = split - 1;
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
            let mut last = split;
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
            hierarchy.first[split as usize] = first;
            hierarchy.last[split as usize] = last;
            hierarchy.parent[split as usize] = parent(deltas, first, last, leaves);
        }
    }
}
