//! Conversion of the particles of a snapshot to [`Particles`].

use ropewalk::halo::Particles;
use ropewalk::{Result, Scalar};
use ropewalk_io::{Masses, Points, Snapshot};

use crate::errors;

/// Returns positions with the masses and ids of their snapshot. `period` is the side of the periodic box, if there is
/// one.
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

/// Refuses points and velocities without three coordinates.
pub(super) fn check_dimensions(snapshot: &Snapshot) -> Result<()> {
    for (what, points) in [("points", Some(&snapshot.points)), ("velocities", snapshot.velocities.as_ref())] {
        if let Some(dim) = points.map(Points::dim).filter(|&dim| dim != 3) {
            return Err(errors::halo_dimension(what, dim));
        }
    }
    Ok(())
}
