//! Moving least squares on a device: the GPU version of `interpolate`.
//!
//! ```text
//! targets -> search::nearest -> fit (weights, qr) -> Interpolator
//! ```

#![allow(unsafe_code)] // A kernel without bounds checks; `fit` has its launch contract.

mod constants;
mod fit;
mod interpolator;
mod qr;
mod weights;

pub use interpolator::Interpolator;

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::device::{MAX_ITERATIONS, is_cuda, on};
use crate::gpu::errors;
use crate::gpu::interpolate::constants::numbers;
use crate::gpu::interpolate::fit::{FitInputLaunch, FitSpec, FittedLaunch, fit_all, loop_bound, scratch};
use crate::gpu::primitives::rounding::rounds_well;
use crate::gpu::primitives::scatter::invert;
use crate::interpolate::Weight;
use crate::interpolate::neighborhood::Neighborhood;
use crate::search::Nearest;

/// The maximum size of a launch's scratch in bytes, unless one thread needs more.
const SCRATCH: usize = 1 << 26;

/// Interpolation by moving least squares on a device: set the options, then call [`MovingLeastSquares::prepare`]. The
/// GPU version of [`crate::interpolate::MovingLeastSquares`], with the same meaning of options. Points are in a
/// periodic box if the sources were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, DeviceVec, MovingLeastSquares, Points};
///
/// let device = Device::first()?;
/// let sources: Vec<[f64; 2]> = (0..100).map(|i| [f64::from(i % 10), f64::from(i / 10)]).collect();
/// let interpolator = MovingLeastSquares::new(2).prepare(&Points::new(&sources, device)?, &[[4.3, 5.5]])?;
/// let parabola: Vec<f64> = sources.iter().map(|[x, y]| x * x - y).collect();
/// let found = interpolator.apply(&DeviceVec::new(&parabola, device)?)?.read()?;
/// assert!((found[0] - (4.3 * 4.3 - 5.5)).abs() < 1e-12);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MovingLeastSquares {
    options: crate::interpolate::MovingLeastSquares,
}

impl From<crate::interpolate::MovingLeastSquares> for MovingLeastSquares {
    /// Takes over the options of the CPU version. A radius is an error when `prepare` is called, and the fallback is
    /// never needed. The periodic box of `options` is ignored: that of the sources on the device applies.
    fn from(options: crate::interpolate::MovingLeastSquares) -> Self {
        Self { options }
    }
}

impl MovingLeastSquares {
    /// Creates an interpolation with polynomials of degree 0, 1 or 2, and the defaults of
    /// [`crate::interpolate::MovingLeastSquares::new`].
    pub fn new(degree: usize) -> Self {
        Self { options: crate::interpolate::MovingLeastSquares::new(degree) }
    }

    /// Sets the weight of neighbours as a function of distance, as [`crate::interpolate::MovingLeastSquares::weight`].
    #[must_use]
    pub fn weight(self, weight: Weight) -> Self {
        Self { options: self.options.weight(weight) }
    }

    /// Sets the number of nearest sources to which a polynomial is fitted, as
    /// [`crate::interpolate::MovingLeastSquares::neighbors`].
    #[must_use]
    pub fn neighbors(self, k: usize) -> Self {
        Self { options: self.options.neighbors(k) }
    }

    /// Requests the data for gradients, too, as [`crate::interpolate::MovingLeastSquares::with_gradients`]. Default:
    /// `false`.
    #[must_use]
    pub fn with_gradients(self, has_gradients: bool) -> Self {
        Self { options: self.options.with_gradients(has_gradients) }
    }

    /// Computes the coefficients for each target. They equal those of the CPU bit for bit, except for the weights
    /// Buhmann2 and Gaussian, whose functions differ in the last digits on devices.
    ///
    /// # Cost
    /// Memory for `k` neighbours, per target: 12 `k` bytes, and 8 `k` for each axis of the gradients. While it runs: 8
    /// `k` bytes more per target, and 64 MiB in all or the scratch of one fit, whichever is larger.
    ///
    /// # Errors
    /// Returns an error as [`crate::interpolate::MovingLeastSquares::prepare`], and if:
    /// - there are more than 2^32 - 1 coefficients or slopes in all, or more than a buffer of the device can hold;
    /// - the quotients of the device differ from those of the CPU;
    /// - the device is not a CUDA device, and its driver ends loops too early for so many monomials and neighbours, as
    ///   for degree 2 in ten dimensions;
    /// - the device fails.
    pub fn prepare<S: Coordinate, const D: usize>(
        &self,
        sources: &Points<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        self.check(D)?;
        self.prepare_on(&Bvh::from_points(sources)?, targets)
    }

    /// Computes the coefficients for each target from sources in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`MovingLeastSquares::prepare`].
    pub fn prepare_on<S: Coordinate, const D: usize>(
        &self,
        sources: &Bvh<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        let k = self.check(D)?.min(sources.len());
        let (device, degree) = (sources.device, self.options.degree);
        let targets = Points::new_in(targets, sources.space, device)?;
        on!(device, client => {
            if !rounds_well(client, device)? {
                return Err(errors::rounding());
            }
            if !is_cuda(client) && loop_bound(D, degree, k) > MAX_ITERATIONS {
                return Err(errors::long_loops(format!("a fit of degree {degree} to {k} neighbours in {D} dimensions")));
            }
            let n = targets.len();
            let axes = if self.options.has_gradients { D } else { 0 };
            let values = n as u128 * k as u128 * axes.max(1) as u128;
            let values = values.max(scratch(D, degree, k) as u128);
            if values > u128::from(u32::MAX) {
                return Err(errors::too_many_values(values, "coefficients"));
            }
            check_allocation(client, 8 * values)?;
            // Without targets or neighbours there is nothing to fit.
            let near = match n * k {
                0 => None,
                _ => Some(sources.nearest_of_placed(client, &targets.values, &targets.bounds, Nearest::new(k))?),
            };
            let found = Interpolator {
                device,
                n_sources: sources.len(),
                dim: D,
                degree: degree as i8,
                k,
                indices: near.as_ref().map_or_else(|| Buffer::new(client, 0), |near| near.indices.clone()),
                coefficients: Buffer::new(client, n * k),
                slopes: self.options.has_gradients.then(|| Buffer::new(client, n * k * D)),
                degrees: Buffer::filled(client, n, -1),
            };
            if let Some(near) = near {
                fit(client, sources, &targets.values, &near.distances2, &found, self.options.weight);
                end_phase(client, "fits")?;
            }
            Ok(found)
        })
    }

    /// The number of neighbours to use in `dim` dimensions.
    fn check(&self, dim: usize) -> Result<usize> {
        match self.options.checked_neighborhood(dim)? {
            Neighborhood::Neighbors(k) => Ok(k),
            Neighborhood::Radius(_) | Neighborhood::Each(_) => {
                let message = "a radius is supported on the CPU only; set neighbors";
                Err(Error::missing("neighbors", message))
            }
        }
    }
}

/// Fits polynomials to the neighbours in `found`.
fn fit<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    sources: &Bvh<S, D>,
    targets: &Buffer<S>,
    distances2: &Buffer<f64>,
    found: &Interpolator,
    weight: Weight,
) {
    let (n, k) = (found.len(), found.k);
    let own = scratch(D, found.degree as usize, k);
    let units = (SCRATCH / (8 * own)).clamp(1, n);
    let work = Buffer::<f64>::new(client, own * units);
    let weight = Weight::ALL.iter().position(|&own| own == weight).unwrap_or(0);
    let spec = FitSpec { d: D, periodic: sources.space.period().is_some() };
    let positions = invert(client, &sources.order);
    let numbers = Buffer::from_slice(client, &numbers(S::ROUNDING));
    let sides = sources.space.period().map_or([0.0; D], |sides| *sides);
    let sides = Buffer::from_slice(client, &sides);
    for first in (0..n).step_by(units) {
        let given = FitInputLaunch::new(
            sources.axes.arg(),
            positions.arg(),
            targets.arg(),
            found.indices.arg(),
            distances2.arg(),
            sides.arg(),
            numbers.arg(),
            sources.len() as u32,
            n as u32,
            k as u32,
            found.degree as u32,
            weight as u32,
            u32::from(found.slopes.is_some()),
            first as u32,
            units as u32,
        );
        let slopes = found.slopes.as_ref().unwrap_or(&found.coefficients);
        let fitted = FittedLaunch::new(found.coefficients.arg(), slopes.arg(), found.degrees.arg());
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        // SAFETY: the launch contract of `fit`. `found` and `distances2` have `k` entries per target, `positions` one
        // per source, and `work` has `scratch` numbers for each of `units` threads.
        unsafe { fit_all::launch_unchecked::<S, _>(client, blocks_for(units), dim, given, fitted, work.arg(), spec) };
    }
}
