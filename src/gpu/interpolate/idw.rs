//! Inverse-distance weighting on a device: the GPU version of `interpolate::idw`.
//!
//! In: sources, targets, a power. Out: an interpolator. A thread processes one target.
//! Cost: a search for each target, and two passes over its row.

use crate::error::Result;
use crate::gpu::buffer::end_phase;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::device::on;
use crate::gpu::errors;
use crate::gpu::interpolate::Interpolator;
use crate::gpu::interpolate::fallback::replace_unusable;
use crate::gpu::interpolate::inverse_distances::inverse_distances;
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::primitives::rounding::rounds_well;
use crate::interpolate::Fallback;

/// Inverse-distance weighting on a device: set the options, then call [`InverseDistance::prepare`]. The GPU version of
/// [`crate::interpolate::InverseDistance`], with the same meaning of options. Points are in a periodic box if the sources
/// were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, DeviceVec, InverseDistance, Points};
///
/// let device = Device::first()?;
/// let sources = Points::new(&[[0.0f64], [3.0], [9.0]], device)?;
/// let interpolator = InverseDistance::new(2.0).neighbors(2).prepare(&sources, &[[1.0], [3.0]])?;
/// assert_eq!(interpolator.apply(&DeviceVec::new(&[10.0, 20.0, 0.0], device)?)?.read()?, [12.0, 20.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InverseDistance {
    options: crate::interpolate::InverseDistance,
}

impl From<crate::interpolate::InverseDistance> for InverseDistance {
    /// Takes over the options of the CPU version. The periodic box of `options` is ignored: that of the sources on the
    /// device applies.
    fn from(options: crate::interpolate::InverseDistance) -> Self {
        Self { options }
    }
}

impl InverseDistance {
    /// Creates options for weights of one over the distance to `power`, with the defaults of
    /// [`crate::interpolate::InverseDistance::new`].
    pub fn new(power: impl Into<f64>) -> Self {
        Self { options: crate::interpolate::InverseDistance::new(power) }
    }

    /// Weighs the `k` nearest sources.
    #[must_use]
    pub fn neighbors(self, k: usize) -> Self {
        Self { options: self.options.neighbors(k) }
    }

    /// Weighs all sources within a radius, inclusive.
    #[must_use]
    pub fn radius(self, radius: impl Into<f64>) -> Self {
        Self { options: self.options.radius(radius) }
    }

    /// Sets the value assigned to targets without sources within the radius. Default: [`Fallback::Nan`].
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> Self {
        Self { options: self.options.fallback(fallback) }
    }

    /// Computes the coefficients for each target. For a power of 2 they equal those of the CPU bit for bit. Other powers
    /// differ in the last digits. Waits for the device.
    ///
    /// # Cost
    /// Memory: 12 bytes per coefficient, and 8 per target. While it runs, 8 bytes more per coefficient, or 40 with a
    /// radius.
    ///
    /// # Errors
    /// Returns an error as [`crate::interpolate::InverseDistance::prepare`], and if:
    /// - there are more than 2^32 - 1 coefficients in all, or more than a buffer of the device can hold;
    /// - the quotients of the device differ from those of the CPU;
    /// - the device is not a CUDA device, and its driver ends loops too early for so many sources within the radius;
    /// - the device fails.
    pub fn prepare<S: Coordinate, const D: usize>(
        &self,
        sources: &Points<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        self.options.check()?;
        self.prepare_on(&Bvh::from_points(sources)?, targets)
    }

    /// Computes the coefficients for each target from sources in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`InverseDistance::prepare`].
    pub fn prepare_on<S: Coordinate, const D: usize>(
        &self,
        sources: &Bvh<S, D>,
        targets: &[[S; D]],
    ) -> Result<Interpolator> {
        self.options.check()?;
        let (device, options) = (sources.device, &self.options);
        options.reach.check(targets.len(), &sources.space)?;
        let placed = Points::new_in(targets, sources.space, device)?;
        on!(device, client => {
            if !rounds_well(client, device)? {
                return Err(errors::rounding());
            }
            let near = Stencils::new(client, sources, targets, &placed, &options.reach)?;
            let rows = near.rows(client, 0)?;
            inverse_distances(client, &near, options.power, &rows);
            let (rows, n_without_neighbors) = replace_unusable(client, sources, &placed, rows, options.fallback)?;
            end_phase(client, "coefficients")?;
            Ok(Interpolator::new(device, [sources.len(), 0], 0, rows, n_without_neighbors))
        })
    }
}
