//! Inverse-distance weighting.
//!
//! In: sources, targets, a power. Out: an interpolator. Source: Shepard 1968.

use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::neighborhood::Neighborhood;
use super::options::options;
use super::stencil::{Plan, build_tree, stencils, wrapped_points};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar};

/// Inverse-distance weighting, a mean of the neighbours' values weighted by an inverse power of distance: options,
/// then [`InverseDistance::prepare`].
///
/// The value at a source is that of the source, or the mean of all sources at that place. Values never exceed the
/// minimum and maximum of the neighbours.
///
/// ```
/// use ropewalk::interpolate::InverseDistance;
///
/// let interpolator = InverseDistance::new(2.0).neighbors(2).prepare(&[[0.0f64], [3.0], [9.0]], &[[1.0], [3.0]])?;
/// assert_eq!(interpolator.apply(&[10.0, 20.0, 0.0])?, [12.0, 20.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InverseDistance {
    pub(crate) power: f64,
    pub(crate) reach: Neighborhood,
    pub(crate) fallback: Fallback,
    size: BoxSize,
}

impl InverseDistance {
    /// Creates options for weights of one over the distance to `power`, usually 2, for the 8 nearest sources, in open
    /// space.
    pub fn new(power: impl Into<f64>) -> Self {
        Self {
            power: power.into(),
            reach: Neighborhood::Neighbors(8),
            fallback: Fallback::Nan,
            size: BoxSize::default(),
        }
    }

    options! {
        /// Weighs the `k` nearest sources.
        neighbors,
        /// Weighs all sources within a radius, inclusive.
        radius,
        /// Sets the value assigned to targets without sources within the radius. Default: [`Fallback::Nan`].
        fallback
    }

    /// Computes the coefficients for each target, in parallel.
    ///
    /// # Errors
    /// Returns an error if:
    /// - `power` is not positive and finite;
    /// - the number of neighbours is 0, or a radius is not positive and finite or exceeds half the periodic box;
    /// - a coordinate is not finite or too large;
    /// - the primitives have an extent.
    pub fn prepare<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        guarded(|| {
            self.check()?;
            let tree = build_tree(sources, &self.size)?;
            self.reach.check(targets.len(), tree.space())?;
            let plan = Plan {
                reach: &self.reach,
                fallback: self.fallback,
                rule: &|work| work.inverse_distances(self.power),
                axes: 0,
                has_gradients: false,
                degree: 0,
            };
            Ok(stencils(&tree, &wrapped_points(targets, tree.space())?, &plan))
        })
    }

    /// Errors: a power that is not positive and finite.
    pub(crate) fn check(&self) -> Result<()> {
        if self.power > 0.0 && self.power < f64::INFINITY {
            return Ok(());
        }
        Err(Error::parameter_must("power", self.power, "positive and finite"))
    }
}
