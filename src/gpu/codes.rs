//! Morton codes of points, and the points in their order: the twin of `morton`.
//!
//! In: points, and the grid over them. Out: codes; later the coordinates in tree order, one array per axis.
//! Cost: one pass each.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, cubes};
use crate::geometry::Scalar;
use crate::morton::Grid;

/// The code of each point, and its index.
pub(super) fn codes<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
    client: &ComputeClient<R>,
    points: &Buffer<S>,
    n: usize,
    grid: &Grid<S, D>,
) -> (Buffer<u64>, Buffer<u32>) {
    let (keys, values) = (Buffer::new(client, n), Buffer::new(client, n));
    let (shrink, origin, scale) = grid.numbers();
    let numbers: Vec<S> = origin.into_iter().chain([scale, shrink]).collect();
    let numbers = Buffer::from_slice(client, &numbers);
    code_points::launch::<S, R>(
        client,
        cubes(n),
        CubeDim::new_1d(UNITS),
        points.arg(),
        numbers.arg(),
        keys.arg(),
        values.arg(),
        n as u32,
        D,
    );
    (keys, values)
}

/// The coordinates in an order, axis by axis.
pub(super) fn gather<R: Runtime, S: Scalar + Float + CubeElement, const D: usize>(
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

/// Moves bit `i` to bit `i * d`, for two or three dimensions.
#[cube]
fn spread(cell: u64, #[comptime] d: usize) -> u64 {
    let mut x = cell;
    if comptime!(d == 2) {
        x = (x | (x << 16u64)) & 0x0000_ffff_0000_ffffu64;
        x = (x | (x << 8u64)) & 0x00ff_00ff_00ff_00ffu64;
        x = (x | (x << 4u64)) & 0x0f0f_0f0f_0f0f_0f0fu64;
        x = (x | (x << 2u64)) & 0x3333_3333_3333_3333u64;
        x = (x | (x << 1u64)) & 0x5555_5555_5555_5555u64;
    } else {
        x = (x | (x << 32u64)) & 0x001f_0000_0000_ffffu64;
        x = (x | (x << 16u64)) & 0x001f_0000_ff00_00ffu64;
        x = (x | (x << 8u64)) & 0x100f_00f0_0f00_f00fu64;
        x = (x | (x << 4u64)) & 0x10c3_0c30_c30c_30c3u64;
        x = (x | (x << 2u64)) & 0x1249_2492_4924_9249u64;
    }
    x
}

#[cube(launch)]
fn code_points<F: Float>(
    points: &Array<F>,
    numbers: &Array<F>,
    keys: &mut Array<u64>,
    values: &mut Array<u32>,
    n: u32,
    #[comptime] d: usize,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let (scale, shrink) = (numbers[d], numbers[d + 1]);
        let last = comptime!((1u32 << (63 / d)) - 1);
        let mut code = 0u64.runtime();
        #[unroll]
        for k in 0..d {
            // Multiplying by one or a half rounds nothing, so a fused multiplication gives the same.
            let cell = (points[i * d + k] * shrink - numbers[k]) * scale;
            let mut whole = last.runtime();
            if cell < F::cast_from(last) {
                whole = u32::cast_from(cell);
            }
            code |= spread(u64::cast_from(whole), d) << comptime!((d - 1 - k) as u64);
        }
        keys[i] = code;
        values[i] = i as u32;
    }
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
