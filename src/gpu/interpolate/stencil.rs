//! The sources of each target: the GPU version of `interpolate::stencil`.
//!
//! In: a tree over the sources, targets, and the neighbours to use. Out: a row of sources per target in ascending
//! distance, ties by index, and the radius at which weights end. Rows of the nearest sources come from
//! `search::nearest`, rows of sources within a radius from `search::range` and `sorted_rows`.
//! Cost: that of the search and the sort. Memory: 12 bytes per neighbour and 12 per target.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::errors;
use crate::gpu::interpolate::rows::{Rows, UNUSABLE, checked_longest};
use crate::gpu::interpolate::sorted_rows::sort_rows;
use crate::gpu::primitives::rounding::product;
use crate::gpu::primitives::scan::exclusive;
use crate::interpolate::neighborhood::Neighborhood;
use crate::interpolate::stencil::BEYOND_FARTHEST;
use crate::search::Nearest;
use crate::{Sphere, parallel::map};

/// Targets per parallel task.
const TASK: usize = 1 << 14;

/// The neighbours of each target.
pub(super) struct Stencils {
    /// The first place of each row, followed by the number of all neighbours.
    pub offsets: Buffer<u32>,
    pub indices: Buffer<u32>,
    pub distances2: Buffer<f64>,
    /// The distance at which the weights of each target become 0.
    pub radii: Buffer<f64>,
    /// The number of neighbours in the longest row.
    pub longest: usize,
}

impl Stencils {
    /// Finds the neighbours of `targets`, which are on the device as `placed`.
    ///
    /// Errors: more neighbours than kernels can index or than a buffer of the device can hold; a failing device.
    pub fn new<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        sources: &Bvh<S, D>,
        targets: &[[S; D]],
        placed: &Points<S, D>,
        reach: &Neighborhood,
    ) -> Result<Self> {
        let n = placed.len();
        match reach {
            Neighborhood::Neighbors(k) => Self::nearest(client, sources, placed, *k),
            Neighborhood::Radius(radius) => {
                let radii = Buffer::filled(client, n, *radius);
                Self::within(client, sources, targets, placed, &|_| *radius, radii)
            }
            Neighborhood::Each(radii) => {
                let on_device = Buffer::from_slice(client, radii);
                Self::within(client, sources, targets, placed, &|at| radii[at], on_device)
            }
        }
    }

    /// Allocates the coefficients of the neighbours, and slopes for a number of axes, none for 0.
    ///
    /// Errors: more coefficients or slopes than kernels can index, or than a buffer of the device can hold.
    pub fn rows<R: Runtime>(&self, client: &ComputeClient<R>, axes: usize) -> Result<Rows> {
        let (n, entries) = (self.radii.len(), self.indices.len());
        let values = entries as u128 * axes.max(1) as u128;
        if values > u128::from(u32::MAX) {
            return Err(errors::too_many_values(values, "coefficients"));
        }
        check_allocation(client, 8 * values)?;
        Ok(Rows {
            offsets: self.offsets.clone(),
            indices: self.indices.clone(),
            coefficients: Buffer::new(client, entries),
            slopes: (axes > 0).then(|| Buffer::new(client, entries * axes)),
            degrees: Buffer::filled(client, n, UNUSABLE),
            longest: self.longest,
        })
    }

    /// Finds the `k` nearest sources of each of `points`.
    pub fn nearest<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        sources: &Bvh<S, D>,
        points: &Points<S, D>,
        k: usize,
    ) -> Result<Self> {
        let n = points.len();
        let near = sources.nearest_of_placed(client, &points.values, &points.bounds, Nearest::new(k))?;
        let k = near.k;
        let offsets = Buffer::filled(client, n + 1, k as u32);
        exclusive(client, &offsets);
        let radii = Buffer::<f64>::filled(client, n, 0.0);
        if n > 0 && k > 0 {
            let factor = Buffer::from_slice(client, &[BEYOND_FARTHEST]);
            let (blocks, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
            let (distances2, factor) = (near.distances2.arg(), factor.arg());
            beyond_farthest::launch::<R>(client, blocks, dim, distances2, factor, radii.arg(), k as u32, n as u32);
        }
        let longest = if n == 0 { 0 } else { k };
        Ok(Self { offsets, indices: near.indices, distances2: near.distances2, radii, longest })
    }

    /// Finds all sources within the radius of each target.
    fn within<R: Runtime, S: Coordinate, const D: usize>(
        client: &ComputeClient<R>,
        sources: &Bvh<S, D>,
        targets: &[[S; D]],
        placed: &Points<S, D>,
        radius: &(dyn Fn(usize) -> f64 + Sync),
        radii: Buffer<f64>,
    ) -> Result<Self> {
        let spheres = map(targets.len(), TASK, &|at| Sphere::new(targets[at], radius(at)));
        let lists = sources.query_all(&spheres)?;
        let longest = checked_longest(client, &lists.offsets)?;
        let (indices, distances2) = sort_rows(client, sources, &placed.values, &lists)?;
        Ok(Self { offsets: lists.offsets, indices, distances2, radii, longest })
    }
}

/// Computes the radius of each target from the distance of its farthest neighbour.
#[cube(launch)]
fn beyond_farthest(distances2: &Array<f64>, factor: &Array<f64>, radii: &mut Array<f64>, k: u32, n: u32) {
    let target = ABSOLUTE_POS;
    if (target as u32) < n {
        radii[target] = product(factor[0], distances2[target * k as usize + (k - 1) as usize].sqrt());
    }
}
