//! The share of the matter of a volume that is in its particles. It is below 1 in zoom runs, cut-outs and single
//! files of a snapshot.
//!
//! In: the masses of linked particles and of baryons read with them, `omega_m` and units. Out: the share if it is
//! clearly below 1; it scales mean separations and densities. Cost: one pass over the masses.

use ropewalk::halo::Universe;
use ropewalk_io::{MassSum, Snapshot};

use crate::particle_sets::{mass_sum, mass_sum_of};

/// The types that are low-resolution dark matter in zoom runs.
pub(super) const LOW_RESOLUTION: [u8; 2] = [2, 3];
/// The type of dark matter of the highest resolution.
pub(super) const DARK: u8 = 1;
/// Particles with a smaller share of the mean density of matter do not fill their volume.
const CLEARLY_LESS: f64 = 0.5;

/// Returns the types of a file that are low-resolution dark matter and are not linked.
pub(super) fn low_resolution_types(about: &Snapshot, linked: &[u8]) -> Vec<u8> {
    let is_coarse = |&(kind, count): &(u8, u64)| count > 0 && LOW_RESOLUTION.contains(&kind) && !linked.contains(&kind);
    about.file_types.iter().filter(|of| is_coarse(of)).map(|&(kind, _)| kind).collect()
}

/// The mass that is compared with the matter of the volume.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ComparedMass {
    /// The mass of all matter of the file.
    Known(f64),
    /// The mass of all particles that were read, except low-resolution dark matter ([`mass_read`]).
    OfRead,
    /// The mass is not known.
    Unknown,
}

/// Selects the mass to compare, given the linked and the other types.
pub(super) fn mass(about: &Snapshot, [linked, others]: [&[u8]; 2]) -> ComparedMass {
    // Without dark matter, stars alone are a small share of any volume.
    let lacks_dark =
        |&(kind, count): &(u8, u64)| kind == DARK && count > 0 && ![linked, others].concat().contains(&DARK);
    match about.matter {
        Some(matter) if low_resolution_types(about, linked).is_empty() => ComparedMass::Known(matter),
        _ if about.file_types.iter().any(lacks_dark) => ComparedMass::Unknown,
        _ => ComparedMass::OfRead,
    }
}

/// Returns the mass of linked particles and of others except low-resolution dark matter; `None` if it is not known.
pub(super) fn mass_read([linked, others]: [Option<&Snapshot>; 2]) -> Option<MassSum> {
    let mut all = mass_sum(linked?)?;
    if let Some(others) = others.filter(|others| !others.points.is_empty()) {
        all.merge(&mass_sum_of(others, |kind| !LOW_RESOLUTION.contains(&kind))?);
    }
    Some(all)
}

/// Returns the share of the matter of a volume that a mass is, if it is clearly below 1.
pub(super) fn share(universe: &Universe, mass: Option<f64>, volume: f64) -> Option<f64> {
    let share = mass? / (universe.matter_density()? * volume);
    (share > 0.0 && share < CLEARLY_LESS).then_some(share)
}
