//! The kernel that writes lists from the runs of a group of queries.
//!
//! In: a tree, queries, the runs near each group of 32 of them (`runs`), and the begin of each list. Out: the lists, in
//! the order of the tree. The threads of a warp hold points, and compare them with one query after the other, so that
//! neighbours in a list are written together.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::list::ListOutput;
use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{Groups, RUNS, Runs, limits_of};
use crate::gpu::bvh::traverse::spec::{Queries, Tree, WalkSpec};
use crate::gpu::metric::{exact_distance2, gap};
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_ballot, warp_shuffle};

/// Threads per block.
pub(in crate::gpu) const ROW_THREADS: u32 = 128;

/// The queries of a warp, and points to compare with them.
#[derive(CubeType)]
struct Rows<F: Float> {
    /// The coordinates of the block's queries, axis by axis, and two limits of each: `maybe`, and its difference from
    /// `sure`.
    queries: SharedMemory<F>,
    /// The positions of the points that wait, [`Rows::held`] for each thread.
    waiting: SharedMemory<u32>,
    /// The number of waiting points.
    count: Array<u32>,
    /// The end of this thread's list.
    end: Array<u32>,
    #[cube(comptime)]
    d: usize,
    /// The number of points that a thread compares at a time.
    #[cube(comptime)]
    held: usize,
    /// The threads of the block.
    #[cube(comptime)]
    units: u32,
    #[cube(comptime)]
    warp: Warp,
}

/// Writes the lists of each of `n` queries, without those of heavy groups.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn sweep_rows<F: Float>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    groups: &Groups<F>,
    runs: &Runs,
    rows: &ListOutput,
    lists: &mut Array<u32>,
    n: u32,
    #[comptime] spec: WalkSpec,
) {
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(ABSOLUTE_POS as u32, n - 1);
    let group = query / WIDTH;
    let is_surplus = ABSOLUTE_POS as u32 / WIDTH != group;
    let d = comptime!(spec.d);
    let warp = comptime!(spec.warp);
    let units = comptime!(warp.units(ROW_THREADS));
    let held = comptime!(if d <= 4 { 3usize } else { 2usize });
    let mut state = Rows::<F> {
        queries: SharedMemory::<F>::new(comptime!((d + 2) * units as usize)),
        waiting: SharedMemory::<u32>::new(comptime!(held * units as usize)),
        count: Array::<u32>::new(1usize),
        end: Array::<u32>::new(1usize),
        d,
        held,
        units,
        warp,
    };
    #[unroll]
    for k in 0..d {
        state.queries[comptime!(k * units as usize) + UNIT_POS as usize] =
            queries.axes[k * n as usize + query as usize];
    }
    let mut own = 0usize.runtime();
    if comptime!(spec.own_radii) {
        own = query as usize;
    }
    let (sure, maybe) = (queries.filters[2 * own], queries.filters[2 * own + 1]);
    state.queries[comptime!(d * units as usize) + UNIT_POS as usize] = maybe;
    state.queries[comptime!((d + 1) * units as usize) + UNIT_POS as usize] = maybe - sure;
    state.count[0] = 0;
    state.end[0] = rows.offsets[rows.queries[query as usize] as usize];
    let boxes = load_boxes::<F>(&groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(groups, group, comptime!(spec.own_radii));
    let unit = UNIT_POS % WIDTH;
    let mut run = 0u32.runtime();
    let mut count = runs.count(group);
    if is_surplus {
        count = 0;
    }
    while run < count {
        let range = runs.ranges[(group * RUNS + run) as usize];
        let (mut first, behind) = (range[0], range[1]);
        while first < behind {
            let other = min(first + unit, behind - 1);
            let mut point = Array::<F>::new(d);
            #[unroll]
            for k in 0..d {
                point[k] = tree.axes[k * tree.stored as usize + other as usize];
            }
            let comes = first + unit < behind && boxes.are_near_point(&point, &tree.sides, &limits);
            let votes = warp_ballot(comes, warp);
            let place = state.count[0] + (votes & ((1u32 << unit) - 1)).count_ones();
            if comes {
                state.waiting[(state.slot() + place) as usize] = other;
            }
            state.count[0] += votes.count_ones();
            if state.count[0] > comptime!(WIDTH * (held as u32 - 1)) {
                state.write(tree, queries, rows, lists, group, n, spec);
            }
            first += WIDTH;
        }
        run += 1;
    }
    if state.count[0] > 0 {
        state.write(tree, queries, rows, lists, group, n, spec);
    }
}

#[cube]
impl<F: Float> Rows<F> {
    /// Returns the slot of the first waiting point.
    fn slot(&self) -> u32 {
        UNIT_POS / WIDTH * comptime!(WIDTH * self.held as u32)
    }

    /// Compares the waiting points with all queries, and writes the hits.
    fn write(
        &mut self,
        tree: &Tree<F>,
        queries: &Queries<F>,
        rows: &ListOutput,
        lists: &mut Array<u32>,
        group: u32,
        n: u32,
        #[comptime] spec: WalkSpec,
    ) {
        let (d, held, units, warp) = comptime!((self.d, self.held, self.units as usize, self.warp));
        sync_warp(warp);
        let unit = UNIT_POS % WIDTH;
        let waiting = self.count[0];
        let mut points = Array::<F>::new(comptime!(d * held));
        let mut positions = Array::<u32>::new(held);
        let mut indices = Array::<u32>::new(held);
        #[unroll]
        for h in 0..held {
            let place = comptime!(h as u32 * WIDTH) + unit;
            positions[h] = self.waiting[(self.slot() + min(place, waiting - 1)) as usize];
            indices[h] = rows.order[positions[h] as usize];
            #[unroll]
            for k in 0..d {
                points[comptime!(h * d + k)] = tree.axes[k * tree.stored as usize + positions[h] as usize];
            }
        }
        let first = group * WIDTH;
        for p in 0..min(WIDTH, n - first) {
            let of = (UNIT_POS / WIDTH * WIDTH + p) as usize;
            let mut query = Array::<F>::new(d);
            #[unroll]
            for k in 0..d {
                query[k] = self.queries[comptime!(k * units) + of];
            }
            let (maybe, shell) =
                (self.queries[comptime!(d * units) + of], self.queries[comptime!((d + 1) * units) + of]);
            let mut beyond = Array::<F>::new(held);
            let mut least = F::new(f32::MAX);
            #[unroll]
            for h in 0..held {
                let mut sum = F::new(0.0);
                #[unroll]
                for k in 0..d {
                    let own = gap::<F>(query[k], points[comptime!(h * d + k)], tree.sides[k], comptime!(spec.periodic));
                    sum += own * own;
                }
                beyond[h] = sum - maybe;
                least = least.min(beyond[h].abs());
            }
            // Also if a limit is infinite.
            let are_decided = least > shell;
            if !are_decided {
                let mut own = 0usize.runtime();
                if comptime!(spec.own_radii) {
                    own = (first + p) as usize;
                }
                let radius2 = queries.radius2[own];
                #[unroll]
                for h in 0..held {
                    let exact = exact_distance2::<F>(
                        &tree.axes,
                        positions[h],
                        tree.stored,
                        &query,
                        &tree.exact_sides,
                        d,
                        comptime!(spec.periodic),
                    );
                    beyond[h] = select(exact <= radius2, F::new(-1.0), F::new(1.0));
                }
            }
            let mut end = warp_shuffle::<u32>(self.end[0], p, warp);
            let begin = end + 0;
            #[unroll]
            for h in 0..held {
                let comes = comptime!(h as u32 * WIDTH) + unit < waiting && beyond[h] < F::new(0.0);
                let votes = warp_ballot(comes, warp);
                if comes {
                    lists[(end + (votes & ((1u32 << unit) - 1)).count_ones()) as usize] = indices[h];
                }
                end += votes.count_ones();
            }
            if unit == p {
                self.end[0] += end - begin;
            }
        }
        sync_warp(warp);
        self.count[0] = 0;
    }
}
