//! Where the points of all ranks are: boxes around parts of them, which every rank knows.
//!
//! In: a domain. Out: a tree over the boxes of all ranks, and how many points each rank has. What is within a distance of a box or a shape
//! may be on the ranks whose boxes are.
//! Cost: one pass over the points; at most about a thousand boxes a rank, on every rank. Source: the tops of trees of Warren and Salmon
//! 1993.

use crate::bvh::Bvh;
use crate::bvh::morton::Grid;
use crate::csr::Csr;
use crate::distributed::cells::Cells;
use crate::distributed::communicator::{agree, all_gather, all_gather_v};
use crate::distributed::domain::Domain;
use crate::error::Result;
use crate::geometry::{Aabb, Query, Scalar, Space};

/// The boxes of all ranks.
pub(super) struct Regions<S, const D: usize> {
    /// Over the boxes.
    pub tree: Bvh<S, D>,
    /// Those of this rank first, then by rank.
    pub boxes: Vec<Aabb<S, D>>,
    /// The rank that each box is of.
    pub rank_of: Vec<u32>,
    /// How many points each rank has.
    pub counts: Vec<u64>,
    /// The cells of this rank's own points, and the box around the points of each.
    pub cells: Cells,
    pub own: Vec<Aabb<S, D>>,
}

impl<S: Scalar, const D: usize> Regions<S, D> {
    /// Of the points of a domain, whose codes are these. Collective.
    pub fn new(domain: &Domain<'_, S, D>, codes: &[u64]) -> Result<Self> {
        let ranks = domain.ranks;
        let cells = Cells::of(codes, Grid::<S, D>::BITS, ranks.size());
        let own = cells.boxes(codes, &domain.points, &domain.space);
        let corners: Vec<[[S; D]; 2]> =
            own.iter().filter(|bounds| bounds.lo[0] <= bounds.hi[0]).map(|bounds| [bounds.lo, bounds.hi]).collect();
        let all: Csr<[[S; D]; 2]> = all_gather_v(ranks, &corners)?;
        let counts = all_gather(ranks, domain.points.len() as u64)?;
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
        Ok(Self { tree, boxes, rank_of, counts, cells, own })
    }
}

/// All that is within a distance of a box.
pub(super) struct Near<'a, S, const D: usize> {
    pub bounds: &'a Aabb<S, D>,
    pub radius2: f64,
}

impl<S: Scalar, const D: usize> Query<S, D> for Near<'_, S, D> {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        space.min_distance2(self.bounds, bounds) <= self.radius2
    }
}

/// The rows for each rank, of pairs of a rank and a row.
pub(super) fn by_rank(size: usize, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut lists = vec![vec![]; size];
    pairs.iter().for_each(|&(rank, row)| lists[rank as usize].push(row));
    lists
}
