//! A stable, parallel radix sort of points by their Morton codes.
//!
//! In: a function from index to code. Out: codes and indices in ascending order of the code, ties by index.
//! The first pass splits by the highest bits, from memory to memory; what falls into one bucket mostly fits a cache, and is
//! sorted there, digit by digit.
//! Cost: O(n), two reads of the points, 16 bytes a point and as much scratch for the largest bucket.

use rayon::prelude::*;

/// A code and, in the lowest 32 bits, the index of the point it belongs to: one number, so that one comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct Coded(u128);

impl Coded {
    #[inline(always)]
    pub fn new(code: u64, index: u32) -> Self {
        Self(u128::from(code) << 32 | u128::from(index))
    }

    /// The Morton code.
    #[inline(always)]
    pub fn code(self) -> u64 {
        (self.0 >> 32) as u64
    }

    /// The point's index in the caller's slice.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 as u32
    }
}

/// Bits of the first split: as many buckets as there are entries in a first-level address cache.
const FIRST_BITS: u32 = 11;
/// Bits beyond the logarithm of a run's length that it is sorted by at first.
const SPARE_BITS: u32 = 6;
/// Points per parallel task of the first split.
const TASK: usize = 1 << 16;

/// Codes computed at once, while they are in the first-level cache.
const BATCH: usize = 256;

/// Sorts `0..n` by code. `codes(first, batch)` fills in the codes from `first` on, which must be less than `2^bits`; it is
/// called twice for each index.
pub(crate) fn sort_by_code(n: usize, bits: u32, codes: impl Fn(usize, &mut [u64]) + Sync) -> Vec<Coded> {
    let tasks = n.div_ceil(TASK).clamp(1, 4 * rayon::current_num_threads());
    let size = n.div_ceil(tasks).max(1);
    let each_code = |task: usize, visit: &mut dyn FnMut(usize, &[u64])| {
        let mut batch = [0; BATCH];
        let (start, end) = ((task * size).min(n), ((task + 1) * size).min(n));
        for first in (start..end).step_by(BATCH) {
            let batch = &mut batch[..BATCH.min(end - first)];
            codes(first, batch);
            visit(first, batch);
        }
    };
    let split = Split::new(bits, FIRST_BITS);

    let counts: Vec<Vec<u32>> = (0..tasks)
        .into_par_iter()
        .map(|task| {
            let mut counts = vec![0; split.buckets()];
            each_code(task, &mut |_, batch| batch.iter().for_each(|&code| counts[split.bucket(code)] += 1));
            counts
        })
        .collect();
    // Fresh zeros come from the system without being written.
    let mut sorted: Vec<Coded> = bytemuck::zeroed_vec(n);

    // Each task owns a slice of each bucket, in the order of the tasks: that makes the sort stable, and safe.
    let mut rest = sorted.as_mut_slice();
    let mut slots: Vec<Vec<_>> = (0..tasks).map(|_| Vec::with_capacity(split.buckets())).collect();
    for bucket in 0..split.buckets() {
        for (slots, counts) in slots.iter_mut().zip(&counts) {
            let (own, others) = rest.split_at_mut(counts[bucket] as usize);
            slots.push(own.iter_mut());
            rest = others;
        }
    }
    slots.into_par_iter().enumerate().for_each(|(task, mut slots)| {
        each_code(task, &mut |first, batch| {
            for (&code, index) in batch.iter().zip(first as u32..) {
                if let Some(slot) = slots[split.bucket(code)].next() {
                    *slot = Coded::new(code, index);
                }
            }
        });
    });

    let mut buckets = Vec::with_capacity(split.buckets());
    let mut rest = sorted.as_mut_slice();
    for bucket in 0..split.buckets() {
        let (own, others) = rest.split_at_mut(counts.iter().map(|counts| counts[bucket] as usize).sum());
        buckets.push(own);
        rest = others;
    }
    buckets.into_par_iter().for_each(|bucket| sort_run(bucket, split.shift));
    sorted
}

/// Sorts a run whose codes differ in the lowest `high` bits only.
fn sort_run(run: &mut [Coded], high: u32) {
    // As many digits of 8 bits as tell most points apart, and then those that they do not.
    let bits = (run.len().max(1).ilog2() + SPARE_BITS).next_multiple_of(8).min(32);
    let shift = high.saturating_sub(bits);
    let mask = u64::MAX >> (64 - bits);
    radsort::sort_by_key(run, |coded| (coded.code() >> shift & mask) as u32);
    if shift > 0 {
        for alike in run.chunk_by_mut(|a, b| a.code() >> shift == b.code() >> shift) {
            alike.sort_unstable();
        }
    }
}

/// A digit: the bits below `high`, as far down as `shift`.
struct Split {
    shift: u32,
    mask: u64,
}

impl Split {
    fn new(high: u32, bits: u32) -> Self {
        let shift = high.saturating_sub(bits);
        Self { shift, mask: (1 << (high - shift)) - 1 }
    }

    fn buckets(&self) -> usize {
        self.mask as usize + 1
    }

    #[inline(always)]
    fn bucket(&self, code: u64) -> usize {
        (code >> self.shift & self.mask) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(codes: &[u64]) {
        let mut expected: Vec<Coded> = codes.iter().zip(0..).map(|(&code, index)| Coded::new(code, index)).collect();
        expected.sort();
        assert_eq!(
            sort_by_code(codes.len(), 63, |first, batch| batch.copy_from_slice(&codes[first..][..batch.len()])),
            expected
        );
    }

    #[test]
    fn sorts_like_the_standard_library() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 1
        };
        for n in [0, 1, 2, 3, 100, 1000, 70_000, 300_000] {
            check(&(0..n).map(|_| random()).collect::<Vec<_>>());
            check(&(0..n).map(|_| random() % 5).collect::<Vec<_>>());
            check(&(0..n).map(|_| 1 << (random() % 63)).collect::<Vec<_>>());
            check(&(0..n).map(|_| (7 << 40) | (random() % 100)).collect::<Vec<_>>());
            check(&vec![u64::MAX >> 1; n]);
        }
    }
}
