//! The search of groups of 32 queries for their nearest primitives in runs.
//!
//! In: queries, upper bounds of the distances of their last neighbours, and runs of primitives near each group of them.
//! Out: the nearest primitives of each query. A warp takes 32 primitives of a run at a time, keeps those near the boxes
//! around its queries (`waiting`), and compares 32 of these with all queries. Threads then share the distances that are
//! to be computed.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{RUNS, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_inclusive_sum, warp_shuffle};
use crate::gpu::search::shapes::nearest::heap::{
    FoundRows, NearestHeap, NearestQueries, NearestSpec, OwnBox, exact_distance2, lower_distance2, new_heap, own_box,
};
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::sweep::{RowGroups, sweep_threads};
use crate::gpu::search::shapes::tests::DistanceTest;
use crate::gpu::search::shapes::waiting::{Waiting, new_waiting};

/// The query of a thread.
#[derive(CubeType)]
struct Own<F: Float> {
    around: OwnBox<F>,
    query: u32,
    /// The squared distance within which its neighbours are; negative for a thread that repeats the last query.
    bound: f64,
}

/// The shared memory of a block.
#[derive(CubeType)]
struct Shared {
    /// Queries and waiting primitives to be compared, with places for each pair of a warp.
    pairs: SharedMemory<u32>,
    /// The squared distances of 32 of these pairs.
    distances2: SharedMemory<f64>,
    /// The squared distance up to which each query's neighbours are.
    limits: SharedMemory<f64>,
}

/// Finds the nearest primitives of each query, without those of heavy groups.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sweep_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    near: &RowGroups<F>,
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
    let units = comptime!(warp.units(sweep_threads(spec.d)));
    let bound = select(is_query, bounds[query as usize], f64::new(-1.0));
    let own = Own::<F> { around: own_box::<F>(asked, query, d), query, bound };
    let mut heap = new_heap(asked, found, query, spec);
    let boxes = load_boxes::<F>(&near.groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(&near.groups, group, true);
    let mut waiting = new_waiting::<F>(d, comptime!(spec.are_points), units, warp);
    let mut shared = Shared {
        pairs: SharedMemory::<u32>::new(comptime!((units * WIDTH) as usize)),
        distances2: SharedMemory::<f64>::new(comptime!(units as usize)),
        limits: SharedMemory::<f64>::new(comptime!(units as usize)),
    };
    if !near.runs.is_heavy(group) {
        // Surplus warps have no group.
        let count = select(unit / WIDTH == group, near.runs.count(group), 0u32);
        let mut run = 0u32.runtime();
        while run < count {
            let range = near.runs.ranges[(group * RUNS + run) as usize];
            let (mut first, behind) = (range[0], range[1]);
            while first < behind {
                waiting.enqueue(tree, &boxes, &limits, first, behind);
                if waiting.is_full() {
                    compare::<F, T>(&mut heap, tree, stored, asked, &own, &waiting, &mut shared, spec, warp);
                    waiting.advance();
                }
                first += WIDTH;
            }
            run += 1;
        }
        compare::<F, T>(&mut heap, tree, stored, asked, &own, &waiting, &mut shared, spec, warp);
        if is_query {
            heap.write(found, spec);
        }
    }
}

/// Compares the queries of a warp with up to 32 waiting primitives.
#[cube]
#[allow(clippy::too_many_arguments)]
fn compare<F: Float, T: DistanceTest>(
    heap: &mut NearestHeap,
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    own: &Own<F>,
    waiting: &Waiting<F>,
    shared: &mut Shared,
    #[comptime] spec: NearestSpec,
    #[comptime] warp: Warp,
) {
    let last = comptime!(spec.k - 1);
    let unit = UNIT_POS % WIDTH;
    let mut limit = own.bound.min(heap.distances2[last]);
    let mut bits = 0u32.runtime();
    for place in 0..waiting.len() {
        let lower = lower_distance2::<F>(tree, &waiting.corners(place), &own.around, spec);
        bits |= u32::cast_from(lower <= limit) << place;
    }
    let first = UNIT_POS / WIDTH * comptime!(WIDTH * WIDTH);
    let until = warp_inclusive_sum(bits.count_ones(), warp);
    let begin = first + until - bits.count_ones();
    let end = first + warp_shuffle::<u32>(until, WIDTH - 1, warp);
    let mut left = Bits::new(bits);
    let mut to = begin + 0;
    while left.any() {
        shared.pairs[to as usize] = unit * WIDTH + left.pop();
        to += 1;
    }
    shared.limits[UNIT_POS as usize] = limit;
    sync_warp(warp);
    let mut from = first + 0;
    while from < end {
        if from + unit < end {
            let pair = shared.pairs[(from + unit) as usize];
            let (other, place) = (pair / WIDTH, pair % WIDTH);
            let other_limit = shared.limits[(UNIT_POS - unit + other) as usize];
            let other_box = own_box::<F>(asked, own.query / WIDTH * WIDTH + other, comptime!(spec.d));
            let corners = waiting.corners(place);
            let mut d2 = f64::new(-1.0);
            // The limit may have fallen since.
            if lower_distance2::<F>(tree, &corners, &other_box, spec) <= other_limit {
                let at = waiting.position(place);
                d2 = exact_distance2::<F, T>(tree, stored, &corners, at, &other_box, other_limit, spec);
            }
            shared.distances2[UNIT_POS as usize] = d2;
        }
        sync_warp(warp);
        let mut pair = max(begin, from);
        let stop = min(begin + bits.count_ones(), from + WIDTH);
        while pair < stop {
            let d2 = shared.distances2[(UNIT_POS - unit + pair - from) as usize];
            let place = shared.pairs[pair as usize] % WIDTH;
            heap.push(d2, asked.order[waiting.position(place) as usize], spec);
            pair += 1;
        }
        limit = own.bound.min(heap.distances2[last]);
        shared.limits[UNIT_POS as usize] = limit;
        from += WIDTH;
        sync_warp(warp);
    }
}
