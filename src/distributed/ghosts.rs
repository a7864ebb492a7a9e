//! The points of other ranks that are near those of this one.
//!
//! In: a domain and a radius. Out: copies, *ghosts*, of all points of other ranks within the radius of a point of this rank, and of a few
//! more: those within it of the box around a cell of points. What is computed of the points is sent along the same way later.
//! Cost: one pass over the points; a point is looked at closely if its cell is near a box of another rank. Memory: what arrives, and 4 bytes
//! for each point that is sent.

use crate::distributed::domain::Domain;
use crate::distributed::regions::{Near, Regions, by_rank};
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Aabb, Scalar};
use crate::parallel::{list_tasks, map};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;

/// The points of this rank that are within a distance of a box of each other rank.
fn near<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    regions: &Regions<S, D>,
    codes: &[u64],
    radius: f64,
) -> Vec<Vec<u32>> {
    let Domain { points, space, .. } = domain;
    let Regions { tree, boxes, rank_of, cells, own, .. } = regions;
    let (rank, size) = (domain.ranks.rank() as u32, domain.ranks.size());
    let radius2 = radius * radius;
    // The boxes of others near each cell.
    let near: Vec<Vec<u32>> = map(own.len(), 1, &|cell| {
        let bounds = &own[cell];
        if bounds.lo[0] > bounds.hi[0] {
            return vec![];
        }
        let hits = tree.query(Near { bounds, radius2 });
        let mut near: Vec<u32> = hits.filter(|&other| rank_of[other as usize] != rank).collect();
        near.sort_unstable();
        near
    });
    let pairs = list_tasks(points.len(), TASK, &|range| {
        let mut pairs = vec![];
        for row in range {
            let near = &near[cells.at(codes[row])];
            if near.is_empty() {
                continue;
            }
            let point = Aabb::point(space.wrap(points[row]));
            let mut last = u32::MAX;
            for &other in near {
                let rank = rank_of[other as usize];
                if rank != last && space.min_distance2(&point, &boxes[other as usize]) <= radius2 {
                    pairs.push((rank, row as u32));
                    last = rank;
                }
            }
        }
        pairs
    });
    by_rank(size, &pairs)
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
        let codes = domain.codes();
        Self::in_regions(domain, &Regions::new(domain, &codes)?, &codes, radius)
    }

    /// The same, where regions are known. Collective.
    pub fn in_regions(domain: &Domain<'_, S, D>, regions: &Regions<S, D>, codes: &[u64], radius: f64) -> Result<Self> {
        let route = Route::of_lists(domain.ranks, &near(domain, regions, codes, radius))?;
        let points = route.send(domain.ranks, &domain.points)?;
        mark("ghosts");
        Ok(Self { route, points })
    }

    /// The rank that each is of.
    pub fn ranks(&self) -> impl Iterator<Item = usize> + '_ {
        self.route.received().iter().enumerate().flat_map(|(rank, &count)| std::iter::repeat_n(rank, count))
    }
}
