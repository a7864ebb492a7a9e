//! Detection of core points.
//!
//! In: a tree, `eps` and `min_samples`. Out: a mark for each point. If `min_samples` is small, also the neighbours of
//! points that are not core, which are fewer than `min_samples`. Points of dense nodes are core without a search
//! (`mark_dense`). For all others, neighbours are counted until there are enough. Cost: 4 bytes per point, and 4
//! (`min_samples` - 1) for lists.

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::connect::is_clique;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::scan::exclusive;

/// The mark of a point without neighbours; the mark of a core point is 1.
pub(super) const ALONE: u32 = 2;
/// The largest `min_samples` for which neighbours are listed, and the maximum number of places in all lists together.
/// Lists take memory for all points.
const LISTED: u32 = 16;
const PLACES: usize = 1 << 30;

/// Core points in tree order.
pub(super) struct CorePoints {
    /// 1 if a point is core, [`ALONE`] if it has no neighbours, otherwise 0.
    pub marks: Buffer<u32>,
    /// The neighbours of points that are not core, if they are listed.
    pub near: Option<Lists>,
}

/// Short lists of neighbours, stored place by place with an entry for each point. [`u32::MAX`] follows the last
/// position of a list.
pub(super) struct Lists {
    pub positions: Buffer<u32>,
    /// The number of places of a list.
    pub width: u32,
}

/// Finds the core points. If `lists`, also lists the neighbours of the other points.
pub(super) fn find_core<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    min_samples: usize,
    dense: bool,
    lists: bool,
) -> CorePoints {
    let (n, end) = (bvh.len(), nodes.end());
    // A point never has `n + 1` neighbours.
    let enough = min_samples.min(n + 1) as u32;
    let filter = FilteredRadius::<S, D>::new(eps, &bvh.space);
    let marks = Buffer::<u32>::filled(client, n, 0);
    mark_dense::launch::<S, R>(
        client,
        blocks_for(end),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        nodes.bounds.arg(),
        nodes.links.arg(),
        Buffer::from_slice(client, &[if dense { filter.certain_limit } else { S::from_f64(-1.0) }]).arg(),
        marks.arg(),
        end as u32,
        enough,
        D,
    );
    let places = n * (enough as usize - 1);
    let fits = enough <= LISTED && places <= PLACES && check_allocation(client, 4 * places as u128).is_ok();
    let lists = lists && fits;
    let width = if lists { enough - 1 } else { 0 };
    let positions = Buffer::<u32>::new(client, n * width as usize);
    // The points of a node that is taken as a whole cannot be listed.
    let mode = if lists { TraversalMode::EachWarpFirst } else { TraversalMode::WholeWarpFirst };
    let limits = || CountLimitsLaunch::new(enough, width, n as u32);
    let found = || CoreOutputLaunch::new(marks.arg(), positions.arg(), lists);
    bvh.walk::<R, CountNeighbors>(client, nodes, eps, mode, limits, found);
    CorePoints { marks, near: lists.then_some(Lists { positions, width }) }
}

/// Returns the number of core points before each point, followed by their total, and a flag for each possible border
/// point. Reduces the marks to those of core points.
pub(super) fn split_core_marks<R: Runtime>(
    client: &ComputeClient<R>,
    core: &Buffer<u32>,
) -> (Buffer<u32>, Buffer<u32>) {
    let n = core.len();
    let (before, candidates) = (Buffer::<u32>::new(client, n + 1), Buffer::<u32>::new(client, n + 1));
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    copy_marks::launch::<R>(client, blocks_for(n + 1), dim, core.arg(), before.arg(), candidates.arg(), n as u32);
    exclusive(client, &before);
    (before, candidates)
}

#[cube(launch)]
fn copy_marks(core: &mut Array<u32>, before: &mut Array<u32>, candidates: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = core[i];
        before[i] = own % ALONE;
        candidates[i] = u32::cast_from(own == 0);
        core[i] = own % ALONE;
    } else if (i as u32) == n {
        before[i] = 0;
        candidates[i] = 0;
    }
}

/// Marks the points of nodes that are cliques of enough points. To mark them once, only nodes without a child of
/// enough points count.
#[cube(launch)]
fn mark_dense<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    sure: &Array<F>,
    core: &mut Array<u32>,
    end: u32,
    enough: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let rope = links[2 * at as usize];
        let first = links[2 * at as usize + 1];
        let behind = links[2 * rope as usize + 1];
        let mut is_dense = behind - first >= enough;
        if is_dense {
            is_dense = is_clique::<F>(bounds, at, sure[0], d);
        }
        if is_dense {
            if rope != at + 1 {
                let right = links[2 * links[2 * (at + 1) as usize] as usize + 1];
                is_dense = right - first < enough && behind - right < enough;
            }
        }
        if is_dense {
            for point in first..behind {
                core[point as usize] = 1;
            }
        }
    }
}

/// The parameters of the search.
#[derive(CubeType, CubeLaunch)]
struct CountLimits {
    enough: u32,
    /// The number of places of a list, and the number of points.
    width: u32,
    n: u32,
}

/// The results for each point.
#[derive(CubeType, CubeLaunch)]
struct CoreOutput {
    marks: Array<u32>,
    near: Array<u32>,
    #[cube(comptime)]
    lists: bool,
}

/// The number of neighbours that a query has found.
#[derive(CubeType)]
struct NeighborCount {
    query: u32,
    found: RuntimeCell<u32>,
}

/// Counts neighbours until there are enough, and lists them.
struct CountNeighbors;

#[cube]
impl LeafVisitor for CountNeighbors {
    type Input = CountLimits;
    type Output = CoreOutput;
    type State = NeighborCount;

    fn start(limits: &Self::Input, output: &mut Self::Output, query: u32) -> Self::State {
        // Marked points have enough neighbours.
        let found = output.marks[query as usize] * limits.enough;
        NeighborCount { query, found: RuntimeCell::<u32>::new(found) }
    }

    fn is_open(state: &Self::State, limits: &Self::Input) -> bool {
        state.found.read() < limits.enough
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        limits: &Self::Input,
        output: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _spec: WalkSpec,
    ) {
        let found = state.found.read();
        if comptime!(output.lists) {
            let mut place = found + 0;
            let mut left = Bits::new(hits.bits);
            while left.any() && place < limits.width {
                let at = place as usize * limits.n as usize + state.query as usize;
                output.near[at] = hits.position(left.pop());
                place += 1;
            }
        }
        state.found.store(found + hits.bits.count_ones());
    }

    fn on_subtree(state: &Self::State, _limits: &Self::Input, _node: u32, points: u32) {
        state.found.store(state.found.read() + points);
    }

    fn finish(state: &Self::State, limits: &Self::Input, output: &mut Self::Output, query: u32) {
        let found = state.found.read();
        // If there are not enough neighbours, all have been counted.
        output.marks[query as usize] = select(found >= limits.enough, 1u32, select(found == 1, ALONE, 0u32));
        if comptime!(output.lists) {
            if found < limits.width {
                output.near[found as usize * limits.n as usize + query as usize] = u32::MAX;
            }
        }
    }
}
