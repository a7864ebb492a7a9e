//! The nodes in depth-first order, with boxes and ropes.
//!
//! In: a hierarchy, and the points in tree order. Out: nodes that are bit-identical to the CPU's.
//! A node's box is that of a range of leaves. The boxes of sixteen leaves, of sixteen of those, and so on, are
//! computed first. Each node combines at most thirty boxes of each size, so no node waits for its children.
//! Cost: 2 D + 2 numbers per node and one per 32 points, and another box per leaf.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `bvh`.

use cubecl::prelude::*;

use crate::bvh::Node;
use crate::error::Result;
use crate::geometry::{Aabb, Scalar};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::hierarchy::{Hierarchy, HierarchyArg, NO_SPLIT};

/// The distance between points whose leaf is stored: the number of threads of a warp. A walk over pairs begins at the
/// leaf of the first point of its warp. A leaf holds at most this many points, so it is stored at most once.
pub(in crate::gpu) const LEAF_INDEX_STRIDE: u32 = 32;

/// The number of boxes that are combined into one of the next size.
const GROUP: u32 = 16;
/// The largest dimension in which the boxes of a block fit in its shared memory. There is then a thread for each
/// coordinate of its combined boxes.
const WITHIN_BLOCKS: usize = 4;
/// The maximum number of ancestors of a node, which has fewer than a code and a leaf index have bits together. It
/// ends the loop even for invalid input.
const MOST_STEPS: u32 = 96;

/// The nodes of a tree on a device, followed by a sentinel.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Nodes<S> {
    /// The lower corner of each node, followed by the upper one.
    pub bounds: Buffer<S>,
    /// The rope of each node, and the first point below it.
    pub links: Buffer<u32>,
    /// The leaf of every [`LEAF_INDEX_STRIDE`]th point.
    pub leaf_of_point: Buffer<u32>,
}

impl<S> Nodes<S> {
    /// Returns the number of nodes without the sentinel.
    pub fn end(&self) -> usize {
        self.links.len() / 2 - 1
    }
}

impl<S: Coordinate> Nodes<S> {
    /// Returns the nodes of an empty tree, whose walks end at once.
    pub fn none<R: Runtime>(client: &ComputeClient<R>) -> Self {
        Self {
            bounds: Buffer::new(client, 0),
            links: Buffer::from_slice(client, &[0, 0]),
            leaf_of_point: Buffer::new(client, 0),
        }
    }

    /// Copies the nodes of a tree that is not empty to a device.
    pub fn upload<R: Runtime, const D: usize>(client: &ComputeClient<R>, bvh: &crate::Bvh<S, D>) -> Self {
        let all = (0..=bvh.end()).map(|at| bvh.node(at));
        let bounds: Vec<S> = all.clone().flat_map(|node| node.bounds.lo.into_iter().chain(node.bounds.hi)).collect();
        let links: Vec<u32> = all.flat_map(|node| [node.rope, node.first]).collect();
        let mut leaf_of_point = vec![0; bvh.len().div_ceil(LEAF_INDEX_STRIDE as usize)];
        for at in (0..bvh.end()).filter(|&at| bvh.node(at).rope as usize == at + 1) {
            let (first, behind) = (bvh.node(at).first, bvh.node(at + 1).first);
            if let Some(mark) = (first..behind).find(|point| point % LEAF_INDEX_STRIDE == 0) {
                leaf_of_point[(mark / LEAF_INDEX_STRIDE) as usize] = at as u32;
            }
        }
        Self {
            bounds: Buffer::from_slice(client, &bounds),
            links: Buffer::from_slice(client, &links),
            leaf_of_point: Buffer::from_slice(client, &leaf_of_point),
        }
    }

    /// Copies the nodes and the sentinel to the host.
    pub fn read<R: Runtime, const D: usize>(&self, client: &ComputeClient<R>) -> Result<Vec<Node<S, D>>> {
        let (bounds, links) = (self.bounds.read(client)?, self.links.read(client)?);
        let corners: &[[S; D]] = bounds.as_chunks().0;
        let nodes = corners.as_chunks().0.iter().zip(links.as_chunks().0);
        Ok(nodes.map(|(&[lo, hi], &[rope, first])| Node { bounds: Aabb { lo, hi }, rope, first }).collect())
    }
}

/// Computes the nodes over `n` primitives in tree order. `axes` has the coordinates of points, axis by axis, or the
/// lower corners of boxes followed by the upper ones.
pub(in crate::gpu) fn nodes<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
    client: &ComputeClient<R>,
    hierarchy: &Hierarchy,
    axes: &Buffer<S>,
    are_boxes: bool,
    n: usize,
) -> Nodes<S> {
    let (leaves, dim) = (hierarchy.leaves, CubeDim::new_1d(THREADS_PER_BLOCK));
    // The index of the first box of each size is the sum of the smaller sizes' numbers of boxes.
    let mut sizes = vec![leaves];
    while let Some(&most) = sizes.last().filter(|&&most| most >= GROUP as usize) {
        sizes.push(most.div_ceil(GROUP as usize));
    }
    let offsets: Vec<u32> = sizes
        .iter()
        .scan(0u32, |sum, &size| {
            let own = *sum;
            *sum += size as u32;
            Some(own)
        })
        .collect();
    let boxes = Buffer::<S>::new(client, sizes.iter().sum::<usize>() * 2 * D);
    // SAFETY: the launch contract of `bvh`, with the number of leaves. `starts` has `leaves + 1` elements, the last
    // of which is `n`.
    unsafe {
        box_leaves::launch_unchecked::<S, R>(
            client,
            blocks_for(leaves),
            dim,
            axes.arg(),
            hierarchy.starts.arg(),
            boxes.arg(),
            n as u32,
            leaves as u32,
            D,
            are_boxes,
        );
    }
    for size in 1..sizes.len() {
        let (arg, from, below, to) = (boxes.arg(), offsets[size - 1], sizes[size - 1], offsets[size]);
        // SAFETY: the launch contract of `bvh`, with the number of boxes of that size; `boxes` has room for all
        // sizes.
        unsafe {
            if D <= WITHIN_BLOCKS {
                let count = blocks_for(below);
                box_sixteen::launch_unchecked::<S, R>(client, count, dim, arg, from, below as u32, to, D);
            } else {
                let count = blocks_for(sizes[size] * 2 * D);
                box_sixteen_by_corner::launch_unchecked::<S, R>(client, count, dim, arg, from, below as u32, to, D);
            }
        }
    }
    let count = 2 * leaves - 1;
    let found = Nodes {
        bounds: Buffer::new(client, (count + 1) * 2 * D),
        links: Buffer::new(client, (count + 1) * 2),
        leaf_of_point: Buffer::new(client, n.div_ceil(LEAF_INDEX_STRIDE as usize)),
    };
    let offsets = Buffer::from_slice(client, &offsets);
    // Not literals, because CUDA's compiler has none for infinity.
    let empty = Buffer::from_slice(client, &[<S as Scalar>::INFINITY, <S as Scalar>::NEG_INFINITY]);
    // SAFETY: the launch contract of `bvh`, with the number of nodes, `2 * leaves - 1`, and the sentinel.
    unsafe {
        write_nodes::launch_unchecked::<S, R>(
            client,
            blocks_for(2 * leaves),
            dim,
            BoxesLaunch::new(boxes.arg(), offsets.arg(), empty.arg()),
            hierarchy.arg(),
            NodesArgLaunch::new(found.bounds.arg(), found.links.arg(), found.leaf_of_point.arg()),
            leaves as u32,
            D,
        );
    }
    found
}

#[cube(launch_unchecked)]
fn box_leaves<F: Float>(
    axes: &Array<F>,
    starts: &Array<u32>,
    boxes: &mut Array<F>,
    n: u32,
    leaves: u32,
    #[comptime] d: usize,
    #[comptime] are_boxes: bool,
) {
    let leaf = ABSOLUTE_POS;
    if (leaf as u32) < leaves {
        #[unroll]
        for k in 0..d {
            let axis = k * n as usize;
            let mut lo = axes[axis + starts[leaf] as usize];
            let mut hi = lo;
            if comptime!(are_boxes) {
                hi = axes[axis + d * n as usize + starts[leaf] as usize];
            }
            for i in starts[leaf] + 1..starts[leaf + 1] {
                let x = axes[axis + i as usize];
                lo = lo.min(x);
                if comptime!(are_boxes) {
                    hi = hi.max(axes[axis + d * n as usize + i as usize]);
                } else {
                    hi = hi.max(x);
                }
            }
            boxes[leaf * 2 * d + k] = lo;
            boxes[leaf * 2 * d + d + k] = hi;
        }
    }
}

/// Combines each sixteen boxes of the next smaller size, of which there are `size` from index `from` on.
#[cube(launch_unchecked)]
fn box_sixteen<F: Float>(boxes: &mut Array<F>, from: u32, size: u32, to: u32, #[comptime] d: usize) {
    let group = comptime!(GROUP as usize);
    let first = CUBE_POS as u32 * THREADS_PER_BLOCK;
    if first < size {
        // Reads through shared memory, so that neighbouring threads read adjacent numbers.
        let mut below = SharedMemory::<F>::new(comptime!(THREADS_PER_BLOCK as usize * 2 * d));
        let last = (size - first) as usize * 2 * d - 1;
        #[unroll]
        for k in 0..2 * d {
            // Reads past the end are moved back by whole boxes into the last box, so that lower corners stay lower
            // and upper ones upper.
            let at = k * THREADS_PER_BLOCK as usize + UNIT_POS as usize;
            let back = (at.max(last) - last).div_ceil(2 * d) * 2 * d;
            below[at] = boxes[(from + first) as usize * 2 * d + at - back];
        }
        sync_cube();
        let own = UNIT_POS as usize / (2 * d);
        let corner = UNIT_POS as usize % (2 * d);
        if own < THREADS_PER_BLOCK as usize / group && first as usize + own * group < size as usize {
            let mut bound = below[own * group * 2 * d + corner];
            #[unroll]
            for i in 1..group {
                let other = below[(own * group + i) * 2 * d + corner];
                if corner < d {
                    bound = bound.min(other);
                } else {
                    bound = bound.max(other);
                }
            }
            boxes[((to + first / GROUP) as usize + own) * 2 * d + corner] = bound;
        }
    }
}

/// Does the same as `box_sixteen` in high dimensions, with a thread per coordinate. Neighbouring threads read
/// adjacent numbers anyway.
#[cube(launch_unchecked)]
fn box_sixteen_by_corner<F: Float>(boxes: &mut Array<F>, from: u32, size: u32, to: u32, #[comptime] d: usize) {
    let own = (ABSOLUTE_POS / (2 * d)) as u32;
    let corner = ABSOLUTE_POS % (2 * d);
    if own <= (size - 1) / GROUP {
        let first = own * GROUP;
        let mut bound = boxes[(from + first) as usize * 2 * d + corner];
        for i in first + 1..min(first + GROUP, size) {
            let other = boxes[(from + i) as usize * 2 * d + corner];
            if corner < d {
                bound = bound.min(other);
            } else {
                bound = bound.max(other);
            }
        }
        boxes[(to + own) as usize * 2 * d + corner] = bound;
    }
}

/// Extends a box to contain another one.
#[cube]
fn extend_box<F: Float>(boxes: &Array<F>, at: u32, lo: &mut Array<F>, hi: &mut Array<F>, #[comptime] d: usize) {
    #[unroll]
    for k in 0..d {
        let other_lo = boxes[at as usize * 2 * d + k];
        let other_hi = boxes[at as usize * 2 * d + d + k];
        lo[k] = lo[k].min(other_lo);
        hi[k] = hi[k].max(other_hi);
    }
}

/// Boxes of leaves, of sixteen leaves, and so on, with the index of the first box of each size. Also the corners of an
/// empty box.
#[derive(CubeType, CubeLaunch)]
struct Boxes<F: Float> {
    corners: Array<F>,
    offsets: Array<u32>,
    empty: Array<F>,
}

/// The nodes to be written: see [`Nodes`].
#[derive(CubeType, CubeLaunch)]
struct NodesArg<F: Float> {
    bounds: Array<F>,
    links: Array<u32>,
    leaf_of_point: Array<u32>,
}

/// Writes the nodes of the leaves, then the nodes of the splits between them.
#[cube(launch_unchecked)]
fn write_nodes<F: Float>(
    boxes: &Boxes<F>,
    hierarchy: &HierarchyArg,
    nodes: &mut NodesArg<F>,
    leaves: u32,
    #[comptime] d: usize,
) {
    let i = ABSOLUTE_POS as u32;
    if i == leaves {
        // The split before all leaves has no node, so this thread writes the sentinel.
        let end = (2 * leaves - 1) as usize;
        nodes.links[2 * end] = 2 * leaves - 1;
        nodes.links[2 * end + 1] = hierarchy.starts[leaves as usize];
        #[unroll]
        for k in 0..d {
            nodes.bounds[end * 2 * d + k] = boxes.empty[0];
            nodes.bounds[end * 2 * d + d + k] = boxes.empty[1];
        }
    } else if i < 2 * leaves {
        let mut first = i;
        let mut last = i;
        let mut split = hierarchy.parent_of_leaf[(i % leaves) as usize];
        if i >= leaves {
            first = hierarchy.first[(i - leaves) as usize];
            last = hierarchy.last[(i - leaves) as usize];
            split = hierarchy.parent[(i - leaves) as usize];
        }
        let mut at = 2 * first;
        let mut steps = 0u32.runtime();
        while split != NO_SPLIT && steps < MOST_STEPS {
            if last < split {
                at += 1;
            }
            split = hierarchy.parent[split as usize];
            steps += 1;
        }
        nodes.links[2 * at as usize] = at + 2 * (last - first) + 1;
        nodes.links[2 * at as usize + 1] = hierarchy.starts[first as usize];
        if i < leaves {
            let mark = (hierarchy.starts[i as usize] + comptime!(LEAF_INDEX_STRIDE - 1)) / LEAF_INDEX_STRIDE;
            if mark * LEAF_INDEX_STRIDE < hierarchy.starts[(i + 1) as usize] {
                nodes.leaf_of_point[mark as usize] = at;
            }
        }

        let mut lo = Array::<F>::new(d);
        let mut hi = Array::<F>::new(d);
        #[unroll]
        for k in 0..d {
            lo[k] = boxes.corners[first as usize * 2 * d + k];
            hi[k] = boxes.corners[first as usize * 2 * d + d + k];
        }
        let mut from = first;
        let mut to = last + 1;
        let mut size = 0u32.runtime();
        while from < to {
            let offset = boxes.offsets[size as usize];
            while from < to && from % GROUP != 0 {
                extend_box::<F>(&boxes.corners, offset + from, &mut lo, &mut hi, d);
                from += 1;
            }
            while from < to && to % GROUP != 0 {
                to -= 1;
                extend_box::<F>(&boxes.corners, offset + to, &mut lo, &mut hi, d);
            }
            from /= GROUP;
            to /= GROUP;
            size += 1;
        }
        #[unroll]
        for k in 0..d {
            nodes.bounds[at as usize * 2 * d + k] = lo[k];
            nodes.bounds[at as usize * 2 * d + d + k] = hi[k];
        }
    }
}
