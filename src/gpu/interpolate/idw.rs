//! Inverse-distance weighting on a device: the GPU version of `interpolate::idw`.
//!
//! In: rows of neighbours and a power. Out: normalized coefficients. A thread processes one target.
//! Cost: three passes over each row.

use cubecl::prelude::*;

use crate::gpu::buffer::{THREADS_PER_BLOCK, blocks_for};
use crate::gpu::interpolate::rows::Rows;
use crate::gpu::interpolate::stencil::Stencils;

/// Computes the coefficients of the neighbours in `near`: inverse squared distances, normalized. Neighbours that
/// coincide with the target share the weight equally. The degree of targets with neighbours becomes 0.
pub(super) fn inverse_distances<R: Runtime>(client: &ComputeClient<R>, near: &Stencils, rows: &Rows) {
    let (n, dim) = (rows.degrees.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let near = RowDistancesLaunch::new(near.offsets.arg(), near.distances2.arg(), n as u32);
    weigh_rows::launch::<R>(client, blocks_for(n), dim, near, rows.coefficients.arg(), rows.degrees.arg());
}

/// The squared distances of neighbours, row by row.
#[derive(CubeType, CubeLaunch)]
struct RowDistances {
    offsets: Array<u32>,
    distances2: Array<f64>,
    n: u32,
}

#[cube(launch)]
fn weigh_rows(near: &RowDistances, coefficients: &mut Array<f64>, degrees: &mut Array<i32>) {
    let target = ABSOLUTE_POS;
    if (target as u32) < near.n {
        let (first, end) = (near.offsets[target], near.offsets[target + 1]);
        if first < end {
            let zero = f64::new(0.0);
            let nearest2 = near.distances2[first as usize];
            let mut sum = f64::new(0.0);
            for at in first..end {
                // Relative to the nearest neighbour, whose weight is 1, nothing overflows.
                let own2 = near.distances2[at as usize];
                let coincides = select(own2 == zero, f64::new(1.0), zero);
                let ratio = nearest2 / select(own2 == zero, f64::new(1.0), own2);
                let own = select(nearest2 == zero, coincides, ratio);
                coefficients[at as usize] = own;
                sum += own;
            }
            for at in first..end {
                coefficients[at as usize] = coefficients[at as usize] / sum;
            }
            degrees[target] = 0;
        }
    }
}
