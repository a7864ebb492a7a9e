//! The search for least edges by a traversal that skips subtrees of the point's own component: the GPU version of the
//! CPU's bottom-up search.
//!
//! In: positions, in tree order. Out: for each position its least edge, or the fact that no edge is within the bound
//! of its component. The bound is known in advance, so a traversal from the root is short. Each thread traverses
//! alone: neighbouring positions that search are often of one component and far from all others, and then stop at
//! once. Points that may be near enough by their distance in storage precision are compared again in `f64`, as on the
//! CPU.

#![allow(unsafe_code)] // A kernel without bounds checks; the launch contract is that of `mst`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::cluster::mst::least_edges::{MstSpec, NONE, PointEdges, point_at, upper, weight2, weight2_of};
use crate::gpu::metric::{corners, distance2, min_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::search::nearest::{Limits, widened};

/// The positions to search for, and the components.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Components {
    /// The positions that search, and their number.
    pub active: Array<u32>,
    pub n: u32,
    /// The component of each position; the component of each node, or [`NONE`].
    pub component: Array<u32>,
    pub uniform: Array<u32>,
    pub order: Array<u32>,
    pub core2: Array<f64>,
    pub limits: Limits,
    /// The number of nodes.
    pub end: u32,
}

/// The least edge of a point so far.
#[derive(CubeType)]
struct Best<F: Float> {
    weight2: Array<f64>,
    /// The index and the position of the other end.
    index: Array<u32>,
    end: Array<u32>,
    /// Points whose rounded squared distance exceeds this limit have heavier edges.
    limit: Array<F>,
    own: u32,
}

/// Searches for least edges. `bounds` are the upper bits of upper bounds on the least edge of each component.
#[cube(launch_unchecked)]
pub(super) fn search<F: Float>(
    tree: &Tree<F>,
    components: &Components,
    least: &mut PointEdges,
    bounds: &mut Array<Atomic<u32>>,
    #[comptime] spec: MstSpec,
) {
    if (ABSOLUTE_POS as u32) < components.n {
        let at = components.active[ABSOLUTE_POS];
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
        walk::<F>(&mut best, tree, components, at, &point, spec);
        let end = best.end[0];
        let found2 = best.weight2[0];
        least.end[at as usize] = end;
        if end == NONE {
            // No edge is within the bound, so the least edge weighs at least as much as the next number.
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

/// Replaces the best edge by the edge to `other` if that is less.
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
        // Among edges from one point with equal weights, the edge to the lowest index comes first.
        if other2 < best.weight2[0] || (other2 == best.weight2[0] && index < best.index[0]) {
            best.weight2[0] = other2;
            best.index[0] = index;
            best.end[0] = other;
            best.limit[0] = widened::<F>(other2, &components.limits);
        }
    }
}

/// Traverses the tree from the root.
#[cube]
fn walk<F: Float>(
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
        let node = walk.node(&tree.links);
        let mut near = components.uniform[node.at as usize] != best.own;
        if near {
            let corners = corners::<F>(&tree.bounds, node.at, d);
            near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= best.limit[0];
        }
        if near && node.is_leaf {
            // Tests all points of the leaf without a branch, then takes those that are near enough.
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
