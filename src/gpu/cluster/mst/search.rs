//! The least edges of points that do not know them, by a walk past subtrees of their own component: the twin of the CPU's bottom-up search.
//!
//! In: positions, in tree order. Out: for each its least edge, or that it has none within the bound of its component.
//! The bound is known before, so a walk from the root is short. The units of a warp walk together (`packet`, `windows`); without warps each
//! walks alone. A point that may be near enough by its distance in the points' own precision is decided in `f64`, as on the CPU.

#![allow(unsafe_code)] // A kernel without bounds checks; the launch contract is that of `mst`.

use cubecl::prelude::*;

use crate::gpu::buffer::UNITS;
use crate::gpu::bvh::traverse::packet::{Packet, Want, new_packet};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{EMPTY, MIXED, Tree};
use crate::gpu::bvh::traverse::windows::windows;
use crate::gpu::cluster::mst::least::{Least, MstSpec, NONE, point_at, upper, weight2, weight2_of};
use crate::gpu::metric::{corners, distance2, min_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, warp_any, warp_max, warp_min};
use crate::gpu::search::nearest::{Limits, widened};

/// What is searched.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Components {
    /// The positions that search, and how many there are.
    pub active: Array<u32>,
    pub n: u32,
    /// The component of each position, and of each node, or [`NONE`].
    pub component: Array<u32>,
    pub uniform: Array<u32>,
    pub order: Array<u32>,
    pub core2: Array<f64>,
    pub limits: Limits,
    /// How many nodes there are.
    pub end: u32,
}

/// The least edge of a point so far.
#[derive(CubeType)]
struct Best<F: Float> {
    weight2: Array<f64>,
    /// The index and the position of the other end.
    index: Array<u32>,
    end: Array<u32>,
    /// Rounded squared distances beyond this are of heavier edges.
    limit: Array<F>,
    own: u32,
}

/// Searches; `bounds` are the upper bits of what the least edge of each component weighs at most.
#[cube(launch_unchecked)]
pub(super) fn search<F: Float>(
    tree: &Tree<F>,
    components: &Components,
    least: &mut Least,
    bounds: &mut Array<Atomic<u32>>,
    #[comptime] spec: MstSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    // All units of a warp must come along to vote.
    let at = components.active[min(unit, components.n - 1) as usize];
    let own = components.component[at as usize];
    let bound = bounds[own as usize].load();
    let mut best = Best::<F> {
        weight2: Array::<f64>::new(1usize),
        index: Array::<u32>::new(1usize),
        end: Array::<u32>::new(1usize),
        limit: Array::<F>::new(1usize),
        own,
    };
    // The largest weight with these upper bits.
    let infinity = components.limits.infinity();
    let is_bounded = bound < upper(infinity);
    let within = select(is_bounded, weight2_of(bound, u32::MAX), infinity);
    best.weight2[0] = within;
    best.index[0] = NONE;
    best.end[0] = NONE;
    best.limit[0] = widened::<F>(within, &components.limits);
    let point = point_at::<F>(tree, at, comptime!(spec.d));
    if comptime!(spec.warp.is_some()) {
        if unit >= components.n {
            best.limit[0] = F::new(-1.0);
        }
        search_together::<F>(&mut best, tree, components, at, &point, spec);
    } else if unit < components.n {
        search_alone::<F>(&mut best, tree, components, at, &point, spec);
    }
    if unit < components.n {
        let end = best.end[0];
        let found2 = best.weight2[0];
        least.end[at as usize] = end;
        if end == NONE {
            // There is no edge within the bound: the least one weighs as much as the next number, or more.
            least.weight2[at as usize] = select(is_bounded, weight2_of(bound + 1, 0u32), infinity);
        } else {
            least.weight2[at as usize] = found2;
            let found = upper(found2);
            if bounds[own as usize].load() > found {
                bounds[own as usize].fetch_min(found);
            }
        }
    }
}

/// Takes an edge that is less than the best so far.
#[cube]
fn push<F: Float>(
    best: &mut Best<F>,
    tree: &Tree<F>,
    components: &Components,
    at: u32,
    point: &Array<F>,
    other: u32,
    #[comptime] spec: MstSpec,
) {
    if components.component[other as usize] != best.own {
        let other2 = weight2::<F>(tree, &components.core2, at, point, other, spec);
        let index = components.order[other as usize];
        // Of edges from one point with one weight, that to the lowest index comes first.
        if other2 < best.weight2[0] || (other2 == best.weight2[0] && index < best.index[0]) {
            best.weight2[0] = other2;
            best.index[0] = index;
            best.end[0] = other;
            best.limit[0] = widened::<F>(other2, &components.limits);
        }
    }
}

/// Searches for one point.
#[cube]
fn search_alone<F: Float>(
    best: &mut Best<F>,
    tree: &Tree<F>,
    components: &Components,
    at: u32,
    point: &Array<F>,
    #[comptime] spec: MstSpec,
) {
    let d = comptime!(spec.d);
    let periodic = comptime!(spec.periodic);
    let mut hits = Bits::new(0u32.runtime());
    let mut walk = RopeWalk::new(0u32.runtime(), components.end);
    while walk.goes_on() {
        let node = walk.node::<F>(tree);
        let mut near = components.uniform[node.at as usize] != best.own;
        if near {
            let corners = corners::<F>(&tree.bounds, node.at, d);
            near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= best.limit[0];
        }
        if near && node.is_leaf {
            // All of the leaf without a branch, then what is near enough.
            let mut bits = 0u32.runtime();
            let mut bit = 1u32.runtime();
            for other in node.first..tree.links[node.rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, tree.stored, point, &tree.sides, d, periodic);
                bits |= select(d2 <= best.limit[0], bit, 0u32);
                bit <<= 1;
            }
            hits.set(bits);
            while hits.any() {
                push::<F>(best, tree, components, at, point, node.first + hits.pop(), spec);
            }
        }
        walk.step(&node, near);
    }
}

/// Searches for the points of a warp at once. All units of the warp take part.
#[cube]
fn search_together<F: Float>(
    best: &mut Best<F>,
    tree: &Tree<F>,
    components: &Components,
    at: u32,
    point: &Array<F>,
    #[comptime] spec: MstSpec,
) {
    let d = comptime!(spec.d);
    let periodic = comptime!(spec.periodic);
    let warp = comptime!(spec.warp);
    let mut packet = new_packet::<F>(point, d, periodic, comptime!(warp.units(UNITS)), warp);
    // Subtrees of the component that all points of the warp are of are left out.
    let common =
        select(warp_min::<u32>(best.own, warp) == warp_max::<u32>(best.own, warp), best.own, comptime!(NONE - 1));
    let mut widest = warp_max::<F>(best.limit[0], warp);
    let mut node = 0u32.runtime();
    let windows = windows::<F>(components.end, F::new(-1.0), false, warp);
    while node < components.end {
        if windows.are_bad() {
            let corners = corners::<F>(&tree.bounds, node, d);
            let is_near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= best.limit[0];
            let wants = is_near && components.uniform[node as usize] != best.own;
            windows.look_at(tree, node, wants, false);
        } else {
            let uniform = components.uniform[min(node + UNIT_POS % WIDTH, components.end) as usize];
            let node_state = select(uniform == common, EMPTY, MIXED);
            windows.look(tree, &packet, node, widest, node_state);
        }
        let mut leaves = Bits::new(windows.stops());
        while leaves.any() {
            let leaf = node + leaves.pop();
            let wants = components.uniform[leaf as usize] != best.own;
            let any = windows.takes(tree, &packet, leaf, point, best.limit[0], wants);
            if warp_any(any, warp) {
                let want = Want { any, is_uniform: false.runtime(), own: at, half: false, uniform: false };
                let first = tree.links[leaf as usize][1];
                packet.take(tree, first, tree.links[(leaf + 1) as usize][1], widest, want);
                if packet.is_full() {
                    push_packet::<F>(best, &packet, tree, components, at, point, spec);
                    packet.advance();
                    widest = warp_max::<F>(best.limit[0], warp);
                }
            }
        }
        node = windows.next();
    }
    push_packet::<F>(best, &packet, tree, components, at, point, spec);
}

/// Takes the packet's points.
#[cube]
fn push_packet<F: Float>(
    best: &mut Best<F>,
    packet: &Packet<F>,
    tree: &Tree<F>,
    components: &Components,
    at: u32,
    point: &Array<F>,
    #[comptime] spec: MstSpec,
) {
    let limit = best.limit[0];
    let (near, _) = packet.compare(point, limit, limit, &tree.sides);
    let mut left = Bits::new(near);
    while left.any() {
        push::<F>(best, tree, components, at, point, packet.position(left.pop()), spec);
    }
}
