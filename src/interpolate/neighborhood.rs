//! The neighbours that a point uses: a fixed number, or all within a radius.

use crate::error::{Error, Result};
use crate::geometry::Space;
use crate::search::Nearest;

/// The neighbours that each point uses: the nearest `k`, all within one radius, or all within a radius per point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Neighborhood {
    Neighbors(usize),
    Radius(f64),
    Each(Vec<f64>),
}

impl Neighborhood {
    /// The nearest-neighbour query of the point with an index.
    pub(super) fn of(&self, index: usize) -> Nearest {
        match self {
            Self::Neighbors(k) => Nearest::new(*k),
            Self::Radius(radius) => Nearest::new(usize::MAX).within(*radius),
            Self::Each(radii) => Nearest::new(usize::MAX).within(radii[index]),
        }
    }

    /// Errors: 0 neighbours; a radius that is not positive and finite, or exceeds half the periodic box; a number of
    /// radii other than `n`.
    pub(crate) fn check<const D: usize>(&self, n: usize, space: &Space<D>) -> Result<()> {
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
