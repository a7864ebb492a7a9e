//! The search of groups of 32 rows of queries in runs of stored primitives.
//!
//! In: rows of queries, runs near each group of them (`groups`), and a visitor. Out: the visitor's output. A warp takes 32
//! primitives of a run at a time, keeps those near the boxes around its queries (`waiting`), and compares 32 of these
//! with all queries. Threads then share the tests of shapes that remain.
//! Source: `bvh::traverse`, which does the same for points and balls.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::block_units;
use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{Groups, RUNS, Runs, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_any, warp_inclusive_sum, warp_shuffle};
use crate::gpu::search::shapes::box_tests::{RowSpec, approximate, may_meet};
use crate::gpu::search::shapes::row_walk::{Shapes, is_hit, read_row};
use crate::gpu::search::shapes::tests::{BoxTest, HitTest};
use crate::gpu::search::shapes::waiting::{Waiting, new_waiting};

/// Threads per block for `d` dimensions, unless warps are emulated.
pub(super) fn sweep_threads(d: usize) -> u32 {
    block_units(4 * WIDTH, d)
}

/// Groups of queries, and the runs near them.
#[derive(CubeType, CubeLaunch)]
pub(super) struct RowGroups<F: Float> {
    pub groups: Groups<F>,
    pub runs: Runs,
}

/// Visits the hits of each of `n` queries, without those of heavy groups.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sweep_rows<F: Float, B: BoxTest, T: HitTest, V: LeafVisitor>(
    tree: &Tree<F>,
    near: &RowGroups<F>,
    shapes: &Shapes,
    input: &V::Input,
    output: &mut V::Output,
    n: u32,
    #[comptime] spec: RowSpec,
    #[comptime] warp: Warp,
) {
    let unit = ABSOLUTE_POS as u32;
    let d = comptime!(spec.d);
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let (query, is_query) = (min(unit, n - 1), unit < n);
    let group = query / WIDTH;
    let units = comptime!(warp.units(sweep_threads(spec.d)));
    let row = read_row(&shapes.queries, query, spec);
    let own = Own::<F> { near: approximate::<F>(&row, spec), row, query, is_query };
    let state = V::start(input, output, query);
    let boxes = load_boxes::<F>(&near.groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(&near.groups, group, false);
    let mut waiting = new_waiting::<F>(d, comptime!(spec.are_points), units, warp);
    let mut pairs = SharedMemory::<u32>::new(comptime!(if spec.needs_test() { (units * WIDTH) as usize } else { 1 }));
    if !near.runs.is_heavy(group) {
        // Surplus warps have no group.
        let count = select(unit / WIDTH == group, near.runs.count(group), 0u32);
        let mut run = 0u32.runtime();
        while run < count && warp_any(is_query && V::is_open(&state, input), warp) {
            let range = near.runs.ranges[(group * RUNS + run) as usize];
            let (mut first, behind) = (range[0], range[1]);
            while first < behind {
                waiting.enqueue(tree, &boxes, &limits, first, behind);
                if waiting.is_full() {
                    compare::<F, B, T, V>(&state, input, output, tree, shapes, &own, &waiting, &mut pairs, spec, warp);
                    waiting.advance();
                }
                first += WIDTH;
            }
            run += 1;
        }
        compare::<F, B, T, V>(&state, input, output, tree, shapes, &own, &waiting, &mut pairs, spec, warp);
        if is_query {
            V::finish(&state, input, output, query);
        }
    }
}

/// The query of a thread.
#[derive(CubeType)]
struct Own<F: Float> {
    /// Its row, and the numbers with which boxes are tested first.
    row: Array<f64>,
    near: Array<F>,
    query: u32,
    /// `false` for a thread that repeats the last query.
    is_query: bool,
}

/// Compares the queries of a warp with up to 32 waiting primitives, and visits the hits.
#[cube]
#[allow(clippy::too_many_arguments)]
fn compare<F: Float, B: BoxTest, T: HitTest, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    shapes: &Shapes,
    own: &Own<F>,
    waiting: &Waiting<F>,
    pairs: &mut SharedMemory<u32>,
    #[comptime] spec: RowSpec,
    #[comptime] warp: Warp,
) {
    let mut bits = 0u32.runtime();
    for place in 0..waiting.len() {
        let meets = may_meet::<F>(&own.row, &own.near, &waiting.corners(place), tree, spec);
        bits |= u32::cast_from(meets) << place;
    }
    bits = select(own.is_query && V::is_open(state, input), bits, 0u32);
    if comptime!(spec.needs_test()) {
        bits = test_pairs::<F, B, T>(bits, tree, shapes, own, waiting, pairs, spec, warp);
    }
    let mut left = Bits::new(bits);
    while left.any() {
        let place = left.pop();
        if V::is_open(state, input) {
            V::on_hit(state, input, output, waiting.position(place));
        }
    }
}

/// Returns those of a thread's `bits`, a bit for each waiting primitive, whose primitives its query hits. The threads of
/// a warp share the tests: `pairs` has places for each query and primitive.
#[cube]
#[allow(clippy::too_many_arguments)]
fn test_pairs<F: Float, B: BoxTest, T: HitTest>(
    bits: u32,
    tree: &Tree<F>,
    shapes: &Shapes,
    own: &Own<F>,
    waiting: &Waiting<F>,
    pairs: &mut SharedMemory<u32>,
    #[comptime] spec: RowSpec,
    #[comptime] warp: Warp,
) -> u32 {
    let unit = UNIT_POS % WIDTH;
    let first = UNIT_POS / WIDTH * comptime!(WIDTH * WIDTH);
    let until = warp_inclusive_sum(bits.count_ones(), warp);
    let begin = first + until - bits.count_ones();
    let end = first + warp_shuffle::<u32>(until, WIDTH - 1, warp);
    let mut left = Bits::new(bits);
    let mut to = begin + 0;
    while left.any() {
        pairs[to as usize] = unit * WIDTH + left.pop();
        to += 1;
    }
    sync_warp(warp);
    let group = own.query / WIDTH * WIDTH;
    let mut from = first + unit;
    while from < end {
        let pair = pairs[from as usize];
        let (query, place) = (group + pair / WIDTH, pair % WIDTH);
        let row = read_row(&shapes.queries, query, spec);
        let (corners, at) = (waiting.corners(place), waiting.position(place));
        let hits = is_hit::<F, B, T>(&row, query, &corners, at, tree, shapes, spec);
        pairs[from as usize] = u32::cast_from(hits);
        from += WIDTH;
    }
    sync_warp(warp);
    let mut kept = 0u32.runtime();
    let mut left = Bits::new(bits);
    let mut to = begin + 0;
    while left.any() {
        let place = left.pop();
        kept |= pairs[to as usize] << place;
        to += 1;
    }
    sync_warp(warp);
    kept
}
