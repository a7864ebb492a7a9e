//! Converts a forest to labels; clusters are numbered by their smallest core member.
//!
//! In: a union-find forest over tree order. Out: a cluster number per point.
//! Cost: 8 bytes and one bit per point of temporary memory.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::flags::Flags;
use super::labels::{Labels, SizeCounter, check_clusters};
use super::rank_bitmap::RankBitmap;
use super::union_find::UnionFind;
use crate::error::Result;
use crate::parallel::{atomics, for_tasks, plain, signed};

/// Marks a missing point or cluster.
const NONE: u32 = u32::MAX;
/// Points per parallel task.
const TASK: usize = 1 << 15;

/// The positions that count as core. A tree without a core position is not a cluster.
#[derive(Clone, Copy)]
pub(crate) enum IsCore<'a> {
    /// Every position.
    Each,
    /// Every position of a tree with at least two positions.
    NotSingle,
    /// The flagged positions.
    Flagged(&'a Flags),
}

impl UnionFind {
    /// Numbers the trees by their smallest core member. `order` gives the index of each position.
    ///
    /// Errors: more clusters than labels can represent.
    pub fn relabel(self, order: &[u32], is_core: IsCore<'_>) -> Result<CompactLabels> {
        let n = order.len();
        let smallest = atomics(n, NONE);
        for_tasks(n, TASK, &|positions| {
            for at in positions.start as u32..positions.end as u32 {
                let root = self.find(at);
                let counts = match is_core {
                    IsCore::Each => true,
                    IsCore::NotSingle => at != root,
                    IsCore::Flagged(flags) => flags.at(at),
                };
                if counts {
                    let member = order[at as usize].min(order[root as usize]);
                    // Most members are not the smallest, so a load avoids most writes.
                    let slot = &smallest[root as usize];
                    if member < slot.load(Relaxed) {
                        slot.fetch_min(member, Relaxed);
                    }
                }
            }
        });
        let representatives = RankBitmap::from_indices(&smallest);
        check_clusters(representatives.count() as usize)?;
        Ok(CompactLabels { forest: self, smallest, representatives })
    }
}

/// A forest with a cluster number for each tree.
pub(crate) struct CompactLabels {
    forest: UnionFind,
    /// The smallest member of each tree, at its root.
    smallest: Vec<AtomicU32>,
    representatives: RankBitmap,
}

impl CompactLabels {
    /// Returns the number of the tree of position `at`, below 2^31; `None` if the tree is not a cluster.
    #[inline]
    pub fn of(&self, at: u32) -> Option<u32> {
        let smallest = self.smallest[self.forest.find(at) as usize].load(Relaxed);
        (smallest != NONE).then(|| self.representatives.rank(smallest))
    }

    /// Returns the root of the tree of position `at`, even if the tree is not a cluster.
    #[cfg(feature = "distributed")]
    pub fn root(&self, at: u32) -> u32 {
        self.forest.find(at)
    }

    pub fn n_clusters(&self) -> u32 {
        self.representatives.count()
    }

    /// Replaces each tree's number `i` with `number(i)`. The new numbers must be `0..k` for some `k`, each used at
    /// least once.
    #[cfg(feature = "distributed")]
    pub fn renumber(mut self, number: &(dyn Fn(u32) -> u32 + Sync)) -> Self {
        let representatives = &self.representatives;
        crate::parallel::fill(&mut self.smallest, TASK, &|_, own| {
            for smallest in own.iter_mut().map(AtomicU32::get_mut).filter(|smallest| **smallest != NONE) {
                *smallest = number(representatives.rank(*smallest));
            }
        });
        self.representatives = RankBitmap::from_indices(&self.smallest);
        self
    }

    /// Converts the trees to labels in the order of the points as they were given; each position gets the number of its
    /// tree.
    pub fn into_labels(self, order: &[u32]) -> Labels {
        self.labels(order, None)
    }

    /// Converts the trees to labels, as [`into_labels`](Self::into_labels), and counts the points of each cluster.
    /// Counting in tree order is fast, because runs of positions share a cluster.
    pub fn into_labels_and_sizes(self, order: &[u32]) -> (Labels, Vec<u32>) {
        let sizes = atomics(self.n_clusters() as usize, 0);
        (self.labels(order, Some(&sizes)), plain(sizes))
    }

    fn labels(self, order: &[u32], sizes: Option<&[AtomicU32]>) -> Labels {
        let labels = atomics(order.len(), NONE);
        for_tasks(order.len(), TASK, &|positions| {
            let mut counter = sizes.map(SizeCounter::new);
            for at in positions {
                if let Some(number) = self.of(at as u32) {
                    labels[order[at] as usize].store(number, Relaxed);
                    if let Some(counter) = &mut counter {
                        counter.add(number);
                    }
                }
            }
        });
        Labels::from_parts(signed(labels), self.n_clusters(), None)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn labels_follow_the_smallest_member() {
        let forest = UnionFind::new(6);
        forest.union(0, 3);
        forest.union(5, 4);
        forest.union(4, 2);
        let order = [5, 4, 1, 3, 2, 0];
        let labels = forest.relabel(&order, IsCore::NotSingle).unwrap().into_labels(&order);
        // Positions 2, 4, 5 are points 1, 2, 0; positions 0, 3 are points 5, 3.
        assert_eq!(labels.as_slice(), [0, 0, 0, 1, -1, 1]);
        assert_eq!((labels.n_clusters(), labels.n_noise(), labels.sizes()), (2, 1, vec![3, 2]));
    }

    #[test]
    fn unions_commute() {
        let n = 20_000u32;
        let pairs: Vec<(u32, u32)> =
            (0..n).map(|i| (i, i.wrapping_mul(2_654_435_761) % n)).filter(|(i, _)| i % 3 == 0).collect();
        let order: Vec<u32> = (0..n).rev().collect();
        let run = |pairs: &[(u32, u32)]| {
            let forest = UnionFind::new(n as usize);
            for_tasks(pairs.len(), 16, &|range| pairs[range].iter().for_each(|&(a, b)| _ = forest.union(a, b)));
            forest.relabel(&order, IsCore::NotSingle).unwrap().into_labels(&order)
        };
        let expected = run(&pairs);
        let reversed: Vec<_> = pairs.iter().rev().map(|&(a, b)| (b, a)).collect();
        for _ in 0..20 {
            assert_eq!(run(&pairs), expected);
            assert_eq!(run(&reversed), expected);
        }
    }
}
