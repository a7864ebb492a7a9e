//! A rank's part of the halos that several ranks have found together.

use std::fmt;

use ropewalk::distributed;
use ropewalk::halo::Halos;
use ropewalk_io::{Masses, Snapshot};

use crate::overdensity_across::AllParticles;

/// The processor that finds halos and centres.
#[derive(Clone, Copy, Debug)]
pub(super) enum Processor {
    Cpu,
    #[cfg(feature = "gpu")]
    Device(ropewalk::gpu::Device),
}

/// The halos of all ranks. For those that this rank owns, also the members, the surroundings and the device.
pub(super) struct RankHalos<'a> {
    pub halos: distributed::Halos,
    /// The members of this rank's halos, in the order of [`distributed::Halos::indices`].
    pub members: Snapshot,
    /// All particles in the regions of ranks, if spheres or profiles are requested.
    pub around: Option<AllParticles<'a>>,
    pub place: Processor,
}

impl fmt::Debug for RankHalos<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Shared").field("halos", &self.halos).field("place", &self.place).finish_non_exhaustive()
    }
}

impl RankHalos<'_> {
    /// Returns the mass of each of `halos`, whose members are among those of this rank's halos.
    pub fn masses_of(&self, halos: &Halos) -> Vec<f64> {
        let mass = |members: &[u32]| match &self.members.masses {
            Masses::Equal(mass) => mass * members.len() as f64,
            Masses::Each(masses) => members.iter().map(|&at| masses[at as usize]).sum(),
            Masses::Unknown => members.len() as f64,
        };
        halos.iter().map(mass).collect()
    }
}
