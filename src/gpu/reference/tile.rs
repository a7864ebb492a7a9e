//! Stored points, which blocks of threads read tile by tile.
//!
//! In: points, stored point by point. Out: the coordinates of up to 256 of them in shared memory, in the same order.
//! All threads of a block then read the same point at a time.
//! Cost: one read of each point for each block of 256 queries.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::device::{MAX_ITERATIONS, is_cuda};

/// The number of points in shared memory: one for each thread of a block.
pub(super) const TILE: u32 = THREADS_PER_BLOCK;

/// The maximum number of points that a kernel compares with a query on devices without CUDA, whose loops are limited to
/// [`MAX_ITERATIONS`]. A query with more points takes several kernels.
const MAX_SPAN: usize = MAX_ITERATIONS / 2;

/// The stored points from `first` to before `behind`, with the sides of the periodic box in both precisions.
#[derive(CubeType, CubeLaunch)]
pub(super) struct StoredPoints<F: Float> {
    values: Array<F>,
    pub sides: Array<F>,
    pub exact_sides: Array<f64>,
    first: u32,
    behind: u32,
}

/// Calls `launch` for each part of the stored points that one kernel can compare with a query, in ascending order.
pub(super) fn for_each_span<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    points: &Points<S, D>,
    mut launch: impl FnMut(usize, StoredPointsLaunch<S, R>),
) {
    let sides = points.space.period().copied().unwrap_or([0.0; D]);
    let (rounded, exact) = (Buffer::from_slice(client, &sides.map(S::from_f64)), Buffer::from_slice(client, &sides));
    let span = if is_cuda(client) { points.len.max(1) } else { MAX_SPAN };
    for first in (0..points.len).step_by(span) {
        let behind = points.len.min(first + span);
        let arg = StoredPointsLaunch::new(points.values.arg(), rounded.arg(), exact.arg(), first as u32, behind as u32);
        launch(first, arg);
    }
}

#[cube]
impl<F: Float> StoredPoints<F> {
    /// The number of tiles.
    pub fn tiles(&self) -> u32 {
        (self.behind - self.first - 1) / TILE + 1
    }

    /// Returns the index of the first point of a tile.
    pub fn first_of(&self, tile: u32) -> u32 {
        self.first + tile * TILE
    }

    /// Copies a tile to shared memory, by all threads of the block, and returns its number of points.
    pub fn load(&self, tile: u32, shared: &mut SharedMemory<F>, #[comptime] d: usize) -> u32 {
        let first = self.first_of(tile);
        let count = min(TILE, self.behind - first);
        #[unroll]
        for k in 0..d {
            let at = k * TILE as usize + UNIT_POS as usize;
            if at < count as usize * d {
                shared[at] = self.values[first as usize * d + at];
            }
        }
        count
    }
}

/// Returns both corners of a point in shared memory, which are equal.
#[cube]
pub(super) fn point_of_tile<F: Float>(shared: &SharedMemory<F>, at: u32, #[comptime] d: usize) -> Array<F> {
    let mut corners = Array::<F>::new(comptime!(2 * d));
    #[unroll]
    for k in 0..d {
        let x = shared[at as usize * d + k];
        corners[k] = x;
        corners[d + k] = x;
    }
    corners
}
