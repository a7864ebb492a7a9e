//! The k nearest points for the queries of a warp at once, by distances in the points' own precision: the GPU
//! counterpart of `search::nearest::approx_heap`.
//!
//! In: points. Out: rows of neighbours, and a list of the points in doubt. For devices with warps: for points that are
//! not stored, for few stored points, and for groups of them near very many points (`bvh::traverse::runs`).
//! Each thread keeps the `k` nearest points of one query so far, by rounded distances, and the nearest of those that
//! it dropped. To make the radius small, the points around the warp are compared first, or those around the leaf
//! nearest to a query that is not stored. Then the warp walks the tree together, and points near the box around its
//! queries are compared at once (`packet`). Finally the distances of the `k` points are computed in `f64` and sorted.
//! If the nearest dropped point is certainly farther than the last of them, they are the result. Otherwise (mostly
//! because of ties) the query is listed as in doubt, for `exact_search`.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::{LeafRequest, Packet, new_packet};
use crate::gpu::bvh::traverse::spec::{MIXED, Tree};
use crate::gpu::bvh::traverse::windows::windows;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, sync_warp, warp_any, warp_max};
use crate::gpu::search::nearest::arguments::{KnnSpec, NeighborRows, Search};
use crate::gpu::search::nearest::exact_search::widened;
use crate::gpu::search::nearest::exact_walk::nearest_leaf;
use crate::gpu::search::nearest::limits::ApproxLimits;

/// Threads per block. There are few, because the heaps take so many registers that only few threads fit.
pub(in crate::gpu) const BLOCK_THREADS: u32 = 64;
/// The number of points in tree order that are compared first on each side of the warp's own.
const BESIDE: u32 = WIDTH;

/// The nearest points so far, nearest first. Free places are at infinity.
#[derive(CubeType)]
struct ApproxHeap<F: Float> {
    distances2: Array<F>,
    positions: Array<u32>,
    /// The squared distance of the nearest dropped point, and whether any point was dropped.
    dropped: Array<F>,
    any_dropped: Array<u32>,
    /// The squared distance beyond which points are not among the nearest.
    limit: Array<F>,
    /// For a query that is not stored, the range of positions that it compared first.
    seen: Array<u32>,
}

/// Finds the `k` nearest points of each query. Queries in doubt are written to `doubted`, after their count. If only some
/// groups of 32 queries are searched for, `heavy` has their number, followed by the groups.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn find_approximately<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    approx: &ApproxLimits<F>,
    rows: &mut NeighborRows,
    doubted: &mut Array<Atomic<u32>>,
    heavy: &Array<u32>,
    #[comptime] spec: KnnSpec,
) {
    if comptime!(spec.only_heavy) {
        let warps = CUBE_COUNT as u32 * (CUBE_DIM / WIDTH);
        let mut at = ABSOLUTE_POS as u32 / WIDTH;
        while at < heavy[0] {
            let unit = heavy[at as usize + 1] * WIDTH + UNIT_POS % WIDTH;
            find_for_warp::<F>(tree, search, approx, rows, doubted, unit, spec);
            sync_warp(comptime!(spec.warp));
            at += warps;
        }
    } else {
        find_for_warp::<F>(tree, search, approx, rows, doubted, ABSOLUTE_POS as u32, spec);
    }
}

/// Finds the nearest points for the queries of a warp.
#[cube]
fn find_for_warp<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    approx: &ApproxLimits<F>,
    rows: &mut NeighborRows,
    doubted: &mut Array<Atomic<u32>>,
    unit: u32,
    #[comptime] spec: KnnSpec,
) {
    let d = comptime!(spec.d);
    let k = comptime!(spec.k);
    let warp = comptime!(spec.warp);
    let (n, stored) = (search.queries.n, tree.stored);
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let point = search.queries.point(query, d);
    let mut heap = ApproxHeap::<F> {
        distances2: Array::<F>::new(k),
        positions: Array::<u32>::new(k),
        dropped: Array::<F>::new(1usize),
        any_dropped: Array::<u32>::new(1usize),
        limit: Array::<F>::new(1usize),
        seen: Array::<u32>::new(2usize),
    };
    #[unroll]
    for place in 0..k {
        heap.distances2[place] = approx.infinity();
        heap.positions[place] = u32::MAX.runtime();
    }
    heap.dropped[0] = approx.infinity();
    heap.any_dropped[0] = 0;
    heap.limit[0] = approx.radius2();

    let mut packet = new_packet::<F>(&point, d, comptime!(spec.periodic), comptime!(warp.units(BLOCK_THREADS)), warp);
    if comptime!(spec.are_stored) {
        // The warp's own points come first, with `BESIDE` points on both sides.
        let own_first = query / WIDTH * WIDTH;
        let begin = max(own_first, BESIDE) - BESIDE;
        let behind = min(own_first + WIDTH + BESIDE, n);
        let mut first = begin + 0;
        while first < behind {
            packet.enqueue_all(tree, first, min(behind - first, WIDTH));
            push_packet::<F>(&mut heap, &packet, tree, search, approx, &point, query, spec);
            packet.advance();
            first += WIDTH;
        }
        packet.exclude(begin, behind);
    } else {
        // Such queries may be far apart, so each thread compares points of its own first.
        let leaf = nearest_leaf::<F>(tree, &point, d, comptime!(spec.periodic));
        let first = tree.links[leaf as usize][1];
        let begin = max(first, BESIDE) - BESIDE;
        let behind = min(first + WIDTH + BESIDE, stored);
        for at in begin..behind {
            let d2 = distance2::<F>(&tree.axes, at, stored, &point, &tree.sides, d, comptime!(spec.periodic));
            if d2 <= heap.limit[0] {
                push::<F>(&mut heap, search, d2, at, query, spec);
            }
        }
        lower_limit::<F>(&mut heap, approx, spec);
        heap.seen[0] = begin;
        heap.seen[1] = behind;
    }
    let mut widest = warp_max::<F>(heap.limit[0], warp);
    let mut at = 0u32.runtime();
    let windows = windows::<F>(search.end, F::new(-1.0), false, warp);
    while at < search.end {
        if windows.are_ineffective() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let near = min_distance2::<F>(&corners, &point, &tree.sides, d, comptime!(spec.periodic)) <= heap.limit[0];
            windows.test_node(tree, at, near, false);
        } else {
            windows.test_window(tree, &packet, at, widest, MIXED.runtime());
        }
        let mut leaves = Bits::new(windows.stops());
        while leaves.any() {
            let node = at + leaves.pop();
            let any = windows.takes(tree, &packet, node, &point, heap.limit[0], true.runtime());
            if warp_any(any, warp) {
                let want = LeafRequest { any, is_uniform: false.runtime(), own: query, half: false, uniform: false };
                let first = tree.links[node as usize][1];
                packet.enqueue_near(tree, first, tree.links[(node + 1) as usize][1], widest, want);
                if packet.is_full() {
                    push_packet::<F>(&mut heap, &packet, tree, search, approx, &point, query, spec);
                    packet.advance();
                    widest = warp_max::<F>(heap.limit[0], warp);
                }
            }
        }
        at = windows.next();
    }
    push_packet::<F>(&mut heap, &packet, tree, search, approx, &point, query, spec);
    if unit < n {
        finish::<F>(&heap, tree, search, &point, rows, doubted, query, spec);
    }
}

/// Inserts the packet's points into the heap, if they are near enough.
#[cube]
fn push_packet<F: Float>(
    heap: &mut ApproxHeap<F>,
    packet: &Packet<F>,
    tree: &Tree<F>,
    search: &Search<F>,
    approx: &ApproxLimits<F>,
    point: &Array<F>,
    query: u32,
    #[comptime] spec: KnnSpec,
) {
    let limit = heap.limit[0];
    let (near_ones, _) = packet.compare(point, limit, limit, &tree.sides);
    let mut left = Bits::new(near_ones);
    while left.any() {
        let bit = left.pop();
        let value = packet.distance2(bit, point, &tree.sides);
        let value_of = packet.position(bit);
        let mut is_new = true.runtime();
        if comptime!(!spec.are_stored) {
            is_new = value_of < heap.seen[0] || value_of >= heap.seen[1];
        }
        if is_new {
            push::<F>(heap, search, value, value_of, query, spec);
        }
    }
    lower_limit::<F>(heap, approx, spec);
}

/// Inserts a point into the heap, if it is near enough.
#[cube]
fn push<F: Float>(
    heap: &mut ApproxHeap<F>,
    search: &Search<F>,
    distance2: F,
    position: u32,
    query: u32,
    #[comptime] spec: KnnSpec,
) {
    let k = comptime!(spec.k);
    let mut value = distance2 + F::new(0.0);
    let mut value_of = position + 0;
    if search.allows(position, query, spec) {
        if value < heap.distances2[comptime!(k - 1)] {
            // Points farther than the new one move by one place.
            #[unroll]
            for place in 0..k {
                let (held, held_of) = (heap.distances2[place], heap.positions[place]);
                let goes_here = value < held;
                heap.distances2[place] = select(goes_here, value, held);
                heap.positions[place] = select(goes_here, value_of, held_of);
                value = select(goes_here, held, value);
                value_of = select(goes_here, held_of, value_of);
            }
        }
        // The point that remains is dropped, unless it is a free place.
        if value_of != u32::MAX {
            heap.any_dropped[0] = 1;
            heap.dropped[0] = heap.dropped[0].min(value);
        }
    }
}

/// Lowers the limit to the last distance in the heap, with a margin for rounding.
#[cube]
fn lower_limit<F: Float>(heap: &mut ApproxHeap<F>, approx: &ApproxLimits<F>, #[comptime] spec: KnnSpec) {
    heap.limit[0] = approx.after(heap.distances2[comptime!(spec.k - 1)], comptime!(spec.periodic));
}

/// Writes the row of a query, sorted by exact distances, and lists the query if it is in doubt.
#[cube]
fn finish<F: Float>(
    heap: &ApproxHeap<F>,
    tree: &Tree<F>,
    search: &Search<F>,
    point: &Array<F>,
    rows: &mut NeighborRows,
    doubted: &mut Array<Atomic<u32>>,
    query: u32,
    #[comptime] spec: KnnSpec,
) {
    let k = comptime!(spec.k);
    let limits = &search.limits;
    let row = search.queries.row(query, comptime!(spec.row_order)) * rows.width as usize;
    let mut farthest = f64::new(0.0);
    // The previous neighbour; rounded distances are mostly in the order of exact ones.
    let mut last = f64::new(-1.0);
    let mut last_of = 0u32.runtime();
    let mut is_sorted = true.runtime();
    #[unroll]
    for place in 0..k {
        let position = heap.positions[place];
        let any = position != u32::MAX;
        let at = select(any, position, 0u32);
        let exact = exact_distance2::<F>(
            &tree.axes,
            at,
            tree.stored,
            point,
            &tree.exact_sides,
            comptime!(spec.d),
            comptime!(spec.periodic),
        );
        // If a place is free, every dropped point had a squared distance beyond the range of `f32`.
        farthest = farthest.max(select(any, exact, limits.infinity()));
        // The rounded distance was below the limit, but the point may be outside of the radius.
        let within = any && exact <= limits.radius2();
        let own = select(within, exact, limits.infinity());
        let own_of = select(within, search.order[at as usize], u32::MAX);
        is_sorted = is_sorted && (last < own || (last == own && last_of <= own_of));
        last = own;
        last_of = own_of;
        rows.indices[row + place] = own_of;
        rows.distances2[row + place] = own;
    }
    if heap.any_dropped[0] != 0 && heap.dropped[0] <= widened::<F>(farthest, limits) {
        let place = doubted[0].fetch_add(1) + 1;
        doubted[place as usize].store(query);
    }
    while !is_sorted {
        is_sorted = true;
        for place in row + 1..row + k {
            let (a, b) = (rows.distances2[place - 1], rows.distances2[place]);
            let (a_of, b_of) = (rows.indices[place - 1], rows.indices[place]);
            if b < a || (b == a && b_of < a_of) {
                rows.distances2[place - 1] = b;
                rows.distances2[place] = a;
                rows.indices[place - 1] = b_of;
                rows.indices[place] = a_of;
                is_sorted = false;
            }
        }
    }
}
