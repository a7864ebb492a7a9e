//! Smoothed particle hydrodynamics (SPH) on a device: the GPU version of `interpolate::sph`.
//!
//! In: particles, targets, a kernel and its radius. Out: an interpolator. A thread computes the coefficients of one
//! target (`kernel_sums`). Scattered values are gathered first, then transposed (`transpose`).
//! Cost: a search for each target, three passes over its row, and for scattered values a sort of all coefficients.

use crate::error::Result;
use crate::gpu::buffer::end_phase;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::device::on;
use crate::gpu::errors;
use crate::gpu::interpolate::Interpolator;
use crate::gpu::interpolate::fallback::replace_unusable;
use crate::gpu::interpolate::kernel_sums::{KernelSum, kernel_sums};
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::interpolate::transpose::transposed;
use crate::gpu::primitives::rounding::rounds_well;
use crate::interpolate::sph::check_targets;
use crate::interpolate::{Fallback, SmoothingKernel};

/// Interpolation by sums over particles on a device (SPH): set the options, then call [`Sph::gather`] or
/// [`Sph::scatter`]. The GPU version of [`crate::interpolate::Sph`], with the same meaning of options. Points are in a
/// periodic box if those of the tree were uploaded with one: the sources for [`Sph::gather`], the targets for
/// [`Sph::scatter`].
///
/// ```no_run
/// use ropewalk::gpu::{Device, DeviceVec, Points, Sph};
/// use ropewalk::interpolate::SmoothingKernel;
///
/// // Particles 0.1 apart, each with a mass of 0.5.
/// let device = Device::first()?;
/// let particles: Vec<[f64; 1]> = (0..100).map(|i| [0.1 * f64::from(i)]).collect();
/// let cells: Vec<[f64; 1]> = (0..12).map(|i| [f64::from(i)]).collect();
/// let sph = Sph::new(SmoothingKernel::WendlandC4).radius(2.0);
/// let scatter = sph.scatter(&particles, &Points::new(&cells, device)?)?;
/// let masses = scatter.apply(&DeviceVec::new(&[0.5; 100], device)?)?.read()?;
/// assert!((masses.iter().sum::<f64>() - 50.0).abs() < 1e-12);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sph {
    options: crate::interpolate::Sph,
}

impl From<crate::interpolate::Sph> for Sph {
    /// Takes over the options of the CPU version. The periodic box of `options` is ignored: that of the points on the
    /// device applies.
    fn from(options: crate::interpolate::Sph) -> Self {
        Self { options }
    }
}

impl Sph {
    /// Creates the default options for a kernel, as [`crate::interpolate::Sph::new`].
    pub fn new(kernel: SmoothingKernel) -> Self {
        Self { options: crate::interpolate::Sph::new(kernel) }
    }

    /// Uses the `k` nearest neighbours, as [`crate::interpolate::Sph::neighbors`].
    #[must_use]
    pub fn neighbors(self, k: usize) -> Self {
        Self { options: self.options.neighbors(k) }
    }

    /// Ends all kernels at `radius`, as [`crate::interpolate::Sph::radius`].
    #[must_use]
    pub fn radius(self, radius: impl Into<f64>) -> Self {
        Self { options: self.options.radius(radius) }
    }

    /// Sets the radius at which each kernel ends, as [`crate::interpolate::Sph::radii`].
    #[must_use]
    pub fn radii(self, radii: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.radii(radii) }
    }

    /// Sets the volume of each source, as [`crate::interpolate::Sph::volumes`].
    #[must_use]
    pub fn volumes(self, volumes: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.volumes(volumes) }
    }

    /// Normalizes the sums of [`Sph::gather`] if `true`, as [`crate::interpolate::Sph::normalized`]. Default: `true`.
    #[must_use]
    pub fn normalized(self, is_normalized: bool) -> Self {
        Self { options: self.options.normalized(is_normalized) }
    }

    /// Sets the value assigned by [`Sph::gather`] to targets without sources within the radius. Default:
    /// [`Fallback::Nan`].
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> Self {
        Self { options: self.options.fallback(fallback) }
    }

    /// Prepares the sum over sources for each target, as [`crate::interpolate::Sph::gather`], with coefficients that
    /// equal those of the CPU bit for bit. Waits for the device.
    ///
    /// # Cost
    /// Memory: 12 bytes per coefficient, and 8 per target. While it runs, 8 bytes more per coefficient, or 40 with a
    /// radius.
    ///
    /// # Errors
    /// Returns an error as [`crate::interpolate::Sph::gather`], and if:
    /// - there are more than 2^32 - 1 coefficients in all, or more than a buffer of the device can hold;
    /// - the quotients of the device differ from those of the CPU;
    /// - the device is not a CUDA device, and its driver ends loops too early for so many sources within the radius;
    /// - the device fails.
    pub fn gather<S: Coordinate, const D: usize>(
        &self,
        sources: &Points<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        self.options.check_volumes(sources.len())?;
        self.gather_on(&Bvh::from_points(sources)?, targets)
    }

    /// Prepares the sum over sources in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Sph::gather`].
    pub fn gather_on<S: Coordinate, const D: usize>(
        &self,
        sources: &Bvh<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        let (device, options) = (sources.device, &self.options);
        options.check_volumes(sources.len())?;
        options.reach.check(targets.len(), &sources.space)?;
        let placed = Points::new_in(targets, sources.space, device)?;
        on!(device, client => {
            if !rounds_well(client, device)? {
                return Err(errors::rounding());
            }
            let near = Stencils::new(client, sources, targets, &placed, &options.reach)?;
            let rows = near.rows(client, 0)?;
            let rule = KernelSum { kernel: options.kernel, is_normalized: options.is_normalized, dim: D };
            kernel_sums(client, &near, rule, options.volumes.as_deref(), &rows);
            let (rows, n_without_neighbors) = replace_unusable(client, sources, &placed, rows, options.fallback)?;
            end_phase(client, "coefficients")?;
            let degree = if options.is_normalized { 0 } else { -1 };
            let found = Interpolator::new(device, [sources.len(), 0], degree, rows, n_without_neighbors);
            Ok(found.with_zero_without_sources(!options.is_normalized))
        })
    }

    /// Prepares the distribution of each source's value over the targets within its kernel radius, as
    /// [`crate::interpolate::Sph::scatter`], with coefficients that equal those of the CPU bit for bit. Waits for the
    /// device.
    ///
    /// # Cost
    /// As [`Sph::gather`], and 28 bytes more per coefficient while it runs.
    ///
    /// # Errors
    /// Returns an error as [`crate::interpolate::Sph::scatter`]. Otherwise as [`Sph::gather`].
    pub fn scatter<S: Coordinate, const D: usize>(
        &self,
        sources: &[[S; D]],
        targets: &Points<S, D>,
    ) -> Result<Interpolator> {
        check_targets(sources.len(), targets.len())?;
        self.scatter_on(sources, &Bvh::from_points(targets)?)
    }

    /// Prepares the distribution over targets in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Sph::scatter`].
    pub fn scatter_on<S: Coordinate, const D: usize>(
        &self,
        sources: &[[S; D]],
        targets: &Bvh<S, D>,
    ) -> Result<Interpolator> {
        let (device, options) = (targets.device, &self.options);
        check_targets(sources.len(), targets.len())?;
        options.reach.check(sources.len(), &targets.space)?;
        let placed = Points::new_in(sources, targets.space, device)?;
        on!(device, client => {
            if !rounds_well(client, device)? {
                return Err(errors::rounding());
            }
            let near = Stencils::new(client, targets, sources, &placed, &options.reach)?;
            let rows = near.rows(client, 0)?;
            let rule = KernelSum { kernel: options.kernel, is_normalized: true, dim: D };
            kernel_sums(client, &near, rule, None, &rows);
            let (rows, n_without_neighbors) = replace_unusable(client, targets, &placed, rows, Fallback::Nearest)?;
            let rows = transposed(client, &rows, targets.len())?;
            end_phase(client, "coefficients")?;
            let found = Interpolator::new(device, [sources.len(), 0], -1, rows, n_without_neighbors);
            Ok(found.with_zero_without_sources(true))
        })
    }
}
