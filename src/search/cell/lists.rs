//! Lists of neighbours in a cell, from the neighbours of points and of images.
//!
//! Input: lists of stored points, and for each image the stored points near it. Output: full or half lists, each
//! ascending by index and shift.
//! An entry is a word: the index in the upper half, and the code of the shift (`shifts`) in the lower half.
//! Cost: a pass over all entries, and a sort of each list.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::csr::Csr;
use crate::memory::{append, collected};
use crate::parallel::{for_tasks, list_tasks};

/// Lists or images per parallel task.
const TASK: usize = 1 << 10;

/// Full lists, or half lists of the pairs that a point forms with higher indices and with its own images at positive
/// shifts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    Half,
}

/// Images of points at positive shifts, and the stored points near each.
pub(super) struct ImageHits {
    /// The index of the point and the number of the shift of each image.
    pub images: Vec<[u32; 2]>,
    pub lists: Csr<u32>,
}

/// Returns the entry of a point and a code.
pub(super) fn word(index: u32, code: u32) -> u64 {
    u64::from(index) << 32 | u64::from(code)
}

/// Returns the index and the code of an entry.
pub(super) fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// The stored points near images, as entries of lists.
struct ImageEntries<'a> {
    hits: &'a ImageHits,
    zero: u32,
    extent: Extent,
}

impl ImageEntries<'_> {
    /// Calls `visit` with the list and the word of each entry, in parallel.
    fn for_each(&self, visit: impl Fn(usize, u64) + Sync) {
        let zero = self.zero;
        for_tasks(self.hits.images.len(), TASK, &|images| {
            for image in images {
                let [owner, number] = self.hits.images[image];
                for &near in self.hits.lists.of(image) {
                    // The image of `owner` is near `near`, and the opposite image of `near` is near `owner`.
                    if self.extent == Extent::Full || owner >= near {
                        visit(near as usize, word(owner, zero + 1 + number));
                    }
                    if self.extent == Extent::Full || owner < near {
                        visit(owner as usize, word(near, zero - 1 - number));
                    }
                }
            }
        });
    }

    /// Collects the entries of `n` lists, in no particular order.
    fn lists(&self, n: usize) -> Csr<u64> {
        let ends: Vec<AtomicUsize> = collected((0..=n).map(|_| AtomicUsize::new(0)));
        self.for_each(|list, _| _ = ends[list].fetch_add(1, Relaxed));
        let mut sum = 0;
        for end in &ends {
            sum += end.load(Relaxed);
            end.store(sum, Relaxed);
        }
        let words: Vec<AtomicU64> = collected((0..sum).map(|_| AtomicU64::new(0)));
        self.for_each(|list, word| words[ends[list].fetch_sub(1, Relaxed) - 1].store(word, Relaxed));
        let plain = collected(words.into_iter().map(AtomicU64::into_inner));
        Csr::from_parts(collected(ends.into_iter().map(AtomicUsize::into_inner)), plain)
    }
}

/// Merges the neighbours of stored points with those of images. `stored` has full lists in any order.
pub(super) fn merged(stored: &Csr<u32>, hits: &ImageHits, zero: u32, extent: Extent) -> Csr<u64> {
    let n = stored.len();
    let of_images = ImageEntries { hits, zero, extent }.lists(n);
    let is_kept = |i: usize, j: u32| extent == Extent::Full || j as usize > i;
    let lengths = list_tasks(n, TASK, &|lists| {
        let stored = |i: usize| stored.of(i).iter().filter(|&&j| is_kept(i, j)).count();
        collected(lists.map(|i| stored(i) + of_images.of(i).len()))
    });
    let mut offsets = collected(std::iter::once(0).chain(lengths));
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    let words = list_tasks(n, TASK, &|lists| {
        let mut words = vec![];
        for i in lists {
            let start = words.len();
            append(&mut words, stored.of(i).iter().filter(|&&j| is_kept(i, j)).map(|&j| word(j, zero)));
            append(&mut words, of_images.of(i).iter().copied());
            words[start..].sort_unstable();
        }
        words
    });
    Csr::from_parts(offsets, words)
}
