//! The linking length in the snapshot's unit, and the volume of the mean density and separation.

use ropewalk::Result;

use crate::errors;
use crate::options::LinkingLength;

/// The linking length and the volume of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scales {
    /// The linking length in the snapshot's unit.
    pub linking_length: f64,
    /// The linking length in mean separations, if it was given in these.
    pub separations: Option<f64>,
    /// The volume of the box, or that of the smallest box around the particles.
    pub volume: f64,
    /// The mass of the linked particles and the baryons read with them, as a share of the matter of the volume
    /// (`omega_m` times the critical density). `None` if it is at least half, or if masses, `omega_m` or units are
    /// not known. If it is less than half, as in zoom runs, mean separations and densities are those of the volume
    /// that such particles would fill.
    pub share_of_matter: Option<f64>,
}

impl Scales {
    /// Returns the scales of `n` particles in a volume; `share` is [`Scales::share_of_matter`].
    pub(super) fn new(linking_length: LinkingLength, n: u64, volume: f64, share: Option<f64>) -> Result<Self> {
        let scales = Self { linking_length: 0.0, separations: None, volume, share_of_matter: share };
        let separations = match linking_length {
            LinkingLength::Length(linking_length) => return Ok(Self { linking_length, ..scales }),
            LinkingLength::Separations(separations) => separations,
        };
        let separation = if n == 0 { 0.0 } else { (scales.effective_volume() / n as f64).cbrt() };
        if n > 1 && !(separation > 0.0 && separation < f64::INFINITY) {
            return Err(errors::no_separation(volume));
        }
        Ok(Self { linking_length: separations * separation, separations: Some(separations), ..scales })
    }

    /// Returns the volume that the particles would fill at the mean density of matter: the whole volume, or the share
    /// of it.
    pub(super) fn effective_volume(&self) -> f64 {
        self.share_of_matter.map_or(self.volume, |share| share * self.volume)
    }
}
