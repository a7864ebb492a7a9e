//! The nodes in depth-first order, with boxes and ropes.
//!
//! In: a hierarchy and the points in tree order. Out: nodes as the tree of the CPU has them, bit by bit.
//! A node's box is that of the leaves below, which are a range: boxes of sixteen leaves, of sixteen of those, and so on, are made
//! first, and each node puts its own together from at most thirty of a size. So no node waits for its children.
//! Cost: 2 D + 2 numbers a node and one for 32 points, and again a box for each leaf.

#![allow(unsafe_code)] // Kernels that test their bounds themselves: see `bvh`.

use cubecl::prelude::*;

use crate::geometry::Scalar;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::hierarchy::{Hierarchy, HierarchyArg, NO_SPLIT};

/// A walk from a point to those behind it begins at the leaf of its warp's first point, which is stored: one for as many points as a warp
/// has units. A leaf has no more points than that, so at most one of these.
pub(in crate::gpu) const LEAF_INDEX_STRIDE: u32 = 32;

/// Boxes that are put into one of the next size.
const GROUP: u32 = 16;
/// Up to so many dimensions the numbers of a block's boxes fit into its shared memory, and a box of sixteen has as few numbers as units.
const WITHIN_BLOCKS: usize = 4;
/// A node has fewer ancestors than codes have bits and leaves' indices; the bound ends the loop whatever the input.
const MOST_STEPS: u32 = 96;

/// Nodes on a device; the last is a sentinel.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Nodes<S> {
    /// The lower corner, then the upper one, of each.
    pub bounds: Buffer<S>,
    /// The rope, and the first point below, of each.
    pub links: Buffer<u32>,
    /// The leaf of every [`LEAF_INDEX_STRIDE`]th point.
    pub leaf_of_point: Buffer<u32>,
}

impl<S> Nodes<S> {
    /// How many there are but the sentinel.
    pub fn end(&self) -> usize {
        self.links.len() / 2 - 1
    }
}

pub(in crate::gpu) fn nodes<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
    client: &ComputeClient<R>,
    hierarchy: &Hierarchy,
    axes: &Buffer<S>,
    n: usize,
) -> Nodes<S> {
    let (leaves, dim) = (hierarchy.leaves, CubeDim::new_1d(UNITS));
    // The first box of each size.
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
    // SAFETY: the launch contract of `bvh`, with the number of leaves; `starts` has the end of the last.
    unsafe {
        box_leaves::launch_unchecked::<S, R>(
            client,
            cubes(leaves),
            dim,
            axes.arg(),
            hierarchy.starts.arg(),
            boxes.arg(),
            n as u32,
            leaves as u32,
            D,
        );
    }
    for size in 1..sizes.len() {
        let (arg, from, below, to) = (boxes.arg(), offsets[size - 1], sizes[size - 1], offsets[size]);
        // SAFETY: the launch contract of `bvh`, with the number of boxes of that size.
        unsafe {
            if D <= WITHIN_BLOCKS {
                let count = cubes(below);
                box_sixteen::launch_unchecked::<S, R>(client, count, dim, arg, from, below as u32, to, D);
            } else {
                let count = cubes(sizes[size] * 2 * D);
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
    // No literals: CUDA's compiler knows no word for infinity.
    let empty = Buffer::from_slice(client, &[<S as Scalar>::INFINITY, <S as Scalar>::NEG_INFINITY]);
    // SAFETY: the launch contract of `bvh`, with the number of nodes.
    unsafe {
        write_nodes::launch_unchecked::<S, R>(
            client,
            cubes(2 * leaves),
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
) {
    let leaf = ABSOLUTE_POS;
    if (leaf as u32) < leaves {
        #[unroll]
        for k in 0..d {
            let axis = k * n as usize;
            let mut lo = axes[axis + starts[leaf] as usize];
            let mut hi = lo;
            for i in starts[leaf] + 1..starts[leaf + 1] {
                let x = axes[axis + i as usize];
                lo = lo.min(x);
                hi = hi.max(x);
            }
            boxes[leaf * 2 * d + k] = lo;
            boxes[leaf * 2 * d + d + k] = hi;
        }
    }
}

/// Boxes around sixteen boxes of the next smaller size each, of which there are `size` from `from` on.
#[cube(launch_unchecked)]
fn box_sixteen<F: Float>(boxes: &mut Array<F>, from: u32, size: u32, to: u32, #[comptime] d: usize) {
    let group = comptime!(GROUP as usize);
    let first = CUBE_POS as u32 * UNITS;
    if first < size {
        // Through shared memory, so that neighbouring units read neighbouring numbers.
        let mut below = SharedMemory::<F>::new(comptime!(UNITS as usize * 2 * d));
        let last = (size - first) as usize * 2 * d - 1;
        #[unroll]
        for k in 0..2 * d {
            // What is not there is the last there is, and an upper corner among upper ones.
            let at = k * UNITS as usize + UNIT_POS as usize;
            let back = (at.max(last) - last).div_ceil(2 * d) * 2 * d;
            below[at] = boxes[(from + first) as usize * 2 * d + at - back];
        }
        sync_cube();
        let own = UNIT_POS as usize / (2 * d);
        let corner = UNIT_POS as usize % (2 * d);
        if own < UNITS as usize / group && first as usize + own * group < size as usize {
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

/// The same for boxes of many numbers, a unit for each: neighbouring units read neighbouring numbers as it is.
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

/// Widens a box by another.
#[cube]
fn take_in<F: Float>(boxes: &Array<F>, at: u32, lo: &mut Array<F>, hi: &mut Array<F>, #[comptime] d: usize) {
    #[unroll]
    for k in 0..d {
        let other_lo = boxes[at as usize * 2 * d + k];
        let other_hi = boxes[at as usize * 2 * d + d + k];
        lo[k] = lo[k].min(other_lo);
        hi[k] = hi[k].max(other_hi);
    }
}

/// Boxes of leaves, of sixteen of them, and so on, with the first of each size; and the corners of a box around nothing.
#[derive(CubeType, CubeLaunch)]
struct Boxes<F: Float> {
    corners: Array<F>,
    offsets: Array<u32>,
    empty: Array<F>,
}

/// The nodes to write: see [`Nodes`].
#[derive(CubeType, CubeLaunch)]
struct NodesArg<F: Float> {
    bounds: Array<F>,
    links: Array<u32>,
    leaf_of_point: Array<u32>,
}

/// Writes the nodes of the leaves, then those of the splits between them.
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
        // No node belongs to the split before all leaves, so this unit writes the sentinel.
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
                take_in::<F>(&boxes.corners, offset + from, &mut lo, &mut hi, d);
                from += 1;
            }
            while from < to && to % GROUP != 0 {
                to -= 1;
                take_in::<F>(&boxes.corners, offset + to, &mut lo, &mut hi, d);
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
