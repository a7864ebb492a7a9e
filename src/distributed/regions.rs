//! Where the points of all ranks are: boxes around parts of them, which every rank knows.
//!
//! In: the tree of each rank's points. Out: a tree over boxes of all ranks, the tops of their trees, and how many points each rank has. What
//! is within a distance of a box or a shape may be on the ranks whose boxes are.
//! Cost: at most about a thousand boxes a rank, on every rank. Source: Warren and Salmon 1993 (tops of all ranks' trees on each).

use std::collections::BinaryHeap;

use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, agree, all_gather, all_gather_v};
use crate::distributed::domain::Domain;
use crate::distributed::sends::Sends;
use crate::error::Result;
use crate::geometry::{Aabb, Query, Scalar, Space};
use crate::phases::mark;

/// Boxes of a rank, at most.
const MOST: usize = 1 << 10;
/// Boxes of all ranks, at most, unless there are more ranks.
const MOST_OF_ALL: usize = 1 << 20;

/// The boxes of all ranks.
pub(crate) struct Regions<S, const D: usize> {
    /// Over the boxes.
    pub tree: Bvh<S, D>,
    /// Those of this rank first, then by rank.
    pub boxes: Vec<Aabb<S, D>>,
    /// The rank that each box is of.
    pub rank_of: Vec<u32>,
    /// How many points each rank has.
    pub counts: Vec<u64>,
}

impl<S: Scalar, const D: usize> Regions<S, D> {
    /// Of a domain, and the tree of this rank's points. Collective.
    pub fn new(domain: &Domain<'_, S, D>, tree: &Bvh<S, D>) -> Result<Self> {
        let tops = tops(tree, most_boxes(domain.ranks));
        Self::of_boxes(domain, tops.into_iter().map(|at| tree.node(at).bounds), tree.len())
    }

    /// The same where the boxes of this rank's `n` points are known, at most [`most_boxes`]. Collective.
    pub fn of_boxes(domain: &Domain<'_, S, D>, own: impl Iterator<Item = Aabb<S, D>>, n: usize) -> Result<Self> {
        let ranks = domain.ranks;
        let corners: Vec<[[S; D]; 2]> = own.map(|bounds| [bounds.lo, bounds.hi]).collect();
        let all: Csr<[[S; D]; 2]> = all_gather_v(ranks, &corners)?;
        let counts = all_gather(ranks, n as u64)?;
        let others = (0..ranks.size()).filter(|&rank| rank != ranks.rank());
        let (mut rank_of, mut boxes) = (vec![], vec![]);
        // Of boxes that are as near, the search takes the first.
        for rank in std::iter::once(ranks.rank()).chain(others) {
            for &[lo, hi] in all.of(rank) {
                rank_of.push(rank as u32);
                boxes.push(Aabb { lo, hi });
            }
        }
        let tree = agree(ranks, Bvh::build_in(&boxes, domain.space))?;
        mark("boxes of all ranks");
        Ok(Self { tree, boxes, rank_of, counts })
    }
}

impl<S: Scalar, const D: usize> Regions<S, D> {
    /// The boxes within a radius of `bounds` that are of ranks to which `rank` sends.
    pub fn asking(&self, rank: usize, sends: Sends, bounds: &Aabb<S, D>, space: &Space<D>, radius: f64) -> Vec<u32> {
        let is_near = |&at: &u32| {
            let to = self.rank_of[at as usize] as usize;
            sends.is_from(rank, to) && space.min_distance2(bounds, &self.boxes[at as usize]) <= radius * radius
        };
        (0..self.boxes.len() as u32).filter(is_near).collect()
    }
}

/// How many boxes a rank has at most.
pub(crate) fn most_boxes(ranks: &dyn Communicator) -> usize {
    (MOST_OF_ALL / ranks.size()).clamp(16, MOST)
}

/// At most so many nodes of a tree that hold all of it, with about as many points each: the fullest is opened until there are enough.
fn tops<S: Scalar, const D: usize>(tree: &Bvh<S, D>, most: usize) -> Vec<usize> {
    let mut open: BinaryHeap<(usize, usize)> = BinaryHeap::new();
    let mut tops = vec![];
    if !tree.is_empty() {
        open.push((tree.len(), 0));
    }
    while let Some((_, at)) = open.pop() {
        if tree.is_leaf(at) || open.len() + tops.len() + 2 > most {
            tops.push(at);
            continue;
        }
        let [left, right] = [at + 1, tree.node(at + 1).rope as usize];
        open.extend([left, right].map(|at| (tree.span(at).len(), at)));
    }
    tops.sort_unstable();
    tops
}

/// All that is within a distance of a box.
pub(crate) struct Near<'a, S, const D: usize> {
    pub bounds: &'a Aabb<S, D>,
    pub radius2: f64,
}

impl<S: Scalar, const D: usize> Query<S, D> for Near<'_, S, D> {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        space.min_distance2(self.bounds, bounds) <= self.radius2
    }
}

/// The rows for each rank, of pairs of a rank and a row.
pub(crate) fn by_rank(size: usize, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut lists = vec![vec![]; size];
    pairs.iter().for_each(|&(rank, row)| lists[rank as usize].push(row));
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_few_and_hold_everything() {
        for n in [0usize, 1, 40, 5000] {
            let points: Vec<[f64; 1]> = (0..n).map(|i| [(i * i % 4099) as f64]).collect();
            let tree = Bvh::build(&points).unwrap();
            for most in [1, 7, 100] {
                let tops = tops(&tree, most);
                assert!(tops.len() <= most);
                assert_eq!(tops.iter().flat_map(|&at| tree.span(at)).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            }
        }
    }
}
