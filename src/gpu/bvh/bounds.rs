//! Checks and bounds of points that are already on the device.
//!
//! In: coordinates. Out: the first coordinate that cannot be stored, if any, the box around the points, and the
//! smallest nonzero absolute coordinate. In a periodic box, also the points wrapped into it. All results equal the
//! CPU's.
//! Each thread reads every 131,072nd point; the host combines the results of the blocks.
//! Cost: one read of the points, and in a periodic box one write.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::{Aabb, Scalar, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;

/// Enough blocks to keep a device busy.
const BLOCKS: u32 = 512;
/// The index of a faulty coordinate if there are no faults.
const NONE: u64 = u64::MAX;

/// The results of a survey.
pub(in crate::gpu) struct Survey<S, const D: usize> {
    pub bounds: Aabb<S, D>,
    pub smallest_nonzero: f64,
    /// The points, wrapped into the box if it is periodic.
    pub placed: Buffer<S>,
}

/// Checks and bounds the points.
///
/// Errors: the first coordinate that is not finite or is too large; the device fails.
pub(in crate::gpu) fn survey<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    points: &Buffer<S>,
    space: &Space<D>,
) -> Result<Survey<S, D>> {
    let n = points.len() / D;
    let periodic = space.period().is_some();
    // In open space the points are unchanged.
    let placed = Buffer::<S>::new(client, if periodic { points.len() } else { 0 });
    // Arguments rather than literals in the kernel: CUDA's compiler has no literal for infinity.
    let limits =
        Buffer::from_slice(client, &[S::from_f64(S::LIMIT), <S as Scalar>::INFINITY, <S as Scalar>::NEG_INFINITY]);
    let sides = Buffer::from_slice(client, &space.period().copied().unwrap_or([0.0; D]));
    let (blocks, row) = (BLOCKS as usize, 2 * D + 1);
    let (found, faults) = (Buffer::<S>::new(client, blocks * row), Buffer::<u64>::new(client, blocks));
    survey_points::launch::<S, R>(
        client,
        CubeCount::Static(BLOCKS, 1, 1),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        points.arg(),
        SurveyArgLaunch::new(limits.arg(), sides.arg(), n as u32, D, periodic),
        placed.arg(),
        found.arg(),
        faults.arg(),
    );
    let found = found.read(client)?;
    // A block with a fault reports a negative minimum absolute coordinate. Without faults, a single transfer
    // therefore suffices.
    if found.chunks_exact(row).any(|found| found[2 * D] < S::from_f64(0.0)) {
        let fault = faults.read(client)?.into_iter().min().unwrap_or(NONE);
        let value = value_at(client, points, fault as usize)?.into();
        let (index, axis) = (fault as usize / D, fault as usize % D);
        return Err(Error::coordinate(index, axis, value, S::LIMIT));
    }
    let (mut bounds, mut smallest_nonzero) = (Aabb::EMPTY, f64::INFINITY);
    for found in found.chunks_exact(row) {
        let (lo, hi) = (std::array::from_fn(|k| found[k]), std::array::from_fn(|k| found[D + k]));
        bounds = bounds.union(&Aabb { lo, hi });
        smallest_nonzero = smallest_nonzero.min(found[2 * D].into());
    }
    Ok(Survey { bounds, smallest_nonzero, placed: if periodic { placed } else { points.clone() } })
}

/// Reads one element. Waits for it.
fn value_at<R: Runtime, S: Coordinate>(client: &ComputeClient<R>, values: &Buffer<S>, at: usize) -> Result<S> {
    let found = Buffer::<S>::new(client, 1);
    let at = Buffer::from_slice(client, &[at as u64]);
    take::launch::<S, R>(
        client,
        blocks_for(1),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        values.arg(),
        at.arg(),
        found.arg(),
    );
    Ok(found.read(client)?[0])
}

#[cube(launch)]
fn take<F: Float>(values: &Array<F>, at: &Array<u64>, found: &mut Array<F>) {
    if ABSOLUTE_POS == 0 {
        found[0] = values[at[0] as usize];
    }
}

/// The limits and the space with which points are compared.
#[derive(CubeType, CubeLaunch)]
struct SurveyArg<F: Float> {
    /// The largest absolute value of a coordinate, infinity and minus infinity.
    limits: Array<F>,
    sides: Array<f64>,
    n: u32,
    #[cube(comptime)]
    d: usize,
    #[cube(comptime)]
    periodic: bool,
}

#[cube(launch)]
fn survey_points<F: Float>(
    points: &Array<F>,
    space: &SurveyArg<F>,
    placed: &mut Array<F>,
    found: &mut Array<F>,
    faults: &mut Array<u64>,
) {
    let d = comptime!(space.d);
    let mut own = Array::<F>::new(comptime!(2 * d + 1));
    #[unroll]
    for k in 0..d {
        own[k] = space.limits[1];
        own[d + k] = space.limits[2];
    }
    own[2 * d] = space.limits[1];
    let fault = RuntimeCell::<u64>::new(NONE.runtime());
    // Positions in `u64`, which does not overflow.
    let mut at = u64::cast_from(ABSOLUTE_POS);
    while at < u64::cast_from(space.n) {
        #[unroll]
        for k in 0..d {
            let place = at as usize * d + k;
            let x = points[place];
            // A NaN fails this comparison, too.
            if x.abs() <= space.limits[0] {
                let inside = RuntimeCell::<F>::new(x);
                if comptime!(space.periodic) {
                    inside.store(wrap::<F>(x, space.sides[k]));
                    placed[place] = inside.read();
                }
                let x = inside.read();
                own[k] = own[k].min(x);
                own[d + k] = own[d + k].max(x);
                if x.abs() > F::new(0.0) {
                    own[2 * d] = own[2 * d].min(x.abs());
                }
            } else {
                fault.store(min(fault.read(), at * comptime!(d as u64) + comptime!(k as u64)));
            }
        }
        at += comptime!((BLOCKS * THREADS_PER_BLOCK) as u64);
    }

    let mut shared = SharedMemory::<F>::new(comptime!(THREADS_PER_BLOCK as usize));
    #[unroll]
    for k in 0..comptime!(2 * d + 1) {
        shared[UNIT_POS as usize] = own[k];
        sync_cube();
        let mut half = comptime!(THREADS_PER_BLOCK / 2).runtime();
        while half > 0 {
            if UNIT_POS < half {
                let (mine, other) = (shared[UNIT_POS as usize], shared[(UNIT_POS + half) as usize]);
                if comptime!(k >= d && k < 2 * d) {
                    shared[UNIT_POS as usize] = mine.max(other);
                } else {
                    shared[UNIT_POS as usize] = mine.min(other);
                }
            }
            sync_cube();
            half /= 2;
        }
        if UNIT_POS == 0 {
            found[CUBE_POS * comptime!(2 * d + 1) + k] = shared[0];
        }
        sync_cube();
    }

    let mut shared = SharedMemory::<u64>::new(comptime!(THREADS_PER_BLOCK as usize));
    shared[UNIT_POS as usize] = fault.read();
    sync_cube();
    let mut half = comptime!(THREADS_PER_BLOCK / 2).runtime();
    while half > 0 {
        if UNIT_POS < half {
            let (mine, other) = (shared[UNIT_POS as usize], shared[(UNIT_POS + half) as usize]);
            shared[UNIT_POS as usize] = min(mine, other);
        }
        sync_cube();
        half /= 2;
    }
    if UNIT_POS == 0 {
        faults[CUBE_POS] = shared[0];
        if shared[0] != NONE {
            found[CUBE_POS * comptime!(2 * d + 1) + comptime!(2 * d)] = space.limits[2];
        }
    }
}

/// Wraps a coordinate into the periodic box, rounded as [`Space::wrap`] rounds it.
#[cube]
pub(super) fn wrap<F: Float>(x: F, side: f64) -> F {
    let at = f64::cast_from(x);
    let inside = RuntimeCell::<F>::new(x);
    if at < f64::new(0.0) || at > side {
        let x = F::cast_from(remainder(at, side));
        inside.store(select(f64::cast_from(x) > side, F::new(0.0), x));
    }
    inside.read()
}

/// Returns the nonnegative remainder, rounded as by `f64::rem_euclid`. Doubling, halving, and differences of numbers
/// within a factor of two are exact (Sterbenz 1974), so only the last difference rounds.
#[cube]
fn remainder(at: f64, side: f64) -> f64 {
    let rest = RuntimeCell::<f64>::new(at.abs());
    let step = RuntimeCell::<f64>::new(side);
    while step.read() + step.read() <= rest.read() {
        step.store(step.read() + step.read());
    }
    while step.read() >= side {
        if rest.read() >= step.read() {
            rest.store(rest.read() - step.read());
        }
        step.store(step.read() * f64::new(0.5));
    }
    let rest = rest.read();
    select(at < f64::new(0.0) && rest > f64::new(0.0), side - rest, rest)
}

#[cfg(test)]
mod tests {
    use crate::geometry::BoxSize;
    use crate::gpu::bvh::{Coordinate, Points};
    use crate::gpu::device::{Device, on};
    use crate::gpu::device_vec::DeviceVec;

    fn same<S: Coordinate, const D: usize>(points: &[[S; D]], size: impl Into<BoxSize> + Clone) {
        let device = Device::first().unwrap();
        let theirs = Points::new_periodic(points, size.clone(), device);
        let ours = Points::<S, D>::from_device(&DeviceVec::new(points.as_flattened(), device).unwrap(), size);
        let (theirs, ours) = match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (theirs, ours) => {
                assert_eq!(ours.unwrap_err().to_string(), theirs.unwrap_err().to_string());
                return;
            }
        };
        assert_eq!(
            (ours.len, ours.bounds, ours.smallest_nonzero),
            (theirs.len, theirs.bounds, theirs.smallest_nonzero)
        );
        let read = |points: &Points<S, D>| on!(device, client => points.values.read(client)).unwrap();
        assert_eq!(read(&ours), read(&theirs));
    }

    /// Returns coordinates of many magnitudes, within the box and beyond both ends.
    fn coordinate(i: usize) -> f64 {
        let word = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let size = [1e-9, 0.5, 0.999, 1.0, 3.7, 40.0, 2e5, 1e13][(word >> 61) as usize];
        let sign = if word >> 60 & 1 == 0 { 1.0 } else { -1.0 };
        sign * size * (1.0 + (word >> 20 & 0xffff) as f64 / 65536.0)
    }

    #[test]
    fn as_on_the_cpu() {
        for (n, sides) in [(0, &[1.0][..]), (1, &[1.0]), (2, &[0.3]), (255, &[1.0, 0.3, 7.3e4, 1e-3]), (70_000, &[0.3])]
        {
            let wide: Vec<[f64; 3]> = (0..n).map(|i| [0, 1, 2].map(|k| coordinate(3 * i + k))).collect();
            let flat: Vec<[f32; 2]> = wide.iter().map(|&[x, y, _]| [x as f32, y as f32]).collect();
            same(&wide, None::<f64>);
            same(&flat, None::<f64>);
            for &side in sides {
                same(&wide, side);
                same(&flat, [side, 3.0 * side]);
            }
        }
    }

    /// Coordinates on faces of the box, and coordinates that round to them.
    #[test]
    fn edges_of_the_box() {
        let edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 5.0, -1e-300, -1e-17, 1.0 + 1e-15, 1.0 - 1e-16, 1e150, -1e150];
        let wide: Vec<[f64; 2]> = edges.iter().flat_map(|&x| edges.map(|y| [x, y])).collect();
        let narrow: Vec<[f32; 2]> =
            wide.iter().map(|point| point.map(|x| (x as f32).clamp(-f32::MAX, f32::MAX))).collect();
        for side in [1.0, 0.1, 0.7, 1e150] {
            same(&wide, side);
            same(&narrow, side);
        }
    }

    #[test]
    fn the_first_that_cannot_be_stored() {
        for (at, value) in [(0, f64::NAN), (7, f64::INFINITY), (69_999, f64::NEG_INFINITY), (12_345, 1.1e150)] {
            let mut points: Vec<[f64; 3]> = (0..70_000).map(|i| [0, 1, 2].map(|k| coordinate(3 * i + k))).collect();
            points[69_999][2] = f64::NAN;
            points[at][1] = value;
            same(&points, None::<f64>);
            same(&points, 3.0);
        }
        let device = Device::first().unwrap();
        let error =
            Points::<f32, 3>::from_device(&DeviceVec::new(&[0.0f32; 7], device).unwrap(), None::<f64>).unwrap_err();
        assert_eq!(error.to_string(), "the number of coordinates must be a multiple of the dimension 3, got 7");
    }
}
