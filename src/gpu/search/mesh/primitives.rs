//! Stored items on a device: triangles, boxes or balls.
//!
//! In: the number of an item. Out: its exact coordinates.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::search::mesh::constants::SCALE;
use crate::gpu::search::mesh::tree::{BOX_CORNERS, CORNERS};

/// The type of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu::search) enum Item {
    /// Triangles by their three corners.
    Triangle,
    /// Boxes by their lower and upper corners.
    Box,
    /// Balls by their centre and radius.
    Ball,
}

/// Stored items on a device.
#[derive(Clone, Debug)]
pub(in crate::gpu::search) struct Items<S> {
    pub item: Item,
    pub n: usize,
    /// The coordinates of each item, by index.
    pub exact: Buffer<S>,
    /// The radii of balls.
    pub radii: Buffer<f64>,
    pub numbers: Buffer<f64>,
}

impl<S: Coordinate> Items<S> {
    /// The number of corners of triangles or boxes.
    pub fn corners(&self) -> u32 {
        if self.item == Item::Triangle { CORNERS } else { BOX_CORNERS }
    }

    pub fn arg<R: Runtime>(&self) -> ItemsInLaunch<S, R> {
        ItemsInLaunch::new(self.exact.arg(), self.radii.arg(), self.numbers.arg(), self.n as u32)
    }
}

/// The kernel argument for [`Items`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu::search) struct ItemsIn<F: Float> {
    exact: Array<F>,
    pub radii: Array<f64>,
    pub numbers: Array<f64>,
    pub n: u32,
}

#[cube]
impl<F: Float> ItemsIn<F> {
    /// Returns the corners of a triangle.
    pub fn triangle(&self, index: u32) -> Array<f64> {
        let mut corners = Array::<f64>::new(9usize);
        #[unroll]
        for k in 0..9usize {
            corners[k] = f64::cast_from(self.exact[9 * index as usize + k]);
        }
        corners
    }

    /// Returns the corners of a triangle, or of a box, in the unit of the tree.
    pub fn framed(&self, index: u32, #[comptime] count: u32) -> Array<f32> {
        let width = comptime!(3 * count as usize);
        let mut corners = Array::<f32>::new(width);
        #[unroll]
        for k in 0..width {
            let x = f64::cast_from(self.exact[width * index as usize + k]);
            corners[k] = f32::cast_from((x - self.numbers[comptime!(k % 3)]) * self.numbers[SCALE]);
        }
        corners
    }

    /// Returns the corners of a box as they are stored.
    pub fn corners_of_box(&self, index: u32) -> Array<F> {
        let mut corners = Array::<F>::new(6usize);
        #[unroll]
        for k in 0..6usize {
            corners[k] = self.exact[6 * index as usize + k];
        }
        corners
    }

    /// Returns the coordinates of an item that has `width` of them.
    pub fn solid(&self, index: u32, #[comptime] width: usize) -> Array<f64> {
        let mut own = Array::<f64>::new(width);
        #[unroll]
        for k in 0..width {
            own[k] = f64::cast_from(self.exact[width * index as usize + k]);
        }
        own
    }
}
