//! The kernel of the walk.
//!
//! In: a tree, queries, and a visitor. Out: the visitor's output.
//! All points of a leaf are compared in their own precision, without branches. If a distance is within its error
//! bound of the radius, it is computed again in `f64`, as on the CPU.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use cubecl::prelude::*;

use crate::gpu::buffer::THREADS_PER_BLOCK;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::packet::{LeafRequest, Packet, block_units, new_packet};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{EMPTY, MIXED, Queries, Tree, UNIFORM, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::traverse::windows::{below, windows};
use crate::gpu::metric::{corners, distance2, exact_distance2, max_distance2, min_distance2, point_at};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, sync_warp, warp_any, warp_max};

/// The squared radius of a query as a filtered predicate: points up to `sure` are within, points beyond `maybe` are
/// not, and `radius2` decides between the two.
#[derive(CubeType)]
pub(super) struct Radius<F: Float> {
    pub sure: F,
    pub maybe: F,
    pub radius2: f64,
}

/// Returns the squared radius of a query.
#[cube]
pub(super) fn radius_of<F: Float>(queries: &Queries<F>, query: u32, #[comptime] own_radii: bool) -> Radius<F> {
    let mut own = 0usize.runtime();
    if comptime!(own_radii) {
        own = query as usize;
    }
    Radius::<F> { sure: queries.filters[2 * own], maybe: queries.filters[2 * own + 1], radius2: queries.radius2[own] }
}

/// Walks the tree for each of `n` queries. `end` is the number of nodes. If only some groups of 32 queries walk,
/// `heavy` has their number, followed by the groups.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn walk<F: Float, V: LeafVisitor>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    input: &V::Input,
    output: &mut V::Output,
    heavy: &Array<u32>,
    n: u32,
    end: u32,
    #[comptime] spec: WalkSpec,
) {
    if comptime!(spec.only_heavy) {
        let warps = CUBE_COUNT as u32 * (CUBE_DIM / WIDTH);
        let mut at = ABSOLUTE_POS as u32 / WIDTH;
        while at < heavy[0] {
            let unit = heavy[at as usize + 1] * WIDTH + UNIT_POS % WIDTH;
            walk_one::<F, V>(tree, queries, input, output, unit, n, end, spec);
            sync_warp(comptime!(spec.warp));
            at += warps;
        }
    } else {
        walk_one::<F, V>(tree, queries, input, output, ABSOLUTE_POS as u32, n, end, spec);
    }
}

/// Walks for the query of a thread, or takes part in the votes of its warp.
#[cube]
fn walk_one<F: Float, V: LeafVisitor>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    input: &V::Input,
    output: &mut V::Output,
    unit: u32,
    n: u32,
    end: u32,
    #[comptime] spec: WalkSpec,
) {
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let d = comptime!(spec.d);
    let radius = radius_of::<F>(queries, query, comptime!(spec.own_radii));
    let point = point_at::<F>(&queries.axes, query, n, d);
    let state = V::start(input, output, query);
    if comptime!(spec.warp.is_some()) {
        walk_warp::<F, V>(&state, input, output, tree, &point, &radius, unit, n, end, spec);
    } else if unit < n {
        walk_thread::<F, V>(&state, input, output, tree, &point, &radius, query, end, spec);
    }
    if unit < n {
        V::finish(&state, input, output, query);
    }
}

/// Walks for one query, node by node.
#[cube]
fn walk_thread<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    radius: &Radius<F>,
    query: u32,
    end: u32,
    #[comptime] spec: WalkSpec,
) {
    let d = comptime!(spec.d);
    let periodic = comptime!(spec.periodic);
    let mut from = 0u32.runtime();
    if comptime!(spec.half) {
        from = tree.leaf_of_point[(query / WIDTH) as usize];
    }
    let mut walk = RopeWalk::new(from, end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let first = node.first;
        let corners = corners::<F>(&tree.bounds, node.at, d);
        let node_state = V::node_state(input, node.at);
        let mut near =
            node_state != EMPTY && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= radius.maybe;
        if near {
            near = V::is_open(state, input);
        }
        if comptime!(spec.uniform) {
            if near && node_state == UNIFORM {
                near = V::should_enter(state, input, output, first);
            }
        }
        if comptime!(spec.whole) {
            if near {
                if max_distance2::<F>(&corners, point, d) <= radius.sure {
                    V::on_subtree(state, input, node.at, tree.links[node.rope as usize][1] - first);
                    near = false.runtime();
                }
            }
        }
        if near && node.is_leaf {
            // Compares all points of the leaf without branches before visiting hits.
            let mut sure = 0u32.runtime();
            let mut maybe = 0u32.runtime();
            let mut bit = 1u32.runtime();
            for other in first..tree.links[node.rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, tree.stored, point, &tree.sides, d, periodic);
                sure |= select(d2 <= radius.sure, bit, 0u32);
                maybe |= select(d2 <= radius.maybe, bit, 0u32);
                bit <<= 1;
            }
            if comptime!(spec.half) {
                // In half mode, a query visits only points behind it.
                if query >= first {
                    // A shift by 32 would shift by 0, so there are two shifts.
                    let behind_query = (!0u32 << min(query - first, 31u32)) << 1;
                    sure &= behind_query;
                    maybe &= behind_query;
                }
            }
            let hits = Hits::of_leaf(sure, first, node_state == UNIFORM);
            resolve_uncertain::<F, V>(state, input, output, tree, point, hits, maybe, radius, spec);
        }
        walk.step(&node, near);
    }
}

/// Walks for the queries of a warp at once, window by window. All threads of the warp must take part.
#[cube]
fn walk_warp<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    radius: &Radius<F>,
    unit: u32,
    n: u32,
    end: u32,
    #[comptime] spec: WalkSpec,
) {
    let d = comptime!(spec.d);
    let periodic = comptime!(spec.periodic);
    let warp = comptime!(spec.warp);
    let mut packet =
        new_packet::<F>(point, d, periodic, comptime!(warp.units(block_units(THREADS_PER_BLOCK, d))), warp);
    // The largest squared radius of the warp.
    let mut widest = radius.maybe + F::new(0.0);
    if comptime!(spec.own_radii) {
        widest = warp_max::<F>(widest, warp);
    }
    // A node within a radius has a diagonal of at most twice the radius.
    let mut small = F::new(-1.0);
    if comptime!(spec.whole) {
        small = widest * F::new(4.0);
    }
    // The query has no interest in nodes before this one.
    let mut next = 0u32.runtime();
    if unit >= n {
        next = end;
    }
    let mut at = 0u32.runtime();
    if comptime!(spec.half) {
        at = tree.leaf_of_point[(min(unit, n - 1) / WIDTH) as usize];
    }
    let windows = windows::<F>(end, small, comptime!(spec.uniform || spec.whole), warp);
    if comptime!(spec.warp_first) {
        let first = unit / WIDTH * WIDTH;
        if first < n {
            let behind = min(first + WIDTH, n);
            packet.enqueue_all(tree, first, behind - first);
            compare_packet::<F, V>(state, input, output, tree, point, &packet, radius, spec);
            packet.advance();
            packet.exclude(first, behind);
        }
    }
    while at < end && warp_any(next < end && V::is_open(state, input), warp) {
        if windows.are_ineffective() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let node_state = V::node_state(input, at);
            let wants = at >= next && node_state != EMPTY && V::is_open(state, input);
            let near = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= radius.maybe;
            windows.test_node(tree, at, near, comptime!(spec.whole) || node_state == UNIFORM);
        } else {
            let own = at + UNIT_POS % WIDTH;
            let mut node_state = MIXED.runtime();
            if own < end {
                node_state = V::node_state(input, own);
            }
            windows.test_window(tree, &packet, at, widest, node_state);
        }
        let mut stops = Bits::new(windows.stops());
        // No query has an interest in nodes before this one.
        let mut past = 0u32.runtime();
        while stops.any() {
            let bit = stops.pop();
            let node = at + bit;
            let link = tree.links[node as usize];
            let (rope, first) = (link[0], link[1]);
            let mut wants = node >= next && V::is_open(state, input);
            let asks = windows.tests_queries(bit);
            if asks {
                let corners = corners::<F>(&tree.bounds, node, d);
                wants = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= radius.maybe;
                if comptime!(spec.uniform) {
                    if wants {
                        wants = V::should_enter(state, input, output, first);
                    }
                }
                if comptime!(spec.whole) {
                    if wants && max_distance2::<F>(&corners, point, d) <= radius.sure {
                        V::on_subtree(state, input, node, packet.count(first, tree.links[rope as usize][1]));
                        wants = false.runtime();
                    }
                }
                if !wants {
                    next = max(next, rope);
                }
                if !warp_any(wants, warp) {
                    stops.set(stops.left() & !below(bit, rope - at));
                    past = max(past, rope);
                }
            } else {
                wants = windows.takes(tree, &packet, node, point, radius.maybe, wants);
            }
            if windows.is_leaf(bit) && warp_any(wants, warp) {
                let want = LeafRequest {
                    any: wants,
                    is_uniform: asks,
                    own: unit,
                    half: comptime!(spec.half),
                    uniform: comptime!(spec.uniform),
                };
                packet.enqueue_near(tree, first, tree.links[rope as usize][1], widest, want);
                if packet.is_full() {
                    compare_packet::<F, V>(state, input, output, tree, point, &packet, radius, spec);
                    packet.advance();
                }
            }
        }
        at = max(windows.next(), past);
    }
    compare_packet::<F, V>(state, input, output, tree, point, &packet, radius, spec);
}

/// Compares the packet's points with the query.
#[cube]
pub(super) fn compare_packet<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    packet: &Packet<F>,
    radius: &Radius<F>,
    #[comptime] spec: WalkSpec,
) {
    let (sure, maybe) = if comptime!(spec.uniform || V::HAS_INNER) {
        packet.compare(point, radius.sure, radius.maybe, &tree.sides)
    } else {
        packet.compare_signs(point, radius.sure, radius.maybe, &tree.sides)
    };
    if V::is_open(state, input) {
        resolve_uncertain::<F, V>(state, input, output, tree, point, packet.hits(sure), maybe, radius, spec);
    }
}

/// Decides in `f64` about points in `maybe` that are not hits yet, unless the visitor does, and passes all hits to the
/// visitor.
#[cube]
fn resolve_uncertain<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    hits: Hits,
    maybe: u32,
    radius: &Radius<F>,
    #[comptime] spec: WalkSpec,
) {
    let mut bits = hits.bits + 0;
    if comptime!(V::HAS_INNER) {
        V::on_inner(state, bits.count_ones());
        bits = maybe & !bits;
    } else if maybe != bits {
        let mut left = Bits::new(maybe & !bits);
        while left.any() {
            let bit = left.pop();
            let exact = exact_distance2::<F>(
                &tree.axes,
                hits.position(bit),
                tree.stored,
                point,
                &tree.exact_sides,
                comptime!(spec.d),
                comptime!(spec.periodic),
            );
            bits |= select(exact <= radius.radius2, 1u32 << bit, 0u32);
        }
    }
    if bits != 0 {
        V::on_hits::<F>(state, input, output, tree, point, &hits.with(bits), spec);
    }
}
