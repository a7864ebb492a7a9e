//! A set of indices that knows the rank of each.
//!
//! In: which indices are in it. Out: how many come before an index. Cost: a bit an index, and half a bit for the counts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::memory::{collected, zeroed};
use crate::parallel::{for_tasks, map};

/// Indices per parallel task.
const TASK: usize = 1 << 15;

/// A set of indices that knows how many come before each: a bit per point, so that it fits a cache.
pub(crate) struct RankBitmap {
    words: Vec<u64>,
    /// How many come before each word.
    before: Vec<u32>,
    count: u32,
}

impl RankBitmap {
    /// The set of those indices that are below their number.
    pub fn of(indices: &[AtomicU32]) -> Self {
        let words: Vec<AtomicU64> = zeroed(indices.len().div_ceil(64));
        for_tasks(indices.len(), TASK, &|places| {
            for index in indices[places].iter().map(|index| index.load(Relaxed)) {
                if let Some(word) = words.get(index as usize / 64) {
                    word.fetch_or(1 << (index % 64), Relaxed);
                }
            }
        });
        Self::ranked(words.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// The set of those of `0..n` that are in it.
    pub fn new(n: usize, contains: impl Fn(usize) -> bool + Sync) -> Self {
        let word = |at: usize| {
            (64 * at..n.min(64 * (at + 1))).fold(0, |word, index| word | u64::from(contains(index)) << (index % 64))
        };
        Self::ranked(map(n.div_ceil(64), TASK / 64, &word))
    }

    fn ranked(words: Vec<u64>) -> Self {
        let mut count = 0;
        let before = |word: &u64| {
            let before = count;
            count += word.count_ones();
            before
        };
        let before = collected(words.iter().map(before));
        Self { words, before, count }
    }

    /// How many indices are in the set.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many indices of the set are smaller.
    #[inline]
    pub fn rank(&self, index: u32) -> u32 {
        let word = index as usize / 64;
        let below = (1u64 << (index % 64)) - 1;
        self.before[word] + (self.words[word] & below).count_ones()
    }
}
