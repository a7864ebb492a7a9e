//! Radius and box queries across ranks.

use std::ops::ControlFlow;

use crate::csr::Csr;
use crate::distributed::communicator::starts;
use crate::distributed::regions::{RankBoxes, by_rank};
use crate::distributed::route::Route;
use crate::distributed::search::Bvh;
use crate::distributed::search::portable::{Portable, send};
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::{filled, zeroed};
use crate::parallel::list_tasks;
use crate::phases::mark;

/// Queries per parallel task.
const TASK: usize = 1 << 9;

/// A query and one of its hits: the argument of the callback of [`Bvh::for_each_hit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<'q, Q, S, const D: usize> {
    /// The query that hits the point.
    pub query: &'q Q,
    /// The number of the query among those of all ranks: its index on its rank plus the number of queries of lower
    /// ranks.
    pub number: u64,
    /// The global index of the point.
    pub index: u64,
    /// The index in [`Domain::points`](crate::distributed::Domain::points) of the rank that has the point.
    pub row: u32,
    /// The coordinates of the point, as passed in.
    pub position: [S; D],
}

impl<S: Scalar, const D: usize> Bvh<'_, S, D> {
    /// Finds the points of all ranks in each sphere or box, boundary included. Returns global indices in ascending
    /// order.
    ///
    /// ```
    /// use ropewalk::{Aabb, distributed::{Bvh, Communicator, on_threads}};
    ///
    /// let lists = on_threads(2, |ranks| {
    ///     // Each rank has two of the four points; only rank 0 has queries.
    ///     let bvh = Bvh::build(ranks, &[[ranks.rank() as f64], [ranks.rank() as f64 + 10.0]])?;
    ///     let asked = [Aabb::new([0.5], [10.0]), Aabb::new([50.0], [60.0])];
    ///     bvh.query_all(if ranks.rank() == 0 { &asked } else { &[] })
    /// })?;
    /// assert_eq!((lists[0].of(0), lists[0].of(1).len(), lists[1].len()), (&[1, 2][..], 0, 0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn query_all<Q: Portable<S, D>>(&self, queries: &[Q]) -> Result<Csr<u64>> {
        let ranks = self.domain.ranks;
        let mut lists = Csr::default();
        self.in_batches(queries.len(), &mut |range| {
            let (route, arrived) = self.send(&queries[range.clone()])?;
            let hits = self.global(&self.tree.query_all(&arrived));
            mark("search");
            let answers = route.answer_lists(ranks, &hits)?;
            lists.append(&Csr::concatenated_by_row(range.len(), route.rows(), &answers).sorted());
            mark("results sent back");
            Ok(())
        })?;
        Ok(lists)
    }

    /// Counts the points of all ranks in each sphere or box, boundary included.
    ///
    /// ```
    /// use ropewalk::{Sphere, distributed::{Bvh, Communicator, on_threads}};
    ///
    /// let counts = on_threads(3, |ranks| {
    ///     let bvh = Bvh::build(ranks, &[[ranks.rank() as f32, 0.0]])?;
    ///     bvh.count_all(&[Sphere::new([0.0, 0.0], ranks.rank() as f64)])
    /// })?;
    /// assert_eq!(counts, [[1], [2], [3]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn count_all<Q: Portable<S, D>>(&self, queries: &[Q]) -> Result<Vec<u64>> {
        let mut counts = zeroed(queries.len());
        self.in_batches(queries.len(), &mut |range| {
            let (route, arrived) = self.send(&queries[range.clone()])?;
            let answers = route.answer(self.domain.ranks, &self.tree.count_all(&arrived))?;
            for (&row, count) in route.rows().iter().zip(answers) {
                counts[range.start + row as usize] += u64::from(count);
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Calls `visit` with each hit of each query, on the rank that has the point, in parallel over queries. `Break`
    /// ends the search for that query on that rank.
    ///
    /// Nothing is stored or sent back; `visit` accumulates results on its own rank. [`Hit::number`] identifies the
    /// query among those of all ranks.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use ropewalk::{Sphere, distributed::{Bvh, Communicator, Reduction, on_threads}};
    ///
    /// // The sum of the indices of all points within 1 of a query; only rank 3 has a query.
    /// let sums = on_threads(4, |ranks| {
    ///     let bvh = Bvh::build(ranks, &[[ranks.rank() as f32]])?;
    ///     let ball = [Sphere::new([1.0f32], 1.0)];
    ///     let sum = AtomicU64::new(0);
    ///     bvh.for_each_hit(if ranks.rank() == 3 { &ball } else { &[] }, |hit| {
    ///         sum.fetch_add(hit.index, Ordering::Relaxed);
    ///         ControlFlow::Continue(())
    ///     })?;
    ///     let mut all = [sum.into_inner()];
    ///     ranks.all_reduce(&mut all, Reduction::Sum)?;
    ///     Ok(all[0])
    /// })?;
    /// assert_eq!(sums, [3; 4]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn for_each_hit<Q: Portable<S, D>>(
        &self,
        queries: &[Q],
        visit: impl Fn(Hit<'_, Q, S, D>) -> ControlFlow<()> + Sync,
    ) -> Result<()> {
        let ranks = self.domain.ranks;
        let (ids, points) = (&self.domain.ids, &self.domain.points);
        let starts = starts(ranks, queries.len())?;
        self.in_batches(queries.len(), &mut |range| {
            let first = starts[ranks.rank()] + range.start as u64;
            let (route, arrived) = self.send(&queries[range.clone()])?;
            let numbers: Vec<u64> = (first..first + range.len() as u64).collect();
            let numbers = route.send(ranks, &numbers)?;
            self.tree.for_each_hit(&arrived, |query, row| {
                let (index, position) = (ids[row as usize], points[row as usize]);
                visit(Hit { query: &arrived[query], number: numbers[query], index, row, position })
            });
            Ok(())
        })
    }

    /// Sends each query to the ranks with a box that it meets. Returns the route, and the queries that arrive.
    /// Collective.
    pub(super) fn send<Q: Portable<S, D>>(&self, queries: &[Q]) -> Result<(Route, Vec<Q>)> {
        let ranks = self.domain.ranks;
        let pairs = rank_query_pairs(&self.regions, queries);
        let route = Route::from_lists(ranks, &by_rank(ranks.size(), &pairs))?;
        let arrived = send(ranks, &route, queries)?;
        mark("queries sent");
        Ok((route, arrived))
    }
}

/// Returns pairs of a rank and a query whose sphere or box meets a box of the rank.
fn rank_query_pairs<S: Scalar, Q: Portable<S, D>, const D: usize>(
    regions: &RankBoxes<S, D>,
    queries: &[Q],
) -> Vec<(u32, u32)> {
    let RankBoxes { tree, rank_of, counts, .. } = regions;
    let with_points = counts.iter().filter(|&&count| count > 0).count();
    list_tasks(queries.len(), TASK, &|range| {
        let mut pairs = vec![];
        // The last query that was paired with each rank.
        let mut last = filled(counts.len(), usize::MAX);
        for query in range {
            let start = pairs.len();
            let mut hits = tree.query(queries[query]);
            while pairs.len() - start < with_points
                && let Some(hit) = hits.next()
            {
                let rank = rank_of[hit as usize];
                if last[rank as usize] != query {
                    last[rank as usize] = query;
                    pairs.push((rank, query as u32));
                }
            }
        }
        pairs
    })
}
