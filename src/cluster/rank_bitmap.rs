//! A set of indices with ranks.
//!
//! In: the indices of the set. Out: the number of indices in the set that are smaller than a given index. Cost: 1.5
//! bits per possible index, half a bit of it for the counts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::memory::{collected, zeroed};
use crate::parallel::{for_tasks, map};

/// Indices per parallel task.
const TASK: usize = 1 << 15;

/// A set of indices with the number of smaller indices for each. One bit per possible index, so that the set fits a
/// cache.
pub(crate) struct RankBitmap {
    words: Vec<u64>,
    /// The number of indices before each word.
    before: Vec<u32>,
    count: u32,
}

impl RankBitmap {
    /// Creates the set of the given `indices`. Each is less than `indices.len()`, or `u32::MAX`, which is left out.
    pub fn from_indices(indices: &[AtomicU32]) -> Self {
        let words: Vec<AtomicU64> = zeroed(indices.len().div_ceil(64));
        for_tasks(indices.len(), TASK, &|places| {
            for index in indices[places].iter().map(|index| index.load(Relaxed)) {
                // If there are more than 2^32 - 64 indices, `u32::MAX` falls into the last word.
                if index != u32::MAX {
                    words[index as usize / 64].fetch_or(1 << (index % 64), Relaxed);
                }
            }
        });
        Self::ranked(words.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// Creates the set of the indices in `0..n` for which `contains` returns `true`.
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

    /// Returns the number of indices in the set.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of indices in the set that are smaller than `index`.
    #[inline]
    pub fn rank(&self, index: u32) -> u32 {
        let word = index as usize / 64;
        let below = (1u64 << (index % 64)) - 1;
        self.before[word] + (self.words[word] & below).count_ones()
    }
}
