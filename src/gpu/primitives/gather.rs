//! Some of the points, in an order.
//!
//! In: points, and which. Out: their coordinates, one array per axis.
//! Cost: one pass.

use cubecl::prelude::*;

use crate::geometry::Scalar;
use crate::gpu::buffer::{Buffer, UNITS, cubes};

pub(in crate::gpu) fn gather<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
    client: &ComputeClient<R>,
    points: &Buffer<S>,
    order: &Buffer<u32>,
) -> Buffer<S> {
    let n = order.len();
    let axes = Buffer::new(client, n * D);
    let dim = CubeDim::new_1d(UNITS);
    gather_points::launch::<S, R>(client, cubes(n), dim, points.arg(), order.arg(), axes.arg(), n as u32, D);
    axes
}

#[cube(launch)]
fn gather_points<F: Float>(points: &Array<F>, order: &Array<u32>, axes: &mut Array<F>, n: u32, #[comptime] d: usize) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let from = order[i] as usize;
        #[unroll]
        for k in 0..d {
            axes[k * n as usize + i] = points[from * d + k];
        }
    }
}
