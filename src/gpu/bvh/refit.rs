//! Refit: updates the boxes of a tree whose primitives have moved. The GPU counterpart of `bvh::refit`.
//!
//! In: a tree, and its primitives at their new places. Out: the same nodes in the same order with new boxes.
//! Sixteen primitives are combined into a box first, then sixteen of these boxes, and so on. Each node combines at most
//! thirty boxes of each size, so no node waits for its children.
//! Cost: two passes over the primitives, and one box per sixteen.

use cubecl::prelude::*;

use crate::bvh::errors as tree_errors;
use crate::error::Result;
use crate::geometry::{Aabb, Bounded};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::box_tree::PlacedBoxes;
use crate::gpu::bvh::cost::Cost;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{BoxBvh, Bvh, Coordinate, Points, smallest};
use crate::gpu::device::{check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::metric::Vec2;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::check_distances;

/// The number of boxes that are combined into one of the next size.
const GROUP: u32 = 16;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Updates the tree after its points have moved, as [`crate::Bvh::refit`]: point `i` of `points` becomes the point of
    /// index `i`.
    ///
    /// The nodes and their order are unchanged, the boxes are updated, and all results are exact again. The farther
    /// points have moved since the last build, the longer queries take; [`Bvh::degradation`] shows when to
    /// [`Bvh::rebuild`]. In a periodic box, a point that leaves through a face returns through the opposite one, so the
    /// box of its leaf then spans the domain.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device, Points};
    ///
    /// let device = Device::first()?;
    /// let mut bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 5.0]], device)?;
    /// bvh.refit(&Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [0.5, 0.5]], device)?)?;
    /// assert_eq!(bvh.count_neighbors(1.0)?.read()?, [3, 3, 3]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of points differs from that of the tree, or the points are in another space or on another device.
    /// - The device fails, or it flushes coordinates as small as these to 0.
    ///
    /// # Cost
    /// Some two passes over the points. Memory: new boxes and a new copy of the points replace the old ones, which the
    /// device reuses. 4 bytes are read from the device. If points that fill an inner node coincide, which is rare, the
    /// host sorts them, and all indices are copied.
    pub fn refit(&mut self, points: &Points<S, D>) -> Result<()> {
        check_same(["the tree", "the points"], [self.device, points.device])?;
        if points.len != self.len() {
            return Err(tree_errors::refit(points.len, self.len()));
        }
        if points.space != self.space {
            return Err(errors::other_space("the tree"));
        }
        let Some(nodes) = &self.nodes else { return Ok(()) };
        on!(self.device, client => {
            check_distances::<_, S>(client, self.device, || points.smallest_nonzero)?;
            let built = self.built.clone().unwrap_or_else(|| Cost::of_built(client, nodes, &self.bounds));
            let axes = gather(client, &points.values, &self.order, D, Layout::Columns);
            end_phase(client, "places")?;
            let (nodes, has_copies) = refitted::<_, S, D>(client, nodes, &axes, self.len(), false);
            if has_copies.read(client)?[0] > 0 {
                self.order = sort_copies::<_, S, D>(client, &nodes, &self.order)?;
            }
            (self.nodes, self.axes, self.bounds, self.built) = (Some(nodes), axes, points.bounds, Some(built));
            self.group_boxes = Default::default();
            end_phase(client, "boxes")
        })
    }

    /// Rebuilds the tree over other points, as [`crate::Bvh::rebuild`]. The number of points may differ.
    ///
    /// # Errors
    /// Those of [`Bvh::from_points`]; the tree is then unchanged.
    pub fn rebuild(&mut self, points: &Points<S, D>) -> Result<()> {
        *self = Self::from_points(points)?;
        Ok(())
    }

    /// Returns the cost of the tree relative to its cost at the last build, as [`crate::Bvh::degradation`], to rounding.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Cost
    /// A pass over the nodes if the tree has been refitted, and a wait for all kernels.
    pub fn degradation(&self) -> Result<f64> {
        let (Some(nodes), Some(built)) = (&self.nodes, &self.built) else { return Ok(1.0) };
        on!(self.device, client => {
            built.growth::<_, S, D>(client, nodes)
        })
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Updates the tree after its primitives have moved, as [`Bvh::refit`]: `primitives[i]` becomes the primitive of index
    /// `i`. The boxes are copied to the device.
    ///
    /// # Errors
    /// - Those of [`BoxBvh::build`]; the tree is then unchanged.
    /// - The number of primitives differs from that of the tree.
    pub fn refit<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        if primitives.len() != self.len() {
            return Err(tree_errors::refit(primitives.len(), self.len()));
        }
        let PlacedBoxes { placed, bounds } = PlacedBoxes::new(primitives, &self.space)?;
        on!(self.device, client => {
            let coordinates = placed.as_flattened().as_flattened();
            check_distances::<_, S>(client, self.device, || smallest(coordinates))?;
            self.refit_rows(client, &DeviceVec::new(coordinates, self.device)?.values, bounds)
        })
    }

    /// Updates the tree, which is not empty, to boxes whose corners are on the device, box by box and in its space.
    pub(super) fn refit_rows<R: Runtime>(
        &mut self,
        client: &ComputeClient<R>,
        rows: &Buffer<S>,
        bounds: Aabb<S, D>,
    ) -> Result<()> {
        let Some(nodes) = &self.nodes else { return Ok(()) };
        let built = self.built.clone().unwrap_or_else(|| Cost::of_built(client, nodes, &self.bounds));
        let corners = gather(client, rows, &self.order, 2 * D, Layout::Columns);
        let (nodes, _) = refitted::<_, S, D>(client, nodes, &corners, self.len(), true);
        (self.nodes, self.corners, self.bounds, self.built) = (Some(nodes), corners, bounds, Some(built));
        end_phase(client, "boxes")
    }

    /// Rebuilds the tree over other primitives, as [`crate::Bvh::rebuild`]. Their number may differ.
    ///
    /// # Errors
    /// Those of [`BoxBvh::build`]; the tree is then unchanged.
    pub fn rebuild<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        *self = Self::build_in(primitives, self.space, self.device)?;
        Ok(())
    }

    /// Returns the cost of the tree relative to its cost at the last build, as [`Bvh::degradation`], which describes
    /// errors and cost.
    pub fn degradation(&self) -> Result<f64> {
        let (Some(nodes), Some(built)) = (&self.nodes, &self.built) else { return Ok(1.0) };
        on!(self.device, client => built.growth::<_, S, D>(client, nodes))
    }
}

/// Returns the nodes with new boxes for primitives at other places, and a number that is not 0 if an inner node is a
/// single point.
fn refitted<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    axes: &Buffer<S>,
    n: usize,
    are_boxes: bool,
) -> (Nodes<S>, Buffer<u32>) {
    let (end, dim) = (nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let mut sizes = vec![n.div_ceil(GROUP as usize)];
    while let Some(&most) = sizes.last().filter(|&&most| most >= GROUP as usize) {
        sizes.push(most.div_ceil(GROUP as usize));
    }
    let groups = Buffer::<S>::new(client, sizes.iter().sum::<usize>() * 2 * D);
    let (mut offsets, mut from, mut before) = (vec![], 0, n);
    for (at, &size) in sizes.iter().enumerate() {
        let to: usize = sizes[..at].iter().sum();
        offsets.push(to as u32);
        let range = BoxGroupsLaunch::new(from as u32, before as u32, to as u32, n as u32);
        let spec = GroupSpec { d: D, are_boxes, of_groups: at > 0 };
        join_groups::launch::<S, R>(client, blocks_for(size), dim, axes.arg(), groups.arg(), range, spec);
        (from, before) = (to, size);
    }
    let bounds = Buffer::<S>::new(client, (end + 1) * 2 * D);
    let has_copies = Buffer::filled(client, 1, 0u32);
    let spec = GroupSpec { d: D, are_boxes, of_groups: false };
    join_below::launch::<S, R>(
        client,
        blocks_for(end + 1),
        dim,
        axes.arg(),
        groups.arg(),
        Buffer::from_slice(client, &offsets).arg(),
        nodes.links.pairs(),
        nodes.bounds.arg(),
        bounds.arg(),
        has_copies.arg(),
        NodeRangeLaunch::new(n as u32, end as u32),
        spec,
    );
    let nodes = Nodes { bounds, links: nodes.links.clone(), leaf_of_point: nodes.leaf_of_point.clone() };
    (nodes, has_copies)
}

/// Sorts the indices of points that fill inner nodes and coincide, as in a tree on the host.
fn sort_copies<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    order: &Buffer<u32>,
) -> Result<Buffer<u32>> {
    let (all, mut order) = (nodes.read::<_, D>(client)?, order.read(client)?);
    let mut at = 0;
    while at + 1 < all.len() {
        let (node, rope) = (&all[at], all[at].rope as usize);
        let is_point = rope > at + 1 && node.bounds.lo == node.bounds.hi;
        if is_point {
            order[node.first as usize..all[rope].first as usize].sort_unstable();
        }
        at = if is_point { rope } else { at + 1 };
    }
    Ok(Buffer::from_slice(client, &order))
}

/// The compile-time options of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct GroupSpec {
    pub d: usize,
    /// `true` if primitives are boxes, with upper corners after the lower ones.
    pub are_boxes: bool,
    /// `true` if boxes of groups are joined, not primitives.
    pub of_groups: bool,
}

/// The range of primitives or groups to join, the offset of the next size, and the number of primitives.
#[derive(CubeType, CubeLaunch)]
struct BoxGroups {
    from: u32,
    len: u32,
    to: u32,
    n: u32,
}

/// The numbers of primitives and of nodes.
#[derive(CubeType, CubeLaunch)]
struct NodeRange {
    n: u32,
    end: u32,
}

/// Enlarges a box by that of a primitive.
#[cube]
pub(in crate::gpu) fn join_primitive<F: Float>(
    own: &mut Array<F>,
    axes: &Array<F>,
    at: u32,
    n: u32,
    #[comptime] spec: GroupSpec,
) {
    let d = comptime!(spec.d);
    #[unroll]
    for k in 0..d {
        let lo = axes[k * n as usize + at as usize];
        own[k] = min(own[k], lo);
        if comptime!(spec.are_boxes) {
            own[d + k] = max(own[d + k], axes[(d + k) * n as usize + at as usize]);
        } else {
            own[d + k] = max(own[d + k], lo);
        }
    }
}

/// Enlarges a box by that of a group.
#[cube]
fn join_group<F: Float>(own: &mut Array<F>, groups: &Array<F>, at: u32, #[comptime] d: usize) {
    let from = at as usize * comptime!(2 * d);
    #[unroll]
    for k in 0..d {
        own[k] = min(own[k], groups[from + k]);
        own[d + k] = max(own[d + k], groups[from + d + k]);
    }
}

/// Sets a box to that of a primitive.
#[cube]
pub(in crate::gpu) fn set_primitive<F: Float>(
    own: &mut Array<F>,
    axes: &Array<F>,
    at: u32,
    n: u32,
    #[comptime] spec: GroupSpec,
) {
    let d = comptime!(spec.d);
    #[unroll]
    for k in 0..d {
        own[k] = axes[k * n as usize + at as usize];
        if comptime!(spec.are_boxes) {
            own[d + k] = axes[(d + k) * n as usize + at as usize];
        } else {
            own[d + k] = own[k];
        }
    }
}

/// Joins each sixteen boxes of the range: those of primitives for the first size, of groups for others.
#[cube(launch)]
fn join_groups<F: Float>(axes: &Array<F>, groups: &mut Array<F>, range: &BoxGroups, #[comptime] spec: GroupSpec) {
    let own = ABSOLUTE_POS as u32;
    if own * GROUP < range.len {
        let d = comptime!(spec.d);
        let first = range.from + own * GROUP;
        let behind = range.from + min(own * GROUP + GROUP, range.len);
        let mut joined = Array::<F>::new(comptime!(2 * spec.d));
        if comptime!(spec.of_groups) {
            #[unroll]
            for k in 0..2 * d {
                joined[k] = groups[first as usize * comptime!(2 * spec.d) + k];
            }
            for at in first + 1..behind {
                join_group::<F>(&mut joined, groups, at, d);
            }
        } else {
            set_primitive::<F>(&mut joined, axes, first, range.n, spec);
            for at in first + 1..behind {
                join_primitive::<F>(&mut joined, axes, at, range.n, spec);
            }
        }
        #[unroll]
        for k in 0..2 * d {
            groups[(range.to + own) as usize * comptime!(2 * spec.d) + k] = joined[k];
        }
    }
}

/// Joins the boxes below each node, and copies the box of the sentinel.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn join_below<F: Float>(
    axes: &Array<F>,
    groups: &Array<F>,
    offsets: &Array<u32>,
    links: &Vec2<u32>,
    old: &Array<F>,
    bounds: &mut Array<F>,
    has_copies: &mut Array<u32>,
    range: &NodeRange,
    #[comptime] spec: GroupSpec,
) {
    let (node, width) = (ABSOLUTE_POS, comptime!(2 * spec.d));
    if node as u32 == range.end {
        #[unroll]
        for k in 0..width {
            bounds[node * width + k] = old[node * width + k];
        }
    } else if (node as u32) < range.end {
        let d = comptime!(spec.d);
        let link = links[node];
        // The start, the end and the size of the remaining groups.
        let mut rest = Array::<u32>::new(3usize);
        rest[0] = link[1];
        rest[1] = links[link[0] as usize][1];
        rest[2] = 0;
        let mut joined = Array::<F>::new(width);
        set_primitive::<F>(&mut joined, axes, rest[0], range.n, spec);
        rest[0] = rest[0] + 1;
        while rest[0] < rest[1] && rest[0] % GROUP != 0 {
            join_primitive::<F>(&mut joined, axes, rest[0], range.n, spec);
            rest[0] = rest[0] + 1;
        }
        while rest[0] < rest[1] && rest[1] % GROUP != 0 {
            rest[1] = rest[1] - 1;
            join_primitive::<F>(&mut joined, axes, rest[1], range.n, spec);
        }
        rest[0] = rest[0] / GROUP;
        rest[1] = rest[1] / GROUP;
        while rest[0] < rest[1] {
            let offset = offsets[rest[2] as usize];
            while rest[0] < rest[1] && rest[0] % GROUP != 0 {
                join_group::<F>(&mut joined, groups, offset + rest[0], d);
                rest[0] = rest[0] + 1;
            }
            while rest[0] < rest[1] && rest[1] % GROUP != 0 {
                rest[1] = rest[1] - 1;
                join_group::<F>(&mut joined, groups, offset + rest[1], d);
            }
            rest[0] = rest[0] / GROUP;
            rest[1] = rest[1] / GROUP;
            rest[2] = rest[2] + 1;
        }
        let mut is_point = link[0] > node as u32 + 1;
        #[unroll]
        for k in 0..d {
            bounds[node * width + k] = joined[k];
            bounds[node * width + d + k] = joined[d + k];
            is_point = is_point && joined[k] == joined[d + k];
        }
        if is_point {
            has_copies[0] = 1;
        }
    }
}
