//! Queries for the stored points in boxes.
//!
//! In: boxes. Out: counts, or lists in the order of the tree.
//! The host converts each box into intervals along each axis: one in open space, or three for the images that may
//! meet a periodic box. Ends are rounded inwards to the points' type. So the device only compares numbers without
//! rounding, and finds exactly the CPU's results. A thread walks for a box, rope by rope; a node inside the box is
//! taken as a whole.
//! Cost: O(depth + hits / leaf size) for a compact box.
//!
//! **Launch contract.** The kernel has no bounds checks. It relies on the following:
//! - The tree satisfies the launch contract of `bvh::traverse`.
//! - Each box has intervals along each axis, and an index below the number of rows.
//! - For lists, offsets are sums of the counts of the same boxes.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, Scalar, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::{ListOutput, ListOutputLaunch};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::metric::corners;
use crate::gpu::primitives::gather::{Layout, gather};

use crate::gpu::search::query_points::{QueryPoints, wrap_all};
use crate::parallel::map;

/// Boxes per parallel task.
const TASK: usize = 1 << 14;

/// Boxes on a device, sorted along the Morton curve.
pub(in crate::gpu) struct Boxes<S> {
    /// The index of each box in the caller's slice.
    order: Buffer<u32>,
    /// The ends of each box's intervals, box by box and axis by axis.
    ends: Buffer<S>,
    images: usize,
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct BoxSpec {
    pub d: usize,
    /// The number of intervals along an axis.
    pub images: usize,
    /// `true` if points are listed, not only counted.
    pub lists: bool,
}

impl<S: Coordinate> Boxes<S> {
    /// Copies at least one box to the device.
    pub fn new<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        space: &Space<D>,
        boxes: &[Aabb<S, D>],
    ) -> Result<Self> {
        let n = boxes.len();
        let (ends, images) = ends_of(space, boxes);
        // The order of the boxes affects only speed.
        let (middles, bounds) = wrap_all(n, space, &|at| Aabb::center(&boxes[at]));
        let bounds = if bounds == Aabb::EMPTY { Aabb::point([S::ZERO; D]) } else { bounds };
        let middles = map(n, TASK, &|at| middles[at].unwrap_or(bounds.lo));
        let middles = Buffer::from_slice(client, middles.as_flattened());
        let order = QueryPoints::new(client, &middles, &bounds)?.order;
        let ends = gather(client, &Buffer::from_slice(client, &ends), &order, 2 * images * D, Layout::Rows);
        Ok(Self { order, ends, images })
    }

    /// Writes the number of points in each box.
    pub fn count<R: Runtime, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        nodes: &Nodes<S>,
        counts: &Buffer<u32>,
    ) {
        // Kernels that count do not read offsets; `order` is a placeholder.
        self.walk(client, bvh, nodes, &self.order, counts, false);
    }

    /// Writes the points in each box, from its offset on.
    pub fn list<R: Runtime, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        nodes: &Nodes<S>,
        offsets: &Buffer<u32>,
        lists: &Buffer<u32>,
    ) {
        self.walk(client, bvh, nodes, offsets, lists, true);
    }

    fn walk<R: Runtime, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        nodes: &Nodes<S>,
        offsets: &Buffer<u32>,
        found: &Buffer<u32>,
        lists: bool,
    ) {
        let n = self.order.len();
        let (tree, end) = (bvh.tree(client, nodes), nodes.end() as u32);
        let rows = ListOutputLaunch::new(bvh.order.arg(), self.order.arg(), offsets.arg());
        let spec = BoxSpec { d: D, images: self.images, lists };
        // SAFETY: the launch contract of this module. `order` and `ends` have an entry for each of the `n` boxes, and
        // `found` has room for the counts or lists.
        unsafe {
            walk_boxes::launch_unchecked::<S, R>(
                client,
                blocks_for(n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                tree,
                self.ends.arg(),
                rows,
                found.arg(),
                n as u32,
                end,
                spec,
            );
        }
    }
}

/// Returns the ends of the intervals of boxes, box by box and axis by axis, and the number of intervals along each
/// axis.
pub(in crate::gpu) fn ends_of<S: Scalar, const D: usize>(space: &Space<D>, boxes: &[Aabb<S, D>]) -> (Vec<S>, usize) {
    let images = if space.period().is_some() { 3 } else { 1 };
    let ends = map(boxes.len(), TASK, &|at| intervals(space, &boxes[at]));
    let ends = ends.as_flattened().iter().flat_map(|of| of[..images].as_flattened()).copied();
    (ends.collect(), images)
}

/// Returns the intervals of a box along each axis: three images in a periodic box, otherwise three equal intervals.
fn intervals<S: Scalar, const D: usize>(space: &Space<D>, of: &Aabb<S, D>) -> [[[S; 2]; 3]; D] {
    std::array::from_fn(|k| {
        let own = [of.lo[k], of.hi[k]];
        let is_box = own[0] <= own[1];
        match space.period() {
            None if is_box => [own; 3],
            Some(period) if is_box => space.images_along(k, period[k], own).map(inwards),
            // Also reached if an end is NaN.
            _ => [[S::INFINITY, S::NEG_INFINITY]; 3],
        }
    })
}

/// Returns the first and last number of type `S` in an interval.
fn inwards<S: Scalar>([from, to]: [f64; 2]) -> [S; 2] {
    let (mut lo, mut hi) = (S::from_f64(from), S::from_f64(to));
    // Conversion to `f64` and back is exact for `f64`, so only `f32` needs these corrections.
    let [below, above]: [f64; 2] = [lo.into(), hi.into()];
    if below < from {
        lo = S::from_f64((below as f32).next_up().into());
    }
    if above > to {
        hi = S::from_f64((above as f32).next_down().into());
    }
    // False if the interval contains no number of type `S`, or an end is NaN.
    if lo <= hi { [lo, hi] } else { [S::INFINITY, S::NEG_INFINITY] }
}

/// Counts or lists the points in each of `n` boxes. `end` is the number of nodes.
#[cube(launch_unchecked)]
fn walk_boxes<F: Float>(
    tree: &Tree<F>,
    ends: &Array<F>,
    rows: &ListOutput,
    found: &mut Array<u32>,
    n: u32,
    end: u32,
    #[comptime] spec: BoxSpec,
) {
    let query = ABSOLUTE_POS;
    if (query as u32) < n {
        let d = comptime!(spec.d);
        let width = comptime!(2 * spec.images * spec.d);
        let mut own = Array::<F>::new(width);
        #[unroll]
        for at in 0..width {
            own[at] = ends[query * width + at];
        }
        let row = rows.queries[query] as usize;
        // The number of points so far, or the index for the next one.
        let mut place = Array::<u32>::new(1usize);
        place[0] = 0;
        if comptime!(spec.lists) {
            place[0] = rows.offsets[row];
        }
        let mut point = Array::<F>::new(comptime!(2 * spec.d));
        let mut walk = RopeWalk::new(0u32.runtime(), end);
        while walk.goes_on() {
            let node = walk.node(&tree.links);
            let behind = tree.links[node.rope as usize][1];
            let corners = corners::<F>(&tree.bounds, node.at, d);
            let is_met = takes::<F>(&own, &corners, false, spec);
            let is_covered = takes::<F>(&own, &corners, true, spec);
            if is_covered {
                if comptime!(spec.lists) {
                    for at in node.first..behind {
                        let to = place[0] as usize;
                        found[to] = rows.order[at as usize];
                        place[0] = place[0] + 1;
                    }
                } else {
                    place[0] = place[0] + (behind - node.first);
                }
            } else if is_met && node.is_leaf {
                for at in node.first..behind {
                    #[unroll]
                    for k in 0..d {
                        point[k] = tree.axes[k * tree.stored as usize + at as usize];
                        point[d + k] = point[k];
                    }
                    if takes::<F>(&own, &point, false, spec) {
                        if comptime!(spec.lists) {
                            let to = place[0] as usize;
                            found[to] = rows.order[at as usize];
                        }
                        place[0] = place[0] + 1;
                    }
                }
            }
            walk.step(&node, is_met && !is_covered);
        }
        if comptime!(!spec.lists) {
            found[row] = place[0];
        }
    }
}

/// Returns `true` if, along each axis, some interval meets the box between `corners` or, with `whole`, contains it.
#[cube]
pub(in crate::gpu) fn takes<F: Float>(
    ends: &Array<F>,
    corners: &Array<F>,
    #[comptime] whole: bool,
    #[comptime] spec: BoxSpec,
) -> bool {
    let (d, images) = comptime!((spec.d, spec.images));
    // The corners compared with the lower and with the upper ends of intervals.
    let (low, high) = comptime!(if whole { (0, spec.d) } else { (spec.d, 0) });
    let mut all = true.runtime();
    #[unroll]
    for k in 0..d {
        let mut any = false.runtime();
        #[unroll]
        for image in 0..images {
            let at = comptime!(2 * (k * images + image));
            any = any || (ends[at] <= corners[low + k] && corners[high + k] <= ends[comptime!(at + 1)]);
        }
        all = all && any;
    }
    all
}
