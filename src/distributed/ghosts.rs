//! The points of other ranks that are near those of this one.
//!
//! In: a domain, the tree of each rank's points, and a radius. Out: copies, *ghosts*, of all points of other ranks within the radius of a
//! point of this rank, and of a few more: those within it of a box that holds such points. What is computed of the points is sent along the
//! same way later.
//! Cost: a search in the tree for each near box of another rank. Memory: what arrives, and 4 bytes for each point that is sent.

use crate::bvh::Bvh;
use crate::distributed::domain::Domain;
use crate::distributed::regions::{Near, Regions, by_rank};
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::list_tasks;
use crate::phases::mark;

/// Boxes per parallel task.
const TASK: usize = 1 << 4;

/// Which of two ranks sends its points to the other.
#[derive(Clone, Copy)]
pub(super) enum Sends {
    /// Both: each has ghosts of the other.
    Both,
    /// One, where it is enough that one of them meets each pair. Each rank is it for about half of the others.
    One,
}

impl Sends {
    fn is_from(self, rank: usize, to: usize) -> bool {
        match self {
            _ if rank == to => false,
            Self::Both => true,
            Self::One => (rank < to) != ((rank ^ to) & 1 == 1),
        }
    }
}

/// Points of other ranks.
pub(super) struct Ghosts<S, const D: usize> {
    pub route: Route,
    /// By the ranks they are of, in the order that they have there.
    pub points: Vec<[S; D]>,
}

impl<S: Scalar, const D: usize> Ghosts<S, D> {
    /// Those within a radius; `tree` is that of this rank's points. Collective.
    pub fn within(
        domain: &Domain<'_, S, D>,
        (tree, regions): (&Bvh<S, D>, &Regions<S, D>),
        radius: f64,
        sends: Sends,
    ) -> Result<Self> {
        let lists = near(domain.ranks.rank(), (tree, regions), radius, sends);
        let route = Route::of_lists(domain.ranks, &lists)?;
        drop(lists);
        let points = route.send(domain.ranks, &domain.points)?;
        mark("ghosts");
        Ok(Self { route, points })
    }

    /// The rank that each is of.
    pub fn ranks(&self) -> impl Iterator<Item = usize> + '_ {
        self.route.received().iter().enumerate().flat_map(|(rank, &count)| std::iter::repeat_n(rank, count))
    }
}

/// The points of a tree that are within a radius of a box of each other rank, ascending.
fn near<S: Scalar, const D: usize>(
    rank: usize,
    (tree, regions): (&Bvh<S, D>, &Regions<S, D>),
    radius: f64,
    sends: Sends,
) -> Vec<Vec<u32>> {
    let Regions { tree: tops, boxes, rank_of, counts } = regions;
    let radius2 = radius * radius;
    let to = |other: u32| rank_of[other as usize] as usize;
    let mut others = vec![];
    if !tree.is_empty() {
        let all = Near { bounds: &tree.bounds(), radius2 };
        others.extend(tops.query(all).filter(|&other| sends.is_from(rank, to(other))));
    }
    others.sort_unstable();
    let pairs = list_tasks(others.len(), TASK, &|range| {
        let rows = |&other: &u32| {
            let near = tree.query(Near { bounds: &boxes[other as usize], radius2 });
            near.map(move |row| (rank_of[other as usize], row))
        };
        others[range].iter().flat_map(rows).collect()
    });
    let mut lists = by_rank(counts.len(), &pairs);
    for rows in &mut lists {
        rows.sort_unstable();
        rows.dedup();
    }
    lists
}
