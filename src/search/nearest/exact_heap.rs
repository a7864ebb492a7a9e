//! The `k` nearest of all pushed neighbours, by exact distance.

use std::cell::Cell;

use crate::search::nearest::neighbor::Neighbor;
use crate::search::nearest::options::Nearest;

/// The largest `k` for which neighbours are kept sorted. Beyond, twice as many are collected before the farther half
/// is dropped.
const ORDERED: usize = 64;

/// The maximum capacity of a heap that is kept: 1 MiB.
const KEPT: usize = 1 << 16;

thread_local! {
    /// The heap of the last single query of this thread, for the next one.
    static LAST: Cell<ExactHeap> = const { Cell::new(ExactHeap::new()) };
}

/// The nearest neighbours found so far.
pub(crate) struct ExactHeap {
    k: usize,
    radius2: f64,
    /// The bits of the squared distance, which are ordered like its value, above those of the index: one comparison
    /// orders both.
    found: Vec<u128>,
    /// Neighbours at or above this key are not among the `k` nearest.
    bound: u128,
}

impl ExactHeap {
    pub const fn new() -> Self {
        Self { k: 0, radius2: 0.0, found: Vec::new(), bound: 0 }
    }

    /// Takes the heap that this thread has [kept](Self::keep), or a new one.
    pub fn take_kept() -> Self {
        // A thread that is ending has no heap.
        LAST.try_with(|last| last.replace(Self::new())).unwrap_or(Self::new())
    }

    /// Keeps the memory for the next query of this thread.
    pub fn keep(self) {
        if self.found.capacity() <= KEPT {
            let _ = LAST.try_with(|last| last.set(self));
        }
    }

    /// Starts a search. Nothing is accepted if `k` is 0 or the radius is negative or NaN.
    pub fn reset(&mut self, options: &Nearest) {
        self.k = options.k;
        self.radius2 = if options.k > 0 && options.radius >= 0.0 { options.radius * options.radius } else { -1.0 };
        self.found.clear();
        // At the distance of the radius itself, every index is accepted.
        self.bound = if self.radius2 < 0.0 { 0 } else { key(self.radius2, 0) + (1 << 32) };
    }

    /// Returns the number of requested neighbours.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the squared distance beyond which neighbours are not accepted; negative if none is accepted.
    #[inline(always)]
    pub fn limit(&self) -> f64 {
        if self.bound == 0 { -1.0 } else { distance2(self.bound - 1) }
    }

    /// Returns `true` if a neighbour with at least this squared distance may be among the nearest.
    #[inline(always)]
    pub fn accepts(&self, distance2: f64, index: u32) -> bool {
        key(distance2, index) < self.bound
    }

    /// Adds a neighbour if it may be among the nearest. Returns `false` if it is refused.
    #[inline(always)]
    pub fn push(&mut self, distance2: f64, index: u32) -> bool {
        let new = key(distance2, index);
        if new >= self.bound {
            return false;
        }
        if self.k > ORDERED {
            self.found.push(new);
            if self.found.len() == self.k.saturating_mul(2) {
                self.drop_farther();
            }
            return true;
        }
        if self.found.len() < self.k {
            self.found.push(new);
        }
        // Few entries are moved: most candidates come late and belong near the end.
        let mut at = self.found.len() - 1;
        while at > 0 && self.found[at - 1] > new {
            self.found[at] = self.found[at - 1];
            at -= 1;
        }
        self.found[at] = new;
        if let Some(&kth) = self.found.get(self.k - 1) {
            self.bound = kth;
        }
        true
    }

    /// Keeps only the `k` nearest.
    #[cold]
    fn drop_farther(&mut self) {
        let (_, &mut kth, _) = self.found.select_nth_unstable(self.k - 1);
        self.found.truncate(self.k);
        self.bound = kth;
    }

    /// Sorts the neighbours, nearest first, ties by index. Must follow the last push.
    #[inline(always)]
    pub fn sort(&mut self) {
        if self.k > ORDERED {
            self.found.sort_unstable();
            self.found.truncate(self.k);
        }
    }

    /// Returns the number of neighbours found.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn neighbors(&self) -> impl Iterator<Item = Neighbor> {
        self.found.iter().map(|&found| Neighbor { index: found as u32, distance2: distance2(found) })
    }
}

#[inline(always)]
fn key(distance2: f64, index: u32) -> u128 {
    u128::from(distance2.to_bits()) << 32 | u128::from(index)
}

#[inline(always)]
fn distance2(found: u128) -> f64 {
    f64::from_bits((found >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bvh;

    /// The address and the capacity of this thread's kept memory.
    fn kept() -> (*const u128, usize) {
        let best = ExactHeap::take_kept();
        let kept = (best.found.as_ptr(), best.found.capacity());
        best.keep();
        kept
    }

    #[test]
    fn a_thread_keeps_its_memory_unless_it_is_much() {
        let points: Vec<[f64; 1]> = (0..80_000).map(|i| [f64::from(i)]).collect();
        let bvh = Bvh::build(&points).unwrap();
        let mut found = vec![];
        bvh.nearest_into([7.0], 32_000, &mut found);
        let (before, place) = (kept(), found.as_ptr());
        assert!(before.1 >= 32_000);
        for k in [32_000, 1, 100, 0, 32_000] {
            bvh.nearest_into([40_000.0], k, &mut found);
            assert_eq!((found.len(), kept(), found.as_ptr()), (k, before, place));
        }
        bvh.nearest_into([7.0], 40_000, &mut found);
        assert_eq!((found.len(), kept().1), (40_000, 0));
    }
}
