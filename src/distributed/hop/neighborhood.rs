//! The points of a rank with all of other ranks that are near them by count.
//!
//! In: a domain and `k`. Out: a tree of the points of this rank and of copies of others, *ghosts*: those among the `k` nearest of a point
//! here, and those that have one here about as near as their own `k`-th. Its indices ascend with the global ones, so that ties are
//! broken as in one process.
//! The `k`-th of each point among those of its own rank bounds how far it must look. With this bound it is sent to the ranks that have a box
//! within it; each of these sends copies of the `k` nearest that it has there, and keeps the point that asked if there is any.
//! Cost: a search on each rank asked; few points ask, those by the border. Memory: at most `k` ghosts for each point that asks, mostly
//! far fewer, for neighbours share theirs; all points on each rank if ranks have fewer than `k` each.

use bytemuck::Pod;

use crate::bvh::Bvh;
use crate::bvh::morton::{Grid, curve_order};
use crate::cluster::hop::density::by_index;
use crate::distributed::communicator::agree;
use crate::distributed::domain::Domain;
use crate::distributed::regions::{Regions, by_rank};
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

/// Points of this rank, with ghosts.
pub(super) struct Neighborhood<S, const D: usize> {
    /// Over both; indices are in the order of the global ones.
    pub tree: Bvh<S, D>,
    /// From the ranks that have the points to those where they are ghosts.
    pub route: Route,
    /// The index of each point of this rank, then of each ghost, in the order in which they arrive.
    pub index: Vec<u32>,
    /// Which indices are ghosts.
    pub is_ghost: Vec<bool>,
    /// The box around the points of all ranks.
    pub bounds: Aabb<S, D>,
}

impl<S: Scalar, const D: usize> Neighborhood<S, D> {
    /// Of the `k` nearest, a point itself counted; if `is_mutual`, also of points that have one of this rank among theirs, but for those whose
    /// `k` are all at their place. Collective.
    pub fn new(domain: &Domain<'_, S, D>, k: usize, is_mutual: bool) -> Result<Self> {
        let ranks = domain.ranks;
        let tree = agree(ranks, Bvh::build_in(&domain.points, domain.space))?;
        mark("build");
        let regions = Regions::new(domain, &tree)?;
        let bounds = regions.boxes.iter().fold(Aabb::EMPTY, |all, own| all.union(own));
        let reach2 = if domain.points.len() < k {
            filled(domain.points.len(), f64::INFINITY)
        } else {
            let found = by_index(tree.order(), &kth_distances2(&tree, k));
            found.into_iter().map(f64::abs).collect()
        };
        mark("bounds of widths");
        let lists = near(domain, &regions, &tree, &reach2, k, is_mutual)?;
        drop((regions, reach2));
        let route = Route::of_lists(ranks, &lists)?;
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
            // What ranks talk through stays on this thread.
            let own = &domain.points;
            let all = map(order.len(), TASK, &|at| match order[at].1 as usize {
                place if place < n => own[place],
                place => points[place - n],
            });
            Bvh::build_in(&all, domain.space)
        };
        Ok(Self { tree: agree(ranks, tree)?, route, index, is_ghost, bounds })
    }

    /// A column of the points of this rank and of ghosts, by their indices in the tree. Collective.
    pub fn with_ghosts<T: Pod + Default + Send + Sync>(&self, domain: &Domain<'_, S, D>, own: &[T]) -> Result<Vec<T>> {
        let theirs = self.route.send(domain.ranks, own)?;
        let mut all = filled(self.index.len(), T::default());
        self.index.iter().zip(own.iter().chain(&theirs)).for_each(|(&index, &value)| all[index as usize] = value);
        Ok(all)
    }

    /// What a column in the order of the tree's indices has of the points of this rank.
    pub fn own<T: Copy + Send + Sync>(&self, n: usize, column: &[T]) -> Vec<T> {
        map(n, TASK, &|row| column[self.index[row] as usize])
    }

    /// A column by indices in the order of the tree.
    pub fn in_tree_order<T: Copy + Send + Sync>(&self, column: &[T]) -> Vec<T> {
        let order = self.tree.order();
        map(order.len(), TASK, &|at| column[order[at] as usize])
    }
}

/// The points of this rank that are ghosts on each other. Collective.
fn near<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    regions: &Regions<S, D>,
    tree: &Bvh<S, D>,
    reach2: &[f64],
    k: usize,
    is_mutual: bool,
) -> Result<Vec<Vec<u32>>> {
    let (ranks, own) = (domain.ranks, domain.ranks.rank() as u32);
    let pairs = within(regions, &domain.space, &domain.points, reach2, &|_| own);
    let route = Route::of_lists(ranks, &by_rank(ranks.size(), &pairs))?;
    drop(pairs);
    let points = route.send(ranks, &domain.points)?;
    // The square of this is not below the bound.
    let radii = map(reach2.len(), TASK, &|row| reach2[row].sqrt().next_up());
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
            // Neighbours on the curve have most in common.
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
            list.extend(of_rank.filter(|&(&row, met)| met == 1 && reach2[row as usize] > 0.0).map(|(&row, _)| row));
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    Ok(lists)
}
