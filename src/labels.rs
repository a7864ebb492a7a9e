//! Which points belong together: a concurrent union-find, and the labels it flattens into.
//!
//! In: pairs, from any number of threads. Out: a cluster number per point, numbered by the smallest member.
//! Cost: 4 bytes a point for the forest, 8 more while it is flattened. Source: Jaiganesh and Burtscher 2018 (ECL-CC), for
//! intermediate pointer jumping and hooking the larger root to the smaller by compare-and-swap.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Kind, Result};

/// No point; no cluster.
const NONE: u32 = u32::MAX;
/// Points per parallel task.
const TASK: usize = 1 << 15;
/// Labels are `i32`, and negative for no cluster.
const MOST_CLUSTERS: usize = i32::MAX as usize;

/// Refuses more clusters than labels can tell apart, before they are numbered.
pub(crate) fn check_clusters(clusters: usize) -> Result<()> {
    if clusters > MOST_CLUSTERS {
        return Err(Kind::TooManyClusters { clusters, max: MOST_CLUSTERS }.into());
    }
    Ok(())
}

/// A forest over positions. Roots are the smallest position of their tree, whatever the order of the unions.
pub(crate) struct UnionFind {
    parent: Vec<AtomicU32>,
}

impl UnionFind {
    pub fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).into_par_iter().with_min_len(TASK).map(AtomicU32::new).collect() }
    }

    /// The forest of these parents, each at most the position itself.
    pub fn of(parent: Vec<AtomicU32>) -> Self {
        Self { parent }
    }

    /// The root, with every node on the way made to point to its grandparent.
    ///
    /// Relaxed suffices throughout: a parent is always smaller and in the same tree, also when it is stale.
    #[inline]
    pub fn find(&self, mut at: u32) -> u32 {
        let mut parent = self.parent[at as usize].load(Relaxed);
        while parent != at {
            let grandparent = self.parent[parent as usize].load(Relaxed);
            if grandparent != parent {
                self.parent[at as usize].store(grandparent, Relaxed);
            }
            (at, parent) = (parent, grandparent);
        }
        at
    }

    /// Joins two trees and returns their root.
    #[inline]
    pub fn union(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (self.find(a), self.find(b));
        while a != b {
            if a > b {
                (a, b) = (b, a);
            }
            match self.parent[b as usize].compare_exchange(b, a, Relaxed, Relaxed) {
                Ok(_) => return a,
                // Someone else hooked `b` meanwhile.
                Err(_) => b = self.find(b),
            }
            a = self.find(a);
        }
        a
    }

    /// Numbers the trees by their smallest member. `belongs(position, root)` says whether a position makes its tree a
    /// cluster; trees without any such position are none. `order` gives each position's index.
    ///
    /// Errors: more clusters than labels can tell apart.
    pub fn number(self, order: &[u32], belongs: impl Fn(u32, u32) -> bool + Sync) -> Result<Numbered> {
        let n = order.len();
        let smallest: Vec<AtomicU32> =
            (0..n).into_par_iter().with_min_len(TASK).map(|_| AtomicU32::new(NONE)).collect();
        (0..n as u32).into_par_iter().with_min_len(TASK).for_each(|at| {
            let root = self.find(at);
            if belongs(at, root) {
                let member = order[at as usize].min(order[root as usize]);
                // Most members are not the smallest: look before writing.
                let slot = &smallest[root as usize];
                if member < slot.load(Relaxed) {
                    slot.fetch_min(member, Relaxed);
                }
            }
        });
        let leaders = Ranks::of(n, smallest.par_iter().with_min_len(TASK).map(|smallest| smallest.load(Relaxed)));
        check_clusters(leaders.count as usize)?;
        Ok(Numbered { forest: self, smallest, leaders })
    }
}

/// Trees with their numbers.
pub(crate) struct Numbered {
    forest: UnionFind,
    /// The smallest member of each tree, at its root.
    smallest: Vec<AtomicU32>,
    leaders: Ranks,
}

impl Numbered {
    /// The number of a position's tree, if that is a cluster; below 2^31.
    #[inline]
    pub fn of(&self, at: u32) -> Option<u32> {
        let smallest = self.smallest[self.forest.find(at) as usize].load(Relaxed);
        (smallest != NONE).then(|| self.leaders.rank(smallest))
    }

    pub fn n_clusters(&self) -> u32 {
        self.leaders.count
    }

    /// Labels in the caller's order, each position labelled as its tree is.
    pub fn into_labels(self, order: &[u32]) -> Labels {
        let labels: Vec<AtomicI32> =
            (0..order.len()).into_par_iter().with_min_len(TASK).map(|_| AtomicI32::new(-1)).collect();
        (0..order.len()).into_par_iter().with_min_len(TASK).for_each(|at| {
            if let Some(number) = self.of(at as u32) {
                labels[order[at] as usize].store(number as i32, Relaxed);
            }
        });
        let labels = labels.into_iter().map(AtomicI32::into_inner).collect();
        Labels { labels, n_clusters: self.n_clusters(), core: None }
    }
}

/// A set of indices that knows how many come before each: a bit per point, so that it fits a cache.
struct Ranks {
    words: Vec<AtomicU64>,
    /// How many come before each word.
    before: Vec<u32>,
    count: u32,
}

impl Ranks {
    /// The set of the indices below `n` among `indices`.
    fn of(n: usize, indices: impl ParallelIterator<Item = u32>) -> Self {
        let words: Vec<AtomicU64> = (0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        indices.for_each(|index| {
            if let Some(word) = words.get(index as usize / 64) {
                word.fetch_or(1 << (index % 64), Relaxed);
            }
        });
        let mut count = 0;
        let before = words
            .iter()
            .map(|word| {
                let before = count;
                count += word.load(Relaxed).count_ones();
                before
            })
            .collect();
        Self { words, before, count }
    }

    /// How many indices of the set are smaller.
    #[inline]
    fn rank(&self, index: u32) -> u32 {
        let word = index as usize / 64;
        let below = (1u64 << (index % 64)) - 1;
        self.before[word] + (self.words[word].load(Relaxed) & below).count_ones()
    }
}

/// A cluster number for each point, or none.
///
/// ```
/// use ropewalk::Fof;
///
/// let halos = Fof::new(0.5).run(&[[0.0f32], [9.0], [0.5], [1.0]])?;
/// let labels = halos.labels();
/// assert_eq!(labels.as_slice(), [0, -1, 0, 0]);
/// assert_eq!((labels.get(1), labels.get(2)), (None, Some(0)));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    labels: Vec<i32>,
    n_clusters: u32,
    /// A bit per point, unless every point with a label is core.
    core: Option<Vec<u64>>,
}

impl Labels {
    /// Labels that come from elsewhere: a cluster number for each point, negative for none (all negative ones become -1).
    /// Numbers are taken as they are, also where some are not used; every point that has one counts as core.
    ///
    /// Errors: a number that is not less than the number of points.
    ///
    /// ```
    /// use ropewalk::{Halos, Labels};
    ///
    /// let labels = Labels::from_slice(&[1, -1, 1, 0])?;
    /// assert_eq!((labels.n_clusters(), labels.get(1)), (2, None));
    /// let halos = Halos::new(labels, 2);
    /// assert_eq!((halos.len(), halos.members(0)), (1, &[0, 2][..]));
    /// assert!(Labels::from_slice(&[0, 2]).unwrap_err().to_string().contains("point 1"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn from_slice(labels: &[i32]) -> Result<Self> {
        let points = labels.len();
        let max = u32::MAX as usize - 1;
        if points > max {
            return Err(Kind::TooMany { n: points, max }.into());
        }
        let too_large = |label: &i32| usize::try_from(*label).is_ok_and(|label| label >= points);
        if let Some(point) = labels.iter().position(too_large) {
            return Err(Kind::Label { point, label: labels[point], points }.into());
        }
        // Whatever is negative stands for none.
        let labels: Vec<i32> = labels.iter().map(|&label| label.max(-1)).collect();
        let n_clusters = labels.iter().map(|&label| (i64::from(label) + 1) as u32).max().unwrap_or(0);
        Ok(Self { labels, n_clusters, core: None })
    }

    pub(crate) fn new(labels: Vec<i32>, n_clusters: u32, core: Vec<u64>) -> Self {
        Self { labels, n_clusters, core: Some(core) }
    }

    /// Labels that were found elsewhere, or copied: see the fields.
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    pub(crate) fn from_parts(labels: Vec<i32>, n_clusters: u32, core: Option<Vec<u64>>) -> Self {
        Self { labels, n_clusters, core }
    }

    /// A bit per point, unless every point with a label is core.
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    pub(crate) fn core(&self) -> Option<&[u64]> {
        self.core.as_deref()
    }

    /// Whether point `i` is core. Every point of a friends-of-friends group is.
    pub fn is_core(&self, i: usize) -> bool {
        match &self.core {
            Some(core) => core.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1),
            None => self.get(i).is_some(),
        }
    }

    /// The cluster of point `i`, if it has one and there is such a point.
    pub fn get(&self, i: usize) -> Option<u32> {
        self.labels.get(i).and_then(|&label| u32::try_from(label).ok())
    }

    /// How many clusters there are; their numbers are `0..n_clusters()`.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters as usize
    }

    /// One label per point in the caller's order, -1 for none: the convention of scikit-learn.
    pub fn as_slice(&self) -> &[i32] {
        &self.labels
    }

    /// How many points have no cluster.
    pub fn n_noise(&self) -> usize {
        self.labels.par_iter().filter(|&&label| label < 0).count()
    }

    /// How many points each cluster has.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_clusters()];
        for label in self.labels.iter().filter(|&&label| label >= 0) {
            sizes[*label as usize] += 1;
        }
        sizes
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
        let labels = forest.number(&order, |at, root| at != root).unwrap().into_labels(&order);
        // Positions 2, 4, 5 are points 1, 2, 0; positions 0, 3 are points 5, 3.
        assert_eq!(labels.as_slice(), [0, 0, 0, 1, -1, 1]);
        assert_eq!((labels.n_clusters(), labels.n_noise(), labels.sizes()), (2, 1, vec![3, 2]));
    }

    #[test]
    fn labels_below_none_are_none() {
        for none in [-1, -2, i32::MIN] {
            let labels = Labels::from_slice(&[0, none, 1]).unwrap();
            assert_eq!((labels.as_slice(), labels.n_clusters(), labels.n_noise()), (&[0, -1, 1][..], 2, 1));
            assert_eq!(Labels::from_slice(&[none; 3]).unwrap().n_clusters(), 0);
        }
    }

    /// More clusters than there are labels are refused by their number alone.
    #[test]
    fn clusters_have_labels() {
        for clusters in [0, 1, i32::MAX as usize] {
            assert!(check_clusters(clusters).is_ok());
        }
        for clusters in [1 << 31, u32::MAX as usize - 1] {
            let message = check_clusters(clusters).unwrap_err().to_string();
            assert!(message.contains(&clusters.to_string()) && message.contains("2147483647"), "{message}");
        }
    }

    #[test]
    fn unions_commute() {
        let n = 20_000u32;
        let pairs: Vec<(u32, u32)> =
            (0..n).map(|i| (i, i.wrapping_mul(2_654_435_761) % n)).filter(|(i, _)| i % 3 == 0).collect();
        let order: Vec<u32> = (0..n).rev().collect();
        let run = |pairs: &[(u32, u32)]| {
            let forest = UnionFind::new(n as usize);
            pairs.par_iter().for_each(|&(a, b)| _ = forest.union(a, b));
            forest.number(&order, |at, root| at != root).unwrap().into_labels(&order)
        };
        let expected = run(&pairs);
        let reversed: Vec<_> = pairs.iter().rev().map(|&(a, b)| (b, a)).collect();
        for _ in 0..20 {
            assert_eq!(run(&pairs), expected);
            assert_eq!(run(&reversed), expected);
        }
    }
}
