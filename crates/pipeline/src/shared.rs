//! The part that a rank has of halos that several ranks have found together.

use std::fmt;

use ropewalk::distributed;
use ropewalk::halo::Halos;
use ropewalk_io::{Masses, Snapshot};

use crate::around::Around;

/// Where halos and centres are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Cpu,
    #[cfg(feature = "gpu")]
    Device(ropewalk::gpu::Device),
}

/// The halos of all ranks, and the members, surroundings and device of those that this rank owns.
pub(super) struct Shared<'a> {
    pub halos: distributed::Halos,
    /// What is known of the members of this rank's halos, in the order of [`distributed::Halos::indices`].
    pub members: Snapshot,
    /// All particles, if spheres or profiles are asked for.
    pub around: Option<Around<'a>>,
    pub place: Place,
}

impl fmt::Debug for Shared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Shared").field("halos", &self.halos).field("place", &self.place).finish_non_exhaustive()
    }
}

impl Shared<'_> {
    /// The mass of each of some halos of this rank's members.
    pub fn masses_of(&self, halos: &Halos) -> Vec<f64> {
        let mass = |members: &[u32]| match &self.members.masses {
            Masses::Equal(mass) => mass * members.len() as f64,
            Masses::Each(masses) => members.iter().map(|&at| masses[at as usize]).sum(),
            Masses::Unknown => members.len() as f64,
        };
        halos.iter().map(mass).collect()
    }
}
