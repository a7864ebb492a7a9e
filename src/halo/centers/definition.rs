//! Definitions of the centre of a halo.

use super::mean;
use crate::error::{Error, Result};

/// A definition of the centre of a halo.
///
/// The *most bound particle* (MBP) is the member with the lowest potential, with G = 1
///
/// ```text
/// phi_i = - sum over j != i of m_j / sqrt(|r_i - r_j|² + softening²)
/// ```
///
/// as computed by sums in `f64`; among equal potentials, the member with the smallest index. It marks the bottom of
/// the potential well, whatever is attached to the halo, and spherical overdensity masses are measured around it.
/// Without softening the terms of coincident pairs are infinite: they are omitted, and the pairs are counted.
///
/// Positions are taken relative to the first member, in `f64`. This rounds a coordinate by at most 2^-53 of its
/// difference from the first one's. It rounds nothing if coordinates are `f32` and none is 2^29 times as large as
/// another. There are two algorithms for the MBP here, and two of earlier papers in the module `reference`:
///
/// | | answer | cost |
/// |---|---|---|
/// | [`Center::MostBound`] | exact | n log n, where potentials differ |
/// | [`Center::MostBoundBrute`] | exact | n² |
/// | `reference::most_bound_a_star` | exact | between these |
/// | `reference::most_bound_poisson` | often the same | a grid's Fourier transform |
///
/// The *most connected particle* (MCP) is the member with most friends, where the halo is densest on the scale of the
/// linking length. In relaxed halos it is near the MBP. If a bridge joins two clumps, the two particles may be in
/// different clumps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Center {
    /// The most bound particle, by branch and bound on a tree with multipoles. Finds the same member as brute force.
    /// The recommended definition.
    MostBound {
        /// The Plummer softening length, not negative; 0 for the Newtonian potential.
        softening: f64,
    },
    /// The most bound particle, by sums over all pairs in `f64`, which follow the definition directly.
    MostBoundBrute {
        /// The Plummer softening length, not negative; 0 for the Newtonian potential.
        softening: f64,
    },
    /// The most connected particle: the member with most other members within the linking length (inclusive). Among
    /// equal counts the smallest index wins; [`HaloCenter::ties`](crate::halo::HaloCenter::ties) is the number of
    /// members with that count. Source: Sewell et al. 2015.
    ///
    /// Cost: that of counting all pairs of friends, which grows with the density of the halo. In a dense clump it is
    /// many times the cost of finding the halo.
    MostConnected {
        /// The linking length, as for [`Fof`](crate::Fof).
        linking_length: f64,
    },
    /// The mean position, weighted by mass. Cheap and smooth, but off the density peak of an asymmetric halo. Its
    /// distance from another centre measures how relaxed the halo is.
    CenterOfMass,
    /// The centre of mass within a sphere that shrinks around it step by step, from all members to a few. Robust
    /// against attached clumps; in general not the position of a particle. Source: Power et al. 2003, section 2.5; see
    /// [`Center::shrinking_sphere`].
    ShrinkingSphere {
        /// The factor of the radius in each step, above 0 and at most 0.9999. Each step visits all members.
        shrink: f64,
        /// The minimum number of members inside, at least 1. A sphere with a hundredth of the halo's members is always
        /// large enough.
        least: usize,
    },
}

impl Center {
    /// Returns [`Center::ShrinkingSphere`] with the values of the paper: shrinks by 2.5 per cent in each step, down to
    /// 1000 members or one in a hundred, whichever is less.
    pub fn shrinking_sphere() -> Self {
        Self::ShrinkingSphere { shrink: 0.975, least: 1000 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Self::MostBound { softening } | Self::MostBoundBrute { softening } => check_length("softening", softening),
            Self::MostConnected { linking_length } => check_length("linking_length", linking_length),
            Self::CenterOfMass => Ok(()),
            Self::ShrinkingSphere { shrink, least } => {
                let refuse = |name, value, must| Err(Error::parameter_must(name, value, must));
                if !(shrink > 0.0 && shrink <= mean::MAX_SHRINK) {
                    return refuse("shrink", shrink, "above 0 and at most 0.9999");
                }
                if least == 0 {
                    return refuse("least", 0.0, "at least 1");
                }
                Ok(())
            }
        }
    }
}

fn check_length(name: &'static str, length: f64) -> Result<()> {
    if (0.0..f64::INFINITY).contains(&length) {
        return Ok(());
    }
    Err(Error::parameter_must(name, length, "finite and not negative"))
}
