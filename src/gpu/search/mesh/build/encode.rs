//! Compressed nodes from their children, from the deepest level up.
//!
//! In: the children of each node, and the corners of triangles. Out: a tree as `compressed` describes it.
//! First the triangles are written in the order of the leaves. Then each level is one kernel, whose threads write a
//! node each: its box, and those of its children in steps of that box.
//! Cost: a kernel per level; 32 bytes per node.
//!
//! **Launch contract.** That of `merge`.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;
use crate::gpu::search::mesh::build::collapse::Topology;
use crate::gpu::search::mesh::primitives::{Items, ItemsIn};
use crate::gpu::search::mesh::tree::{Tree, VECTORS, Vec4};

/// Writes the nodes and triangles of a tree.
pub(super) fn encode<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    topology: &Topology,
    items: &Items<S>,
) -> Tree {
    let (levels, dim) = (&topology.levels, CubeDim::new_1d(THREADS_PER_BLOCK));
    let nodes = levels.last().map_or(0, |&nodes| nodes as usize);
    let triangles = VECTORS * nodes as u32;
    let corners = items.corners();
    let words = Buffer::<u32>::new(client, 4 * (triangles as usize + corners as usize * items.n));
    let boxes = Buffer::<u32>::new(client, 8 * nodes);
    // SAFETY: the launch contract of `merge`, with the number of triangles and with the number of nodes of each level.
    // `words` has `VECTORS` vectors per node and one for each corner of an item, `boxes` has two per node.
    unsafe {
        write_items::launch_unchecked::<S, R>(
            client,
            blocks_for(items.n),
            dim,
            items.arg(),
            topology.order.arg(),
            words.quads(),
            triangles,
            corners,
        );
        for level in levels.windows(2).rev() {
            let len = level[1] - level[0];
            encode_level::launch_unchecked::<R>(
                client,
                blocks_for(len as usize),
                dim,
                topology.nodes.quads(),
                words.quads(),
                boxes.quads(),
                level[0],
                len,
                triangles,
                corners,
            );
        }
    }
    Tree::from_words(client, words, triangles)
}

/// Writes the corners of each triangle or box in the unit of the tree.
#[cube(launch_unchecked)]
fn write_items<F: Float>(
    items: &ItemsIn<F>,
    order: &Array<u32>,
    words: &mut Vec4,
    triangles: u32,
    #[comptime] count: u32,
) {
    let position = ABSOLUTE_POS as u32;
    if position < items.n {
        let index = order[position as usize];
        let corners = items.framed(index, count);
        #[unroll]
        for corner in 0..comptime!(count as usize) {
            let mut own = Vector::<u32, Const<4>>::new(0u32);
            #[unroll]
            for k in 0..3usize {
                own[k] = u32::reinterpret(corners[comptime!(3 * corner + k)]);
            }
            own[3] = index;
            words[(triangles + position * count) as usize + corner] = own;
        }
    }
}

/// The boxes of a node's children.
#[derive(CubeType)]
struct ChildBoxes {
    /// The lower corners by place, then the upper ones.
    corners: Array<f32>,
    /// A mask of the places with a child.
    present: u32,
}

/// Writes `len` nodes from number `start` on. Those below them have been written.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn encode_level(
    topology: &Vec4,
    words: &mut Vec4,
    boxes: &mut Vec4,
    start: u32,
    len: u32,
    triangles: u32,
    #[comptime] count: u32,
) {
    if (ABSOLUTE_POS as u32) < len {
        let at = start + ABSOLUTE_POS as u32;
        let node = topology[at as usize];
        let (inner, items) = (node[0], node[3]);
        let mut children = ChildBoxes { corners: Array::<f32>::new(48usize), present: inner | items };
        let mut bounds = Array::<f32>::new(6usize);
        #[unroll]
        for k in 0..3usize {
            bounds[k] = f32::new(3e38);
            bounds[k + 3] = f32::new(-3e38);
        }
        let mut next_node = node[1];
        let mut next_item = node[2];
        for place in 0..8u32 {
            let bit = 1u32 << place;
            if inner & bit != 0 {
                let (lo, hi) = (boxes[2 * next_node as usize], boxes[2 * next_node as usize + 1]);
                next_node += 1;
                #[unroll]
                for k in 0..3usize {
                    let (low, high) = (f32::reinterpret(lo[k]), f32::reinterpret(hi[k]));
                    children.corners[3 * place as usize + k] = low;
                    children.corners[3 * place as usize + k + 24] = high;
                    bounds[k] = min(bounds[k], low);
                    bounds[k + 3] = max(bounds[k + 3], high);
                }
            }
            if items & bit != 0 {
                let first = (triangles + next_item * count) as usize;
                // The last corner is the second one of a box.
                let (a, b, c) = (words[first], words[first + 1], words[first + comptime!(count as usize - 1)]);
                next_item += 1;
                #[unroll]
                for k in 0..3usize {
                    let (a, b, c) = (f32::reinterpret(a[k]), f32::reinterpret(b[k]), f32::reinterpret(c[k]));
                    let (low, high) = (min(a, min(b, c)), max(a, max(b, c)));
                    children.corners[3 * place as usize + k] = low;
                    children.corners[3 * place as usize + k + 24] = high;
                    bounds[k] = min(bounds[k], low);
                    bounds[k + 3] = max(bounds[k + 3], high);
                }
            }
        }
        let (mut lo, mut hi) = (Vector::<u32, Const<4>>::new(0u32), Vector::<u32, Const<4>>::new(0u32));
        // The lower corner and the exponents; then the bounds of children, two words of four bytes for each axis.
        let mut head = Vector::<u32, Const<4>>::new(0u32);
        let mut bytes = Array::<u32>::new(12usize);
        head[3] = inner << 24;
        #[unroll]
        for k in 0..3usize {
            lo[k] = u32::reinterpret(bounds[k]);
            hi[k] = u32::reinterpret(bounds[k + 3]);
            head[k] = u32::reinterpret(bounds[k]);
            let exponent = write_bytes(&children, bounds[k], bounds[k + 3], &mut bytes, k);
            head[3] = head[3] | exponent << comptime!(8 * k as u32);
        }
        boxes[2 * at as usize] = lo;
        boxes[2 * at as usize + 1] = hi;
        let first = (VECTORS * at) as usize;
        words[first] = head;
        let mut links = Vector::<u32, Const<4>>::new(0u32);
        links[0] = node[1];
        links[1] = node[2];
        links[2] = items;
        words[first + 1] = links;
        #[unroll]
        for part in 0..3usize {
            let mut own = Vector::<u32, Const<4>>::new(0u32);
            #[unroll]
            for k in 0..4usize {
                own[k] = bytes[comptime!(4 * part + k)];
            }
            words[first + comptime!(2 + part)] = own;
        }
    }
}

/// Writes the bounds of children along an axis, rounded outwards to steps from `lo`. Returns the biased exponent of the
/// step: the least power of two of which 255 reach `hi`.
#[cube]
fn write_bytes(children: &ChildBoxes, lo: f32, hi: f32, bytes: &mut Array<u32>, #[comptime] axis: usize) -> u32 {
    let (lo, extent) = (f64::cast_from(lo), f64::cast_from(hi) - f64::cast_from(lo));
    // At most the exponent of a 512th of the extent, which is too small.
    let biased = u32::reinterpret(f32::cast_from(extent)) >> 23;
    let exponent = RuntimeCell::<u32>::new(max(biased, 10u32) - 9);
    while exponent.read() < 254 && extent > f64::new(255.0) * step(exponent.read()) {
        exponent.store(exponent.read() + 1);
    }
    let inverse = f64::new(1.0) / step(exponent.read());
    #[unroll]
    for half in 0..2usize {
        let (from, to) = (RuntimeCell::<u32>::new(0), RuntimeCell::<u32>::new(0));
        for byte in 0..4u32 {
            let place = comptime!(4 * half as u32) + byte;
            let (mut low, mut high) = (255u32.runtime(), 0u32.runtime());
            if children.present >> place & 1 != 0 {
                let first = (f64::cast_from(children.corners[3 * place as usize + axis]) - lo) * inverse;
                let last = (f64::cast_from(children.corners[3 * place as usize + axis + 24]) - lo) * inverse;
                low = u32::cast_from(first);
                high = u32::cast_from(last);
                high += u32::cast_from(f64::cast_from(high) < last);
            }
            from.store(from.read() | low << (8 * byte));
            to.store(to.read() | high << (8 * byte));
        }
        bytes[comptime!(2 * axis + half)] = from.read();
        bytes[comptime!(6 + 2 * axis + half)] = to.read();
    }
    exponent.read()
}

/// Returns the power of two with a biased exponent.
#[cube]
fn step(exponent: u32) -> f64 {
    f64::cast_from(f32::reinterpret(exponent << 23))
}
