//! Boxes around parts of the points of all ranks, known to every rank.
//!
//! In: the tree of each rank's points. Out: a tree over the boxes of all ranks, which are the upper nodes of their
//! trees, and the number of points of each rank. Points within a distance of a box or a shape are only on ranks with
//! a box within that distance.
//! Cost: at most about a thousand boxes per rank, on every rank. Source: Warren and Salmon 1993 (upper nodes of all
//! ranks' trees on each rank).

use std::collections::BinaryHeap;

use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, agree, all_gather, all_gather_v};
use crate::distributed::domain::Domain;
use crate::distributed::sends::GhostDirection;
use crate::error::Result;
use crate::geometry::{Aabb, Query, Scalar, Space};
use crate::phases::mark;

/// The maximum number of boxes of a rank.
const MAX_BOXES_PER_RANK: usize = 1 << 10;
/// The maximum number of boxes of all ranks, unless the minimum of 16 boxes per rank exceeds it.
const MAX_BOXES: usize = 1 << 20;

/// The boxes of all ranks.
pub(crate) struct RankBoxes<S, const D: usize> {
    /// The tree over the boxes.
    pub tree: Bvh<S, D>,
    /// The boxes of this rank, then those of the others by rank.
    pub boxes: Vec<Aabb<S, D>>,
    /// The rank of each box.
    pub rank_of: Vec<u32>,
    /// The number of points of each rank.
    pub counts: Vec<u64>,
}

impl<S: Scalar, const D: usize> RankBoxes<S, D> {
    /// Gathers the boxes of all ranks; `tree` holds this rank's points of the domain. Collective.
    pub fn new(domain: &Domain<'_, S, D>, tree: &Bvh<S, D>) -> Result<Self> {
        let tops = top_nodes(tree, most_boxes(domain.ranks));
        Self::from_boxes(domain, tops.into_iter().map(|at| tree.node(at).bounds), tree.len())
    }

    /// Gathers the boxes of all ranks from `own`, the boxes around this rank's `n` points, at most [`most_boxes`].
    /// Collective.
    pub fn from_boxes(domain: &Domain<'_, S, D>, own: impl Iterator<Item = Aabb<S, D>>, n: usize) -> Result<Self> {
        let ranks = domain.ranks;
        let corners: Vec<[[S; D]; 2]> = own.map(|bounds| [bounds.lo, bounds.hi]).collect();
        let all: Csr<[[S; D]; 2]> = all_gather_v(ranks, &corners)?;
        let counts = all_gather(ranks, n as u64)?;
        let others = (0..ranks.size()).filter(|&rank| rank != ranks.rank());
        let (mut rank_of, mut boxes) = (vec![], vec![]);
        // Among equally near boxes the search takes the first, so this rank's come first.
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

impl<S: Scalar, const D: usize> RankBoxes<S, D> {
    /// Returns the boxes within a radius of `bounds` that belong to ranks to which `rank` sends points.
    pub fn receiver_boxes(
        &self,
        rank: usize,
        sends: GhostDirection,
        bounds: &Aabb<S, D>,
        space: &Space<D>,
        radius: f64,
    ) -> Vec<u32> {
        let is_near = |&at: &u32| {
            let to = self.rank_of[at as usize] as usize;
            sends.is_from(rank, to) && space.min_distance2(bounds, &self.boxes[at as usize]) <= radius * radius
        };
        (0..self.boxes.len() as u32).filter(is_near).collect()
    }
}

/// Returns the maximum number of boxes of a rank.
pub(crate) fn most_boxes(ranks: &dyn Communicator) -> usize {
    (MAX_BOXES / ranks.size()).clamp(16, MAX_BOXES_PER_RANK)
}

/// Returns at most `most` nodes of a tree that together hold all its points, with similar numbers of points each.
/// Repeatedly splits the node with the most points.
pub(crate) fn top_nodes<S: Scalar, const D: usize>(tree: &Bvh<S, D>, most: usize) -> Vec<usize> {
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

/// A query for everything within a distance of a box.
pub(crate) struct BoxDistanceQuery<'a, S, const D: usize> {
    pub bounds: &'a Aabb<S, D>,
    pub radius2: f64,
}

impl<S: Scalar, const D: usize> Query<S, D> for BoxDistanceQuery<'_, S, D> {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        space.min_distance2(self.bounds, bounds) <= self.radius2
    }
}

/// Groups pairs of a rank and a row by rank: returns the rows for each rank.
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
                let tops = top_nodes(&tree, most);
                assert!(tops.len() <= most);
                assert_eq!(tops.iter().flat_map(|&at| tree.span(at)).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            }
        }
    }
}
