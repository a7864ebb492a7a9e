//! The search of groups of 32 queries for their nearest primitives in runs.
//!
//! In: queries, upper bounds of the distances of their last neighbours, and runs of primitives near each group of them.
//! Out: the nearest primitives of each query. A warp takes 32 primitives of a run at a time, keeps those near the boxes
//! around its queries (`waiting`), and compares 32 of these with all queries. The threads then share the distances that
//! are to be computed (`pairs`).

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{RUNS, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_ballot};
use crate::gpu::search::shapes::nearest::heap::{
    FoundRows, NearestHeap, NearestQueries, NearestSpec, OwnBox, exact_distance2, lower_distance2, new_heap, own_box,
};
use crate::gpu::search::shapes::nearest::pairs::{Pairs, new_pairs};
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::sweep::{RowGroups, sweep_threads};
use crate::gpu::search::shapes::tests::DistanceTest;
use crate::gpu::search::shapes::waiting::{Waiting, new_waiting, stored_corners};

/// The query of a thread.
#[derive(CubeType)]
struct Own<F: Float> {
    around: OwnBox<F>,
    query: u32,
    /// The squared distance within which its neighbours are; negative for a thread that repeats the last query.
    bound: f64,
}

/// The shared memory of a block: a number for each thread.
#[derive(CubeType)]
struct Shared {
    /// The squared distances of pairs.
    distances2: SharedMemory<f64>,
    /// The squared distance up to which each query's neighbours are.
    limits2: SharedMemory<f64>,
}

/// Finds the nearest primitives of each query, without those of heavy groups.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sweep_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    near: &mut RowGroups<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    bounds: &Array<f64>,
    found: &mut FoundRows,
    #[comptime] spec: NearestSpec,
    #[comptime] warp: Warp,
) {
    let unit = ABSOLUTE_POS as u32;
    let d = comptime!(spec.d);
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let (query, is_query) = (min(unit, asked.n - 1), unit < asked.n);
    let group = query / WIDTH;
    let units = comptime!(warp.units(sweep_threads(spec.d)) as usize);
    let bound = select(is_query, bounds[query as usize], f64::new(-1.0));
    let own = Own::<F> { around: own_box::<F>(asked, query, d), query, bound };
    let mut heap = new_heap(asked, found, query, spec);
    let boxes = load_boxes::<F>(&near.groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(&near.groups, group, true);
    let mut waiting = new_waiting::<F>(d, comptime!(spec.are_points), comptime!(units as u32), warp);
    let mut pairs = new_pairs(comptime!(units as u32), warp);
    let mut shared = Shared { distances2: SharedMemory::<f64>::new(units), limits2: SharedMemory::<f64>::new(units) };
    if !near.runs.is_heavy(group) {
        // Surplus warps have no group.
        let count = select(unit / WIDTH == group, near.runs.count(group), 0u32);
        let mut run = 0u32.runtime();
        // After the last run, a round compares what waits.
        while run <= count {
            let is_end = run == count;
            let range = near.runs.ranges[(group * RUNS + min(run, RUNS - 1)) as usize];
            let mut first = select(is_end, 0u32, range[0]);
            let behind = select(is_end, 1u32, range[1]);
            while first < behind {
                if !is_end {
                    waiting.enqueue(tree, &boxes, &limits, first, behind);
                }
                if waiting.is_full() || is_end {
                    let mut left = Bits::new(0u32.runtime());
                    left.set(bits_within::<F>(&heap, tree, &own, &waiting, spec));
                    let mut votes = warp_ballot(left.any(), warp);
                    let mut goes_on = votes != 0 || (is_end && pairs.any());
                    while goes_on {
                        let mut position = 0u32.runtime();
                        if left.any() {
                            position = waiting.position(left.pop());
                        }
                        pairs.add(votes, position);
                        votes = warp_ballot(left.any(), warp);
                        if pairs.is_full() || (is_end && votes == 0) {
                            push_exact::<F, T>(
                                &mut heap,
                                tree,
                                stored,
                                asked,
                                &own,
                                &mut shared,
                                &mut pairs,
                                spec,
                                warp,
                            );
                        }
                        goes_on = votes != 0 || (is_end && pairs.any());
                    }
                    waiting.advance();
                }
                first += WIDTH;
            }
            run += 1;
        }
        if is_query {
            heap.write(found, spec);
        }
    }
}

/// Returns a bit for each waiting primitive whose box is as near as the query's last neighbour so far.
#[cube]
fn bits_within<F: Float>(
    heap: &NearestHeap,
    tree: &Tree<F>,
    own: &Own<F>,
    waiting: &Waiting<F>,
    #[comptime] spec: NearestSpec,
) -> u32 {
    let limit2 = own.bound.min(heap.last(spec));
    let mut bits = 0u32.runtime();
    for place in 0..waiting.len() {
        let lower2 = lower_distance2::<F>(tree, &waiting.corners(place), &own.around, spec);
        bits |= u32::cast_from(lower2 <= limit2) << place;
    }
    bits
}

/// Computes the distances of up to 32 pairs, and adds them to the neighbours of their queries.
#[cube]
#[allow(clippy::too_many_arguments)]
fn push_exact<F: Float, T: DistanceTest>(
    heap: &mut NearestHeap,
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    own: &Own<F>,
    shared: &mut Shared,
    pairs: &mut Pairs,
    #[comptime] spec: NearestSpec,
    #[comptime] warp: Warp,
) {
    let first = UNIT_POS / WIDTH * WIDTH;
    shared.limits2[UNIT_POS as usize] = own.bound.min(heap.last(spec));
    sync_warp(warp);
    if pairs.has_own() {
        let (thread, at) = (pairs.thread(), pairs.position(UNIT_POS % WIDTH));
        let limit2 = shared.limits2[(first + thread) as usize];
        let other = own_box::<F>(asked, own.query / WIDTH * WIDTH + thread, comptime!(spec.d));
        let corners = stored_corners::<F>(tree, at, comptime!(spec.d), comptime!(spec.are_points));
        let mut distance2 = f64::new(-1.0);
        // The limit may have fallen since.
        if lower_distance2::<F>(tree, &corners, &other, spec) <= limit2 {
            distance2 = exact_distance2::<F, T>(tree, stored, &corners, at, &other, limit2, spec);
        }
        shared.distances2[UNIT_POS as usize] = distance2;
    }
    sync_warp(warp);
    let mut mine = pairs.of_own_query();
    while mine.any() {
        let place = mine.pop();
        let distance2 = shared.distances2[(first + place) as usize];
        if distance2 >= f64::new(0.0) && distance2 <= heap.last(spec) {
            heap.push(distance2, asked.order[pairs.position(place) as usize], spec);
        }
    }
    pairs.advance();
}
