//! A tree as the searches for rows of queries take it, and the numbers of its values.

use cubecl::prelude::*;

use crate::geometry::Space;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::spec::TreeLaunch;
use crate::gpu::device::Device;
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
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            self.nodes.bounds.pairs(),
            self.nodes.links.pairs(),
            self.nodes.leaf_of_point.arg(),
            self.axes.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
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
    /// The corners of triangles of `f32` (`geometry::triangle_bounds`); empty for other values.
    pub near_triangles: Buffer<f32>,
    /// The number of numbers of a value.
    pub width: usize,
    pub kind: ShapeKind,
}
