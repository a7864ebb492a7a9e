//! The search of groups of 32 queries for their nearest primitives in runs.
//!
//! In: queries, upper bounds of the distances of their last neighbours, and runs of primitives near each group of them.
//! Out: the nearest primitives of each query. A warp takes 32 primitives of a run at a time, keeps those near the boxes
//! around its queries (`waiting`), and compares 32 of these with all queries. The threads then share the distances that
//! are to be computed (`pairs`).
//! Triangles of `f32` are compared by bounds of their distances first (`candidates`). A group whose queries have more
//! triangles at nearly the same distance than places walks one by one.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{RUNS, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::geometry::triangle_bounds::{NearTriangles, near_triangle_bounds};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_ballot};
use crate::gpu::search::shapes::nearest::candidates::{Candidates, new_candidates, places, square_above};
use crate::gpu::search::shapes::nearest::heap::{
    FoundRows, NearestHeap, NearestQueries, NearestSpec, OwnBox, exact_distance2, lower_distance2, near_distance2,
    new_heap, own_box,
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
    /// The squared distances of pairs, and the lower and upper bounds of distances.
    distances2: SharedMemory<f64>,
    lower: SharedMemory<f32>,
    upper: SharedMemory<f32>,
    /// The squared distance up to which each query's neighbours are.
    limits2: SharedMemory<f64>,
    /// The queries as points, axis by axis: a coordinate for each thread.
    points: SharedMemory<f32>,
}

/// Finds the nearest primitives of each query, without those of heavy groups.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sweep_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    near: &mut RowGroups<F>,
    stored: &ShapeRows,
    triangles: &NearTriangles,
    asked: &NearestQueries,
    bounds: &Array<f64>,
    found: &mut FoundRows,
    #[comptime] spec: NearestSpec,
    #[comptime] warp: Warp,
) {
    let unit = ABSOLUTE_POS as u32;
    let (d, are_bounded) = comptime!((spec.d, spec.are_bounded));
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let (query, is_query) = (min(unit, asked.n - 1), unit < asked.n);
    let group = query / WIDTH;
    let units = comptime!(warp.units(sweep_threads(spec.d)) as usize);
    let bound = select(is_query, bounds[query as usize], f64::new(-1.0));
    let own = Own::<F> { around: own_box::<F>(asked, query, d), query, bound };
    let mut heap = new_heap(asked, found, query, spec);
    let mut candidates = new_candidates(asked, query, bound, spec);
    let boxes = load_boxes::<F>(&near.groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(&near.groups, group, true);
    let mut waiting = new_waiting::<F>(d, comptime!(spec.are_points), comptime!(units as u32), warp);
    let mut pairs = new_pairs(comptime!(units as u32), warp);
    let mut shared = Shared {
        distances2: SharedMemory::<f64>::new(units),
        lower: SharedMemory::<f32>::new(comptime!(if are_bounded { units } else { 1 })),
        upper: SharedMemory::<f32>::new(comptime!(if are_bounded { units } else { 1 })),
        limits2: SharedMemory::<f64>::new(units),
        points: SharedMemory::<f32>::new(comptime!(if are_bounded { d * units } else { 1 })),
    };
    if comptime!(are_bounded) {
        #[unroll]
        for k in 0..d {
            shared.points[comptime!(k * units) + UNIT_POS as usize] = f32::cast_from(own.around.near[k]);
        }
    }
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
                    if comptime!(are_bounded) {
                        left.set(near_bits::<F>(&candidates, tree, &own, &waiting, spec));
                    } else {
                        left.set(bits_within::<F>(&heap, tree, &own, &waiting, spec));
                    }
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
                            if comptime!(are_bounded) {
                                push_bounds(
                                    &mut candidates,
                                    triangles,
                                    &asked.order,
                                    &mut shared,
                                    &mut pairs,
                                    units,
                                    spec,
                                    warp,
                                );
                            } else {
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
                        }
                        goes_on = votes != 0 || (is_end && pairs.any());
                    }
                    waiting.advance();
                }
                first += WIDTH;
            }
            run += 1;
        }
        if comptime!(are_bounded) {
            let is_in_doubt = warp_ballot(is_query && !candidates.are_complete(), warp) != 0;
            // The last round tests what remains.
            for round in 0..comptime!(places(spec.k) as u32 + 1) {
                let is_end = round == comptime!(places(spec.k) as u32);
                let has_next = candidates.has_next();
                let votes = warp_ballot(has_next, warp);
                let position = candidates.pop();
                pairs.add(votes, position);
                if pairs.is_full() || (is_end && pairs.any()) {
                    push_exact::<F, T>(&mut heap, tree, stored, asked, &own, &mut shared, &mut pairs, spec, warp);
                }
            }
            if is_in_doubt && unit % WIDTH == 0 {
                let place = near.runs.heavy[0].fetch_add(1u32);
                near.runs.heavy[place as usize + 1].store(group);
            }
        }
        if is_query {
            heap.write(found, spec);
        }
    }
}

/// Returns a bit for each waiting primitive whose box is as near as the query's last candidate may be.
#[cube]
fn near_bits<F: Float>(
    candidates: &Candidates,
    tree: &Tree<F>,
    own: &Own<F>,
    waiting: &Waiting<F>,
    #[comptime] spec: NearestSpec,
) -> u32 {
    let limit2 = square_above(candidates.limit());
    let mut bits = 0u32.runtime();
    for place in 0..waiting.len() {
        let lower2 = near_distance2::<F>(tree, &waiting.corners(place), &own.around, comptime!(spec.d));
        bits |= u32::cast_from(f32::cast_from(lower2) <= limit2) << place;
    }
    bits
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

/// Bounds the distances of up to 32 pairs, and adds them to the candidates of their queries.
#[cube]
#[allow(clippy::too_many_arguments)]
fn push_bounds(
    candidates: &mut Candidates,
    triangles: &NearTriangles,
    order: &Array<u32>,
    shared: &mut Shared,
    pairs: &mut Pairs,
    #[comptime] units: usize,
    #[comptime] spec: NearestSpec,
    #[comptime] warp: Warp,
) {
    let (d, first) = (comptime!(spec.d), UNIT_POS / WIDTH * WIDTH);
    sync_warp(warp);
    if pairs.has_own() {
        let mut point = Array::<f32>::new(d);
        #[unroll]
        for k in 0..d {
            point[k] = shared.points[comptime!(k * units) + (first + pairs.thread()) as usize];
        }
        let bounds = near_triangle_bounds(triangles, pairs.position(UNIT_POS % WIDTH), &point, d);
        shared.lower[UNIT_POS as usize] = bounds.0;
        shared.upper[UNIT_POS as usize] = bounds.1;
    }
    sync_warp(warp);
    let mut mine = pairs.of_own_query();
    while mine.any() {
        let place = mine.pop();
        let at = (first + place) as usize;
        candidates.push(shared.lower[at], shared.upper[at], pairs.position(place), order);
    }
    pairs.advance();
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
