//! Ghosts: copies of the points of other ranks that are near points of this rank.
//!
//! In: the tree of each rank's points, the boxes of all ranks, and a radius. Out: copies of all points of other ranks
//! within the radius of a point of this rank. A few more points are copied, because the search tests the boxes of this
//! rank instead of its points. Values computed for the points are sent along the same route later.
//! Cost: a search in the tree for each near box of another rank. Memory: the ghosts, and 4 bytes for each point that
//! is sent.

use crate::bvh::Bvh;
use crate::bvh::traverse::Step;
use crate::distributed::communicator::Communicator;
use crate::distributed::regions::{RankBoxes, by_rank};
use crate::distributed::route::Route;
use crate::distributed::sends::GhostDirection;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::list_tasks;
use crate::phases::mark;
use crate::precompiled::precompiled;

/// Boxes per parallel task.
const TASK: usize = 1 << 4;

/// Copies of points of other ranks.
pub(crate) struct Ghosts<S, const D: usize> {
    pub route: Route,
    /// The points, by rank, in their order on that rank.
    pub points: Vec<[S; D]>,
}

impl<S: Scalar, const D: usize> Ghosts<S, D> {
    /// Gathers the points of other ranks within a radius. `tree` holds this rank's points. Collective.
    pub fn within(
        ranks: &dyn Communicator,
        tree: &Bvh<S, D>,
        regions: &RankBoxes<S, D>,
        radius: f64,
        sends: GhostDirection,
    ) -> Result<Self> {
        let lists = near(ranks.rank(), tree, regions, radius, sends);
        let corners: Vec<[S; D]> = lists.iter().flatten().map(|sent| tree.item(sent.1 as usize).lo).collect();
        let rows = lists.iter().map(|list| list.iter().map(|sent| sent.0).collect()).collect::<Vec<_>>();
        drop(lists);
        let route = Route::from_lists(ranks, &rows)?;
        let points = route.send_packed(ranks, &corners)?;
        mark("ghosts");
        Ok(Self { route, points })
    }

    /// Returns the rank that owns each ghost.
    pub fn ranks(&self) -> impl Iterator<Item = usize> + '_ {
        self.route.received().iter().enumerate().flat_map(|(rank, &count)| std::iter::repeat_n(rank, count))
    }
}

precompiled! {
    /// Returns, for each other rank, the points of a tree within a radius of a box of that rank: the row of each,
    /// ascending, and its position.
    fn near = find_near(
        rank: keep usize, tree: same_ref &Bvh<S, D>, regions: same_ref &RankBoxes<S, D>, radius: keep f64, sends: keep GhostDirection
    ) -> Vec<Vec<(u32, u32)>>
}

fn find_near<S: Scalar, const D: usize>(
    rank: usize,
    tree: &Bvh<S, D>,
    regions: &RankBoxes<S, D>,
    radius: f64,
    sends: GhostDirection,
) -> Vec<Vec<(u32, u32)>> {
    let RankBoxes { boxes, rank_of, counts, .. } = regions;
    let (space, radius2) = (tree.space(), radius * radius);
    let others = match tree.is_empty() {
        true => vec![],
        false => regions.receiver_boxes(rank, sends, &tree.bounds(), space, radius),
    };
    let positions = list_tasks(others.len(), TASK, &|range| {
        let mut positions = vec![];
        for &other in &others[range] {
            let bounds = &boxes[other as usize];
            tree.walk(0..tree.end(), |at, node| {
                if space.min_distance2(&node.bounds, bounds) > radius2 {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    let is_near = |at: &usize| space.min_distance2(&tree.item(*at), bounds) <= radius2;
                    positions.extend(tree.span(at).filter(is_near).map(|at| (rank_of[other as usize], at as u32)));
                }
                Step::Enter
            });
        }
        positions
    });
    let of_rank = |positions: Vec<u32>| {
        let mut sent: Vec<(u32, u32)> = positions.into_iter().map(|at| (tree.order()[at as usize], at)).collect();
        sent.sort_unstable();
        sent.dedup();
        sent
    };
    by_rank(counts.len(), &positions).into_iter().map(of_rank).collect()
}
