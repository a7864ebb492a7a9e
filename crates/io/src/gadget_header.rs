//! The header of a Gadget snapshot in memory, which a snapshot hands on.
//!
//! In: the numbers of a header, which `gadget` decodes and encodes. Out: the epoch of the run, and the unit of its velocities. Cost: none.

use ropewalk::units::VelocityUnit;

use crate::epoch::{Epoch, Said};

/// The header of a Gadget snapshot.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Header {
    /// Particles of each type, in all files together.
    pub counts: [u64; 6],
    /// Mass of a particle of each type; 0: none, or each has its own.
    pub mass_table: [f64; 6],
    /// Scale factor a (time, if the run is not comoving).
    pub time: f64,
    /// Redshift.
    pub redshift: f64,
    /// Side of the periodic box; 0: none.
    pub box_size: f64,
    /// Matter density at a = 1, in units of the critical density.
    pub omega_m: f64,
    /// Density of the cosmological constant, in the same unit.
    pub omega_lambda: f64,
    /// Hubble constant in 100 km/s/Mpc.
    pub hubble: f64,
    /// Files the snapshot is split over.
    pub files: u32,
}

impl Header {
    /// Particles of all types.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// `true` for a run in comoving coordinates, so that `time` is the scale factor: see
    /// `Snapshot::velocities`.
    pub(super) fn is_comoving(&self) -> bool {
        self.epoch().scale_factor.is_some()
    }

    pub(super) fn epoch(&self) -> Epoch {
        let has_matter = self.omega_m > 0.0;
        let (time, redshift) = (Some(self.time), Some(self.redshift));
        Epoch::of(&Said { time, redshift, has_matter, ..Said::default() })
    }

    /// The unit of the stored velocities.
    pub(super) fn velocity_unit(&self) -> VelocityUnit {
        VelocityUnit { km_s: 1.0, is_internal: self.is_comoving() }
    }
}
