//! Stable radix sorts of three inputs: 64-bit keys with 32-bit values, words that hold both, and Morton codes by
//! their leading bits.
//!
//! In: keys. Out: values or indices in the order of the keys; equal keys keep their order. Digits of nine bits are
//! sorted from the lowest to the highest. For each digit, each block counts the digits of its part of the keys. Then
//! the counts are summed, and each block writes its part, tile by tile, to the positions of its digits.
//! Cost: 32 bytes of traffic per pair and digit. A code and its index are moved as one word without the digits
//! already sorted: 24 bytes per digit.
//! Source: Satish, Harris and Garland 2009, sections 3 and 4.
//!
//! **Launch contract.** The kernels of `pass` and `words` have no bounds checks. They rely on the following:
//! - Positions are compared with the number of keys, and block numbers with the number of parts or digits.
//! - There are as many values as keys.
//! - Digits are below `DIGITS`.
//! - The offsets of a pass are the sums of the counts of its keys.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

pub(in crate::gpu) mod pass;
mod words;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::primitives::radix_sort::pass::{
    BITS, CODE, DIGITS, PassArgLaunch, SortSpec, count_digits, scatter_pairs, sum_digits, sum_few,
};
use crate::gpu::primitives::radix_sort::words::{WordPass, index_bits, scatter_words};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// The maximum number of parts, each sorted by one block. Up to this number of tiles (on CUDA 59 million keys), a part is
/// a single tile. Blocks that run at the same time then have neighbouring tiles, and write near each other, so that
/// caches merge their writes. More parts need more counts.
const MAX_PARTS: usize = 1 << 14;
/// Up to this many parts, one thread sums the counts of a digit.
const FEW_PARTS: u32 = 16;

pub(in crate::gpu) struct Pairs {
    pub keys: Buffer<u64>,
    pub values: Buffer<u32>,
}

/// Sorts pairs by key. `pairs` is overwritten.
pub(in crate::gpu) fn sort<R: Runtime>(client: &ComputeClient<R>, pairs: Pairs) -> Result<Pairs> {
    let n = pairs.keys.len();
    if n < 2 {
        return Ok(pairs);
    }
    let words = Buffer::<u32>::from_slice(client, &[0, 0]);
    let (dim, warp) = (CubeDim::new_1d(THREADS_PER_BLOCK), Warp::new(client));
    differing::launch::<R>(client, blocks_for(n), dim, pairs.keys.arg(), words.arg(), n as u32, warp);
    let words = words.read(client)?;
    let bits = u64::from(words[0]) | u64::from(words[1]) << 32;
    let passes = Passes::new(client, n, MAX_PARTS);
    let mut from = pairs;
    let mut to = Pairs { keys: Buffer::new(client, n), values: Buffer::new(client, n) };
    for shift in (0..64).step_by(BITS as usize).filter(|shift| bits >> shift & u64::from(DIGITS - 1) != 0) {
        passes.pairs(shift as u32, &from, &to);
        std::mem::swap(&mut from, &mut to);
    }
    Ok(from)
}

/// Returns the lower halves of words, sorted by the upper halves, which are below `end`. `words` is overwritten.
pub(in crate::gpu) fn sort_words<R: Runtime>(client: &ComputeClient<R>, words: Buffer<u64>, end: u64) -> Buffer<u32> {
    let n = words.len();
    let sorted = Buffer::<u32>::new(client, n);
    if n == 0 {
        return sorted;
    }
    let passes = Passes::new(client, n, MAX_PARTS);
    let bits = 64 - end.saturating_sub(1).leading_zeros();
    // One pass needs no second buffer, and writes nothing to it.
    let (mut from, mut to) = (words, Buffer::<u64>::new(client, if bits > BITS { n } else { 1 }));
    let mut shift = u32::BITS;
    while shift + BITS < u32::BITS + bits {
        passes.words(WordPass::Between, shift, &from, &to, &sorted);
        std::mem::swap(&mut from, &mut to);
        shift += BITS;
    }
    passes.words(WordPass::Last(u32::BITS), shift, &from, &to, &sorted);
    sorted
}

/// Sorts words by the nine highest bits of their upper halves, which are below `end`.
pub(in crate::gpu) fn partition_words<R: Runtime>(
    client: &ComputeClient<R>,
    words: Buffer<u64>,
    end: u64,
) -> Buffer<u64> {
    let (n, bits) = (words.len(), 64 - end.saturating_sub(1).leading_zeros());
    let (parts, unused) = (Buffer::<u64>::new(client, n), Buffer::<u32>::new(client, 1));
    if n > 0 {
        let shift = u32::BITS + bits.saturating_sub(BITS);
        Passes::new(client, n, MAX_PARTS).words(WordPass::Between, shift, &words, &parts, &unused);
    }
    parts
}

/// The maximum number of leading bits by which [`order`] can sort `n` codes: 45 for up to 2^28 codes, 41 for 2^32.
/// After the first digit, a 64-bit word holds the remaining bits and the index of the point.
pub(in crate::gpu) fn leading_bits(n: usize) -> u32 {
    let index = usize::BITS - n.saturating_sub(1).leading_zeros();
    64 + BITS - index.max(28)
}

/// Returns indices sorted by the `leading` highest bits of the codes. `codes` is overwritten.
pub(in crate::gpu) fn order<R: Runtime>(client: &ComputeClient<R>, codes: Buffer<u64>, leading: u32) -> Buffer<u32> {
    let (n, index) = (codes.len(), index_bits(leading));
    let passes = Passes::new(client, n, MAX_PARTS);
    let (mut from, mut to) = (codes, Buffer::<u64>::new(client, n));
    let order = Buffer::<u32>::new(client, n);
    passes.words(WordPass::First(leading), CODE - leading, &from, &to, &order);
    let mut shift = index;
    while shift + BITS < 64 {
        std::mem::swap(&mut from, &mut to);
        passes.words(WordPass::Between, shift, &from, &to, &order);
        shift += BITS;
    }
    passes.words(WordPass::Last(index), shift, &to, &from, &order);
    order
}

/// The passes of a sort of `n` keys.
struct Passes<'a, R: Runtime> {
    client: &'a ComputeClient<R>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    offsets: Buffer<u32>,
    totals: Buffer<u32>,
    spec: SortSpec,
}

impl<'a, R: Runtime> Passes<'a, R> {
    fn new(client: &'a ComputeClient<R>, n: usize, most_parts: usize) -> Self {
        let spec = SortSpec::new(client);
        let tiles = n.div_ceil(spec.tile() as usize);
        let tiles_of_part = tiles.div_ceil(most_parts) as u32;
        let parts = (tiles as u32).div_ceil(tiles_of_part);
        Self {
            client,
            n: n as u32,
            parts,
            tiles_of_part,
            offsets: Buffer::new(client, (parts * DIGITS) as usize),
            totals: Buffer::new(client, DIGITS as usize),
            spec,
        }
    }

    /// Computes the output position of each digit of each part.
    fn count(&self, keys: &Buffer<u64>, shift: u32) {
        let &Self { client, n, parts, tiles_of_part, ref offsets, ref totals, spec } = self;
        let (dim, own) = (CubeDim::new_1d(THREADS_PER_BLOCK), grid(parts as usize));
        // SAFETY: the launch contract of this module. `offsets` has `parts * DIGITS` and `totals` has `DIGITS`
        // elements, allocated in `new`; `n` is the number of keys.
        unsafe {
            let (keys, counts) = (keys.arg(), offsets.arg());
            count_digits::launch_unchecked::<R>(client, own, dim, keys, counts, n, parts, tiles_of_part, shift, spec);
            let counts = offsets.arg();
            if parts <= FEW_PARTS {
                let digits = blocks_for(DIGITS as usize);
                sum_few::launch_unchecked::<R>(client, digits, dim, counts, totals.arg(), parts);
            } else {
                let digits = grid(DIGITS as usize);
                sum_digits::launch_unchecked::<R>(client, digits, dim, counts, totals.arg(), parts, spec.warp);
            }
        }
    }

    /// The argument of the kernels for one digit.
    fn pass(&self, shift: u32) -> PassArgLaunch<R> {
        let &Self { n, parts, tiles_of_part, ref offsets, ref totals, .. } = self;
        PassArgLaunch::new(offsets.arg(), totals.arg(), n, parts, tiles_of_part, shift)
    }

    fn pairs(&self, shift: u32, from: &Pairs, to: &Pairs) {
        self.count(&from.keys, shift);
        // SAFETY: the launch contract of this module; `count` has written the offsets of these keys. All four buffers
        // have `n` elements.
        unsafe {
            scatter_pairs::launch_unchecked::<R>(
                self.client,
                grid(self.parts as usize),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                from.keys.arg(),
                from.values.arg(),
                to.keys.arg(),
                to.values.arg(),
                self.pass(shift),
                self.spec,
            );
        }
    }

    /// Sorts words by one digit into `to`, or in the last pass into `indices`.
    fn words(&self, step: WordPass, shift: u32, from: &Buffer<u64>, to: &Buffer<u64>, indices: &Buffer<u32>) {
        self.count(from, shift);
        // SAFETY: the launch contract of this module; `count` has written the offsets of these words. The buffer that
        // the pass writes to has `n` elements.
        unsafe {
            scatter_words::launch_unchecked::<R>(
                self.client,
                grid(self.parts as usize),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                from.arg(),
                to.arg(),
                indices.arg(),
                self.pass(shift),
                step.arg(),
                self.spec,
            );
        }
    }
}

/// Finds the bits in which keys differ, as the lower and upper half of a 64-bit word.
#[cube(launch)]
fn differing(keys: &Array<u64>, words: &mut Array<Atomic<u32>>, n: u32, #[comptime] warp: Warp) {
    let i = ABSOLUTE_POS as u32;
    let mut low = 0u32.runtime();
    let mut high = 0u32.runtime();
    if i > 0 && i < n {
        let bits = keys[i as usize] ^ keys[(i - 1) as usize];
        low = u32::cast_from(bits & 0xffff_ffffu64);
        high = u32::cast_from(bits >> 32u64);
    }
    let low = block_aggregate(0u32.runtime(), low, ReduceOp::Or, warp);
    let high = block_aggregate(1u32.runtime(), high, ReduceOp::Or, warp);
    if low | high != 0 {
        if comptime!(warp.is_some()) {
            words[0].fetch_or(low);
            words[1].fetch_or(high);
        } else {
            // Mostly the bits are already set.
            if (words[0].load() | low) != words[0].load() {
                words[0].fetch_or(low);
            }
            if (words[1].load() | high) != words[1].load() {
                words[1].fetch_or(high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    /// Returns pseudo-random numbers.
    fn mix(i: u64) -> u64 {
        let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (x >> 32)
    }

    fn sorted(keys: &[u64]) -> (Vec<u64>, Vec<u32>) {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        (order.iter().map(|&i| keys[i as usize]).collect(), order)
    }

    #[test]
    fn pairs_of_equal_keys_keep_their_order() -> Result<()> {
        on!(Device::first()?, client => {
            for (n, mask) in [(0, 0), (1, 7), (2, u64::MAX), (3000, 0), (5000, 3 << 61), (5000, 0xff00), (40_000, u64::MAX)] {
                let keys: Vec<u64> = (0..n).map(|i| mix(i) & mask).collect();
                let values: Vec<u32> = (0..n as u32).collect();
                let pairs = Pairs { keys: Buffer::from_slice(client, &keys), values: Buffer::from_slice(client, &values) };
                let pairs = sort(client, pairs)?;
                assert_eq!((pairs.keys.read(client)?, pairs.values.read(client)?), sorted(&keys), "{n} by {mask:x}");
            }
            Ok(())
        })
    }

    /// Parts of more than one tile, and more parts than a thread sums.
    #[test]
    fn parts() -> Result<()> {
        on!(Device::first()?, client => {
            let keys: Vec<u64> = (0..50_000).map(|i| mix(i) % 700).collect();
            for most_parts in [1, 3, 1000] {
                let passes = Passes::new(client, keys.len(), most_parts);
                let values: Vec<u32> = (0..keys.len() as u32).collect();
                let pairs = || Pairs { keys: Buffer::from_slice(client, &keys), values: Buffer::from_slice(client, &values) };
                let (from, to) = (pairs(), pairs());
                passes.pairs(0, &from, &to);
                passes.pairs(BITS, &to, &from);
                assert_eq!((from.keys.read(client)?, from.values.read(client)?), sorted(&keys), "{most_parts} parts");
            }
            Ok(())
        })
    }

    #[test]
    fn codes_go_by_their_leading_bits() -> Result<()> {
        on!(Device::first()?, client => {
            for (n, leading) in [(1, 45), (2, 45), (31, 41), (4096, 45), (30_000, 45), (30_000, 44), (30_000, 43), (30_000, 41), (30_000, 36)] {
                let codes: Vec<u64> = (0..n).map(|i| mix(i / 2) >> 1 & !(255 << 14)).collect();
                let bits: Vec<u64> = codes.iter().map(|code| code >> (CODE - leading)).collect();
                let order = order(client, Buffer::from_slice(client, &codes), leading);
                assert_eq!(order.read(client)?, sorted(&bits).1, "{n} by {leading}");
            }
            Ok(())
        })
    }

    /// A word has room for each index, and the other bits of a word have at most four digits.
    #[test]
    fn words_hold_an_index() {
        let of = |n: usize| leading_bits(n);
        assert_eq!(
            [0, 1, 1 << 28, (1 << 28) + 1, 1 << 29, 1 << 30, (1 << 32) - 2].map(of),
            [45, 45, 45, 44, 44, 43, 41]
        );
        for n in [1 << 20, 300_000_000, 1_000_000_000, (1 << 32) - 2] {
            let index = index_bits(of(n));
            assert!(n <= 1 << index && 64 - index <= 4 * BITS);
        }
    }
}
