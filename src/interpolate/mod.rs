//! Values at places of what is known at others: moving least squares, smoothed particles, inverse distances.
//!
//! In: sources and targets, points of one type; then values at the sources. Out: values at the targets.
//! Each method prepares an [`Interpolator`] once, which takes any number of fields.
//!
//! | method | reproduces | for |
//! |---|---|---|
//! | [`MovingLeastSquares`] | polynomials of degree 0, 1 or 2 | smooth fields, gradients |
//! | [`Sph`], gather | constants, or integrals | particles with volumes |
//! | [`Sph`], scatter | the sum over all | masses and counts, which must not get lost |
//! | [`InverseDistance`] | constants; values where sources are | quick looks, never beyond the least and largest value |
//!
//! Flow: `stencil` searches (`search::nearest`), `kernels` weigh; `basis` and `qr` fit (`mls`).

pub(crate) mod basis;
pub(crate) mod errors;
mod idw;
mod interpolator;
mod kernels;
pub(crate) mod mls;
mod options;
pub(crate) mod qr;
mod sph;
pub(crate) mod stencil;

pub use idw::InverseDistance;
pub use interpolator::{FieldValue, Interpolator};
pub use kernels::{SmoothingKernel, Weight};
pub use mls::MovingLeastSquares;
pub use sph::Sph;

use crate::error::{Error, Result};
use crate::geometry::Space;
use crate::search::Nearest;

/// What a target gets that has no source within the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Fallback {
    /// NaN; but 0 for a sum that is not normed, as sums of nothing are.
    #[default]
    Nan,
    /// The value of the nearest source.
    Nearest,
    /// The mean of the eight nearest sources, each counted one over its squared distance.
    InverseDistance,
}

/// How far each point looks.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Reach {
    Neighbors(usize),
    Radius(f64),
    Each(Vec<f64>),
}

impl Reach {
    /// What the point with an index looks for.
    fn of(&self, index: usize) -> Nearest {
        match self {
            Self::Neighbors(k) => Nearest::new(*k),
            Self::Radius(radius) => Nearest::new(usize::MAX).within(*radius),
            Self::Each(radii) => Nearest::new(usize::MAX).within(radii[index]),
        }
    }

    /// Errors: no neighbours; a radius that is not positive and finite, or more than half the periodic box; not one radius for each of `n`.
    fn check<const D: usize>(&self, n: usize, space: &Space<D>) -> Result<()> {
        let check = |radius: f64| {
            if radius > 0.0 && radius < f64::INFINITY {
                return space.check_length("radius", radius);
            }
            Err(Error::parameter_must("radius", radius, "positive and finite"))
        };
        match self {
            Self::Neighbors(0) => Err(Error::parameter_must("neighbors", 0.0, "at least 1")),
            Self::Neighbors(_) => Ok(()),
            Self::Radius(radius) => check(*radius),
            Self::Each(radii) if radii.len() != n => Err(Error::radii(radii.len(), n)),
            Self::Each(radii) => match radii.iter().position(|radius| check(*radius).is_err()) {
                Some(index) if radii[index] > 0.0 && radii[index].is_finite() => check(radii[index]),
                Some(index) => Err(Error::radius(index, radii[index])),
                None => Ok(()),
            },
        }
    }
}
