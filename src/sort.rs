//! A stable, parallel radix sort of points by their Morton codes.
//!
//! In: a function from index to code. Out: codes and indices in ascending order of the code, ties by index.
//! The first pass splits by the highest bits, from memory to memory; what falls into one bucket fits a cache and is split
//! again there, until runs are short enough for an insertion sort.
//! Cost: O(n), two reads of the points, 16 bytes a point and as much scratch for the largest bucket.

use rayon::prelude::*;

/// A code and the point it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coded {
    /// The Morton code.
    pub code: u64,
    /// The point's index in the caller's slice.
    pub index: u32,
}

/// Bits of the first split: as many buckets as there are entries in a first-level address cache.
const FIRST_BITS: u32 = 11;
/// Runs up to this length are sorted by insertion.
const SHORT: usize = 24;
/// Points per parallel task of the first split.
const TASK: usize = 1 << 16;

/// Sorts `0..n` by `code`, whose values must be less than `2^bits`. It is called twice for each index.
pub fn sort_by_code(n: usize, bits: u32, code: impl Fn(usize) -> u64 + Sync) -> Vec<Coded> {
    let code_at = |i: usize| Coded { code: code(i), index: i as u32 };
    let tasks = n.div_ceil(TASK).clamp(1, 4 * rayon::current_num_threads());
    let size = n.div_ceil(tasks).max(1);
    let span = |task: usize| (task * size).min(n)..((task + 1) * size).min(n);

    let split = Split::new(bits, FIRST_BITS);

    let counts: Vec<Vec<u32>> = (0..tasks).into_par_iter().map(|task| split.count(span(task).map(&code))).collect();
    let mut sorted = vec![Coded::default(); n];

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
        for i in span(task) {
            let coded = code_at(i);
            if let Some(slot) = slots[split.bucket(coded.code)].next() {
                *slot = coded;
            }
        }
    });

    let mut buckets = Vec::with_capacity(split.buckets());
    let mut rest = sorted.as_mut_slice();
    for bucket in 0..split.buckets() {
        let (own, others) = rest.split_at_mut(counts.iter().map(|counts| counts[bucket] as usize).sum());
        buckets.push(own);
        rest = others;
    }
    buckets.into_par_iter().for_each_init(Vec::new, |scratch, bucket| {
        scratch.resize(scratch.len().max(bucket.len()), Coded::default());
        let end = bucket.len();
        sort_run(bucket, &mut scratch[..end], split.shift, true);
    });
    sorted
}

/// Sorts by the lowest `high` bits. The run is in `from`; it ends there if `stay`, else in `to`.
fn sort_run(from: &mut [Coded], to: &mut [Coded], high: u32, stay: bool) {
    if from.len() <= SHORT || high == 0 {
        insertion_sort(from);
        if !stay {
            to.copy_from_slice(from);
        }
        return;
    }
    // Runs of about four points remain, which insertion then finishes.
    let split = Split::new(high, (from.len().ilog2().saturating_sub(1)).clamp(1, FIRST_BITS));
    let counts = split.count(from.iter().map(|coded| coded.code));
    let mut next: Vec<u32> = Vec::with_capacity(split.buckets());
    let mut start = 0;
    for &count in &counts {
        next.push(start);
        start += count;
    }
    for coded in from.iter() {
        let slot = &mut next[split.bucket(coded.code)];
        to[*slot as usize] = *coded;
        *slot += 1;
    }
    let (mut from, mut to) = (from, to);
    for count in counts {
        let (own_from, rest_from) = from.split_at_mut(count as usize);
        let (own_to, rest_to) = to.split_at_mut(count as usize);
        sort_run(own_to, own_from, split.shift, !stay);
        (from, to) = (rest_from, rest_to);
    }
}

/// Orders a short run by code and index; indices differ, so this is stable.
fn insertion_sort(run: &mut [Coded]) {
    if run.len() > SHORT {
        return run.sort_unstable();
    }
    for i in 1..run.len() {
        let coded = run[i];
        let mut j = i;
        while j > 0 && run[j - 1] > coded {
            run[j] = run[j - 1];
            j -= 1;
        }
        run[j] = coded;
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

    fn count(&self, codes: impl Iterator<Item = u64>) -> Vec<u32> {
        let mut counts = vec![0; self.buckets()];
        codes.for_each(|code| counts[self.bucket(code)] += 1);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(codes: &[u64]) {
        let mut expected: Vec<Coded> =
            codes.iter().enumerate().map(|(i, &code)| Coded { code, index: i as u32 }).collect();
        expected.sort();
        assert_eq!(sort_by_code(codes.len(), 63, |i| codes[i]), expected);
    }

    #[test]
    fn sorts_like_the_standard_library() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 1
        };
        for n in [0, 1, 2, 3, 24, 25, 100, 1000, 70_000, 300_000] {
            check(&(0..n).map(|_| random()).collect::<Vec<_>>());
            check(&(0..n).map(|_| random() % 5).collect::<Vec<_>>());
            check(&(0..n).map(|_| 1 << (random() % 63)).collect::<Vec<_>>());
            check(&(0..n).map(|_| 7 << 40 | random() % 100).collect::<Vec<_>>());
            check(&vec![u64::MAX >> 1; n]);
        }
    }
}
