//! The header of a Gadget snapshot, as part of a snapshot in memory.
//!
//! In: the numbers of a header, which `gadget` decodes and encodes. Out: the epoch of the run, and the unit of its
//! velocities. Cost: none.

use ropewalk::units::VelocityUnit;

use crate::epoch::{Epoch, EpochEntries};

/// The header of a Gadget snapshot.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Header {
    /// The number of particles of each type, in all files together.
    pub counts: [u64; 6],
    /// The mass of each particle of a type; 0 if there are none, or if the masses differ.
    pub mass_table: [f64; 6],
    /// The scale factor a (the time, if the run is not comoving).
    pub time: f64,
    /// The redshift.
    pub redshift: f64,
    /// The side of the periodic box; 0 without a box.
    pub box_size: f64,
    /// The matter density at a = 1, in units of the critical density.
    pub omega_m: f64,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: f64,
    /// The Hubble constant in 100 km/s/Mpc.
    pub hubble: f64,
    /// The number of files of the snapshot.
    pub files: u32,
}

impl Header {
    /// Returns the number of particles of all types.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// Returns `true` for a run in comoving coordinates, whose `time` is the scale factor: see
    /// `Snapshot::velocities`.
    pub(super) fn is_comoving(&self) -> bool {
        self.epoch().scale_factor.is_some()
    }

    pub(super) fn epoch(&self) -> Epoch {
        let has_matter = self.omega_m > 0.0;
        let (time, redshift) = (Some(self.time), Some(self.redshift));
        Epoch::new(&EpochEntries { time, redshift, has_matter, ..EpochEntries::default() })
    }

    /// The unit of the stored velocities.
    pub(super) fn velocity_unit(&self) -> VelocityUnit {
        VelocityUnit { km_s: 1.0, is_internal: self.is_comoving() }
    }
}
