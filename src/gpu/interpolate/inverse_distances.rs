//! Coefficients from inverse distances, for `idw` and `fallback`.
//!
//! In: rows of neighbours and a power. Out: normalized coefficients, bit for bit those of the CPU for a power of 2.
//! Other powers are computed by series, with errors of a few roundings times the power. A thread processes one target.
//! Cost: two passes over each row.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::interpolate::constants::numbers;
use crate::gpu::interpolate::rows::Rows;
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::interpolate::weights::power;
use crate::gpu::primitives::rounding::product;

/// Computes the coefficients of the neighbours in `near`: inverse distances to `power`, normalized. Neighbours that
/// coincide with the target share the weight equally. The degree of targets with neighbours becomes 0.
pub(super) fn inverse_distances<R: Runtime>(client: &ComputeClient<R>, near: &Stencils, power: f64, rows: &Rows) {
    let (n, dim) = (rows.degrees.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let input = RowDistancesLaunch::new(
        near.offsets.arg(),
        near.distances2.arg(),
        Buffer::from_slice(client, &[0.5 * power]).arg(),
        Buffer::from_slice(client, &numbers(0.0)).arg(),
        n as u32,
    );
    let (coefficients, degrees) = (rows.coefficients.arg(), rows.degrees.arg());
    weigh_rows::launch::<R>(client, blocks_for(n), dim, input, coefficients, degrees, power == 2.0);
}

/// The squared distances of neighbours, row by row.
#[derive(CubeType, CubeLaunch)]
struct RowDistances {
    offsets: Array<u32>,
    distances2: Array<f64>,
    /// The power of squared distances, a single number.
    exponent: Array<f64>,
    numbers: Array<f64>,
    n: u32,
}

#[cube(launch)]
fn weigh_rows(
    near: &RowDistances,
    coefficients: &mut Array<f64>,
    degrees: &mut Array<i32>,
    #[comptime] is_square: bool,
) {
    let target = ABSOLUTE_POS;
    if (target as u32) < near.n {
        let (first, end) = (near.offsets[target], near.offsets[target + 1]);
        if first < end {
            let (zero, one) = (f64::new(0.0), f64::new(1.0));
            let nearest2 = near.distances2[first as usize];
            let mut sum = f64::new(0.0);
            for at in first..end {
                // Relative to the nearest neighbour, whose weight is 1, nothing overflows.
                let own2 = near.distances2[at as usize];
                let mut own = nearest2 / select(own2 == zero, one, own2);
                if comptime!(!is_square) {
                    own = power(own, near.exponent[0], &near.numbers);
                }
                own = select(nearest2 == zero, select(own2 == zero, one, zero), own);
                coefficients[at as usize] = own;
                sum += product(own, one);
            }
            for at in first..end {
                coefficients[at as usize] = coefficients[at as usize] / sum;
            }
            degrees[target] = 0;
        }
    }
}
