//! Points of a device, wrapped into a cell there: the GPU counterpart of `search::cell::wrapped`.
//!
//! In: coordinates. Out: the wrapped points, the numbers of cells by which they were outside, and their extent, as on
//! the CPU.
//! Cost: a pass over the points, and two surveys of coordinates.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Cell, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::bounds::survey;
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::device_vec::DeviceVec;
use crate::search::cell::wrapped::Spread;

/// Wrapped points on a device.
pub(super) struct WrappedPoints<const D: usize> {
    pub points: Points<f64, D>,
    /// The number of cells along each vector by which each point was outside.
    pub wraps: Buffer<i32>,
    pub spread: Spread<D>,
}

/// Wraps points into a cell. Returns `None` if a point is too far away.
///
/// Errors: those of [`Points::from_device`].
pub(super) fn wrap_points<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    coordinates: &DeviceVec<S>,
    cell: &Cell<D>,
) -> Result<Option<WrappedPoints<D>>> {
    let n = Points::<S, D>::from_device(coordinates, None::<f64>)?.len();
    let places = DeviceVec { device: coordinates.device, values: Buffer::<f64>::new(client, n * D) };
    let (wraps, fractions) = (Buffer::<i32>::new(client, n * D), Buffer::<f64>::new(client, n * D));
    let faults = Buffer::<u32>::filled(client, 1, 0);
    let vectors = Buffer::from_slice(client, cell.vectors().as_flattened());
    let duals = Buffer::from_slice(client, cell.duals().as_flattened());
    wrap_all::launch::<S, R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        coordinates.values.arg(),
        VectorsLaunch::new(vectors.arg(), duals.arg()),
        WrappedLaunch::new(places.values.arg(), wraps.arg(), fractions.arg(), faults.arg()),
        n as u32,
        Cell::<D>::MAX_WRAP,
        D,
    );
    if faults.read(client)?[0] != 0 {
        return Ok(None);
    }
    let points = Points::from_device(&places, None::<f64>)?;
    let corners = survey::<_, _, D>(client, &fractions, &Space::OPEN)?.bounds;
    let spread = Spread {
        fractions: std::array::from_fn(|k| [corners.lo[k], corners.hi[k]]),
        largest: points.bounds.lo.iter().chain(&points.bounds.hi).fold(0.0, |largest: f64, x| largest.max(x.abs())),
    };
    Ok(Some(WrappedPoints { points, wraps, spread }))
}

/// The lattice vectors, and the columns of their inverse.
#[derive(CubeType, CubeLaunch)]
struct Vectors {
    vectors: Array<f64>,
    duals: Array<f64>,
}

/// Wrapped points, the numbers of cells by which they were outside, and their fractional coordinates, point by point.
/// `faults` is set if a point is too far away.
#[derive(CubeType, CubeLaunch)]
struct Wrapped {
    places: Array<f64>,
    wraps: Array<i32>,
    fractions: Array<f64>,
    faults: Array<u32>,
}

/// Wraps points, as [`Cell::wrap`] does.
#[cube(launch)]
fn wrap_all<F: Float>(
    coordinates: &Array<F>,
    cell: &Vectors,
    output: &mut Wrapped,
    n: u32,
    most: i32,
    #[comptime] d: usize,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut place = Array::<f64>::new(d);
        #[unroll]
        for axis in 0..d {
            place[axis] = f64::cast_from(coordinates[i * d + axis]);
        }
        let mut cells = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            cells[k] = fraction(&place, cell, k, d).floor();
            if cells[k].abs() > f64::cast_from(most) {
                output.faults[0] = 1u32.runtime();
            }
            output.wraps[i * d + k] = i32::cast_from(cells[k]);
        }
        #[unroll]
        for axis in 0..d {
            let mut translation = f64::new(0.0);
            #[unroll]
            for k in 0..d {
                // An `fma` with 0 computes the product alone, so that it is not fused with the sum.
                translation += fma(cells[k], cell.vectors[k * d + axis], f64::new(0.0));
            }
            place[axis] -= translation;
            output.places[i * d + axis] = place[axis];
        }
        #[unroll]
        for k in 0..d {
            output.fractions[i * d + k] = fraction(&place, cell, k, d);
        }
    }
}

/// Computes a fractional coordinate of a point, rounded as [`Cell::fractions`].
#[cube]
fn fraction(place: &Array<f64>, cell: &Vectors, #[comptime] k: usize, #[comptime] d: usize) -> f64 {
    let mut sum = f64::new(0.0);
    #[unroll]
    for axis in 0..d {
        sum += fma(cell.duals[k * d + axis], place[axis], f64::new(0.0));
    }
    sum
}
