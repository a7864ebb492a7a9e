//! A stable, parallel radix sort of points by their Morton codes.
//!
//! In: functions from index to bucket, to point, and to code. Out: everything in ascending order of the code, ties by index.
//! The first pass splits the indices by the highest bits of the code, from memory to memory; what falls into one bucket mostly
//! fits a cache. There the points are gathered, short keys are sorted, digit by digit, and each point is put in its place.
//! Fresh memory costs more than arithmetic: 6 bytes a point are all that is written beside the result.
//! Cost: O(n); each point is read twice.

use std::sync::OnceLock;

use crate::cancel::check;
use crate::memory::zeroed;
use crate::parallel::{Scratch, fill, for_each};
use bytemuck::Zeroable;

/// Bits of the first split: as many buckets as there are entries in a first-level address cache.
pub(crate) const FIRST_BITS: u32 = 11;
/// Extra key bits (beyond log2 of the bucket's size) in the first pass, so that few keys tie.
const SPARE_BITS: u32 = 6;
/// Points per parallel task of the first split.
const TASK: usize = 1 << 16;
/// Codes computed at once, while they are in the first-level cache.
const BATCH: usize = 256;
/// How far ahead of its use a point is asked for.
const AHEAD: usize = 24;

/// What is sorted, by index.
pub(crate) trait Source: Sync {
    /// What belongs to an index.
    type Item: Copy + Zeroable + Send;

    fn len(&self) -> usize;
    /// Bits of a code.
    fn bits(&self) -> u32;
    fn item(&self, index: usize) -> Self::Item;
    /// Asks for the memory of an item that is soon wanted.
    fn prefetch(&self, index: usize);
    /// The codes of some items.
    fn codes(&self, items: &[Self::Item], codes: &mut [u64]);
}

/// Indices split by the highest bits of the code, in ascending order within each bucket.
pub(crate) struct Buckets<'a, T> {
    source: &'a T,
    index: Vec<u32>,
    sizes: Vec<usize>,
    /// The bits of the code below those that all in a bucket share.
    pub shift: u32,
}

impl<'a, T: Source> Buckets<'a, T> {
    /// Splits the indices of all items.
    pub fn split(source: &'a T) -> Self {
        let n = source.len();
        let tasks = n.div_ceil(TASK).clamp(1, 4 * rayon::current_num_threads());
        let size = n.div_ceil(tasks).max(1);
        let shift = source.bits().saturating_sub(FIRST_BITS);
        let buckets = 1usize << (source.bits() - shift);

        // Fresh zeros come from the system without being written.
        let mut bucket_of: Vec<u16> = zeroed(n);
        let counts: Vec<OnceLock<Vec<u32>>> = (0..n.div_ceil(size)).map(|_| OnceLock::new()).collect();
        fill(&mut bucket_of, size, &|range, bucket_of| {
            let task = range.start / size;
            let mut counts_of_task = vec![0; buckets];
            let (mut items, mut codes) = ([T::Item::zeroed(); BATCH], [0; BATCH]);
            for (batch, first) in bucket_of.chunks_mut(BATCH).zip(range.step_by(BATCH)) {
                for (item, index) in items[..batch.len()].iter_mut().zip(first..) {
                    *item = source.item(index);
                }
                source.codes(&items[..batch.len()], &mut codes[..batch.len()]);
                for (bucket, code) in batch.iter_mut().zip(codes) {
                    *bucket = (code >> shift) as u16;
                    counts_of_task[usize::from(*bucket)] += 1;
                }
            }
            _ = counts[task].set(counts_of_task);
        });
        let counts: Vec<Vec<u32>> = counts.into_iter().filter_map(OnceLock::into_inner).collect();

        // Each task owns a slice of each bucket, in the order of the tasks: that makes the sort stable, and safe.
        let mut index: Vec<u32> = zeroed(n);
        let mut rest = index.as_mut_slice();
        let mut slots: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
        for bucket in 0..buckets {
            for (slots, counts) in slots.iter_mut().zip(&counts) {
                let (own, others) = rest.split_at_mut(counts[bucket] as usize);
                slots.push(own.iter_mut());
                rest = others;
            }
        }
        for_each(slots, &|task, mut slots| {
            let first = task * size;
            for (&bucket, index) in bucket_of[first..(first + size).min(n)].iter().zip(first as u32..) {
                if let Some(slot) = slots[usize::from(bucket)].next() {
                    *slot = index;
                }
            }
        });
        let size = |bucket: usize| counts.iter().map(|counts| counts[bucket] as usize).sum();
        Self { source, index, sizes: (0..buckets).map(size).collect(), shift }
    }

    /// How many there are in each bucket.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Sorts each bucket, calls `emit` with the bucket's output, of which there is one for each, and with what is in the
    /// bucket; and returns all indices in order.
    pub fn sort<O: Send>(mut self, outputs: Vec<O>, emit: impl Fn(O, Sorted<'_, T::Item>) + Sync) -> Vec<u32> {
        let tasks = cut(&mut self.index, &self.sizes).into_iter().zip(outputs);
        let scratch = Scratch::new(Bucket::new);
        for_each(tasks.filter(|(index, _)| !index.is_empty()).collect(), &|_, (index, output)| {
            scratch.with(|bucket| {
                bucket.sort(self.source, self.shift, index);
                emit(output, Sorted { bucket });
                for (index, key) in index.iter_mut().zip(&bucket.keys) {
                    *index = bucket.index[*key as u32 as usize];
                }
            });
        });
        self.index
    }

    /// The indices as they are split.
    pub fn into_unsorted(self) -> Vec<u32> {
        self.index
    }

    /// The indices in order.
    pub fn into_order(self) -> Vec<u32> {
        let outputs = vec![(); self.sizes.len()];
        self.sort(outputs, |_, _| ())
    }
}

/// What one bucket is sorted in.
struct Bucket<P> {
    index: Vec<u32>,
    items: Vec<P>,
    codes: Vec<u64>,
    /// A part of the code in the high half, the place in the arrays above in the low half.
    keys: Vec<u64>,
}

impl<P: Copy + Zeroable> Bucket<P> {
    fn new() -> Self {
        Self { index: vec![], items: vec![], codes: vec![], keys: vec![] }
    }

    /// Fills in the order of codes that differ in the lowest `high` bits only.
    fn sort(&mut self, source: &impl Source<Item = P>, high: u32, index: &[u32]) {
        self.index.clear();
        self.index.extend_from_slice(index);
        self.items.clear();
        self.items.extend(index.iter().enumerate().map(|(at, &own)| {
            if let Some(&ahead) = index.get(at + AHEAD) {
                source.prefetch(ahead as usize);
            }
            source.item(own as usize)
        }));
        // A bucket may hold nearly all.
        check();
        self.codes.resize(index.len(), 0);
        source.codes(&self.items, &mut self.codes);

        // As many digits of 8 bits as tell most points apart, and then those that they do not.
        let bits = (index.len().max(1).ilog2() + SPARE_BITS).next_multiple_of(8).min(32);
        let shift = high.saturating_sub(bits);
        let mask = u64::MAX >> (64 - bits);
        self.keys.clear();
        self.keys.extend(self.codes.iter().zip(0u64..).map(|(code, at)| (code >> shift & mask) << 32 | at));
        check();
        sort_keys(&mut self.keys, &self.codes, shift > 0);
    }
}

/// Sorts keys by their high halves, and those that tie by the codes that their low halves lead to, then by these, unless they tie
/// in all bits.
fn sort_keys(keys: &mut [u64], codes: &[u64], has_rest: bool) {
    radsort::sort_by_key(keys, |key| (key >> 32) as u32);
    if has_rest {
        check();
        for alike in keys.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by_key(|&key| (codes[key as u32 as usize], key as u32));
        }
    }
}

/// What is in a bucket, in order.
pub(crate) struct Sorted<'a, P> {
    bucket: &'a Bucket<P>,
}

impl<P: Copy> Sorted<'_, P> {
    /// The codes, in the order of the indices.
    pub fn codes(&self) -> &[u64] {
        &self.bucket.codes
    }

    /// The items, in the order of the indices.
    pub fn items(&self) -> &[P] {
        &self.bucket.items
    }

    /// Codes and items.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (u64, P)> {
        let Bucket { keys, codes, items, .. } = self.bucket;
        keys.iter().map(|&key| (codes[key as u32 as usize], items[key as u32 as usize]))
    }
}

/// A slice for each bucket.
pub(crate) fn cut<'a, T>(mut values: &'a mut [T], sizes: &[usize]) -> Vec<&'a mut [T]> {
    sizes.iter().map(|&size| values.split_off_mut(..size).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Buckets, Source, cut};

    struct Codes<'a>(&'a [u64]);

    impl Source for Codes<'_> {
        type Item = u64;

        fn len(&self) -> usize {
            self.0.len()
        }
        fn bits(&self) -> u32 {
            63
        }
        fn item(&self, index: usize) -> u64 {
            self.0[index]
        }
        fn prefetch(&self, _index: usize) {}
        fn codes(&self, items: &[u64], codes: &mut [u64]) {
            codes.copy_from_slice(items);
        }
    }

    fn check(codes: &[u64]) {
        let mut expected: Vec<(u64, u32)> = codes.iter().copied().zip(0..).collect();
        expected.sort();
        let source = Codes(codes);
        let buckets = Buckets::split(&source);
        let mut found = vec![0; codes.len()];
        let outputs = cut(&mut found, buckets.sizes());
        let order = buckets.sort(outputs, |output, sorted| {
            for (output, (code, item)) in output.iter_mut().zip(sorted.iter()) {
                assert_eq!(code, item);
                *output = code;
            }
        });
        assert!(found.into_iter().zip(order.iter().copied()).eq(expected));
        assert_eq!(Buckets::split(&source).into_order(), order);
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
