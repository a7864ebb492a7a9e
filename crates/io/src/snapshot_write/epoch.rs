//! The epoch that the header of a written snapshot names.
//!
//! In: a snapshot. Out: its scale factor and redshift, and what its velocities are divided by in a file. Cost: none.

use crate::Snapshot;

/// When a snapshot is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Epoch {
    /// The scale factor; the time of a run that is not in comoving coordinates.
    pub time: f64,
    pub redshift: f64,
    pub is_comoving: bool,
}

impl Epoch {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        match (&snapshot.header, snapshot.redshift) {
            (Some(header), Some(redshift)) if header.redshift == redshift => {
                Self { time: header.time, redshift, is_comoving: header.is_comoving() }
            }
            (_, redshift) => {
                let redshift = redshift.unwrap_or(0.0);
                Self { time: 1.0 / (1.0 + redshift), redshift, is_comoving: true }
            }
        }
    }

    /// The factor between peculiar velocities and those in the file.
    pub(super) fn velocity_divisor(self) -> f64 {
        if self.is_comoving { self.time.sqrt() } else { 1.0 }
    }
}
