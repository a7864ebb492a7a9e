//! A tree as the searches for rows of queries take it, and the numbers of its values.

use std::sync::OnceLock;

use cubecl::prelude::*;

use crate::geometry::Space;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::spec::TreeLaunch;
use crate::gpu::device::Device;
use crate::gpu::search::shapes::fine_tree::FineTree;
use crate::gpu::search::shapes::shape::ShapeKind;

/// A tree whose boxes are searched: one of points, or one of boxes.
pub(in crate::gpu) struct SearchedTree<'a, S, const D: usize> {
    pub device: Device,
    pub space: &'a Space<D>,
    pub nodes: &'a Nodes<S>,
    /// The coordinates of points in tree order, axis by axis; for boxes the lower corners followed by the upper ones.
    pub axes: &'a Buffer<S>,
    /// The index of each stored primitive.
    pub order: &'a Buffer<u32>,
    pub are_points: bool,
}

impl<S: Coordinate, const D: usize> SearchedTree<'_, S, D> {
    /// Returns the argument of kernels.
    pub fn arg<R: Runtime>(&self, client: &ComputeClient<R>) -> TreeLaunch<S, R> {
        self.arg_with(&self.sides(client))
    }

    /// Copies the sides of the periodic box to the device, in both precisions. In open space they are not read.
    pub fn sides<R: Runtime>(&self, client: &ComputeClient<R>) -> (Buffer<S>, Buffer<f64>) {
        match self.space.period() {
            Some(sides) => (Buffer::from_slice(client, &sides.map(S::from_f64)), Buffer::from_slice(client, sides)),
            None => (Buffer::new(client, D), Buffer::new(client, D)),
        }
    }

    /// Returns the argument of kernels, given the [sides](Self::sides).
    pub fn arg_with<R: Runtime>(&self, (sides, exact_sides): &(Buffer<S>, Buffer<f64>)) -> TreeLaunch<S, R> {
        TreeLaunch::new(
            self.nodes.bounds.pairs(),
            self.nodes.links.pairs(),
            self.nodes.leaf_of_point.arg(),
            self.axes.arg(),
            sides.arg(),
            exact_sides.arg(),
            self.order.len() as u32,
        )
    }
}

/// The numbers of stored values on a device, in the order of the tree.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct StoredRows {
    pub rows: Buffer<f64>,
    /// The numbers that do not fit into rows.
    pub extra: Buffer<f64>,
    /// Triangles of `f32` in frames of their own (`geometry::framed_triangles`); empty for other values.
    pub framed_triangles: Buffer<f32>,
    /// The tree for the nearest of these, made when it is first needed; `None` if it cannot be made.
    pub fine: OnceLock<Option<FineTree>>,
    /// The number of numbers of a value.
    pub width: usize,
    pub kind: ShapeKind,
}
