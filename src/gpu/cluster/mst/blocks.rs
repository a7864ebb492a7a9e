//! Exclusion of blocks of points that are farther from other components than the bound of their own.
//!
//! In: known edges, and bounds. Out: higher lower bounds. In late rounds, most points that may have the least edge of
//! their component lie deep inside it. Consecutive points in tree order are excluded together, by a traversal with
//! their box. If no point of another component is within the bound of the box, none of its points has an edge within
//! the bound. An edge never weighs less than its length, so this is also valid for mutual reachability.
//!
//! Cost: a box for each block, once; per block and round, a traversal that ends at the first point within the bound.

#![allow(unsafe_code)] // Kernels without bounds checks; the launch contract is that of `mst`.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::mst::edge_bounds::ActiveInput;
use crate::gpu::cluster::mst::least_edges::{MstSpec, NONE, PointEdges, point_at, upper, weight2_of};
use crate::gpu::cluster::mst::uniform::is_uniform;
use crate::gpu::metric::{boxes_distance2, corners, min_distance2};
use crate::gpu::search::nearest::{Limits, widened};

/// The number of positions per block.
const BLOCK: u32 = 32;

/// The number of blocks of `n` positions.
pub(super) fn blocks(n: usize) -> usize {
    n.div_ceil(BLOCK as usize)
}

/// The lower corner of each block's box, followed by the upper one.
pub(super) fn boxes<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
) -> Buffer<S> {
    let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let boxes = Buffer::<S>::new(client, blocks(n) * 2 * D);
    // SAFETY: `boxes` has `blocks(n)` boxes, `bvh.axes` has `n` points, and the kernel checks `first < n`.
    unsafe {
        box_blocks::launch_unchecked::<S, R>(
            client,
            blocks_for(blocks(n)),
            dim,
            bvh.axes.arg(),
            boxes.arg(),
            n as u32,
            D,
        );
    }
    boxes
}

#[cube(launch_unchecked)]
fn box_blocks<F: Float>(axes: &Array<F>, boxes: &mut Array<F>, n: u32, #[comptime] d: usize) {
    let block = ABSOLUTE_POS;
    let first = block as u32 * BLOCK;
    if first < n {
        #[unroll]
        for k in 0..d {
            let axis = k * n as usize;
            let mut lo = axes[axis + first as usize];
            let mut hi = lo;
            for at in first + 1..min(first + BLOCK, n) {
                let x = axes[axis + at as usize];
                lo = lo.min(x);
                hi = hi.max(x);
            }
            boxes[block * 2 * d + k] = lo;
            boxes[block * 2 * d + d + k] = hi;
        }
    }
}

/// Data that identify runs of positions in one component.
#[derive(CubeType, CubeLaunch)]
pub(super) struct UniformArg {
    /// The component of each node, or [`NONE`].
    pub nodes: Array<u32>,
    /// The number of changes of component before each position.
    pub changes: Array<u32>,
    pub limits: Limits,
    /// The number of nodes.
    pub end: u32,
}

/// Raises the lower bounds on edges for the points of blocks that have no edge within the bound of their component.
#[cube(launch_unchecked)]
pub(super) fn rule_out<F: Float>(
    tree: &Tree<F>,
    boxes: &Array<F>,
    input: &ActiveInput,
    uniform: &UniformArg,
    least: &mut PointEdges,
    #[comptime] spec: MstSpec,
) {
    let d = comptime!(spec.d);
    let first = ABSOLUTE_POS as u32 * BLOCK;
    if first < input.n {
        let behind = min(first + BLOCK, input.n);
        if is_uniform(&uniform.changes, first as usize, behind as usize) {
            let own = input.component[first as usize];
            let bound = input.bounds[own as usize];
            if bound < upper(uniform.limits.infinity()) && input.sizes[own as usize] <= input.most {
                let mut searches = Array::<u32>::new(1usize);
                searches[0] = 0;
                for at in first..behind {
                    if least.end[at as usize] == NONE {
                        if upper(least.weight2[at as usize]) <= bound {
                            searches[0] = 1;
                        }
                    }
                }
                if searches[0] == 1 {
                    let mut own_box = Array::<F>::new(comptime!(2 * d));
                    #[unroll]
                    for k in 0..comptime!(2 * d) {
                        own_box[k] = boxes[ABSOLUTE_POS * comptime!(2 * d) + k];
                    }
                    // The largest weight with these upper bits.
                    let limit = widened::<F>(weight2_of(bound, u32::MAX), &uniform.limits);
                    if is_apart::<F>(tree, &input.component, uniform, &own_box, own, limit, spec) {
                        let next = weight2_of(bound + 1, 0u32);
                        for at in first..behind {
                            if least.end[at as usize] == NONE {
                                least.weight2[at as usize] = next.max(least.weight2[at as usize]);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns `true` if no point of another component is within a squared distance of a box.
#[cube]
fn is_apart<F: Float>(
    tree: &Tree<F>,
    component: &Array<u32>,
    uniform: &UniformArg,
    own_box: &Array<F>,
    own: u32,
    limit: F,
    #[comptime] spec: MstSpec,
) -> bool {
    let d = comptime!(spec.d);
    let periodic = comptime!(spec.periodic);
    // In an array, because an optimiser of cubecl fails on loops over variables.
    let mut is_apart = Array::<u32>::new(1usize);
    is_apart[0] = 1;
    let mut walk = RopeWalk::new(0u32.runtime(), uniform.end);
    while walk.goes_on() && is_apart[0] == 1 {
        let node = walk.node(&tree.links);
        let mut near = uniform.nodes[node.at as usize] != own;
        if near {
            let corners = corners::<F>(&tree.bounds, node.at, d);
            near = boxes_distance2::<F>(&corners, own_box, &tree.sides, d, periodic) <= limit;
        }
        if near && node.is_leaf {
            for other in node.first..tree.links[node.rope as usize][1] {
                if component[other as usize] != own {
                    let point = point_at::<F>(tree, other, d);
                    if min_distance2::<F>(own_box, &point, &tree.sides, d, periodic) <= limit {
                        is_apart[0] = 0;
                    }
                }
            }
        }
        walk.step(&node, near);
    }
    is_apart[0] == 1
}
