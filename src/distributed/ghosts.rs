//! The points of other ranks that are near those of this one.
//!
//! In: a domain and a radius. Out: copies, *ghosts*, of all points of other ranks within the radius of a point of this rank, and of a few
//! more: those within it of the box around a cell of points. What is computed of the points is sent along the same way later.
//! Cost: one pass over the points; a point is looked at closely if its cell is near a box of another rank. Memory: what arrives, and 4 bytes
//! for each point that is sent.

use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::distributed::cells::Cells;
use crate::distributed::communicator::{agree, all_gather_v};
use crate::distributed::domain::Domain;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Aabb, Query, Scalar, Space};
use crate::parallel::{list_tasks, map};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;

/// Where points of other ranks may be: their boxes, in the order of the ranks.
pub(super) struct Neighborhood<S, const D: usize> {
    /// Over the boxes of the other ranks.
    tree: Bvh<S, D>,
    /// The rank that each box is of.
    rank_of: Vec<u32>,
    boxes: Vec<Aabb<S, D>>,
    /// The cells of this rank's own points, and the boxes around them.
    cells: Cells,
    own: Vec<Aabb<S, D>>,
    codes: Vec<u64>,
}

/// All that is within a distance of a box.
struct Near<'a, S, const D: usize> {
    bounds: &'a Aabb<S, D>,
    radius2: f64,
}

impl<S: Scalar, const D: usize> Query<S, D> for Near<'_, S, D> {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        space.min_distance2(self.bounds, bounds) <= self.radius2
    }
}

impl<S: Scalar, const D: usize> Neighborhood<S, D> {
    /// Collective.
    pub fn new(domain: &Domain<'_, S, D>) -> Result<Self> {
        let ranks = domain.ranks;
        let codes = domain.codes();
        let cells = Cells::of(&codes, crate::bvh::morton::Grid::<S, D>::BITS, ranks.size());
        let own = cells.boxes(&codes, &domain.points, &domain.space);
        let corners: Vec<[[S; D]; 2]> =
            own.iter().filter(|bounds| bounds.lo[0] <= bounds.hi[0]).map(|bounds| [bounds.lo, bounds.hi]).collect();
        let all: Csr<[[S; D]; 2]> = all_gather_v(ranks, &corners)?;
        let others = (0..ranks.size()).filter(|&rank| rank != ranks.rank());
        let (mut rank_of, mut boxes) = (vec![], vec![]);
        for rank in others {
            for &[lo, hi] in all.of(rank) {
                rank_of.push(rank as u32);
                boxes.push(Aabb { lo, hi });
            }
        }
        let tree = agree(ranks, Bvh::build_in(&boxes, domain.space))?;
        Ok(Self { tree, rank_of, boxes, cells, own, codes })
    }

    /// The points of this rank that are within a distance of a box of each other rank.
    fn near(&self, domain: &Domain<'_, S, D>, radius: f64) -> Vec<Vec<u32>> {
        let Domain { points, space, .. } = domain;
        let radius2 = radius * radius;
        // The boxes near each cell.
        let near: Vec<Vec<u32>> = map(self.own.len(), 1, &|cell| {
            let bounds = &self.own[cell];
            if bounds.lo[0] > bounds.hi[0] {
                return vec![];
            }
            let mut near: Vec<u32> = self.tree.query(Near { bounds, radius2 }).collect();
            near.sort_unstable();
            near
        });
        let pairs = list_tasks(points.len(), TASK, &|range| {
            let mut pairs = vec![];
            for row in range {
                let near = &near[self.cells.at(self.codes[row])];
                if near.is_empty() {
                    continue;
                }
                let point = Aabb::point(space.wrap(points[row]));
                let mut last = u32::MAX;
                for &other in near {
                    let rank = self.rank_of[other as usize];
                    if rank != last && space.min_distance2(&point, &self.boxes[other as usize]) <= radius2 {
                        pairs.push((rank, row as u32));
                        last = rank;
                    }
                }
            }
            pairs
        });
        let mut lists = vec![vec![]; domain.ranks.size()];
        pairs.into_iter().for_each(|(rank, row)| lists[rank as usize].push(row));
        lists
    }
}

/// Points of other ranks.
pub(super) struct Ghosts<S, const D: usize> {
    pub route: Route,
    /// By the ranks they are of, in the order that they have there.
    pub points: Vec<[S; D]>,
}

impl<S: Scalar, const D: usize> Ghosts<S, D> {
    /// Those within a radius. Collective.
    pub fn within(domain: &Domain<'_, S, D>, radius: f64) -> Result<Self> {
        let neighborhood = Neighborhood::new(domain)?;
        let route = Route::of_lists(domain.ranks, &neighborhood.near(domain, radius))?;
        let points = route.send(domain.ranks, &domain.points)?;
        mark("ghosts");
        Ok(Self { route, points })
    }

    /// The rank that each is of.
    pub fn ranks(&self) -> impl Iterator<Item = usize> + '_ {
        self.route.received().iter().enumerate().flat_map(|(rank, &count)| std::iter::repeat_n(rank, count))
    }
}
