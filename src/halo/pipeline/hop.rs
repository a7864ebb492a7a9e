//! Halos by HOP, in place of friends of friends.

use super::{Found, Pipeline, with_particles};
use crate::cluster::Hop;
use crate::error::Result;
use crate::io::Points;

impl<'a> Pipeline<'a> {
    /// The halos, with the density of each particle.
    pub(super) fn find_by_hop(&self, hop: &Hop) -> Result<Found<'a>> {
        let hop = self.with_particles_of(hop);
        let chains = with_particles!(self, |positions, _particles| hop.chains(positions))?;
        let halos = hop.run_on_chains(&chains)?;
        Ok(Found { halos, density: Some(chains.into_density()), on_device: None })
    }

    /// The finder with box, volume, masses and least number of members of the pipeline.
    pub(super) fn with_particles_of(&self, hop: &Hop) -> Hop {
        let mut hop = hop.clone().periodic(self.period).min_members(self.options.min_members);
        hop = hop.volume(self.scales.volume);
        if let Some(masses) = self.masses() {
            hop = hop.masses(masses);
        }
        hop
    }
}
