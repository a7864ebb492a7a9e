//! The nodes in depth-first order, with boxes and ropes.
//!
//! In: a topology and the points in tree order. Out: nodes as the tree of the CPU has them, bit by bit.
//! A node's box is that of the leaves below, which are a range: boxes of sixteen leaves, of sixteen of those, and so on, are made
//! first, and each node puts its own together from at most thirty of a size. So no node waits for its children.
//! Cost: 2 D + 2 numbers a node and one for 32 points, and again a box for each leaf.

#![allow(unsafe_code)] // Kernels that test their bounds themselves.

use cubecl::prelude::*;

use crate::geometry::Scalar;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::hierarchy::Topology;

/// Walks from a point to those behind it digit_base at leaves that are known for every so many points: units of a plane, and the most that
/// a leaf has.
pub(in crate::gpu) const LEAF_INDEX_STRIDE: u32 = 32;

/// Nodes on a device; the last is a sentinel.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Nodes<S> {
    /// The lower corner, then the upper one, of each.
    pub bounds: Buffer<S>,
    /// The rope, and the first point below, of each.
    pub links: Buffer<u32>,
    /// The leaf of every [`LEAF_INDEX_STRIDE`]th point.
    pub leaves: Buffer<u32>,
}

impl<S> Nodes<S> {
    /// How many there are but the sentinel.
    pub fn end(&self) -> usize {
        self.links.len() / 2 - 1
    }
}

pub(in crate::gpu) fn nodes<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
    client: &ComputeClient<R>,
    topology: &Topology,
    axes: &Buffer<S>,
    n: usize,
) -> Nodes<S> {
    let (leaves, dim) = (topology.leaves, CubeDim::new_1d(UNITS));
    // Where the boxes of each size digit_base, in boxes.
    let mut sizes = vec![leaves];
    while let Some(&most) = sizes.last().filter(|&&most| most >= 16) {
        sizes.push(most.div_ceil(16));
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
    // SAFETY: positions are compared with the number of leaves; `starts` has the end of the last.
    unsafe {
        box_leaves::launch_unchecked::<S, R>(
            client,
            cubes(leaves),
            dim,
            axes.arg(),
            topology.starts.arg(),
            boxes.arg(),
            n as u32,
            leaves as u32,
            D,
        );
    }
    for size in 1..sizes.len() {
        // SAFETY: positions are compared with the number of boxes of that size.
        unsafe {
            box_sixteen::launch_unchecked::<S, R>(
                client,
                cubes(sizes[size - 1]),
                dim,
                boxes.arg(),
                offsets[size - 1],
                sizes[size - 1] as u32,
                offsets[size],
                D,
            );
        }
    }
    let count = 2 * leaves - 1;
    let found = Nodes {
        bounds: Buffer::new(client, (count + 1) * 2 * D),
        links: Buffer::new(client, (count + 1) * 2),
        leaves: Buffer::new(client, n.div_ceil(LEAF_INDEX_STRIDE as usize)),
    };
    let offsets = Buffer::from_slice(client, &offsets);
    // No literals: CUDA's compiler knows no word for infinity.
    let empty = Buffer::from_slice(client, &[<S as Scalar>::INFINITY, <S as Scalar>::NEG_INFINITY]);
    // SAFETY: as above.
    unsafe {
        write_nodes::launch_unchecked::<S, R>(
            client,
            cubes(2 * leaves),
            dim,
            boxes.arg(),
            offsets.arg(),
            empty.arg(),
            topology.starts.arg(),
            topology.first.arg(),
            topology.last.arg(),
            topology.above.arg(),
            topology.above_leaf.arg(),
            found.bounds.arg(),
            found.links.arg(),
            found.leaves.arg(),
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

/// Boxes around sixteen of the next smaller size each, which digit_base at `from` and are `size`.
#[cube(launch_unchecked)]
fn box_sixteen<F: Float>(boxes: &mut Array<F>, from: u32, size: u32, to: u32, #[comptime] d: usize) {
    let first = CUBE_POS as u32 * UNITS;
    if first < size {
        // Through the cube's memory, so that neighbours read neighbours.
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
        if own < UNITS as usize / 16 && first as usize + own * 16 < size as usize {
            let mut bound = below[own * 16 * 2 * d + corner];
            #[unroll]
            for i in 1..16usize {
                let other = below[(own * 16 + i) * 2 * d + corner];
                if corner < d {
                    bound = bound.min(other);
                } else {
                    bound = bound.max(other);
                }
            }
            boxes[((to + first / 16) as usize + own) * 2 * d + corner] = bound;
        }
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

/// The nodes of the leaves, then those of the gaps between them.
#[cube(launch_unchecked)]
fn write_nodes<F: Float>(
    boxes: &Array<F>,
    offsets: &Array<u32>,
    empty: &Array<F>,
    starts: &Array<u32>,
    first_of: &Array<u32>,
    last_of: &Array<u32>,
    above: &Array<u32>,
    above_leaf: &Array<u32>,
    bounds: &mut Array<F>,
    links: &mut Array<u32>,
    leaf_of: &mut Array<u32>,
    leaves: u32,
    #[comptime] d: usize,
) {
    let i = ABSOLUTE_POS as u32;
    if i == leaves {
        // No node belongs to the gap before all leaves, and so it is the sentinel's turn.
        let end = (2 * leaves - 1) as usize;
        links[2 * end] = 2 * leaves - 1;
        links[2 * end + 1] = starts[leaves as usize];
        #[unroll]
        for k in 0..d {
            bounds[end * 2 * d + k] = empty[0];
            bounds[end * 2 * d + d + k] = empty[1];
        }
    } else if i < 2 * leaves {
        let mut first = i;
        let mut last = i;
        let mut gap = above_leaf[(i % leaves) as usize];
        if i >= leaves {
            first = first_of[(i - leaves) as usize];
            last = last_of[(i - leaves) as usize];
            gap = above[(i - leaves) as usize];
        }
        let mut at = 2 * first;
        let mut steps = 0u32.runtime();
        while gap != 0xffff_ffffu32 && steps < 96 {
            if last < gap {
                at += 1;
            }
            gap = above[gap as usize];
            steps += 1;
        }
        links[2 * at as usize] = at + 2 * (last - first) + 1;
        links[2 * at as usize + 1] = starts[first as usize];
        if i < leaves {
            // A leaf has no more points than that, so one of these at most.
            let mark = (starts[i as usize] + comptime!(LEAF_INDEX_STRIDE - 1)) / LEAF_INDEX_STRIDE;
            if mark * LEAF_INDEX_STRIDE < starts[(i + 1) as usize] {
                leaf_of[mark as usize] = at;
            }
        }

        let mut lo = Array::<F>::new(d);
        let mut hi = Array::<F>::new(d);
        #[unroll]
        for k in 0..d {
            lo[k] = boxes[first as usize * 2 * d + k];
            hi[k] = boxes[first as usize * 2 * d + d + k];
        }
        let mut from = first;
        let mut to = last + 1;
        let mut size = 0u32.runtime();
        while from < to {
            let offset = offsets[size as usize];
            while from < to && from % 16 != 0 {
                take_in::<F>(boxes, offset + from, &mut lo, &mut hi, d);
                from += 1;
            }
            while from < to && to % 16 != 0 {
                to -= 1;
                take_in::<F>(boxes, offset + to, &mut lo, &mut hi, d);
            }
            from /= 16;
            to /= 16;
            size += 1;
        }
        #[unroll]
        for k in 0..d {
            bounds[at as usize * 2 * d + k] = lo[k];
            bounds[at as usize * 2 * d + d + k] = hi[k];
        }
    }
}
