//! A tree with leaves of up to four primitives, for searches by one thread for each query.
//!
//! In: the nodes of a tree, and the boxes of its primitives. Out: inner nodes that hold the boxes of both children, so
//! that a visit reads one place. Leaves of the tree are split further, where the sum of both surface areas, each times
//! the number of primitives, is least.
//! Each thread writes the nodes of one leaf, or one inner node. Nodes are numbered in the order of the positions at which
//! they are split.
//! Cost: by the sizes of buffers, some 8 D bytes for each primitive of `f32`; 4 more during construction.

use cubecl::prelude::*;

use crate::bvh::LEAF;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::cost::half_area;
use crate::gpu::bvh::refit::{GroupSpec, join_primitive, set_primitive};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::metric::{Vec2, corners};
use crate::gpu::primitives::scan::{exclusive, last};

/// The largest number of primitives in a leaf. Leaves of 3 to 6 were equally fast.
const MOST: u32 = 4;
/// The largest number of ranges of more than [`MOST`] primitives in a leaf of the tree.
const RANGES: usize = LEAF / (MOST as usize + 1);

/// The mark of a leaf among references. The position of its first primitive follows, times [`MOST`], and the number of
/// primitives behind the first.
pub(super) const LEAF_MARK: u32 = 1 << 31;
/// No reference.
pub(super) const NONE: u32 = u32::MAX;

/// Returns the first position of a leaf, and the one behind the last.
#[cube]
pub(super) fn leaf_range(reference: u32) -> (u32, u32) {
    let first = (reference ^ LEAF_MARK) / MOST;
    (first, first + reference % MOST + 1)
}

/// The tree on a device.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct FineTree {
    /// For each inner node and axis: the ends of the left child's box, and those of the right child's. Two references
    /// to the children follow, and two numbers that are not read.
    nodes: Buffer<u32>,
    /// The reference to the root.
    root: Buffer<u32>,
}

/// The kernel argument for a [`FineTree`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct FineNodes {
    nodes: Array<Vector<u32, Const<4>>>,
    pub root: Array<u32>,
}

impl FineTree {
    /// Builds the tree over the `n` primitives of a tree; `None` if references or buffers are too small for so many.
    /// `corners` are their lower corners axis by axis, then their upper ones.
    pub fn build<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        corners: &Buffer<S>,
        n: usize,
    ) -> Result<Option<Self>> {
        let width = 4 * (D + 1);
        let fits = n < 1 << 29 && (n * width) as u64 <= u64::from(u32::MAX);
        if !fits || check_allocation(client, 4 * (n * width) as u128).is_err() {
            return Ok(None);
        }
        let (end, dim) = (nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let spec = GroupSpec { d: D, are_boxes: true, of_groups: false };
        // 1 for each position at which a node is split; then the numbers of these nodes.
        let numbers = Buffer::<u32>::filled(client, n + 1, 0);
        let stored = || StoredBoxesLaunch::new(corners.arg(), n as u32);
        let (blocks, links) = (blocks_for(end), nodes.links.pairs());
        mark_splits::launch::<S, R>(client, blocks.clone(), dim, links, stored(), numbers.arg(), end as u32, spec);
        exclusive(client, &numbers);
        let tree = Self { nodes: Buffer::new(client, width * last(client, &numbers)?), root: Buffer::new(client, 1) };
        write_nodes::launch::<S, R>(
            client,
            blocks,
            dim,
            nodes.links.pairs(),
            nodes.bounds.pairs(),
            stored(),
            numbers.arg(),
            tree.nodes.arg(),
            tree.root.arg(),
            end as u32,
            spec,
        );
        Ok(Some(tree))
    }

    /// Returns the tree as a kernel argument.
    pub(super) fn arg<R: Runtime>(&self) -> FineNodesLaunch<R> {
        FineNodesLaunch::new(self.nodes.quads(), self.root.arg())
    }
}

/// The children of an inner node, as seen from a point.
#[derive(CubeType)]
pub(super) struct Children {
    /// References to the left and the right child.
    pub references: Array<u32>,
    /// The squared distances to their boxes, to rounding.
    pub distances2: Array<f32>,
}

#[cube]
impl FineNodes {
    /// Reads the node of a reference.
    pub fn children(&self, node: u32, point: &Array<f32>, #[comptime] d: usize) -> Children {
        let first = node as usize * comptime!(d + 1);
        let (mut references, mut distances2) = (Array::<u32>::new(2usize), Array::<f32>::new(2usize));
        let (mut left2, mut right2) = (f32::new(0.0), f32::new(0.0));
        #[unroll]
        for k in 0..d {
            let ends = self.nodes[first + k];
            let left = gap(point[k], f32::reinterpret(ends[0]), f32::reinterpret(ends[1]));
            let right = gap(point[k], f32::reinterpret(ends[2]), f32::reinterpret(ends[3]));
            left2 += left * left;
            right2 += right * right;
        }
        let both = self.nodes[first + d];
        references[0] = both[0];
        references[1] = both[1];
        // Not infinity, which no limit reaches.
        distances2[0] = min(left2, f32::new(f32::MAX));
        distances2[1] = min(right2, f32::new(f32::MAX));
        Children { references, distances2 }
    }
}

/// Returns the distance from a number to an interval.
#[cube]
fn gap(x: f32, lo: f32, hi: f32) -> f32 {
    max(max(lo - x, x - hi), f32::new(0.0))
}

/// The boxes of primitives in tree order: lower corners axis by axis, then upper ones.
#[derive(CubeType, CubeLaunch)]
struct StoredBoxes<F: Float> {
    corners: Array<F>,
    n: u32,
}

#[cube]
impl<F: Float> StoredBoxes<F> {
    /// Returns the box around the primitives of a range.
    fn around(&self, first: u32, behind: u32, #[comptime] spec: GroupSpec) -> Array<F> {
        let mut around = Array::<F>::new(comptime!(2 * spec.d));
        set_primitive::<F>(&mut around, &self.corners, first, self.n, spec);
        for at in first + 1..behind {
            join_primitive::<F>(&mut around, &self.corners, at, self.n, spec);
        }
        around
    }

    /// Returns the position that splits a range best: the middle if surface areas are too large.
    fn split(&self, first: u32, behind: u32, #[comptime] spec: GroupSpec) -> u32 {
        let mut costs = Array::<f64>::new(LEAF);
        let mut around = Array::<F>::new(comptime!(2 * spec.d));
        set_primitive::<F>(&mut around, &self.corners, first, self.n, spec);
        for at in first..behind {
            join_primitive::<F>(&mut around, &self.corners, at, self.n, spec);
            costs[(at - first) as usize] = cost::<F>(&around, at + 1 - first, comptime!(spec.d));
        }
        set_primitive::<F>(&mut around, &self.corners, behind - 1, self.n, spec);
        let mut best = Array::<u32>::new(1usize);
        best[0] = first + (behind - first) / 2;
        let mut least = Array::<f64>::new(1usize);
        least[0] = f64::new(f32::MAX) * f64::new(f32::MAX) * f64::new(f32::MAX);
        for step in 1..behind - first {
            let at = behind - step;
            join_primitive::<F>(&mut around, &self.corners, at, self.n, spec);
            let sum = costs[(at - first - 1) as usize] + cost::<F>(&around, step, comptime!(spec.d));
            if sum < least[0] {
                least[0] = sum;
                best[0] = at;
            }
        }
        best[0]
    }

    /// Returns the reference to the node or the leaf of a range, given the numbers of nodes.
    fn reference(&self, first: u32, behind: u32, numbers: &Array<u32>, #[comptime] spec: GroupSpec) -> u32 {
        let mut reference = LEAF_MARK | (first * MOST) | (behind - first - 1);
        if behind - first > MOST {
            reference = numbers[self.split(first, behind, spec) as usize];
        }
        reference
    }
}

/// Returns half the surface area of a box, times a number.
#[cube]
fn cost<F: Float>(around: &Array<F>, times: u32, #[comptime] d: usize) -> f64 {
    let mut sides = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        sides[k] = f64::cast_from(around[d + k]) - f64::cast_from(around[k]);
    }
    half_area(&sides, d) * f64::cast_from(times)
}

/// The ranges of a leaf that remain to be split.
#[derive(CubeType)]
struct Ranges {
    ends: Array<u32>,
    len: Array<u32>,
}

#[cube]
impl Ranges {
    fn new(first: u32, behind: u32) -> Ranges {
        let mut ranges = Ranges { ends: Array::<u32>::new(comptime!(2 * RANGES)), len: Array::<u32>::new(1usize) };
        ranges.len[0] = 0;
        ranges.push(first, behind);
        ranges
    }

    /// Adds a range, if it is larger than a leaf.
    fn push(&mut self, first: u32, behind: u32) {
        if behind - first > MOST {
            let at = 2 * self.len[0] as usize;
            self.ends[at] = first;
            self.ends[at + 1] = behind;
            self.len[0] = self.len[0] + 1;
        }
    }

    fn any(&self) -> bool {
        self.len[0] > 0
    }

    /// Removes the last range.
    fn pop(&mut self) -> (u32, u32) {
        self.len[0] = self.len[0] - 1;
        let at = 2 * self.len[0] as usize;
        (self.ends[at] + 0, self.ends[at + 1] + 0)
    }
}

/// Marks the positions at which nodes are split: those between leaves of the tree, and those within.
#[cube(launch)]
fn mark_splits<F: Float>(
    links: &Vec2<u32>,
    stored: &StoredBoxes<F>,
    marks: &mut Array<u32>,
    end: u32,
    #[comptime] spec: GroupSpec,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let link = links[at as usize];
        if link[0] == at + 1 {
            let first = link[1];
            if first > 0 {
                marks[first as usize] = 1;
            }
            let mut ranges = Ranges::new(first, links[(at + 1) as usize][1]);
            while ranges.any() {
                let (first, behind) = ranges.pop();
                let split = stored.split(first, behind, spec);
                marks[split as usize] = 1;
                ranges.push(first, split);
                ranges.push(split, behind);
            }
        }
    }
}

/// Writes an inner node of the tree, or the nodes within a leaf of it, and the reference to the root.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn write_nodes<F: Float>(
    links: &Vec2<u32>,
    bounds: &Vec2<F>,
    stored: &StoredBoxes<F>,
    numbers: &Array<u32>,
    nodes: &mut Array<u32>,
    root: &mut Array<u32>,
    end: u32,
    #[comptime] spec: GroupSpec,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let d = comptime!(spec.d);
        let link = links[at as usize];
        if link[0] == at + 1 {
            let mut ranges = Ranges::new(link[1], links[(at + 1) as usize][1]);
            while ranges.any() {
                let (first, behind) = ranges.pop();
                let split = stored.split(first, behind, spec);
                let node = numbers[split as usize];
                write_child::<F>(nodes, node, 0u32, &stored.around(first, split, spec), d);
                write_child::<F>(nodes, node, 1u32, &stored.around(split, behind, spec), d);
                write_references(
                    nodes,
                    node,
                    stored.reference(first, split, numbers, spec),
                    stored.reference(split, behind, numbers, spec),
                    d,
                );
                ranges.push(first, split);
                ranges.push(split, behind);
            }
        } else {
            let (left, right) = (at + 1, links[(at + 1) as usize][0]);
            let node = numbers[links[right as usize][1] as usize];
            write_child::<F>(nodes, node, 0u32, &corners::<F>(bounds, left, d), d);
            write_child::<F>(nodes, node, 1u32, &corners::<F>(bounds, right, d), d);
            write_references(
                nodes,
                node,
                reference_of::<F>(links, stored, numbers, left, spec),
                reference_of::<F>(links, stored, numbers, right, spec),
                d,
            );
        }
        if at == 0 {
            root[0] = reference_of::<F>(links, stored, numbers, at, spec);
        }
    }
}

/// Returns the reference to a node or a leaf of the tree.
#[cube]
fn reference_of<F: Float>(
    links: &Vec2<u32>,
    stored: &StoredBoxes<F>,
    numbers: &Array<u32>,
    node: u32,
    #[comptime] spec: GroupSpec,
) -> u32 {
    let link = links[node as usize];
    let mut reference = Array::<u32>::new(1usize);
    if link[0] == node + 1 {
        reference[0] = stored.reference(link[1], links[(node + 1) as usize][1], numbers, spec);
    } else {
        let right = links[(node + 1) as usize][0];
        reference[0] = numbers[links[right as usize][1] as usize];
    }
    reference[0]
}

/// Writes the box of the left child (0) or the right one (1).
#[cube]
fn write_child<F: Float>(nodes: &mut Array<u32>, node: u32, child: u32, around: &Array<F>, #[comptime] d: usize) {
    #[unroll]
    for k in 0..d {
        let to = (node as usize * comptime!(d + 1) + k) * 4 + 2 * child as usize;
        nodes[to] = u32::reinterpret(f32::cast_from(around[k]));
        nodes[to + 1] = u32::reinterpret(f32::cast_from(around[d + k]));
    }
}

#[cube]
fn write_references(nodes: &mut Array<u32>, node: u32, left: u32, right: u32, #[comptime] d: usize) {
    let to = (node as usize * comptime!(d + 1) + d) * 4;
    nodes[to] = left;
    nodes[to + 1] = right;
}
