//! The epoch in the header of a written snapshot.
//!
//! In: a snapshot. Out: its scale factor and redshift, and the number by which its velocities are divided in a file.
//! Cost: none.

use crate::Snapshot;

/// The epoch of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Epoch {
    /// The scale factor; in a run that is not in comoving coordinates, the time.
    pub time: f64,
    pub redshift: f64,
    pub is_comoving: bool,
}

impl Epoch {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
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

    /// Returns the number by which peculiar velocities are divided in the file.
    pub(super) fn velocity_divisor(self) -> f64 {
        if self.is_comoving { self.time.sqrt() } else { 1.0 }
    }
}
