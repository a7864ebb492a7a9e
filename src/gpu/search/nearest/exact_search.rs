//! The k nearest points of a query by one thread, with all decisions in `f64`: the GPU counterpart of
//! `search::nearest::exact_heap`.
//!
//! In: points. Out: rows of neighbours. For devices without warps, and for the few points that `approx_search` and
//! `sweep_nearest` leave in doubt. Their rows hold points that may be the nearest: the last one limits the search.
//! To make the radius small, the points next to the query in tree order are compared first, or those of the leaf
//! nearest to a query that is not stored. Then the tree is walked with that radius. If a rounded distance shows that
//! a point may be among the nearest, its distance is computed in `f64`, as on the CPU.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::buffer::THREADS_PER_BLOCK;
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::search::nearest::arguments::{KnnSpec, NeighborRows, Search};
use crate::gpu::search::nearest::exact_walk::nearest_leaf;
use crate::gpu::search::nearest::insertion::insert;
use crate::gpu::search::nearest::limits::Limits;

/// The points in tree order that are compared first for a stored query: the aligned block of this size around it.
const BLOCK: u32 = 32;

/// The nearest points so far, nearest first. Free places hold the squared radius, so that any point within it is
/// nearer.
#[derive(CubeType)]
struct ExactHeap<F: Float> {
    distances2: Array<f64>,
    indices: Array<u32>,
    /// The rounded squared distance beyond which points are not among the nearest: now, and at first.
    limit: Array<F>,
    first_limit: F,
    /// The last neighbour of the previous search. Only points after it are accepted.
    last2: f64,
    last_of: u32,
}

/// Finds the `k` nearest points of each query or, if `listed`, of the queries that `doubted` lists after their count.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn find_exactly<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    doubted: &Array<u32>,
    rows: &mut NeighborRows,
    #[comptime] listed: bool,
    #[comptime] spec: KnnSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    if comptime!(listed) {
        // Usually few queries are listed, sometimes all.
        let mut place = unit + 0;
        while place < doubted[0] {
            let query = doubted[(place + 1) as usize];
            find::<F>(tree, search, rows, query, true, spec);
            place += CUBE_COUNT as u32 * THREADS_PER_BLOCK;
        }
    } else if unit < search.queries.n {
        find::<F>(tree, search, rows, unit, false, spec);
    }
}

/// Finds the nearest points of one query. If `listed`, its row has points that may be the nearest, nearest first.
#[cube]
fn find<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    rows: &mut NeighborRows,
    query: u32,
    #[comptime] listed: bool,
    #[comptime] spec: KnnSpec,
) {
    let d = comptime!(spec.d);
    let k = comptime!(spec.k);
    let periodic = comptime!(spec.periodic);
    let n = tree.stored;
    let point = search.queries.point(query, d);
    let mut left_out = search.excluded + 0;
    if comptime!(spec.excludes_self) {
        left_out = search.queries.order[query as usize];
    }
    let row = search.queries.row(query, comptime!(spec.row_order)) * rows.width as usize + rows.from as usize;
    let mut radius2 = search.limits.radius2();
    let mut last2 = f64::new(-1.0);
    let mut last_of = 0u32.runtime();
    if comptime!(!spec.is_first) {
        let mut last = row + comptime!(k - 1);
        if comptime!(!spec.replaces) {
            last = row - 1;
        }
        last2 = rows.distances2[last];
        last_of = rows.indices[last];
        // If the previous search left a free place, no neighbours remain.
        radius2 = select(last_of == u32::MAX, f64::new(-1.0), radius2);
    }
    let mut farthest = radius2 + f64::new(0.0);
    if comptime!(listed) {
        farthest = farthest.min(rows.distances2[row + comptime!(k - 1)]);
    }
    let mut heap = ExactHeap::<F> {
        distances2: Array::<f64>::new(k),
        indices: Array::<u32>::new(k),
        limit: Array::<F>::new(1usize),
        first_limit: widened::<F>(farthest, &search.limits),
        last2,
        last_of,
    };
    #[unroll]
    for place in 0..k {
        heap.distances2[place] = radius2;
        heap.indices[place] = u32::MAX.runtime();
    }
    heap.limit[0] = heap.first_limit;

    let mut first = query / BLOCK * BLOCK;
    let mut behind = min(first + BLOCK, n);
    if comptime!(!spec.are_stored) {
        let leaf = nearest_leaf::<F>(tree, &point, d, periodic);
        first = tree.links[leaf as usize][1];
        behind = tree.links[(leaf + 1) as usize][1];
    }
    let mut hits = Bits::new(u32::MAX >> (BLOCK - (behind - first)));
    push::<F>(&mut heap, tree, search, first, &mut hits, &point, left_out, spec);
    let mut walk = RopeWalk::new(0u32.runtime(), search.end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let corners = corners::<F>(&tree.bounds, node.at, d);
        let near = min_distance2::<F>(&corners, &point, &tree.sides, d, periodic) <= heap.limit[0];
        if near && node.is_leaf {
            // Compares all points of the leaf without branches before inserting those near enough.
            let mut bits = 0u32.runtime();
            let mut bit = 1u32.runtime();
            for other in node.first..tree.links[node.rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, n, &point, &tree.sides, d, periodic);
                // The points in `first..behind` were compared first.
                let is_new = other < first || other >= behind;
                bits |= select(is_new && d2 <= heap.limit[0], bit, 0u32);
                bit <<= 1;
            }
            if bits != 0 {
                hits.set(bits);
                push::<F>(&mut heap, tree, search, node.first, &mut hits, &point, left_out, spec);
            }
        }
        walk.step(&node, near);
    }
    #[unroll]
    for place in 0..k {
        let mut has_place = true.runtime();
        if comptime!(spec.is_part) {
            has_place = rows.from + comptime!(place as u32) < rows.width;
        }
        if has_place {
            rows.indices[row + place] = heap.indices[place];
            rows.distances2[row + place] = heap.distances2[place];
        }
    }
}

/// Returns an upper bound on the rounded squared distances of points whose exact squared distance is at most
/// `distance2`.
#[cube]
pub(in crate::gpu) fn widened<F: Float>(distance2: f64, limits: &Limits) -> F {
    let radius = distance2.max(f64::new(0.0)).sqrt() + limits.absolute();
    let square = (radius * radius).max(limits.least_square()) / (limits.relative() * limits.relative());
    let mut limit = F::cast_from(square);
    // No point is within a negative radius.
    if distance2 < f64::new(0.0) {
        limit = F::new(-1.0);
    }
    limit
}

/// Inserts points into the heap, if they are near enough. `hits` has a bit for each point from `first` on.
#[cube]
fn push<F: Float>(
    heap: &mut ExactHeap<F>,
    tree: &Tree<F>,
    search: &Search<F>,
    first: u32,
    hits: &mut Bits,
    point: &Array<F>,
    left_out: u32,
    #[comptime] spec: KnnSpec,
) {
    let k = comptime!(spec.k);
    while hits.any() {
        let other = first + hits.pop();
        let index = search.order[other as usize];
        let d2 = exact_distance2::<F>(
            &tree.axes,
            other,
            tree.stored,
            point,
            &tree.exact_sides,
            comptime!(spec.d),
            comptime!(spec.periodic),
        );
        let mut is_nearer = index != left_out;
        if comptime!(!spec.is_first) {
            is_nearer = is_nearer && (d2 > heap.last2 || (d2 == heap.last2 && index > heap.last_of));
        }
        let (last, last_of) = (heap.distances2[comptime!(k - 1)], heap.indices[comptime!(k - 1)]);
        is_nearer = is_nearer && (d2 < last || (d2 == last && index < last_of));
        if is_nearer {
            insert(&mut heap.distances2, &mut heap.indices, d2, index, k);
        }
    }
    heap.limit[0] = heap.first_limit.min(widened::<F>(heap.distances2[comptime!(k - 1)], &search.limits));
}
