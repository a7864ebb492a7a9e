//! The stackless walk in kernels: the twin of `traverse`.
//!
//! In: a tree, queries, and a visitor. Out: what the visitor makes of the points within each query's radius.
//! A unit has a query. The units of a plane (a warp) walk together: they look at 32 nodes at a time (`window`), and at the points of
//! leaves (`packet`). Without planes each walks for itself.
//! Source: Prokopenko and Lebrun-Grandié 2024 (ropes).

#![allow(unsafe_code)] // Kernels without checks of their own: see `Bvh::walk`.

pub(in crate::gpu) mod packet;
pub(in crate::gpu) mod spec;
pub(in crate::gpu) mod window;

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, UNITS};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::packet::{Hits, Packet, Want, new_packet};
use crate::gpu::bvh::traverse::spec::{
    EMPTY, LeafVisitor, MIXED, Queries, QueriesLaunch, TraversalMode, Tree, TreeLaunch, UNIFORM, WalkSpec,
};
use crate::gpu::bvh::traverse::window::{below, windows};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::metric::{corners, distance2, exact_distance2, max_distance2, min_distance2};
use crate::gpu::primitives::warp::{WIDTH, Warp, warp_any, warp_max};

/// Walks the tree for each of `n` queries.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn walk<F: Float, V: LeafVisitor>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    input: &V::Input,
    output: &mut V::Output,
    n: u32,
    end: u32,
    #[comptime] shape: WalkSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    // All units of a plane must come along to vote.
    let query = min(unit, n - 1);
    let d = comptime!(shape.d);
    let mut own = 0usize.runtime();
    if comptime!(shape.own_radii) {
        own = query as usize;
    }
    let reach =
        Limits::<F> { sure: queries.reach[2 * own], maybe: queries.reach[2 * own + 1], radius2: queries.radius2[own] };
    let mut point = Array::<F>::new(d);
    #[unroll]
    for k in 0..d {
        point[k] = queries.axes[k * n as usize + query as usize];
    }
    let state = V::start(input, output, query);
    if comptime!(shape.warp.is_some()) {
        together::<F, V>(&state, input, output, tree, &point, &reach, unit, n, end, shape);
    } else if unit < n {
        alone::<F, V>(&state, input, output, tree, &point, &reach, query, end, shape);
    }
    if unit < n {
        V::finish(&state, input, output, query);
    }
}

/// Walks for one query, node by node.
#[cube]
fn alone<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    reach: &Limits<F>,
    query: u32,
    end: u32,
    #[comptime] shape: WalkSpec,
) {
    let d = comptime!(shape.d);
    let periodic = comptime!(shape.periodic);
    let mut at = 0u32.runtime();
    if comptime!(shape.half) {
        at = tree.leaves[(query / WIDTH) as usize];
    }
    while at < end {
        let link = tree.links[at as usize];
        let (rope, first) = (link[0], link[1]);
        let corners = corners::<F>(&tree.bounds, at, d);
        let kind = V::kind(input, at);
        let mut near = kind != EMPTY && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= reach.maybe;
        if near {
            near = V::is_open(state, input);
        }
        if comptime!(shape.alike) {
            if near && kind == UNIFORM {
                near = V::should_enter(state, input, output, first);
            }
        }
        if comptime!(shape.whole) {
            if near {
                if max_distance2::<F>(&corners, point, d) <= reach.sure {
                    V::on_subtree(state, tree.links[rope as usize][1] - first);
                    near = false.runtime();
                }
            }
        }
        if !near {
            at = rope;
        } else if rope == at + 1 {
            // All of the leaf without a branch, then what was found.
            let mut bits = 0u32.runtime();
            let mut doubts = 0u32.runtime();
            let mut bit = 1u32.runtime();
            for other in first..tree.links[rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, tree.stored, point, &tree.sides, d, periodic);
                bits |= select(d2 <= reach.sure, bit, 0u32);
                doubts |= select(d2 <= reach.maybe, bit, 0u32);
                bit <<= 1;
            }
            if comptime!(shape.half) {
                // Those up to the query's own place are not meant.
                if query >= first {
                    // A shift by 32 is none, so it is done in two steps.
                    let behind_query = (!0u32 << min(query - first, 31u32)) << 1;
                    bits &= behind_query;
                    doubts &= behind_query;
                }
            }
            let hits = Hits::of_leaf(bits, first, kind == UNIFORM);
            settle::<F, V>(state, input, output, tree, point, hits, doubts, reach, shape);
            at = rope;
        } else {
            at += 1;
        }
    }
}

/// Walks for the queries of a plane at once, which all take part, window by window.
#[cube]
fn together<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    reach: &Limits<F>,
    unit: u32,
    n: u32,
    end: u32,
    #[comptime] shape: WalkSpec,
) {
    let d = comptime!(shape.d);
    let periodic = comptime!(shape.periodic);
    let warp = comptime!(shape.warp);
    let mut packet = new_packet::<F>(point, d, periodic, comptime!(shape.warp.units(UNITS)), warp);
    // The largest radius of the plane.
    let mut widest = reach.maybe + F::new(0.0);
    if comptime!(shape.own_radii) {
        widest = warp_max::<F>(widest, warp);
    }
    // A node that is within the radius has no longer diagonal than twice that.
    let mut small = F::new(-1.0);
    if comptime!(shape.whole) {
        small = widest * F::new(4.0);
    }
    // Nodes before this one are done with, for the query.
    let mut next = 0u32.runtime();
    if unit >= n {
        next = end;
    }
    let mut at = 0u32.runtime();
    if comptime!(shape.half) {
        at = tree.leaves[(min(unit, n - 1) / WIDTH) as usize];
    }
    let windows = windows::<F>(end, small, comptime!(shape.alike || shape.whole), warp);
    if comptime!(shape.around) {
        let first = unit / WIDTH * WIDTH;
        if first < n {
            let behind = min(first + WIDTH, n);
            packet.take_all(tree, first, behind - first);
            meet::<F, V>(state, input, output, tree, point, &packet, reach, shape);
            packet.turn();
            packet.leave_out(first, behind);
        }
    }
    while at < end && warp_any(next < end && V::is_open(state, input), warp) {
        if windows.are_bad() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let kind = V::kind(input, at);
            let wants = at >= next && kind != EMPTY && V::is_open(state, input);
            let near = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= reach.maybe;
            windows.look_at(tree, at, near, comptime!(shape.whole) || kind == UNIFORM);
        } else {
            let own = at + UNIT_POS % WIDTH;
            let mut kind = MIXED.runtime();
            if own < end {
                kind = V::kind(input, own);
            }
            windows.look(tree, &packet, at, widest, kind);
        }
        let mut stops = windows.stops();
        // Nodes before this one are done with for all queries.
        let mut past = 0u32.runtime();
        while stops != 0 {
            let bit = stops.find_first_set() - 1;
            stops &= stops - 1;
            let node = at + bit;
            let link = tree.links[node as usize];
            let (rope, first) = (link[0], link[1]);
            let mut wants = node >= next && V::is_open(state, input);
            let asks = windows.asks(bit);
            if asks {
                let corners = corners::<F>(&tree.bounds, node, d);
                wants = wants && min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= reach.maybe;
                if comptime!(shape.alike) {
                    if wants {
                        wants = V::should_enter(state, input, output, first);
                    }
                }
                if comptime!(shape.whole) {
                    if wants && max_distance2::<F>(&corners, point, d) <= reach.sure {
                        V::on_subtree(state, packet.count(first, tree.links[rope as usize][1]));
                        wants = false.runtime();
                    }
                }
                if !wants {
                    next = max(next, rope);
                }
                if !warp_any(wants, warp) {
                    stops &= !below(bit, rope - at);
                    past = max(past, rope);
                }
            } else {
                wants = windows.takes(tree, &packet, node, point, reach.maybe, wants);
            }
            if windows.is_leaf(bit) && warp_any(wants, warp) {
                let want = Want {
                    any: wants,
                    one_will_do: asks,
                    own: unit,
                    half: comptime!(shape.half),
                    alike: comptime!(shape.alike),
                };
                packet.take(tree, first, tree.links[rope as usize][1], widest, want);
                if packet.is_full() {
                    meet::<F, V>(state, input, output, tree, point, &packet, reach, shape);
                    packet.turn();
                }
            }
        }
        at = max(windows.next(), past);
    }
    meet::<F, V>(state, input, output, tree, point, &packet, reach, shape);
}

/// The radius of a query: what is surely within, what is maybe, and what decides.
#[derive(CubeType)]
struct Limits<F: Float> {
    sure: F,
    maybe: F,
    radius2: f64,
}

/// What the packet has for the query.
#[cube]
fn meet<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    packet: &Packet<F>,
    reach: &Limits<F>,
    #[comptime] shape: WalkSpec,
) {
    let (bits, doubts) = packet.compare(point, reach.sure, reach.maybe, &tree.sides);
    if V::is_open(state, input) {
        settle::<F, V>(state, input, output, tree, point, packet.hits(bits), doubts, reach, shape);
    }
}

/// Decides what is in doubt, and shows the visitor what is within the radius.
#[cube]
fn settle<F: Float, V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    tree: &Tree<F>,
    point: &Array<F>,
    hits: Hits,
    doubts: u32,
    reach: &Limits<F>,
    #[comptime] shape: WalkSpec,
) {
    let mut bits = hits.bits + 0;
    if doubts != bits {
        let mut left = Array::<u32>::new(1usize);
        left[0] = doubts & !bits;
        while left[0] != 0 {
            let other = hits.position(left[0].find_first_set() - 1);
            let exact = exact_distance2::<F>(
                &tree.axes,
                other,
                tree.stored,
                point,
                &tree.exact_sides,
                comptime!(shape.d),
                comptime!(shape.periodic),
            );
            bits |= select(exact <= reach.radius2, left[0] & (!left[0] + 1), 0u32);
            left[0] = left[0] & (left[0] - 1);
        }
    }
    if bits != 0 {
        V::meet::<F>(state, input, output, tree, point, &hits.with(bits), shape);
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    pub(in crate::gpu) fn tree<R: Runtime>(&self, client: &ComputeClient<R>, nodes: &Nodes<S>) -> TreeLaunch<S, R> {
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            nodes.bounds.twos(),
            nodes.links.twos(),
            nodes.leaves.arg(),
            self.axes.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
            self.len() as u32,
        )
    }

    /// Walks the tree for each stored point, with one radius.
    pub(in crate::gpu) fn walk<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        radius: f64,
        manner: TraversalMode,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let queries = self.queries(client, &self.axes, radius);
        self.walk_queries::<R, V>(client, nodes, queries, self.len(), (manner, false), input, output);
    }

    /// Queries about points, axis by axis, with one radius.
    pub(in crate::gpu) fn queries<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        axes: &Buffer<S>,
        radius: f64,
    ) -> QueriesLaunch<S, R> {
        let reach = FilteredRadius::<S, D>::new(radius, &self.space);
        QueriesLaunch::new(
            axes.arg(),
            Buffer::from_slice(client, &[reach.sure, reach.maybe]).arg(),
            Buffer::from_slice(client, &[reach.radius2]).arg(),
        )
    }

    /// Walks the tree for each of `n` queries, with radii of their own if so said.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::gpu) fn walk_queries<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        queries: QueriesLaunch<S, R>,
        n: usize,
        (manner, own_radii): (TraversalMode, bool),
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        if n == 0 {
            return;
        }
        let warp = Warp::of(client).apart();
        let (blocks, dim) = warp.blocks(n, UNITS);
        let shape = WalkSpec {
            d: D,
            periodic: self.space.period().is_some(),
            warp,
            own_radii,
            half: matches!(manner, TraversalMode::Half | TraversalMode::HalfAlike),
            whole: matches!(manner, TraversalMode::Whole | TraversalMode::WholeAround),
            around: manner == TraversalMode::WholeAround,
            alike: matches!(manner, TraversalMode::EachAlike | TraversalMode::HalfAlike),
        };
        // SAFETY: nodes, ropes and firsts are those of a tree, so they stay within its points; a rope leads forward, so the walk
        // ends. Visitors write to the places of their queries, or what is right when it is read late (`link`); units without a query
        // write nothing.
        unsafe {
            walk::launch_unchecked::<S, V, R>(
                client,
                blocks,
                dim,
                self.tree(client, nodes),
                queries,
                input,
                output,
                n as u32,
                nodes.end() as u32,
                shape,
            );
        }
    }
}
