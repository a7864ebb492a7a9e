//! The points of a rank together with the points of other ranks that are near them by neighbour count.
//!
//! In: a domain and `k`. Out: a tree over the points of this rank and *ghosts*, copies of points of other ranks.
//! Ghosts are among the `k` nearest neighbours of a point of this rank, or have a point of this rank about as near as
//! their own `k`-th neighbour. Indices in the tree ascend with the global ones, so ties are broken as in one process.
//! The distance from each point to its `k`-th neighbour on its own rank bounds the search. The point is sent, with
//! this bound, to the ranks with a box within it. Each of these sends back copies of the `k` nearest points that it
//! has within the bound. If there are any, it keeps the query point as a ghost.
//! Cost: a search on each rank that a query is sent to; only points near a border are sent. Memory: at most `k`
//! ghosts for each point that is sent. Usually there are far fewer, because neighbouring points share ghosts. If
//! ranks have fewer than `k` points each, each rank gets all points.

use bytemuck::Pod;

use crate::bvh::Bvh;
use crate::bvh::morton::{Grid, curve_order};
use crate::cluster::hop::density::by_index;
use crate::distributed::communicator::agree;
use crate::distributed::domain::Domain;
use crate::distributed::regions::{RankBoxes, by_rank};
use crate::distributed::route::Route;
use crate::distributed::search::nearest::within;
use crate::error::Result;
use crate::geometry::{Aabb, Scalar};
use crate::memory::{filled, zeroed};
use crate::parallel::{map, map_tasks, sort};
use crate::phases::mark;
use crate::search::Nearest;
use crate::search::nearest::kth_distances2;

/// Points per parallel task.
const TASK: usize = 1 << 14;
/// Queries per parallel task.
const QUERIES: usize = 1 << 9;

/// The points of this rank, and ghosts.
pub(super) struct Neighborhood<S, const D: usize> {
    /// The tree over points and ghosts; its indices are ordered like the global ones.
    pub tree: Bvh<S, D>,
    /// The route from the ranks that own points to those where they are ghosts.
    pub route: Route,
    /// The index in the tree of each point of this rank, then of each ghost, in the order in which ghosts arrive.
    pub index: Vec<u32>,
    /// `true` for each index that is a ghost.
    pub is_ghost: Vec<bool>,
    /// The box around the points of all ranks.
    pub bounds: Aabb<S, D>,
}

impl<S: Scalar, const D: usize> Neighborhood<S, D> {
    /// Gathers the `k` nearest neighbours of each point, the point itself included. If `is_mutual`, also gathers
    /// points that have a point of this rank among their `k` nearest, except those whose `k` nearest all coincide
    /// with them. Collective.
    pub fn new(domain: &Domain<'_, S, D>, k: usize, is_mutual: bool) -> Result<Self> {
        let ranks = domain.ranks;
        let tree = agree(ranks, Bvh::build_in(&domain.points, domain.space))?;
        mark("build");
        let regions = RankBoxes::new(domain, &tree)?;
        let bounds = regions.boxes.iter().fold(Aabb::EMPTY, |all, own| all.union(own));
        let kth_distance2_bound = if domain.points.len() < k {
            filled(domain.points.len(), f64::INFINITY)
        } else {
            let found = by_index(tree.order(), &kth_distances2(&tree, k));
            found.into_iter().map(f64::abs).collect()
        };
        mark("search bounds");
        let lists = near(domain, &regions, &tree, &kth_distance2_bound, k, is_mutual)?;
        drop((regions, kth_distance2_bound));
        let route = Route::from_lists(ranks, &lists)?;
        drop(lists);
        let points = route.send(ranks, &domain.points)?;
        let ids = route.send(ranks, &domain.ids)?;
        mark("ghosts");

        let n = domain.points.len();
        let mut order: Vec<(u64, u32)> = domain.ids.iter().chain(&ids).copied().zip(0..).collect();
        drop(ids);
        sort(&mut order);
        let mut index = zeroed(order.len());
        order.iter().zip(0..).for_each(|(&(_, place), at)| index[place as usize] = at);
        let is_ghost = order.iter().map(|&(_, place)| place as usize >= n).collect();
        let tree = if points.is_empty() {
            Ok(tree)
        } else {
            drop(tree);
            // The closure must not capture `domain`: its communicator is not `Sync`.
            let own = &domain.points;
            let all = map(order.len(), TASK, &|at| match order[at].1 as usize {
                place if place < n => own[place],
                place => points[place - n],
            });
            Bvh::build_in(&all, domain.space)
        };
        Ok(Self { tree: agree(ranks, tree)?, route, index, is_ghost, bounds })
    }

    /// Returns a column for the points of this rank and ghosts, by index in the tree. Collective.
    pub fn with_ghosts<T: Pod + Default + Send + Sync>(&self, domain: &Domain<'_, S, D>, own: &[T]) -> Result<Vec<T>> {
        let theirs = self.route.send(domain.ranks, own)?;
        let mut all = filled(self.index.len(), T::default());
        self.index.iter().zip(own.iter().chain(&theirs)).for_each(|(&index, &value)| all[index as usize] = value);
        Ok(all)
    }

    /// Returns the part of a column that belongs to the `n` points of this rank; `column` is by index in the tree.
    pub fn own<T: Copy + Send + Sync>(&self, n: usize, column: &[T]) -> Vec<T> {
        map(n, TASK, &|row| column[self.index[row] as usize])
    }

    /// Reorders a column from indices to tree positions.
    pub fn in_tree_order<T: Copy + Send + Sync>(&self, column: &[T]) -> Vec<T> {
        let order = self.tree.order();
        map(order.len(), TASK, &|at| column[order[at] as usize])
    }
}

/// Returns, for each rank, the points of this rank that are ghosts there. Collective.
fn near<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    regions: &RankBoxes<S, D>,
    tree: &Bvh<S, D>,
    kth_distance2_bound: &[f64],
    k: usize,
    is_mutual: bool,
) -> Result<Vec<Vec<u32>>> {
    let (ranks, own) = (domain.ranks, domain.ranks.rank() as u32);
    let pairs = within(regions, &domain.space, &domain.points, kth_distance2_bound, &|_| own);
    let route = Route::from_lists(ranks, &by_rank(ranks.size(), &pairs))?;
    drop(pairs);
    let points = route.send(ranks, &domain.points)?;
    // Rounded up: the square of the radius is not below the bound.
    let radii = map(kth_distance2_bound.len(), TASK, &|row| kth_distance2_bound[row].sqrt().next_up());
    let radii = route.send(ranks, &radii)?;
    mark("queries sent");

    let mut lists = Vec::with_capacity(ranks.size());
    let mut is_met = Vec::with_capacity(points.len());
    let grid = Grid::over(&tree.bounds());
    for &count in route.received() {
        let range = is_met.len()..is_met.len() + count;
        let (points, radii) = (&points[range.clone()], &radii[range]);
        let order = curve_order(count, &grid, |query| points[query]);
        let found = map_tasks(count, QUERIES, &|range| {
            let (mut all, mut met, mut near) = (vec![], Vec::with_capacity(range.len()), vec![]);
            for &query in &order[range] {
                let query = query as usize;
                tree.nearest_into(points[query], Nearest::new(k).within(radii[query]), &mut near);
                met.push(u8::from(!near.is_empty()));
                all.extend(near.iter().map(|near| near.index));
            }
            // Adjacent queries on the curve share most of their neighbours.
            all.sort_unstable();
            all.dedup();
            (all, met)
        });
        let mut met_here = zeroed::<u8>(count);
        let mut rows = vec![];
        let mut queries = order.iter();
        for (all, met) in found {
            rows.extend(all);
            met.into_iter().zip(&mut queries).for_each(|(met, &query)| met_here[query as usize] = met);
        }
        is_met.extend(met_here);
        lists.push(rows);
    }
    mark("search");
    if is_mutual {
        let is_met = route.answer(ranks, &is_met)?;
        let mut sent = route.rows().iter().zip(is_met);
        for (list, &count) in lists.iter_mut().zip(route.sent()) {
            let of_rank = sent.by_ref().take(count);
            list.extend(
                of_rank.filter(|&(&row, met)| met == 1 && kth_distance2_bound[row as usize] > 0.0).map(|(&row, _)| row),
            );
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    Ok(lists)
}
