//! The cost of a tree: the sum of the surface areas of its nodes.
//!
//! In: the boxes of nodes. Out: sums of areas of consecutive nodes, which the host adds. All sums are in a fixed order.
//! Cost: a pass over the nodes.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::ropes::Nodes;

/// The number of nodes, or of sums, that a thread adds.
const PART: u32 = 64;
/// The maximum number of sums that the host adds.
const MOST: usize = 1 << 12;
/// The largest side in units of the box around everything: prevents overflow of products of nine sides.
const LONGEST: f32 = 1e30;

/// The cost of a tree in a unit of length.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Cost {
    sums: Buffer<f64>,
    unit: f64,
}

impl Cost {
    /// Launches the kernels that compute the cost of a tree before its first refit. `bounds` is the box around
    /// everything.
    pub fn of_built<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        bounds: &Aabb<S, D>,
    ) -> Self {
        let side = |k: usize| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k]);
        let extent = (0..D).map(side).fold(0.0, f64::max);
        Self::new::<_, S, D>(client, nodes, if extent > 0.0 { extent } else { 1.0 })
    }

    fn new<R: Runtime, S: Coordinate, const D: usize>(client: &ComputeClient<R>, nodes: &Nodes<S>, unit: f64) -> Self {
        let (dim, end) = (CubeDim::new_1d(THREADS_PER_BLOCK), nodes.end());
        let mut sums = Buffer::<f64>::new(client, end.div_ceil(PART as usize));
        let (count, unit_arg) = (blocks_for(sums.len()), Buffer::from_slice(client, &[unit]));
        sum_areas::launch::<S, R>(client, count, dim, nodes.bounds.arg(), unit_arg.arg(), sums.arg(), end as u32, D);
        while sums.len() > MOST {
            let next = Buffer::<f64>::new(client, sums.len().div_ceil(PART as usize));
            add_parts::launch::<R>(client, blocks_for(next.len()), dim, sums.arg(), next.arg(), sums.len() as u32);
            sums = next;
        }
        Self { sums, unit }
    }

    /// Returns the ratio of the present cost of the tree to this cost; 1 if they are equal, which includes two zeros.
    pub fn growth<R: Runtime, S: Coordinate, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
    ) -> Result<f64> {
        let now = Self::new::<_, S, D>(client, nodes, self.unit);
        let [now, before] = [now.sums.read(client)?, self.sums.read(client)?].map(|sums| sums.iter().sum::<f64>());
        Ok(if now == before { 1.0 } else { now / before })
    }
}

/// Adds half the surface areas (in one dimension the lengths) of up to [`PART`] nodes.
#[cube(launch)]
fn sum_areas<F: Float>(bounds: &Array<F>, unit: &Array<f64>, sums: &mut Array<f64>, end: u32, #[comptime] d: usize) {
    let own = ABSOLUTE_POS as u32;
    if own * PART < end {
        let mut sum = Array::<f64>::new(1usize);
        sum[0] = f64::new(0.0);
        for node in own * PART..min((own + 1) * PART, end) {
            let from = node as usize * comptime!(2 * d);
            let mut sides = Array::<f64>::new(d);
            #[unroll]
            for k in 0..d {
                let side = f64::cast_from(bounds[from + d + k]) - f64::cast_from(bounds[from + k]);
                sides[k] = min(side / unit[0], f64::new(LONGEST));
            }
            sum[0] += half_area(&sides, d);
        }
        sums[own as usize] = sum[0];
    }
}

/// Returns half the surface area of a box, given its sides; in one dimension the length.
#[cube]
pub(in crate::gpu) fn half_area(sides: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut sum = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let mut product = f64::new(1.0);
        #[unroll]
        for j in 0..d {
            if comptime!(j != k || d == 1) {
                product *= sides[j];
            }
        }
        sum += product;
    }
    sum
}

/// Adds up to [`PART`] sums.
#[cube(launch)]
fn add_parts(sums: &Array<f64>, next: &mut Array<f64>, n: u32) {
    let own = ABSOLUTE_POS as u32;
    if own * PART < n {
        let mut sum = Array::<f64>::new(1usize);
        sum[0] = f64::new(0.0);
        for at in own * PART..min((own + 1) * PART, n) {
            sum[0] += sums[at as usize];
        }
        next[own as usize] = sum[0];
    }
}
