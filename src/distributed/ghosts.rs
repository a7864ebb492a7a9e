//! The points of other ranks that are near those of this one.
//!
//! In: a domain and a radius. Out: copies, *ghosts*, of all points of other ranks within the radius of a point of this rank, and of a few
//! more: those within it, along each axis, of the box around a cell of points. What is computed of the points is sent along the same way later.
//! Cost: one pass over the points; a point is looked at closely if its cell is near a box of another rank. Memory: what arrives, and 4 bytes
//! for each point that is sent.

use crate::distributed::domain::Domain;
use crate::distributed::regions::{Near, Regions, by_rank};
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Aabb, Scalar, Space};
use crate::parallel::{list_tasks, map};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;

/// All places along each axis that are within a distance of a box of another rank, about one cell.
struct Reach<const D: usize> {
    rank: u32,
    lo: [f64; D],
    hi: [f64; D],
}

impl<const D: usize> Reach<D> {
    /// Widened, so that no rounding leaves a point out. In a periodic box it is the image that meets the cell; all places, if several do.
    fn new<S: Scalar>(rank: u32, of: &Aabb<S, D>, radius: f64, cell: &Aabb<S, D>, space: &Space<D>) -> Self {
        let mut reach = Self { rank, lo: [f64::NEG_INFINITY; D], hi: [f64::INFINITY; D] };
        for k in 0..D {
            let side = space.period().map_or(0.0, |period| period[k]);
            let [lo, hi, from, to]: [f64; 4] = [of.lo[k].into(), of.hi[k].into(), cell.lo[k].into(), cell.hi[k].into()];
            let slack = 1e-14 * (lo.abs() + hi.abs() + side + radius);
            let [lo, hi] = [lo - radius - slack, hi + radius + slack];
            let images = if side > 0.0 { &[0.0, -side, side][..] } else { &[0.0] };
            let mut met = images.iter().filter(|&shift| lo + shift <= to && from <= hi + shift);
            if let (Some(shift), None) = (met.next(), met.next()) {
                (reach.lo[k], reach.hi[k]) = (lo + shift, hi + shift);
            }
        }
        reach
    }

    fn holds(&self, point: &[f64; D]) -> bool {
        (0..D).all(|k| self.lo[k] <= point[k] && point[k] <= self.hi[k])
    }
}

/// The points of this rank that are within a distance of a box of each other rank, along each axis.
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
    // What is near each cell, by rank.
    let near: Vec<Vec<Reach<D>>> = map(own.len(), 1, &|cell| {
        let bounds = &own[cell];
        if bounds.lo[0] > bounds.hi[0] {
            return vec![];
        }
        let hits = tree.query(Near { bounds, radius2 });
        let mut near: Vec<u32> = hits.filter(|&other| rank_of[other as usize] != rank).collect();
        near.sort_unstable();
        let reach = |&other: &u32| Reach::new(rank_of[other as usize], &boxes[other as usize], radius, bounds, space);
        near.iter().map(reach).collect()
    });
    let pairs = list_tasks(points.len(), TASK, &|range| {
        let mut pairs = vec![];
        for row in range {
            let near = &near[cells.at(codes[row])];
            if near.is_empty() {
                continue;
            }
            let point = space.wrap(points[row]).map(Into::into);
            let mut last = u32::MAX;
            for reach in near {
                if reach.rank != last && reach.holds(&point) {
                    pairs.push((reach.rank, row as u32));
                    last = reach.rank;
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
