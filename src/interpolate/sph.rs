//! Smoothed particle hydrodynamics (SPH): fields gathered from particles, and values of particles scattered to
//! targets.
//!
//! In: particles, targets, a kernel and its radius. Out: an interpolator. Source: Monaghan 1992, section 2; Price
//! 2012, section 2.

use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::kernels::SmoothingKernel;
use super::neighborhood::Neighborhood;
use super::options::options;
use super::stencil::{Plan, TargetNeighbors, build_tree, stencils, wrapped_points};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar};
use crate::interpolate::errors;

/// Interpolation by sums over particles, weighted with a smoothing kernel (SPH): set the options, then call
/// [`Sph::gather`] or [`Sph::scatter`].
///
/// ```
/// use ropewalk::interpolate::{SmoothingKernel, Sph};
///
/// // Particles 0.1 apart in one dimension, each with a volume m/rho of 0.1.
/// let particles: Vec<[f64; 1]> = (0..100).map(|i| [0.1 * f64::from(i)]).collect();
/// let sph = Sph::new(SmoothingKernel::WendlandC4).radius(0.5);
/// let field: Vec<f64> = particles.iter().map(|[x]| 3.0 * x).collect();
/// let value = sph.clone().volumes(vec![0.1; 100]).normalized(false).gather(&particles, &[[5.03]])?.apply(&field)?[0];
/// assert!((value - 15.09).abs() < 1e-2);
///
/// // Scattering conserves the total.
/// let masses = vec![0.5; 100];
/// let cells: Vec<[f64; 1]> = (0..12).map(|i| [f64::from(i)]).collect();
/// let cells = sph.radius(2.0).scatter(&particles, &cells)?.apply(&masses)?;
/// assert!((cells.iter().sum::<f64>() - 50.0).abs() < 1e-12);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sph {
    pub(crate) kernel: SmoothingKernel,
    pub(crate) reach: Neighborhood,
    pub(crate) volumes: Option<Vec<f64>>,
    pub(crate) is_normalized: bool,
    pub(crate) fallback: Fallback,
    size: BoxSize,
}

impl Sph {
    /// Creates the default options for a kernel: a kernel radius of 1.1 times the distance of the 32nd neighbour,
    /// normalized sums, open space.
    pub fn new(kernel: SmoothingKernel) -> Self {
        Self {
            kernel,
            reach: Neighborhood::Neighbors(32),
            volumes: None,
            is_normalized: true,
            fallback: Fallback::Nan,
            size: BoxSize::default(),
        }
    }

    options! {
        /// Uses the `k` nearest neighbours, with a kernel radius of 1.1 times the distance of the farthest.
        /// [`Sph::gather`] takes the sources nearest to a target, [`Sph::scatter`] the targets nearest to a source.
        neighbors,
        /// Ends all kernels at `radius`, which is 2h for the cubic spline.
        radius,
        /// Sets the value assigned by [`Sph::gather`] to targets without sources within the radius. Default:
        /// [`Fallback::Nan`].
        fallback
    }

    /// Sets the radius at which each kernel ends, in the unit of the points: one per target for [`Sph::gather`], one
    /// per source for [`Sph::scatter`].
    #[must_use]
    pub fn radii(mut self, radii: impl Into<Vec<f64>>) -> Self {
        self.reach = Neighborhood::Each(radii.into());
        self
    }

    /// Sets the volume of each source, its mass over its density, for [`Sph::gather`]. Default: equal volumes. If sums
    /// are normalized, a target whose sources all have a volume of 0 counts as a target without sources.
    #[must_use]
    pub fn volumes(mut self, volumes: impl Into<Vec<f64>>) -> Self {
        self.volumes = Some(volumes.into());
        self
    }

    /// Divides the sums of [`Sph::gather`] by the sum of V(j) W if `true`. Constants are then reproduced, also near the
    /// boundary (Shepard 1968). Default: `true`.
    #[must_use]
    pub fn normalized(mut self, is_normalized: bool) -> Self {
        self.is_normalized = is_normalized;
        self
    }

    /// Prepares the sum over sources of f(j) V(j) W(r, H) for each target, where H is the target's kernel radius.
    /// Normalized sums are divided by the sum of V(j) W.
    ///
    /// # Errors
    /// Returns an error if:
    /// - sums are not normalized and volumes are missing;
    /// - the number of volumes is not that of the sources, or a volume is negative or not finite;
    /// - the number of neighbours is 0, or a radius is not positive and finite or exceeds half the periodic box;
    /// - the number of radii is not that of the targets;
    /// - a coordinate is not finite or too large;
    /// - the primitives have an extent.
    pub fn gather<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        guarded(|| self.gather_by(sources, targets, D))
    }

    /// Prepares sums as [`Sph::gather`] does, in `axes` dimensions; coordinates from index `axes` on must be 0.
    #[doc(hidden)]
    pub fn gather_by<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
        axes: usize,
    ) -> Result<Interpolator> {
        self.check_volumes(sources.len())?;
        let tree = build_tree(sources, &self.size)?;
        self.reach.check(targets.len(), tree.space())?;
        let norm = self.kernel.norm(axes);
        let plan = Plan {
            reach: &self.reach,
            fallback: self.fallback,
            rule: &|work| self.sum(work, norm, axes),
            axes: 0,
            has_gradients: false,
            degree: if self.is_normalized { 0 } else { -1 },
        };
        let sums = stencils(&tree, &wrapped_points(targets, tree.space())?, &plan);
        Ok(Interpolator { zero_without_sources: !self.is_normalized, ..sums })
    }

    /// Prepares the distribution of each source's value over the targets within its kernel radius H, in proportion to
    /// W(r, H). The sum over all targets equals the sum over all sources.
    ///
    /// A source without targets within its radius gives its whole value to the nearest target
    /// ([`Interpolator::n_without_neighbors`] counts such sources). A target that receives nothing gets 0.
    ///
    /// # Errors
    /// Returns an error if there are sources but no targets, or if the number of radii is not that of the sources.
    /// Otherwise as [`Sph::gather`], except that volumes are not used.
    pub fn scatter<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        check_targets(sources.len(), targets.len())?;
        let tree = build_tree(targets, &self.size)?;
        self.reach.check(sources.len(), tree.space())?;
        let plan = Plan {
            reach: &self.reach,
            fallback: Fallback::Nearest,
            rule: &|work| {
                self.weigh(work);
                work.normalize().then_some(0)
            },
            axes: 0,
            has_gradients: false,
            degree: -1,
        };
        Ok(stencils(&tree, &wrapped_points(sources, tree.space())?, &plan).transposed())
    }

    fn weigh(&self, work: &mut TargetNeighbors) {
        work.relative_distances();
        self.kernel.apply(&mut work.coefficients);
    }

    fn sum(&self, work: &mut TargetNeighbors, norm: f64, axes: usize) -> Option<i8> {
        self.weigh(work);
        if let Some(volumes) = &self.volumes {
            for at in 0..work.len() {
                let volume = volumes[work.index(at)];
                work.coefficients.as_flattened_mut()[at] *= volume;
            }
        }
        if self.is_normalized {
            return work.normalize().then_some(0);
        }
        let density = norm / work.radius.powi(axes as i32);
        work.coefficients.as_flattened_mut().iter_mut().for_each(|coefficient| *coefficient *= density);
        // The density is infinite for a kernel of radius 0.
        density.is_finite().then_some(-1)
    }

    /// Errors: missing volumes, or volumes that are not valid for a number of sources.
    pub(crate) fn check_volumes(&self, sources: usize) -> Result<()> {
        match &self.volumes {
            None if !self.is_normalized => {
                let message = "sums without normalization need a volume for each source";
                Err(Error::missing("volumes", message))
            }
            None => Ok(()),
            Some(volumes) if volumes.len() != sources => Err(Error::length("volumes", volumes.len(), sources)),
            Some(volumes) => match volumes.iter().position(|volume| !(0.0..f64::INFINITY).contains(volume)) {
                Some(index) => Err(errors::volume(index, volumes[index])),
                None => Ok(()),
            },
        }
    }
}

/// Errors: sources without targets.
pub(crate) fn check_targets(n_sources: usize, n_targets: usize) -> Result<()> {
    if n_targets == 0 && n_sources > 0 {
        return Err(Error::parameter_must("the number of targets", 0.0, "at least 1"));
    }
    Ok(())
}
