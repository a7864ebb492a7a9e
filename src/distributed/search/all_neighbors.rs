//! Neighbours of all stored points on all ranks, and pairs.
//!
//! In: a radius. Out: lists or counts for the points that a rank passed in, in their order.
//! The tree of a rank finds the neighbours within its region. Points near boxes of other ranks also query a tree of
//! ghosts.
//! Memory: the ghosts, which are all points of other ranks if the radius is as large as a region.

use crate::csr::Csr;
use crate::distributed::communicator::{Reduction, agree, check_same_options, reduce};
use crate::distributed::ghosts::Ghosts;
use crate::distributed::search::Bvh;
use crate::distributed::sends::GhostDirection;
use crate::error::Result;
use crate::geometry::{Scalar, Sphere};
use crate::parallel::list_tasks;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;

/// The points near those of other ranks, with their query balls, and the ghosts that may be in these.
struct BorderPoints<S, const D: usize> {
    ghosts: Ghosts<S, D>,
    /// The points of this rank near a box of another rank, ascending.
    rows: Vec<u32>,
    balls: Vec<Sphere<S, D>>,
}

impl<S: Scalar, const D: usize> Bvh<'_, S, D> {
    /// Counts the points of all ranks within `radius` of each point that this rank passed in, the point itself
    /// included.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, on_threads};
    ///
    /// let counts = on_threads(3, |ranks| Bvh::build(ranks, &[[ranks.rank() as f32]])?.count_neighbors(1.0))?;
    /// assert_eq!(counts, [[2], [3], [2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the radius differs between ranks, or if a rank has ended.
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<Vec<u64>> {
        let radius = radius.into();
        let border = self.border(radius)?;
        let mut counts: Vec<u64> = self.tree.count_neighbors(radius).into_iter().map(u64::from).collect();
        let others = crate::Bvh::build_in(&border.ghosts.points, self.domain.space);
        let others = agree(self.domain.ranks, others)?.count_all(&border.balls);
        border.rows.iter().zip(others).for_each(|(&row, count)| counts[row as usize] += u64::from(count));
        mark("search");
        self.domain.home.send_back(self.domain.ranks, &counts)
    }

    /// Finds the points of all ranks within `radius` of each point that this rank passed in, the point itself
    /// included. Returns global indices in ascending order.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, on_threads};
    ///
    /// let lists = on_threads(3, |ranks| Bvh::build(ranks, &[[ranks.rank() as f32]])?.neighbors(1.0))?;
    /// assert_eq!((lists[0].of(0), lists[1].of(0), lists[2].of(0)), (&[0, 1][..], &[0, 1, 2][..], &[1, 2][..]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::count_neighbors`].
    pub fn neighbors(&self, radius: impl Into<f64>) -> Result<Csr<u64>> {
        let lists = self.lists(radius.into())?;
        self.domain.home.send_back_lists(self.domain.ranks, &lists)
    }

    /// Finds all pairs of points within `radius` of each other (inclusive), each once, as global indices, the lower
    /// one first.
    ///
    /// A pair is returned on the rank that passed in its lower point. Pairs are in ascending order on each rank, and
    /// also if concatenated by rank.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, on_threads};
    ///
    /// let pairs = on_threads(3, |ranks| Bvh::build(ranks, &[[ranks.rank() as f32]])?.pairs(1.0))?;
    /// assert_eq!(pairs.concat(), [[0, 1], [1, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::count_neighbors`].
    pub fn pairs(&self, radius: impl Into<f64>) -> Result<Vec<[u64; 2]>> {
        let (ids, lists) = (&self.domain.ids, self.lists(radius.into())?);
        let behind = lists.sublists(&|row, list| list.partition_point(|&other| other <= ids[row])..list.len());
        drop(lists);
        let behind = self.domain.home.send_back_lists(self.domain.ranks, &behind)?;
        let first = self.domain.own().start;
        Ok(list_tasks(behind.len(), TASK, &|range| {
            range.flat_map(|own| behind.of(own).iter().map(move |&other| [first + own as u64, other])).collect()
        }))
    }

    /// Counts the pairs of points of all ranks within `radius` of each other, each once. All ranks return the same
    /// number.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, on_threads};
    ///
    /// let counts = on_threads(3, |ranks| Bvh::build(ranks, &[[ranks.rank() as f32]])?.count_pairs(1.0))?;
    /// assert_eq!(counts, [2, 2, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::count_neighbors`].
    pub fn count_pairs(&self, radius: impl Into<f64>) -> Result<u64> {
        let ranks = self.domain.ranks;
        let radius = radius.into();
        let BorderPoints { ghosts, balls, .. } = self.border(radius)?;
        // Counts only ghosts of higher ranks, which come last.
        let lower: usize = ghosts.route.received()[..ranks.rank()].iter().sum();
        let others = crate::Bvh::build_in(&ghosts.points[lower..], self.domain.space);
        let others = agree(ranks, others)?.count_all(&balls);
        let own = self.tree.count_pairs(radius) + others.into_iter().map(u64::from).sum::<u64>();
        reduce(ranks, own, Reduction::Sum)
    }

    /// Returns the neighbours of each point of this rank's region, itself included, ascending. Collective.
    fn lists(&self, radius: f64) -> Result<Csr<u64>> {
        let ranks = self.domain.ranks;
        let BorderPoints { ghosts, rows, balls } = self.border(radius)?;
        let ids = ghosts.route.send(ranks, &self.domain.ids)?;
        let mut lists = self.global(&self.tree.neighbors(radius));
        let others = agree(ranks, crate::Bvh::build_in(&ghosts.points, self.domain.space))?;
        if ghosts.points.is_empty() {
            return Ok(lists.sorted());
        }
        lists.append(&others.query_all(&balls).of_values(&|ghost| ids[ghost as usize]));
        let n = self.domain.points.len();
        let rows: Vec<u32> = (0..n as u32).chain(rows).collect();
        let lists = Csr::concatenated_by_row(n, &rows, &lists).sorted();
        mark("search");
        Ok(lists)
    }

    /// Returns the points near other ranks, and their ghosts. Collective.
    fn border(&self, radius: f64) -> Result<BorderPoints<S, D>> {
        check_same_options(self.domain.ranks, &[("radius", radius)])?;
        let ghosts = Ghosts::within(self.domain.ranks, &self.tree, &self.regions, radius, GhostDirection::Both)?;
        // A point near a point of another rank is near a box of that rank.
        let mut rows = ghosts.route.rows().to_vec();
        rows.sort_unstable();
        rows.dedup();
        let balls = rows.iter().map(|&row| Sphere { center: self.domain.points[row as usize], radius }).collect();
        Ok(BorderPoints { ghosts, rows, balls })
    }
}
