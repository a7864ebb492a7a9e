//! Moving least squares on a device: the GPU version of `interpolate::mls`.
//!
//! In: sources and targets. Out: an interpolator. Steps: neighbours (`stencil`), fits (`fit`), values of targets
//! without neighbours (`fallback`). Cost: a search for each target, then that of the fits.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::device::{MAX_ITERATIONS, is_cuda, on};
use crate::gpu::errors;
use crate::gpu::interpolate::Interpolator;
use crate::gpu::interpolate::constants::numbers;
use crate::gpu::interpolate::fallback::replace_unusable;
use crate::gpu::interpolate::fit::{FitInputLaunch, FitSpec, FittedLaunch, fit_all, loop_bound, scratch};
use crate::gpu::interpolate::rows::Rows;
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::primitives::rounding::rounds_well;
use crate::gpu::primitives::scatter::invert;
use crate::interpolate::{Fallback, Weight};

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
    /// Takes over the options of the CPU version. The periodic box of `options` is ignored: that of the sources on the
    /// device applies.
    fn from(options: crate::interpolate::MovingLeastSquares) -> Self {
        Self { options }
    }
}

impl MovingLeastSquares {
    /// Creates an interpolation with polynomials of a degree from 0 to 4, and the defaults of
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

    /// Uses all sources within a radius, inclusive, as [`crate::interpolate::MovingLeastSquares::radius`].
    #[must_use]
    pub fn radius(self, radius: impl Into<f64>) -> Self {
        Self { options: self.options.radius(radius) }
    }

    /// Sets the value assigned to targets without sources within the radius. Default: [`Fallback::Nan`].
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> Self {
        Self { options: self.options.fallback(fallback) }
    }

    /// Requests the data for gradients, too, as [`crate::interpolate::MovingLeastSquares::with_gradients`]. Default:
    /// `false`.
    #[must_use]
    pub fn with_gradients(self, has_gradients: bool) -> Self {
        Self { options: self.options.with_gradients(has_gradients) }
    }

    /// Computes the coefficients for each target. They equal those of the CPU bit for bit, except for the weights
    /// Buhmann2 and Gaussian, whose functions differ in the last digits on devices. Waits for the device.
    ///
    /// # Cost
    /// Memory: 12 bytes per coefficient, 8 more for each axis of the gradients, and 8 per target. While it runs, 8 bytes
    /// more per coefficient, and 64 MiB in all or the scratch of one fit, whichever is larger. With a radius, sources are
    /// sorted by distance, which takes 40 bytes per coefficient, and a fit's scratch is that of the target with the most
    /// sources.
    ///
    /// # Errors
    /// Returns an error as [`crate::interpolate::MovingLeastSquares::prepare`], and if:
    /// - there are more than 2^32 - 1 coefficients or slopes in all, or more than a buffer of the device can hold;
    /// - the quotients of the device differ from those of the CPU;
    /// - the device is not a CUDA device, and its driver ends loops too early for so many monomials and neighbours.
    ///   Examples are degree 2 in ten dimensions and degree 4 in three;
    /// - the device fails.
    pub fn prepare<S: Coordinate, const D: usize>(
        &self,
        sources: &Points<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        self.options.checked_neighborhood(D)?;
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
        let reach = self.options.checked_neighborhood(D)?;
        let (device, degree) = (sources.device, self.options.degree);
        reach.check(targets.len(), &sources.space)?;
        let placed = Points::new_in(targets, sources.space, device)?;
        on!(device, client => {
            if !rounds_well(client, device)? {
                return Err(errors::rounding());
            }
            let near = Stencils::new(client, sources, targets, &placed, &reach)?;
            let k = near.longest;
            if !is_cuda(client) && loop_bound(D, degree, k) > MAX_ITERATIONS {
                return Err(errors::long_loops(format!("a fit of degree {degree} to {k} neighbours in {D} dimensions")));
            }
            let size = scratch(D, degree, k) as u128;
            if size > u128::from(u32::MAX) {
                return Err(errors::too_many_values(size, "numbers of a fit"));
            }
            check_allocation(client, 8 * size)?;
            let rows = near.rows(client, if self.options.has_gradients { D } else { 0 })?;
            if k > 0 {
                fit(client, sources, &placed.values, &near, &rows, degree, self.options.weight);
            }
            let (rows, n_without_neighbors) =
                replace_unusable(client, sources, &placed, rows, self.options.fallback)?;
            end_phase(client, "fits")?;
            Ok(Interpolator::new(device, [sources.len(), D], degree as i8, rows, n_without_neighbors))
        })
    }
}

/// Fits polynomials to the neighbours in `rows`.
fn fit<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    sources: &Bvh<S, D>,
    targets: &Buffer<S>,
    near: &Stencils,
    rows: &Rows,
    degree: usize,
    weight: Weight,
) {
    let n = rows.degrees.len();
    let own = scratch(D, degree, near.longest);
    let units = (SCRATCH / (8 * own)).clamp(1, n);
    let work = Buffer::<f64>::new(client, own * units);
    let weight = Weight::ALL.iter().position(|&own| own == weight).unwrap_or(0);
    let spec = FitSpec::new(D, sources.space.period().is_some(), degree);
    let positions = invert(client, &sources.order);
    let numbers = Buffer::from_slice(client, &numbers(S::ROUNDING));
    let sides = sources.space.period().map_or([0.0; D], |sides| *sides);
    let sides = Buffer::from_slice(client, &sides);
    for first in (0..n).step_by(units) {
        let given = FitInputLaunch::new(
            sources.axes.arg(),
            positions.arg(),
            targets.arg(),
            near.offsets.arg(),
            near.indices.arg(),
            near.distances2.arg(),
            near.radii.arg(),
            sides.arg(),
            numbers.arg(),
            sources.len() as u32,
            n as u32,
            degree as u32,
            weight as u32,
            u32::from(rows.slopes.is_some()),
            first as u32,
            units as u32,
        );
        let slopes = rows.slopes.as_ref().unwrap_or(&rows.coefficients);
        let fitted = FittedLaunch::new(rows.coefficients.arg(), slopes.arg(), rows.degrees.arg());
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        // SAFETY: the launch contract of `fit`. `coefficients` and `distances2` have an entry per index of the rows,
        // `positions` one per source, `radii` one per target, and `work` has `scratch` numbers for each of `units`
        // threads.
        unsafe { fit_all::launch_unchecked::<S, _>(client, blocks_for(units), dim, given, fitted, work.arg(), spec) };
    }
}
