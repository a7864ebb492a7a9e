//! What the centre of a halo is.

use super::mean;
use crate::error::{Kind, Result};
#[cfg(feature = "reference")]
use crate::reference::mbp_poisson;

/// What the centre of a halo is.
///
/// The *most bound particle* (MBP) is the member with the lowest potential, `phi_i = - sum over the other members of
/// m_j / sqrt(|r_i - r_j|² + softening²)`, G being 1; of equals, as sums in `f64` are, the first. It is where the halo is
/// deepest, whatever hangs on to it, and what spherical overdensity masses are measured about. Without softening, pairs of
/// coincident members would be infinitely bound: they are left out, and counted. Positions are taken relative to the first
/// member, in `f64`: each coordinate is rounded by 2^-53 of its difference to the first one's at most, and not at all where
/// coordinates are in `f32` and none is 2^29 times as large as another. There are four ways to find it:
///
/// | | answer | cost |
/// |---|---|---|
/// | [`Center::MostBound`] | exact | n log n, where potentials differ |
/// | [`Center::MostBoundBrute`] | exact | n² |
/// | [`Center::MostBoundAStar`] | exact | between these |
/// | [`Center::MostBoundPoisson`] | often the same | a grid's Fourier transform |
///
/// The *most connected particle* (MCP) is the member with most friends: where the halo is densest on the scale of the linking
/// length. In relaxed halos it is near to the MBP; in two that are joined by a bridge it may be in the other one.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// The most bound particle, by a best-first search as in HACC: each member's potential is bounded by the distances to the
    /// cells of a grid; whoever promises most has the cells opened from near to far, until the best is known exactly.
    ///
    /// The same member as by brute force; to be compared with. Source: Habib et al. 2016; Sewell et al. 2015, section 3.
    #[cfg(feature = "reference")]
    MostBoundAStar {
        /// As for [`Center::MostBound`].
        softening: f64,
    },
    /// The most bound particle, approximately: Poisson's equation on a grid of the halo's box with a potential of 0 at its
    /// faces; then exact sums for the members in a cube about the lowest cell. To be compared with; see [`Center::poisson`].
    ///
    /// It may be another member than the exact one, most often in small halos and where a heavy neighbour hangs on:
    /// [`CenterFinder::check`] tells. Source: Sewell et al. 2015, section 3.
    #[cfg(feature = "reference")]
    MostBoundPoisson {
        /// As for [`Center::MostBound`].
        softening: f64,
        /// Cells along each axis, 1 to 255. Best one less than a power of two.
        cells: usize,
        /// How many cells around the lowest one are searched, along each axis both ways.
        search: usize,
    },
    /// The most connected particle: the member with most others within the linking length (inclusive, itself not counted); of
    /// equals the first, and how many they are is told. Source: Sewell et al. 2015.
    ///
    /// Cost: that of counting all pairs of friends, which grows with the density of the halo; in a dense clump it is many times that
    /// of finding it.
    MostConnected {
        /// The linking length, as for [`Fof`](crate::Fof).
        linking_length: f64,
    },
    /// The mean position, weighted by mass. Cheap and smooth, but off the peak wherever a halo is not symmetric: for the
    /// distance from another centre, which tells how relaxed a halo is.
    CenterOfMass,
    /// The centre of mass within a sphere that shrinks about it: from all members on, step by step, as long as enough are
    /// inside. Robust against what hangs on, not bound to a particle. Source: Power et al. 2003, section 2.5; see
    /// [`Center::shrinking_sphere`].
    ShrinkingSphere {
        /// The factor of the radius in each step, above 0 and at most 0.9999: each step goes over all members.
        shrink: f64,
        /// So many members are enough, at least 1; but never more than a hundredth of the halo has to be.
        least: usize,
    },
}

impl Center {
    /// [`Center::MostBoundPoisson`] with the grid of the paper: 63 cells along each axis, a search two cells wide.
    #[cfg(feature = "reference")]
    pub fn poisson(softening: f64) -> Self {
        Self::MostBoundPoisson { softening, cells: 63, search: 2 }
    }

    /// [`Center::ShrinkingSphere`] as in the paper: by 2.5 per cent in each step, down to 1000 members or one in a hundred,
    /// whichever is less.
    pub fn shrinking_sphere() -> Self {
        Self::ShrinkingSphere { shrink: 0.975, least: 1000 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.check_softening()?;
        let refuse = |name, value, must| Err(Kind::Parameter { name, value, must }.into());
        match *self {
            #[cfg(feature = "reference")]
            Self::MostBoundPoisson { cells, .. } if !(1..=mbp_poisson::MOST_CELLS).contains(&cells) => {
                refuse("the number of cells along an axis", cells as f64, "from 1 to 255")
            }
            Self::MostConnected { linking_length } if !(0.0..f64::INFINITY).contains(&linking_length) => {
                refuse("the linking length", linking_length, "finite and not negative")
            }
            Self::ShrinkingSphere { shrink, .. } if !(shrink > 0.0 && shrink <= mean::MOST_SHRINK) => {
                refuse("the factor of the shrinking sphere", shrink, "above 0 and at most 0.9999")
            }
            Self::ShrinkingSphere { least: 0, .. } => {
                refuse("the least number of members in the sphere", 0.0, "at least 1")
            }
            _ => Ok(()),
        }
    }

    fn check_softening(&self) -> Result<()> {
        let softening = match *self {
            Self::MostBound { softening } | Self::MostBoundBrute { softening } => softening,
            #[cfg(feature = "reference")]
            Self::MostBoundAStar { softening } | Self::MostBoundPoisson { softening, .. } => softening,
            _ => return Ok(()),
        };
        if (0.0..f64::INFINITY).contains(&softening) {
            return Ok(());
        }
        Err(Kind::Parameter { name: "the softening", value: softening, must: "finite and not negative" }.into())
    }
}
