//! Halos by HOP or AdaptaHOP, instead of friends of friends.

use ropewalk::Result;
use ropewalk::cluster::Hop;
use ropewalk::halo::{AdaptaHop, Subhalos};
use ropewalk_io::Masses;

use super::state::with_particles;
use super::{FoundHalos, Pipeline, Unbound};

impl<'a> Pipeline<'a> {
    /// Finds the halos and the density of each particle.
    pub(super) fn find_by_hop(&self, hop: &Hop) -> Result<FoundHalos<'a>> {
        let hop = self.with_particles_of(hop);
        let chains = with_particles!(self, |positions, _particles| hop.chains(positions))?;
        let halos = hop.run_on_chains(&chains)?;
        Ok(FoundHalos { density: Some(chains.into_density()), ..FoundHalos::new(halos) })
    }

    /// Returns the finder with box, volume, masses and minimum number of members of the pipeline.
    pub(super) fn with_particles_of(&self, hop: &Hop) -> Hop {
        let mut hop = hop.clone().periodic(self.whole.period).min_members(self.options.min_members);
        hop = hop.volume(self.whole.scales.effective_volume());
        if let Some(masses) = self.masses() {
            hop = hop.masses(masses);
        }
        hop
    }

    /// Finds the halos and subhalos, each with its nested subhalos.
    pub(super) fn find_by_adaptahop(&self, finder: &AdaptaHop) -> Result<FoundHalos<'a>> {
        let mut finder = finder.clone().periodic(self.whole.period).min_members(self.options.min_members);
        finder = finder.volume(self.whole.scales.effective_volume());
        if let Some(masses) = self.masses() {
            finder = finder.masses(masses);
        }
        let found = with_particles!(self, |positions, _particles| finder.run(positions))?;
        let Some(unbinding) = &self.whole.unbinding else {
            let halos = found.nested();
            return Ok(FoundHalos { subhalos: Some(found), ..FoundHalos::new(halos) });
        };
        let bound = with_particles!(self, |_positions, particles| found.unbind(&particles, unbinding))?;
        let subhalos = bound.structures;
        let noise = |subhalos: &Subhalos| subhalos.structures().labels().n_noise();
        // For equal masses the finder uses the mass 1.
        let unit = if let Masses::Equal(mass) = self.snapshot.masses { mass } else { 1.0 };
        let unbound = Unbound {
            found_masses: bound.rows.iter().map(|row| unit * found.rows()[row.from as usize].mass).collect(),
            n_dissolved: found.len() - subhalos.len(),
            n_particles: noise(&subhalos) - noise(&found),
            rows: bound.rows,
        };
        let halos = subhalos.nested();
        Ok(FoundHalos { subhalos: Some(subhalos), unbound: Some(unbound), ..FoundHalos::new(halos) })
    }
}
