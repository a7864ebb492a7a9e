//! Subsamples: the particles that are kept, selected by their places.
//!
//! In: the fraction to keep, and the place of a particle: its index among those of the requested types. Out: whether
//! the particle is kept, the same in every run and in every part. Cost: a hash per particle, some nanoseconds.

use std::ops::Range;

use ropewalk::internals::random::mixed;
use ropewalk::{Error, Result};

/// The selection of particles that are kept: all, or a pseudo-random fraction that is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Keep {
    /// The maximum hash of a particle that is kept.
    most: u64,
    /// The fraction that is kept.
    pub fraction: f64,
}

impl Keep {
    pub(super) fn new(fraction: Option<f64>) -> Result<Self> {
        match fraction {
            None => Ok(Self { most: u64::MAX, fraction: 1.0 }),
            Some(fraction) if fraction > 0.0 && fraction <= 1.0 => {
                // The conversion saturates, so that a fraction of 1 keeps all particles.
                Ok(Self { most: (fraction * 2.0f64.powi(64)) as u64, fraction })
            }
            Some(value) => Err(Error::parameter_must("subsample", value, "above 0 and at most 1")),
        }
    }

    pub(super) fn is_all(&self) -> bool {
        self.most == u64::MAX
    }

    /// Returns `true` if the particle at this place is kept.
    pub(super) fn keeps(&self, place: u64) -> bool {
        mixed(place) <= self.most
    }

    /// Returns the number of places in this range that are kept.
    pub(super) fn count(&self, places: Range<u64>) -> u64 {
        if self.is_all() {
            return places.end.saturating_sub(places.start);
        }
        places.filter(|&place| self.keeps(place)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_kept() {
        let keep = Keep::new(Some(0.25)).unwrap();
        let kept = keep.count(0..100_000);
        assert!((24_500..25_500).contains(&kept), "{kept}");
        assert_eq!(Keep::new(None).unwrap().count(3..10), 7);
        assert_eq!(Keep::new(Some(1.0)).unwrap().count(0..10), 10);
        for bad in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(Keep::new(Some(bad)).is_err());
        }
    }
}
