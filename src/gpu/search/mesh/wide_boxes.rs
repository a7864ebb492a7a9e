//! A wide tree over the boxes of shapes, for rays that cross many of them.
//!
//! In: boxes in the order of a Morton curve. Out: a tree as that of a mesh that is built on the device. The walk and the
//! tests of shapes are those of `search::shapes`.
//! Cost: O(n). Memory, by the sizes of buffers: about 100 bytes per box of `f32` and 130 of `f64`, and some 200 more
//! during construction.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::search::mesh::build::box_tree;
use crate::gpu::search::mesh::constants::numbers;
use crate::gpu::search::mesh::primitives::{Item, Items};
use crate::gpu::search::mesh::tree::Tree;
use crate::search::mesh::frame::Frame;

/// The largest coordinate of boxes in a wide tree: products of three lengths stay in the range of `f64`.
const LARGEST: f64 = 1e100;

/// Boxes with a wide tree.
#[derive(Clone, Debug)]
pub(in crate::gpu::search) struct WideBoxes<S> {
    pub tree: Tree,
    /// The boxes in the order of the Morton curve.
    pub items: Items<S>,
}

impl<S: Coordinate> WideBoxes<S> {
    /// Builds a tree of `n` boxes, at least one, with bounds around all of them; `None` if coordinates or buffers
    /// are too large.
    /// `corners` are their lower corners axis by axis, then their upper ones.
    pub fn build<R: Runtime>(
        client: &ComputeClient<R>,
        corners: &Buffer<S>,
        n: usize,
        bounds: &Aabb<S, 3>,
    ) -> Result<Option<Self>> {
        let most = bounds.lo.iter().chain(&bounds.hi).map(|&x| Into::<f64>::into(x).abs()).fold(0.0, f64::max);
        let fits = 6 * n as u64 <= u64::from(u32::MAX) && check_allocation(client, 94 * n as u128).is_ok();
        if most > LARGEST || !fits {
            return Ok(None);
        }
        let exact = Buffer::new(client, 6 * n);
        let (blocks, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
        write_rows::launch::<S, R>(client, blocks, dim, corners.arg(), exact.arg(), n as u32);
        let numbers = Buffer::from_slice(client, &numbers::<S>(&Frame::over(bounds)));
        let items = Items { item: Item::Box, n, exact, radii: Buffer::new(client, 0), numbers };
        Ok(Some(Self { tree: box_tree(client, &items)?, items }))
    }
}

/// Writes the corners of each box as a row.
#[cube(launch)]
fn write_rows<F: Float>(corners: &Array<F>, rows: &mut Array<F>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        #[unroll]
        for k in 0..6usize {
            rows[6 * at + k] = corners[k * n as usize + at];
        }
    }
}
