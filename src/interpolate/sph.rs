//! Smoothed particles: fields gathered from particles, and what particles have scattered to places.
//!
//! In: particles, places, a kernel and how far it reaches. Out: an interpolator. Source: Monaghan 1992, section 2; Price 2012, section 2.

use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::kernels::SmoothingKernel;
use super::options::options;
use super::reach::Reach;
use super::stencil::{Plan, Work, places_of, stencils, tree_of};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar};
use crate::interpolate::errors;

/// Sums of a smoothing kernel: options, then [`Sph::gather`] or [`Sph::scatter`].
///
/// ```
/// use ropewalk::Sph;
/// use ropewalk::interpolate::SmoothingKernel;
///
/// // Particles a length of 0.1 apart, each with that length as its volume m/rho.
/// let particles: Vec<[f64; 1]> = (0..100).map(|i| [0.1 * f64::from(i)]).collect();
/// let sph = Sph::new(SmoothingKernel::WendlandC4).radius(0.5);
/// let field: Vec<f64> = particles.iter().map(|[x]| 3.0 * x).collect();
/// let value = sph.clone().volumes(vec![0.1; 100]).normalized(false).gather(&particles, &[[5.03]])?.apply(&field)?[0];
/// assert!((value - 15.09).abs() < 1e-2);
///
/// // What is scattered is all there is.
/// let masses = vec![0.5; 100];
/// let cells: Vec<[f64; 1]> = (0..12).map(|i| [f64::from(i)]).collect();
/// let cells = sph.radius(2.0).scatter(&particles, &cells)?.apply(&masses)?;
/// assert!((cells.iter().sum::<f64>() - 50.0).abs() < 1e-12);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sph {
    kernel: SmoothingKernel,
    reach: Reach,
    volumes: Option<Vec<f64>>,
    is_normalized: bool,
    fallback: Fallback,
    size: BoxSize,
}

impl Sph {
    /// A kernel that reaches 1.1 times as far as the 32nd neighbour is, sums that are divided by those of the kernel, in open space.
    pub fn new(kernel: SmoothingKernel) -> Self {
        Self {
            kernel,
            reach: Reach::Neighbors(32),
            volumes: None,
            is_normalized: true,
            fallback: Fallback::Nan,
            size: BoxSize::default(),
        }
    }

    options! {
        /// The `k` nearest count, by a kernel that ends at 1.1 times the distance of the last: of a target the nearest sources
        /// ([`Sph::gather`]), of a source the nearest targets ([`Sph::scatter`]).
        neighbors,
        /// All kernels end at `radius`. The cubic spline's is 2h.
        radius,
        /// What a target gets that has no source within the radius, if it gathers.
        fallback
    }

    /// Kernels end at a radius each: of a target if it gathers, of a source if it scatters.
    #[must_use]
    pub fn radii(mut self, radii: impl Into<Vec<f64>>) -> Self {
        self.reach = Reach::Each(radii.into());
        self
    }

    /// The volume m/rho of each source, for [`Sph::gather`]; otherwise all are alike. A target whose sources all have a volume of 0 counts
    /// as one without sources, if sums are normed.
    #[must_use]
    pub fn volumes(mut self, volumes: impl Into<Vec<f64>>) -> Self {
        self.volumes = Some(volumes.into());
        self
    }

    /// Whether [`Sph::gather`] divides by the sum of V(j) W: then constants are reproduced, also near the boundary (Shepard 1968).
    #[must_use]
    pub fn normalized(mut self, is_normalized: bool) -> Self {
        self.is_normalized = is_normalized;
        self
    }

    /// Each target's sum over sources of f(j) V(j) W(r, H), with its own radius H; divided by the sum of V(j) W if it is normed.
    ///
    /// Errors: sums that are not normed without volumes; volumes that are not one for each source, negative or not finite; no neighbours, a
    /// radius that is not positive or more than half the periodic box; coordinates that are not finite; primitives with an extent.
    pub fn gather<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        guarded(|| self.gather_by(sources, targets, D))
    }

    /// The same in `axes` dimensions: the coordinates that follow are 0.
    #[doc(hidden)]
    pub fn gather_by<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
        axes: usize,
    ) -> Result<Interpolator> {
        self.check_volumes(sources.len())?;
        let tree = tree_of(sources, &self.size)?;
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
        let sums = stencils(&tree, &places_of(targets, tree.space())?, &plan);
        Ok(Interpolator { is_sum: !self.is_normalized, ..sums })
    }

    /// Each source's value shared among the targets that its kernel reaches, in parts of W(r, H) with its own radius H: the sum over all
    /// targets is that over all sources. A source that reaches none gives all to the nearest target
    /// ([`Interpolator::n_without_neighbors`] counts these). A target that gets nothing is 0.
    ///
    /// Errors: no targets for sources; and as [`Sph::gather`], but for volumes, which do not count.
    pub fn scatter<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        if targets.is_empty() && !sources.is_empty() {
            let must = "at least 1, or what is scattered is lost";
            return Err(Error::parameter_must("the number of targets", 0.0, must));
        }
        let tree = tree_of(targets, &self.size)?;
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
        Ok(stencils(&tree, &places_of(sources, tree.space())?, &plan).transposed())
    }

    fn weigh(&self, work: &mut Work) {
        work.relative_distances();
        self.kernel.apply(&mut work.coefficients);
    }

    fn sum(&self, work: &mut Work, norm: f64, axes: usize) -> Option<i8> {
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
        // A kernel of no width has no value.
        density.is_finite().then_some(-1)
    }

    fn check_volumes(&self, sources: usize) -> Result<()> {
        match &self.volumes {
            None if !self.is_normalized => {
                let message = "sums that are not normed need the volume of each source";
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
