//! A stable, parallel radix sort of points by their Morton codes.
//!
//! Input: functions that map an index to an item and items to codes. Output: all items in ascending order of code,
//! ties by index.
//! The first pass splits the indices by the highest bits of the code, in main memory. Most of the resulting buckets
//! fit in a cache. In each bucket, the points are gathered, short keys are sorted digit by digit, and each point is
//! moved to its place. Fresh memory costs more than arithmetic, so only 6 bytes per point are written besides the
//! result.
//! Cost: O(n); each point is read twice.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::cancel::{CallFlags, check};
use crate::memory::{append, grow, renew};
use crate::parallel::{Part, Scratch, for_parts, plain, shared};
use bytemuck::Zeroable;

/// Bits of the first split: as many buckets as a first-level address cache has entries.
pub(crate) const FIRST_BITS: u32 = 11;
/// Extra bits of the keys in a bucket, beyond log2 of its size, so that few keys tie.
const SPARE_BITS: u32 = 6;
/// Points per parallel task of the first split.
const TASK: usize = 1 << 16;
/// The number of codes computed at once, while they are in the first-level cache.
const BATCH: usize = 256;
/// The maximum number of points in a small bucket.
const SMALL: usize = 1 << 15;
/// The prefetch distance, in points.
const AHEAD: usize = 24;

/// The items to sort, by index.
pub(crate) trait Source: Sync {
    /// The item of an index.
    type Item: Copy + Zeroable + Send;

    fn len(&self) -> usize;
    /// Bits per code.
    fn bits(&self) -> u32;
    fn item(&self, index: usize) -> Self::Item;
    /// Prefetches the memory of an item.
    fn prefetch(&self, index: usize);
    /// Computes the codes of some items.
    fn codes(&self, items: &[Self::Item], codes: &mut [u64]);
}

/// Indices split into buckets by the highest bits of the code, in ascending order within each bucket.
pub(crate) struct Buckets<'a, T> {
    source: &'a T,
    pub index: Vec<u32>,
    /// The start of each bucket, followed by the end of the last one.
    pub firsts: Vec<usize>,
    /// The number of code bits below those that all codes of a bucket share.
    pub shift: u32,
}

/// Scratch memory of a split, which the next split can reuse.
#[derive(Default)]
pub(crate) struct SplitMemory {
    bucket_of: Vec<u16>,
    /// For each task, the number of its indices in each bucket, later the position of the next of them.
    slots: Vec<u32>,
    /// The `firsts` of the last [`Buckets`].
    pub firsts: Vec<usize>,
}

impl<'a, T: Source> Buckets<'a, T> {
    /// Splits the indices of all items.
    pub fn split(source: &'a T) -> Self {
        Self::split_in(source, vec![], &mut SplitMemory::default())
    }

    /// Splits the indices of all items as [`split`](Self::split) does, in existing memory.
    pub fn split_in(source: &'a T, mut index: Vec<u32>, memory: &mut SplitMemory) -> Self {
        let n = source.len();
        let size = n.div_ceil(n.div_ceil(TASK).clamp(1, 4 * rayon::current_num_threads())).max(1);
        let tasks = n.div_ceil(size);
        let shift = source.bits().saturating_sub(FIRST_BITS);
        let buckets = 1usize << (source.bits() - shift);

        let SplitMemory { bucket_of, slots, firsts } = memory;
        renew(bucket_of, n, 0);
        slots.clear();
        slots.resize(tasks * buckets, 0);
        let parts =
            (0..tasks, Chunks { part: &mut bucket_of[..], size }, Chunks { part: &mut slots[..], size: buckets });
        for_parts(tasks, 1, parts, &|(task, Chunks { part: bucket_of, .. }, Chunks { part: counts, .. })| {
            let (mut items, mut codes) = ([T::Item::zeroed(); BATCH], [0; BATCH]);
            for (batch, first) in bucket_of.chunks_mut(BATCH).zip((task.start * size..).step_by(BATCH)) {
                for (item, index) in items[..batch.len()].iter_mut().zip(first..) {
                    *item = source.item(index);
                }
                source.codes(&items[..batch.len()], &mut codes[..batch.len()]);
                for (bucket, code) in batch.iter_mut().zip(codes) {
                    *bucket = (code >> shift) as u16;
                    counts[usize::from(*bucket)] += 1;
                }
            }
        });

        // Each task has its own range in each bucket, in the order of the tasks, which makes the sort stable.
        let mut firsts = std::mem::take(firsts);
        firsts.clear();
        let mut first = 0;
        for bucket in 0..buckets {
            firsts.push(first as usize);
            for task in 0..tasks {
                let slot = &mut slots[task * buckets + bucket];
                first += std::mem::replace(slot, first);
            }
        }
        firsts.push(n);
        renew(&mut index, n, 0);
        let index = shared(index);
        let parts = (0..tasks, Chunks { part: &bucket_of[..], size }, Chunks { part: &mut slots[..], size: buckets });
        for_parts(tasks, 1, parts, &|(task, Chunks { part: bucket_of, .. }, Chunks { part: slots, .. })| {
            for (&bucket, at) in bucket_of.iter().zip((task.start * size) as u32..) {
                let slot = &mut slots[usize::from(bucket)];
                index[*slot as usize].store(at, Relaxed);
                *slot += 1;
            }
        });
        Self { source, index: plain(index), firsts, shift }
    }

    /// Sorts each non-empty bucket, and calls `emit` with its place, its part of the output, and its sorted contents.
    pub fn sort<O: Part>(
        &mut self,
        output: O,
        pool: &Pool<T::Item>,
        emit: &(impl Fn(Place, O, Sorted<'_, T::Item>) + Sync),
    ) {
        let Self { source, index, firsts, shift } = self;
        let sorting = Sorting { source: *source, firsts, shift: *shift, pool, emit };
        sorting.sort(0..firsts.len() - 1, index, output);
    }

    /// Returns the indices in sorted order.
    pub fn into_order(mut self) -> Vec<u32> {
        let n = self.index.len();
        self.sort(0..n, &Pool::default(), &|_, _, _| ());
        self.index
    }
}

/// The place of a bucket in the sorted order.
pub(crate) struct Place {
    /// The bucket number: the highest bits of its codes.
    pub bucket: usize,
    /// The position of its first item in sorted order.
    pub first: usize,
    /// The non-empty bucket before it.
    pub before: Option<usize>,
}

/// A part that is cut into chunks of `size` items.
struct Chunks<P> {
    part: P,
    size: usize,
}

impl<P: Part> Part for Chunks<P> {
    fn take_front(&mut self, len: usize) -> Self {
        Self { part: self.part.take_front(len * self.size), size: self.size }
    }
}

/// The state of a sort of buckets.
struct Sorting<'s, T: Source, F> {
    source: &'s T,
    firsts: &'s [usize],
    shift: u32,
    pool: &'s Pool<T::Item>,
    emit: &'s F,
}

impl<T: Source, F> Sorting<'_, T, F> {
    fn place(&self, bucket: usize) -> Place {
        let first = self.firsts[bucket];
        let before = (0..bucket).rev().find(|&before| self.firsts[before] < first);
        Place { bucket, first, before }
    }

    fn sort<O: Part>(&self, mut buckets: Range<usize>, mut index: &mut [u32], mut output: O)
    where
        F: Fn(Place, O, Sorted<'_, T::Item>) + Sync,
    {
        while buckets.len() > 1 && !index.is_empty() {
            let start = buckets.start;
            let left = buckets.take_front(buckets.len() / 2);
            let len = self.firsts[left.end] - self.firsts[start];
            let (index_left, output_left) = (index.take_front(len), output.take_front(len));
            if index_left.is_empty() {
                continue;
            }
            let (flags, _waiting) = CallFlags::pass_to_tasks();
            rayon::join(
                || flags.during(|| self.sort(left, index_left, output_left)),
                || flags.during(|| self.sort(buckets, index, output)),
            );
            return;
        }
        if !index.is_empty() {
            self.pool.with(index.len(), |bucket| {
                bucket.sort(self.source, self.shift, index);
                (self.emit)(self.place(buckets.start), output, Sorted { bucket });
                for (index, key) in index.iter_mut().zip(&bucket.keys) {
                    *index = bucket.index[*key as u32 as usize];
                }
            });
        }
    }
}

/// Work areas for sorting buckets, one per active thread. Large buckets have separate ones, so that not every thread
/// keeps memory for them.
pub(crate) struct Pool<P> {
    small: Scratch<Bucket<P>>,
    large: Scratch<Bucket<P>>,
}

impl<P: Copy + Zeroable + Send> Default for Pool<P> {
    fn default() -> Self {
        Self { small: Scratch::new(Bucket::new), large: Scratch::new(Bucket::new) }
    }
}

impl<P: Copy + Zeroable + Send> Pool<P> {
    /// Reserves the memory that each thread may need for small buckets, so that they allocate nothing later.
    pub fn reserve(&mut self, firsts: &[usize]) {
        let sizes = firsts.windows(2).map(|ends| ends[1] - ends[0]);
        let largest = sizes.filter(|&size| size <= SMALL).max().unwrap_or(0).next_power_of_two();
        self.small.reserve(rayon::current_num_threads(), &|bucket| bucket.reserve(largest));
    }

    fn with(&self, len: usize, task: impl FnOnce(&mut Bucket<P>)) {
        if len <= SMALL { self.small.with(task) } else { self.large.with(task) }
    }
}

/// The work area for sorting one bucket.
struct Bucket<P> {
    index: Vec<u32>,
    items: Vec<P>,
    codes: Vec<u64>,
    /// A part of the code in the high half, the index into the arrays above in the low half.
    keys: Vec<u64>,
}

impl<P: Copy + Zeroable> Bucket<P> {
    fn new() -> Self {
        Self { index: vec![], items: vec![], codes: vec![], keys: vec![] }
    }

    fn reserve(&mut self, len: usize) {
        fn reserve<T>(values: &mut Vec<T>, len: usize) {
            grow(values, len.saturating_sub(values.len()));
        }
        reserve(&mut self.index, len);
        reserve(&mut self.items, len);
        for values in [&mut self.codes, &mut self.keys] {
            reserve(values, len);
        }
    }

    /// Fills the work area and sorts the keys by code. The codes differ only in the lowest `high` bits.
    fn sort(&mut self, source: &impl Source<Item = P>, high: u32, index: &[u32]) {
        for values in [&mut self.codes, &mut self.keys] {
            values.clear();
            grow(values, index.len());
        }
        self.index.clear();
        append(&mut self.index, index.iter().copied());
        self.items.clear();
        append(
            &mut self.items,
            index.iter().enumerate().map(|(at, &own)| {
                if let Some(&ahead) = index.get(at + AHEAD) {
                    source.prefetch(ahead as usize);
                }
                source.item(own as usize)
            }),
        );
        // A bucket may hold nearly all points, so cancellation is checked between steps.
        check();
        self.codes.resize(index.len(), 0);
        source.codes(&self.items, &mut self.codes);

        // Sorts by enough 8-bit digits to separate most points, and then sorts the remaining ties.
        let bits = (index.len().max(1).ilog2() + SPARE_BITS).next_multiple_of(8).min(32);
        let shift = high.saturating_sub(bits);
        let mask = u64::MAX >> (64 - bits);
        self.keys.clear();
        self.keys.extend(self.codes.iter().zip(0u64..).map(|(code, at)| (code >> shift & mask) << 32 | at));
        check();
        sort_keys(&mut self.keys);
        if shift > 0 {
            check();
            sort_ties(&mut self.keys, &self.codes);
        }
    }
}

/// Shorter key lists are sorted by comparisons, which need no memory.
const FEW: usize = 128;

/// Sorts keys by their high halves; ties by their low halves, which ascend in the input.
fn sort_keys(keys: &mut [u64]) {
    if keys.len() < FEW { keys.sort_unstable() } else { radsort::sort_by_key(keys, |key| (key >> 32) as u32) }
}

/// Sorts keys with equal high halves by the codes at their low halves, ties by the low halves.
fn sort_ties(keys: &mut [u64], codes: &[u64]) {
    for alike in keys.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|alike| alike.len() > 1) {
        alike.sort_unstable_by_key(|&key| (codes[key as u32 as usize], key as u32));
    }
}

/// The sorted contents of a bucket.
pub(crate) struct Sorted<'a, P> {
    bucket: &'a Bucket<P>,
}

impl<P: Copy> Sorted<'_, P> {
    /// Returns the codes in the order of the indices, not sorted.
    pub fn codes(&self) -> &[u64] {
        &self.bucket.codes
    }

    /// Returns the items in the order of the indices, not sorted.
    pub fn items(&self) -> &[P] {
        &self.bucket.items
    }

    /// Returns the codes and items in sorted order.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (u64, P)> {
        let Bucket { keys, codes, items, .. } = self.bucket;
        keys.iter().map(|&key| (codes[key as u32 as usize], items[key as u32 as usize]))
    }
}

/// Cuts a slice into parts of the given sizes, one per bucket.
pub(crate) fn cut<'a, T>(mut values: &'a mut [T], sizes: &[usize]) -> Vec<&'a mut [T]> {
    sizes.iter().map(|&size| values.split_off_mut(..size).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Buckets, Pool, Source};

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
        let mut buckets = Buckets::split(&source);
        let mut found = vec![0; codes.len()];
        buckets.sort(&mut found[..], &Pool::default(), &|_, output: &mut [u64], sorted| {
            for (output, (code, item)) in output.iter_mut().zip(sorted.iter()) {
                assert_eq!(code, item);
                *output = code;
            }
        });
        let order = buckets.index;
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
