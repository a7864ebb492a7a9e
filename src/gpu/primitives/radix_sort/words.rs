//! A pass of the radix sort over words that hold a key and an index.
//!
//! In: codes, or words, and the counts of a digit in each part (`pass`). Out: words sorted by the digit, or in the last
//! pass their indices alone.
//! One kernel serves all passes, because its compilation takes most of the time of a first sort.

use cubecl::prelude::*;

use crate::gpu::buffer::THREADS_PER_BLOCK;
use crate::gpu::primitives::radix_sort::pass::{
    BITS, CODE, PassArg, SortSpec, digit, digit_base, rank, read_tile, shared_state, tile_slot,
};

/// The number of bits of a slot in a tile.
const SLOT: u32 = 13;

/// The inputs and outputs of a pass over words. The kernel takes them at run time, so that it is compiled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum WordPass {
    /// Reads codes that are sorted by this many leading bits. Writes the leading bits above the first digit, with the
    /// index below.
    First(u32),
    Between,
    /// Writes only the index, which is in this many lowest bits.
    Last(u32),
}

/// The number of bits for the index in a word that also holds the leading bits of a code above the first digit.
pub(in crate::gpu) const fn index_bits(leading: u32) -> u32 {
    64 + BITS - leading
}

impl WordPass {
    /// Returns the argument of the kernel.
    pub fn arg<R: Runtime>(self) -> WordStepLaunch<R> {
        match self {
            Self::First(leading) => WordStepLaunch::new(FIRST, CODE - leading, index_bits(leading)),
            Self::Between => WordStepLaunch::new(BETWEEN, 0, 0),
            Self::Last(bits) => WordStepLaunch::new(LAST, 0, bits),
        }
    }
}

/// The kinds of passes over words.
const FIRST: u32 = 0;
const BETWEEN: u32 = 1;
const LAST: u32 = 2;

/// A [`WordPass`] in a kernel.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct WordStep {
    kind: u32,
    /// The number of low bits of a code that the sort ignores.
    ignored: u32,
    /// The number of bits of the index in a word.
    index_bits: u32,
}

/// Writes words to their positions in the order of this digit: to `sorted`, or in the last pass to `indices`.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn scatter_words(
    words: &Array<u64>,
    sorted: &mut Array<u64>,
    indices: &mut Array<u32>,
    pass: &PassArg,
    step: &WordStep,
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
                read_tile(words, &mut own, first, len, spec);
                rank(&mut state, &own, &mut places, &mut next, shift, spec);
                if step.kind == FIRST {
                    #[unroll]
                    for k in 0..spec.items {
                        // The sort ignores the bits below the digit; they make room for the original slot of the
                        // code.
                        let code = own[k as usize] >> u64::cast_from(step.ignored);
                        let slot = u64::cast_from(tile_slot(k, spec));
                        state.keys[places[k as usize] as usize] = (code << comptime!(SLOT as u64)) | slot;
                    }
                } else {
                    #[unroll]
                    for k in 0..spec.items {
                        state.keys[places[k as usize] as usize] = own[k as usize];
                    }
                }
                sync_cube();
                if step.kind == FIRST {
                    #[unroll]
                    for k in 0..spec.items {
                        let at = k * THREADS_PER_BLOCK + UNIT_POS;
                        if at < len {
                            let key = state.keys[at as usize];
                            let to = state.bases[digit(key, SLOT) as usize] + at;
                            let index = u64::cast_from(first) + (key & comptime!((1u64 << SLOT) - 1));
                            let rest = key >> comptime!((SLOT + BITS) as u64);
                            sorted[to as usize] = (rest << u64::cast_from(step.index_bits)) | index;
                        }
                    }
                } else {
                    let is_last = step.kind == LAST;
                    let mask = (u64::cast_from(1u32.runtime()) << u64::cast_from(step.index_bits)) - 1u64;
                    #[unroll]
                    for k in 0..spec.items {
                        let at = k * THREADS_PER_BLOCK + UNIT_POS;
                        if at < len {
                            let key = state.keys[at as usize];
                            let to = state.bases[digit(key, shift) as usize] + at;
                            if is_last {
                                indices[to as usize] = u32::cast_from(key & mask);
                            } else {
                                sorted[to as usize] = key;
                            }
                        }
                    }
                }
                sync_cube();
            }
        }
    }
}
