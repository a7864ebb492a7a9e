//! The linking length in the snapshot's unit, and the volume that halos are counted in.

use ropewalk::Result;
use ropewalk::halo::Particles;
use ropewalk_io::Points;

use crate::errors;
use crate::options::LinkingLength;

/// The lengths of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scales {
    /// The linking length in the snapshot's unit.
    pub linking_length: f64,
    /// The linking length in mean separations, if it was given so.
    pub separations: Option<f64>,
    /// The volume of the box, or that of the smallest box around the particles.
    pub volume: f64,
}

impl Scales {
    /// `side` is that of the box, periodic or not.
    pub(super) fn new(linking_length: LinkingLength, points: &Points, side: Option<f64>) -> Result<Self> {
        let n = points.len();
        let volume = match side {
            Some(side) => side.powi(3),
            None => {
                let (lo, hi) = match points {
                    Points::F32(table) => table.rows().map(|rows| Particles::new(rows).extent()),
                    Points::F64(table) => table.rows().map(|rows| Particles::new(rows).extent()),
                }
                .unwrap_or_default();
                (0..3).map(|k| hi[k] - lo[k]).product()
            }
        };
        Self::of(linking_length, n as u64, volume)
    }

    /// Those of so many particles in a volume.
    pub(super) fn of(linking_length: LinkingLength, n: u64, volume: f64) -> Result<Self> {
        let separations = match linking_length {
            LinkingLength::Length(linking_length) => return Ok(Self { linking_length, separations: None, volume }),
            LinkingLength::Separations(separations) => separations,
        };
        let separation = if n == 0 { 0.0 } else { (volume / n as f64).cbrt() };
        if n > 1 && !(separation > 0.0 && separation < f64::INFINITY) {
            return Err(errors::no_separation(volume));
        }
        Ok(Self { linking_length: separations * separation, separations: Some(separations), volume })
    }
}
