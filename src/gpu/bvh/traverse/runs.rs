//! Runs of points near groups of queries.
//!
//! In: a tree, and queries in groups of 32. Out: for each group up to [`RUNS`] ranges of positions in the tree, which
//! ascend and hold all points within the queries' radii, and others.
//! A thread walks along the ropes for a whole group, with the boxes around its queries. Neighbouring leaves make one
//! run. If there are too many runs, those with the smallest gap between them become one. A group near very many points
//! is heavy: it is listed, and its queries walk by themselves (`walk`, which takes whole nodes, or `approx_search`).
//! Cost: one visit per node near the group, and 8 bytes per run.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `traverse`.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::query_boxes::{limits_by_box, load_boxes};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{Queries, TraversalMode, Tree, TreeLaunch, WalkSpec};
use crate::gpu::metric::{Vec2, corners, point_at};
use crate::gpu::primitives::warp::{WIDTH, Warp};

/// The maximum number of runs of a group.
pub(in crate::gpu) const RUNS: u32 = 32;

/// The number of points in the runs of a group above which it is heavy, if its queries can take whole nodes. Of 512 to
/// 8192 the largest is fastest (`benches/GPU_RUNS.md`).
const HEAVY: u32 = 8192;

/// The same for nearest neighbours, which walks do not take as whole nodes, so that a walk saves less. Of 8192 to 65,536
/// the larger ones are equally fast (`benches/GPU_RUNS.md`).
const HEAVY_NEAREST: u32 = 1 << 16;

/// The number of points between runs that become one above which a group is heavy.
const HEAVY_GAPS: u32 = 4096;

/// Both for emulated warps, so that tests have heavy groups.
const EMULATED_HEAVY: u32 = 256;
const EMULATED_GAPS: u32 = 64;

/// No number: the position of a run that has not begun, and the number of runs of a heavy group.
const NONE: u32 = u32::MAX;

/// The groups of queries: their boxes, and the largest squared radius of the queries in each box, or the two limits of
/// all queries.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Groups<F: Float> {
    pub boxes: Array<F>,
    pub limits: Array<F>,
}

/// The runs of all groups.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Runs {
    /// The first position of each run, and the position behind it: [`RUNS`] for each group.
    pub ranges: Vec2<u32>,
    /// The number of runs of each group, or [`NONE`] if it is heavy.
    counts: Array<u32>,
    /// The number of heavy groups, followed by these groups.
    pub heavy: Array<Atomic<u32>>,
}

#[cube]
impl Runs {
    /// Returns the number of runs of a group; 0 if it is heavy.
    pub fn count(&self, group: u32) -> u32 {
        let count = self.counts[group as usize];
        select(count == NONE, 0u32, count)
    }

    /// Returns `true` if the queries of a group walk by themselves, and are not to be swept.
    pub fn is_heavy(&self, group: u32) -> bool {
        self.counts[group as usize] == NONE
    }
}

/// The buffers of groups and runs.
pub(in crate::gpu) struct RunBuffers<S> {
    boxes: Buffer<S>,
    limits: Buffer<S>,
    ranges: Buffer<u32>,
    counts: Buffer<u32>,
    pub heavy: Buffer<u32>,
}

impl<S: Coordinate> RunBuffers<S> {
    pub fn groups<R: Runtime>(&self) -> GroupsLaunch<S, R> {
        GroupsLaunch::new(self.boxes.arg(), self.limits.arg())
    }

    pub fn runs<R: Runtime>(&self) -> RunsLaunch<R> {
        RunsLaunch::new(self.ranges.pairs(), self.counts.arg(), self.heavy.arg())
    }
}

/// The number of points in the runs of a group above which it is heavy.
fn heavy_limit(mode: TraversalMode, warp: Warp) -> u32 {
    let limit = match mode {
        TraversalMode::Each | TraversalMode::EachWarpFirst | TraversalMode::Half => return u32::MAX,
        TraversalMode::Nearest => HEAVY_NEAREST,
        _ => HEAVY,
    };
    if is_emulated(warp) { EMULATED_HEAVY } else { limit }
}

fn is_emulated(warp: Warp) -> bool {
    matches!(warp, Warp::Emulated { .. })
}

/// Lists the runs of all groups of `n` queries, which have these boxes around them, and these limits ([`Groups`]).
pub(in crate::gpu) fn list_runs<S: Coordinate, R: Runtime>(
    client: &ComputeClient<R>,
    tree: TreeLaunch<S, R>,
    n: usize,
    (boxes, limits): (Buffer<S>, Buffer<S>),
    end: u32,
    mode: TraversalMode,
    spec: WalkSpec,
) -> RunBuffers<S> {
    let groups = n.div_ceil(WIDTH as usize);
    let buffers = RunBuffers {
        boxes,
        limits,
        ranges: Buffer::new(client, 2 * RUNS as usize * groups),
        counts: Buffer::new(client, groups),
        heavy: Buffer::filled(client, groups + 1, 0),
    };
    // SAFETY: the launch contract of `traverse`. There are `n` queries, and the buffers have room for each group.
    unsafe {
        walk_groups::launch_unchecked::<S, R>(
            client,
            blocks_for(groups),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            tree,
            buffers.groups(),
            buffers.runs(),
            groups as u32,
            end,
            heavy_limit(mode, spec.warp),
            if is_emulated(spec.warp) { EMULATED_GAPS } else { HEAVY_GAPS },
            spec,
        );
    }
    buffers
}

/// Returns the limits of groups of queries with these boxes around them ([`Groups`]).
pub(in crate::gpu) fn group_limits<S: Coordinate, R: Runtime>(
    client: &ComputeClient<R>,
    asked: &WalkQueries<S>,
    boxes: &Buffer<S>,
    spec: WalkSpec,
) -> Buffer<S> {
    if !spec.own_radii {
        return asked.filters.clone();
    }
    let limits = Buffer::new(client, 2 * asked.n.div_ceil(WIDTH as usize));
    let (blocks, dim) = spec.warp.blocks(asked.n, THREADS_PER_BLOCK);
    // SAFETY: the launch contract of `traverse`. There are `asked.n` queries, and `limits` has room for each group.
    unsafe {
        limit_groups::launch_unchecked::<S, R>(
            client,
            blocks,
            dim,
            asked.arg(),
            boxes.arg(),
            limits.arg(),
            asked.n as u32,
            spec,
        );
    }
    limits
}

/// Stores the largest squared radius of the queries in each box, by a warp for each group.
#[cube(launch_unchecked)]
fn limit_groups<F: Float>(
    queries: &Queries<F>,
    boxes: &Array<F>,
    limits: &mut Array<F>,
    n: u32,
    #[comptime] spec: WalkSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let d = comptime!(spec.d);
    let point = point_at::<F>(&queries.axes, query, n, d);
    let boxes = load_boxes::<F>(boxes, query / WIDTH, d, comptime!(spec.periodic));
    let limit = queries.filters[2 * query as usize + 1];
    let mut both = Array::<F>::new(2usize);
    limits_by_box::<F>(boxes.is_in_first(&point), limit, &mut both, comptime!(spec.warp));
    if unit.is_multiple_of(WIDTH) && unit < n {
        limits[(unit / WIDTH * 2) as usize] = both[0];
        limits[(unit / WIDTH * 2 + 1) as usize] = both[1];
    }
}

/// Returns the largest squared radius of the queries in each box of a group.
#[cube]
pub(in crate::gpu) fn limits_of<F: Float>(groups: &Groups<F>, group: u32, #[comptime] own_radii: bool) -> Array<F> {
    let mut limits = Array::<F>::new(2usize);
    if comptime!(own_radii) {
        limits[0] = groups.limits[(2 * group) as usize];
        limits[1] = groups.limits[(2 * group + 1) as usize];
    } else {
        limits[0] = groups.limits[1];
        limits[1] = limits[0];
    }
    limits
}

/// The runs of a group while it walks.
#[derive(CubeType)]
struct Building {
    /// The index of the group's first run.
    begin: usize,
    /// Four numbers. First the begin of the current run, or [`NONE`]. Then the numbers of runs, of points in them, and
    /// of points between runs that became one.
    state: Array<u32>,
}

/// Walks for each group, by a thread each.
#[cube(launch_unchecked)]
fn walk_groups<F: Float>(
    tree: &Tree<F>,
    groups: &Groups<F>,
    runs: &mut Runs,
    n_groups: u32,
    end: u32,
    heavy_limit: u32,
    heavy_gaps: u32,
    #[comptime] spec: WalkSpec,
) {
    let group = ABSOLUTE_POS as u32;
    if group < n_groups {
        let d = comptime!(spec.d);
        let boxes = load_boxes::<F>(&groups.boxes, group, d, comptime!(spec.periodic));
        let limits = limits_of::<F>(groups, group, comptime!(spec.own_radii));
        let mut reaches = Array::<F>::new(2usize);
        #[unroll]
        for part in 0..2usize {
            reaches[part] = limits[part].max(F::new(0.0)).sqrt();
        }
        let mut from = 0u32.runtime();
        let mut least = 0u32.runtime();
        if comptime!(spec.half) {
            // In half mode, queries visit only points behind them; those of their group are visited first.
            least = (group + 1) * WIDTH;
            from = select(least < tree.stored, tree.leaf_of_point[min(group + 1, n_groups - 1) as usize], end);
        }
        let mut building = Building { begin: (group * RUNS) as usize, state: Array::<u32>::new(4usize) };
        building.state[0] = NONE;
        #[unroll]
        for at in 1..4usize {
            building.state[at] = 0;
        }
        let mut walk = RopeWalk::new(from, end);
        while walk.goes_on() {
            let node = walk.node(&tree.links);
            let corners = corners::<F>(&tree.bounds, node.at, d);
            let near = boxes.are_near_box(&corners, &tree.sides, &limits);
            let taken = near && (node.is_leaf || boxes.contain(&corners, &reaches));
            if taken && building.state[0] == NONE {
                building.state[0] = max(node.first, least);
            }
            if !near && building.state[0] != NONE {
                building.end_run(&mut runs.ranges, node.first);
            }
            walk.step(&node, near && !taken);
        }
        if building.state[0] != NONE {
            building.end_run(&mut runs.ranges, tree.stored);
        }
        if building.state[2] > heavy_limit || building.state[3] > heavy_gaps {
            let place = runs.heavy[0].fetch_add(1u32);
            runs.heavy[place as usize + 1].store(group);
            building.state[1] = NONE;
        }
        runs.counts[group as usize] = building.state[1];
    }
}

#[cube]
impl Building {
    /// Ends the current run before position `behind`.
    fn end_run(&mut self, ranges: &mut Vec2<u32>, behind: u32) {
        let begin = self.begin;
        let count = self.state[1];
        let mut run = Vector::<u32, Const<2>>::new(behind);
        run[0] = self.state[0];
        self.state[2] += behind - run[0];
        if count < RUNS {
            ranges[begin + count as usize] = run;
            self.state[1] = count + 1;
        } else {
            // The run before the smallest gap, and the gap.
            let mut nearest = Array::<u32>::new(2usize);
            nearest[0] = RUNS - 1;
            nearest[1] = run[0] - ranges[begin + comptime!(RUNS as usize - 1)][1];
            for at in 0..RUNS - 1 {
                let gap = ranges[begin + at as usize + 1][0] - ranges[begin + at as usize][1];
                if gap < nearest[1] {
                    nearest[0] = at;
                    nearest[1] = gap;
                }
            }
            self.state[2] += nearest[1];
            self.state[3] += nearest[1];
            if nearest[0] < RUNS - 1 {
                let at = begin + nearest[0] as usize;
                let mut joined = ranges[at];
                joined[1] = ranges[at + 1][1];
                ranges[at] = joined;
                for next in nearest[0] + 1..RUNS - 1 {
                    ranges[begin + next as usize] = ranges[begin + next as usize + 1];
                }
            } else {
                run[0] = ranges[begin + comptime!(RUNS as usize - 1)][0];
            }
            ranges[begin + comptime!(RUNS as usize - 1)] = run;
        }
        self.state[0] = NONE;
    }
}
