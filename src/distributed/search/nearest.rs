//! k-nearest-neighbour searches across ranks.
//!
//! In: query points, or all stored points. Out: neighbours, nearest first, ties by global index.
//! A query is first sent to the rank with the nearest box, if possible among ranks with at least k points. The
//! distance to the k-th neighbour found there bounds the second round: the query is sent to all other ranks with a
//! box within the bound. Stored points are already on the rank of the first round.
//! Cost: that of each search on one rank; few queries are sent to several ranks. Memory: 16 bytes per neighbour, for
//! the neighbours found by each rank that a query was sent to.

use crate::bvh::morton::{Grid, curve_order};
use crate::csr::{Csr, CsrChunk};
use crate::distributed::communicator::{agree, check_same_options, starts};
use crate::distributed::regions::{BoxDistanceQuery, RankBoxes, by_rank};
use crate::distributed::route::Route;
use crate::distributed::search::Bvh;
use crate::error::Result;
use crate::geometry::{Aabb, Scalar, Space};
use crate::memory::filled;
use crate::parallel::{list_tasks, map, map_tasks};
use crate::phases::mark;
use crate::search::Nearest;
use crate::search::nearest::Excluded;

/// Queries per parallel task.
const TASK: usize = 1 << 9;

/// No rank, or no point.
const NONE: u32 = u32::MAX;

/// A point of any rank near a query: its global index and its squared distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbor {
    /// The global index of the point.
    pub index: u64,
    /// The squared distance, as [`Space::distance2`](crate::geometry::Space::distance2) computes it from the stored
    /// coordinates.
    pub distance2: f64,
}

/// The bits of a squared distance, which are ordered like the number, and the global index. Ascending order breaks
/// ties by index.
type DistanceKey = [u64; 2];

fn neighbors(found: &Csr<DistanceKey>) -> Csr<Neighbor> {
    found.of_values(&|[distance2, index]| Neighbor { index, distance2: f64::from_bits(distance2) })
}

/// Query points and options of a search.
struct QueryBatch<'q, S, const D: usize> {
    points: &'q [[S; D]],
    /// The global index that is excluded for each query point, if each excludes its own.
    own: Option<&'q [u64]>,
    wanted: &'q Nearest,
}

impl<S: Scalar, const D: usize> Bvh<'_, S, D> {
    /// Finds the nearest points of all ranks for each of this rank's queries, nearest first, ties by global index.
    ///
    /// `wanted` is `k` or a [`Nearest`], whose indices are global ones. [`Nearest::excluding_self`] excludes the
    /// point whose global index equals the query's number among the queries of all ranks: the query itself, if the
    /// queries are the points that ranks passed in. A query point that is not finite has no neighbours.
    ///
    /// ```
    /// use ropewalk::{Nearest, distributed::{Bvh, Communicator, on_threads}};
    ///
    /// let near = on_threads(4, |ranks| {
    ///     let points = [[ranks.rank() as f32]];
    ///     let lists = Bvh::build(ranks, &points)?.nearest_all(&points, Nearest::new(2).excluding_self())?;
    ///     Ok(lists.of(0).iter().map(|near| (near.index, near.distance2)).collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(near[0], [(1, 1.0), (2, 4.0)]);
    /// assert_eq!(near[1], [(0, 1.0), (2, 1.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if `wanted` differs between ranks, or if a rank has ended.
    pub fn nearest_all(&self, points: &[[S; D]], wanted: impl Into<Nearest>) -> Result<Csr<Neighbor>> {
        let ranks = self.domain.ranks;
        let wanted = wanted.into();
        self.check(&wanted)?;
        let starts = starts(ranks, points.len())?;
        // One neighbour may be excluded.
        let k = wanted.k.saturating_add(usize::from(wanted.excluded != Excluded::Nothing));
        let enough = self.boxes_with_k_points(k)?;
        let mut lists = Csr::default();
        self.in_batches(points.len(), &mut |range| {
            let points = &points[range.clone()];
            let first = starts[ranks.rank()] + range.start as u64;
            let own = (wanted.excluded == Excluded::Own).then(|| (first..first + points.len() as u64).collect());
            let own: Option<Vec<u64>> = own;
            let asked = QueryBatch { points, own: own.as_deref(), wanted: &wanted };
            let first = first_ranks(&self.regions, enough.as_ref(), &asked);
            let pairs: Vec<(u32, u32)> = first.iter().copied().zip(0..).filter(|pair| pair.0 != NONE).collect();
            let route = Route::from_lists(ranks, &by_rank(ranks.size(), &pairs))?;
            let found = self.ask(&route, &asked, None)?;
            let found = Csr::concatenated_by_row(points.len(), route.rows(), &found);
            lists.append(&self.complete(&asked, &|query| first[query], found)?);
            Ok(())
        })?;
        Ok(neighbors(&lists))
    }

    /// Finds the nearest points of all ranks for each point that this rank passed in, in their order. Equals
    /// `nearest_all` with these points as queries.
    ///
    /// ```
    /// use ropewalk::{Nearest, distributed::{Bvh, Communicator, on_threads}};
    ///
    /// let near = on_threads(4, |ranks| {
    ///     let bvh = Bvh::build(ranks, &[[(ranks.rank() as f64).powi(2)]])?;
    ///     Ok(bvh.nearest_neighbors(Nearest::new(1).excluding_self())?.of(0)[0].index)
    /// })?;
    /// assert_eq!(near, [1, 0, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::nearest_all`]. Also fails if memory for `k` neighbours per point cannot be allocated.
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Csr<Neighbor>> {
        let ranks = self.domain.ranks;
        let wanted = wanted.into();
        self.check(&wanted)?;
        let (ids, points) = (&self.domain.ids, &self.domain.points);
        let here = Nearest { excluded: excluded_here(&wanted, ids), ..wanted };
        let near = agree(ranks, self.tree.try_nearest_neighbors(here))?;
        mark("search");
        let mut found = near.of_values(&|near| [near.distance2.to_bits(), ids[near.index as usize]]);
        drop(near);
        let rows = self.border_points(&|row| bound(&wanted, found.of(row as usize)));
        mark("points near other ranks");
        let rank = ranks.rank() as u32;
        self.in_batches(rows.len(), &mut |range| {
            let rows = &rows[range];
            let points: Vec<[S; D]> = rows.iter().map(|&row| points[row as usize]).collect();
            let own: Vec<u64> = rows.iter().map(|&row| ids[row as usize]).collect();
            let own = (wanted.excluded == Excluded::Own).then_some(&own[..]);
            let asked = QueryBatch { points: &points, own, wanted: &wanted };
            let completed = self.complete(&asked, &|_| rank, found.selected(rows))?;
            found.replace(rows, &completed);
            Ok(())
        })?;
        let lists = neighbors(&self.domain.home.send_back_lists(ranks, &found)?);
        mark("results sent back");
        Ok(lists)
    }

    /// Returns the points of this rank's region that may need neighbours of other ranks, ascending. These are the
    /// points of leaves with a box of another rank within the maximum bound of the leaf's points.
    fn border_points(&self, bound: &(dyn Fn(u32) -> f64 + Sync)) -> Vec<u32> {
        let (tree, rank) = (&self.tree, self.domain.ranks.rank() as u32);
        let RankBoxes { tree: tops, rank_of, .. } = &self.regions;
        let mut rows = list_tasks(tree.end(), TASK, &|nodes| {
            let of_leaf = |leaf: usize| &tree.order()[tree.span(leaf)];
            let asks = |&leaf: &usize| {
                let radius2 = of_leaf(leaf).iter().map(|&row| bound(row)).fold(-1.0, f64::max);
                let mut near = tops.query(BoxDistanceQuery { bounds: &tree.node(leaf).bounds, radius2 });
                near.any(|other| rank_of[other as usize] != rank)
            };
            nodes.filter(|&at| tree.is_leaf(at)).filter(asks).flat_map(of_leaf).copied().collect()
        });
        rows.sort_unstable();
        rows
    }

    /// Fails unless all ranks have the same options. Collective.
    fn check(&self, wanted: &Nearest) -> Result<()> {
        let excluded = match wanted.excluded {
            Excluded::Nothing => -1.0,
            Excluded::Own => -2.0,
            Excluded::Index(index) => f64::from(index),
        };
        let options = [("k", wanted.k as f64), ("radius", wanted.radius), ("excluded", excluded)];
        check_same_options(self.domain.ranks, &options)
    }

    /// Returns the boxes of the ranks with at least `k` points; `None` if these are all boxes or none. Collective.
    fn boxes_with_k_points(&self, k: usize) -> Result<Option<Boxes<S, D>>> {
        let RankBoxes { boxes, rank_of, counts, .. } = &self.regions;
        let has = |&at: &usize| counts[rank_of[at] as usize] >= k as u64;
        let enough: Vec<usize> = (0..boxes.len()).filter(has).collect();
        if enough.is_empty() || enough.len() == boxes.len() {
            return Ok(None);
        }
        let boxes: Vec<Aabb<S, D>> = enough.iter().map(|&at| boxes[at]).collect();
        let tree = agree(self.domain.ranks, crate::Bvh::build_in(&boxes, self.domain.space))?;
        Ok(Some(Boxes { tree, rank_of: enough.iter().map(|&at| rank_of[at]).collect() }))
    }

    /// Sends queries along a route and returns the nearest points of the ranks that they are sent to: a list for each
    /// row of the route, in order. `radii` holds a radius for each query, if given. Collective.
    fn ask(&self, route: &Route, asked: &QueryBatch<'_, S, D>, radii: Option<&[f64]>) -> Result<Csr<DistanceKey>> {
        let ranks = self.domain.ranks;
        let points = route.send(ranks, asked.points)?;
        let own = asked.own.map(|own| route.send(ranks, own)).transpose()?;
        let radii = radii.map(|radii| route.send(ranks, radii)).transpose()?;
        mark("queries sent");
        let found = search(&self.tree, &self.domain.ids, &points, asked.wanted, &|query| {
            let radius = radii.as_ref().map_or(asked.wanted.radius, |radii| radii[query]);
            (radius, own.as_ref().map(|own| own[query]))
        });
        mark("search");
        route.answer_lists(ranks, &found)
    }

    /// Completes `found`, the result on the first rank of each query, by searches on all other ranks that may have
    /// nearer points. Collective.
    fn complete(
        &self,
        asked: &QueryBatch<'_, S, D>,
        first: &(dyn Fn(usize) -> u32 + Sync),
        mut found: Csr<DistanceKey>,
    ) -> Result<Csr<DistanceKey>> {
        let (ranks, n, k) = (self.domain.ranks, asked.points.len(), asked.wanted.k);
        let bounds = map(n, TASK, &|query| bound(asked.wanted, found.of(query)));
        let pairs = within(&self.regions, &self.domain.space, asked.points, &bounds, first);
        let route = Route::from_lists(ranks, &by_rank(ranks.size(), &pairs))?;
        // Rounded up: the square of the radius is not below the bound.
        let radii = map(n, TASK, &|query| bounds[query].max(0.0).sqrt().next_up().min(asked.wanted.radius));
        let more = self.ask(&route, asked, Some(&radii))?;
        if more.is_empty() {
            return Ok(found);
        }
        let rows: Vec<u32> = (0..n as u32).chain(route.rows().iter().copied()).collect();
        found.append(&more);
        drop(more);
        let found = Csr::concatenated_by_row(n, &rows, &found).sorted();
        Ok(found.sublists(&|_, list| 0..list.len().min(k)))
    }
}

/// Returns the squared distance within which another point may be among the `k` nearest, given those found so far;
/// negative if no point may.
fn bound(wanted: &Nearest, found: &[DistanceKey]) -> f64 {
    if wanted.k == 0 || wanted.radius.is_nan() || wanted.radius < 0.0 {
        return -1.0;
    }
    found.get(wanted.k - 1).map_or(wanted.radius * wanted.radius, |kth| f64::from_bits(kth[0]))
}

/// Boxes, and the rank of each.
struct Boxes<S, const D: usize> {
    tree: crate::Bvh<S, D>,
    rank_of: Vec<u32>,
}

/// Translates the exclusion from global indices to those of a rank with these points.
fn excluded_here(wanted: &Nearest, ids: &[u64]) -> Excluded {
    match wanted.excluded {
        Excluded::Index(index) => row_of(ids, u64::from(index)),
        excluded => excluded,
    }
}

fn row_of(ids: &[u64], id: u64) -> Excluded {
    ids.binary_search(&id).map_or(Excluded::Nothing, |row| Excluded::Index(row as u32))
}

/// Returns the rank with the box nearest to each query, [`NONE`] if no box is within the radius.
fn first_ranks<S: Scalar, const D: usize>(
    regions: &RankBoxes<S, D>,
    enough: Option<&Boxes<S, D>>,
    asked: &QueryBatch<'_, S, D>,
) -> Vec<u32> {
    let (tree, rank_of) = enough.map_or((&regions.tree, &regions.rank_of), |enough| (&enough.tree, &enough.rank_of));
    let one = Nearest { k: asked.wanted.k.min(1), radius: asked.wanted.radius, excluded: Excluded::Nothing };
    let ranks = map_tasks(asked.points.len(), TASK, &|range| {
        let mut found = vec![];
        let of = |&point: &[S; D]| {
            tree.nearest_into(point, one, &mut found);
            found.first().map_or(NONE, |near| rank_of[near.index as usize])
        };
        asked.points[range].iter().map(of).collect::<Vec<u32>>()
    });
    ranks.concat()
}

/// Returns pairs of a rank and a query: the ranks, except the query's first one, with a box within the query's bound,
/// a squared distance.
pub(in crate::distributed) fn within<S: Scalar, const D: usize>(
    regions: &RankBoxes<S, D>,
    space: &Space<D>,
    points: &[[S; D]],
    bounds: &[f64],
    first: &(dyn Fn(usize) -> u32 + Sync),
) -> Vec<(u32, u32)> {
    let RankBoxes { tree, rank_of, counts, .. } = regions;
    let with_points = counts.iter().filter(|&&count| count > 0).count();
    list_tasks(points.len(), TASK, &|range| {
        let mut pairs = vec![];
        // The last query that was paired with each rank.
        let mut last = filled(counts.len(), usize::MAX);
        for query in range {
            let point = Aabb::point(space.wrap(points[query]));
            if bounds[query] < 0.0 || !point.is_finite() {
                continue;
            }
            let mut others = with_points;
            if first(query) != NONE {
                last[first(query) as usize] = query;
                others = others.saturating_sub(1);
            }
            let mut hits = tree.query(BoxDistanceQuery { bounds: &point, radius2: bounds[query] });
            while others > 0
                && let Some(hit) = hits.next()
            {
                let rank = rank_of[hit as usize];
                if last[rank as usize] != query {
                    last[rank as usize] = query;
                    pairs.push((rank, query as u32));
                    others -= 1;
                }
            }
        }
        pairs
    })
}

/// Finds the nearest points in one rank's tree, whose points have the global indices `ids`. `of` returns the radius
/// of a query, and the index that it excludes.
fn search<S: Scalar, const D: usize>(
    tree: &crate::Bvh<S, D>,
    ids: &[u64],
    points: &[[S; D]],
    wanted: &Nearest,
    of: &(dyn Fn(usize) -> (f64, Option<u64>) + Sync),
) -> Csr<DistanceKey> {
    let here = excluded_here(wanted, ids);
    let order = curve_order(points.len(), &Grid::over(&tree.bounds()), |query| points[query]);
    let chunks = map_tasks(order.len(), TASK, &|range| {
        let mut chunk = CsrChunk::default();
        let mut found = vec![];
        for &query in &order[range] {
            let (radius, own) = of(query as usize);
            let excluded = own.map_or(here, |own| row_of(ids, own));
            tree.nearest_into(points[query as usize], Nearest { k: wanted.k, radius, excluded }, &mut found);
            chunk.values.extend(found.iter().map(|near| [near.distance2.to_bits(), ids[near.index as usize]]));
            chunk.lengths.push(found.len() as u32);
        }
        chunk
    });
    Csr::gather(&order, &chunks)
}
