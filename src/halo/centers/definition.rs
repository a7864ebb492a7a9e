//! What the centre of a halo is.

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
/// as sums in `f64` have it; among equal potentials the member with the smallest index. It marks the bottom of the potential well,
/// whatever is attached to the halo, and spherical overdensity masses are measured about it. Without softening the terms of
/// coincident pairs are infinite: they are omitted, and the pairs are counted. Positions are taken relative to the first member, in
/// `f64`: this rounds a coordinate by at most 2^-53 of its difference from the first one's, and not at all where coordinates are
/// `f32` and none is 2^29 times as large as another. There are two ways to find it, and two of earlier papers in the module `reference`:
///
/// | | answer | cost |
/// |---|---|---|
/// | [`Center::MostBound`] | exact | n log n, where potentials differ |
/// | [`Center::MostBoundBrute`] | exact | n² |
/// | `reference::most_bound_a_star` | exact | between these |
/// | `reference::most_bound_poisson` | often the same | a grid's Fourier transform |
///
/// The *most connected particle* (MCP) is the member with most friends, where the halo is densest on the scale of the linking
/// length. In relaxed halos it is near the MBP; where a bridge joins two clumps it may be in the other one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Center {
    /// The most bound particle, by branch and bound on a tree with multipoles: the same member as by brute force. The one to
    /// use.
    MostBound {
        /// The Plummer softening length, not negative; 0 for Newton's potential.
        softening: f64,
    },
    /// The most bound particle, by sums over all pairs in `f64`: the definition.
    MostBoundBrute {
        /// As for [`Center::MostBound`].
        softening: f64,
    },
    /// The most connected particle: the member with most others within the linking length (inclusive, itself not counted). Among
    /// equal counts the smallest index wins; [`HaloCenter::ties`](crate::halo::HaloCenter::ties) counts the equals. Source: Sewell et al.
    /// 2015.
    ///
    /// Cost: that of counting all pairs of friends, which grows with the density of the halo; in a dense clump it is many times the
    /// cost of finding the halo.
    MostConnected {
        /// The linking length, as for [`Fof`](crate::Fof).
        linking_length: f64,
    },
    /// The mean position, weighted by mass. Cheap and smooth, but off the density peak of an asymmetric halo: its distance from
    /// another centre measures how relaxed the halo is.
    CenterOfMass,
    /// The centre of mass within a sphere that shrinks about it, from all members on, step by step, until few are left. Robust
    /// against attached clumps; in general no particle's position. Source: Power et al. 2003, section 2.5; see
    /// [`Center::shrinking_sphere`].
    ShrinkingSphere {
        /// The factor of the radius in each step, above 0 and at most 0.9999: each step goes over all members.
        shrink: f64,
        /// The least number of members inside, at least 1; a hundredth of the halo's members is always enough.
        least: usize,
    },
}

impl Center {
    /// [`Center::ShrinkingSphere`] as in the paper: by 2.5 per cent in each step, down to 1000 members or one in a hundred,
    /// whichever is less.
    pub fn shrinking_sphere() -> Self {
        Self::ShrinkingSphere { shrink: 0.975, least: 1000 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Self::MostBound { softening } | Self::MostBoundBrute { softening } => {
                check_length("the softening", softening)
            }
            Self::MostConnected { linking_length } => check_length("the linking length", linking_length),
            Self::CenterOfMass => Ok(()),
            Self::ShrinkingSphere { shrink, least } => {
                let refuse = |name, value, must| Err(Error::parameter_must(name, value, must));
                if !(shrink > 0.0 && shrink <= mean::MAX_SHRINK) {
                    return refuse("the factor of the shrinking sphere", shrink, "above 0 and at most 0.9999");
                }
                if least == 0 {
                    return refuse("the least number of members in the sphere", 0.0, "at least 1");
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
