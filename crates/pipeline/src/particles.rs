//! The particles of a snapshot as the engine takes them.

use ropewalk::Scalar;
use ropewalk::halo::Particles;
use ropewalk_io::{Masses, Snapshot};

/// Positions with the masses and ids of their snapshot, in a periodic box if `period` is its side.
pub fn particles_of<'a, S: Scalar>(
    positions: &'a [[S; 3]],
    snapshot: &'a Snapshot,
    period: Option<f64>,
) -> Particles<'a, S> {
    let mut particles = Particles::new(positions).periodic(period);
    if let Some(ids) = &snapshot.ids {
        particles = particles.ids(ids);
    }
    match &snapshot.masses {
        Masses::Equal(mass) => particles.mass(*mass),
        Masses::Each(masses) => particles.masses(masses),
        Masses::Unknown => particles,
    }
}
