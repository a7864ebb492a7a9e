//! Halos by HOP or AdaptaHOP, in place of friends of friends.

use ropewalk::cluster::Hop;
use ropewalk::halo::{AdaptaHop, Subhalos, Unbinding, Universe};
use ropewalk::{Error, Result};
use ropewalk_io::{Masses, Snapshot};

use super::state::with_particles;
use super::{Finder, Found, Options, Pipeline, Unbound};

impl<'a> Pipeline<'a> {
    /// The halos, with the density of each particle.
    pub(super) fn find_by_hop(&self, hop: &Hop) -> Result<Found<'a>> {
        let hop = self.with_particles_of(hop);
        let chains = with_particles!(self, |positions, _particles| hop.chains(positions))?;
        let halos = hop.run_on_chains(&chains)?;
        Ok(Found {
            halos,
            density: Some(chains.into_density()),
            subhalos: None,
            unbound: None,
            on_device: None,
            attached: None,
        })
    }

    /// The finder with box, volume, masses and least number of members of the pipeline.
    pub(super) fn with_particles_of(&self, hop: &Hop) -> Hop {
        let mut hop = hop.clone().periodic(self.period).min_members(self.options.min_members);
        hop = hop.volume(self.scales.filled_volume());
        if let Some(masses) = self.masses() {
            hop = hop.masses(masses);
        }
        hop
    }

    /// The halos and subhalos, each with all that is in it.
    pub(super) fn find_by_adaptahop(&self, finder: &AdaptaHop) -> Result<Found<'a>> {
        let mut finder = finder.clone().periodic(self.period).min_members(self.options.min_members);
        finder = finder.volume(self.scales.filled_volume());
        if let Some(masses) = self.masses() {
            finder = finder.masses(masses);
        }
        let found = with_particles!(self, |positions, _particles| finder.run(positions))?;
        let Some(unbinding) = &self.unbinding else {
            return Ok(Found {
                halos: found.nested(),
                density: None,
                subhalos: Some(found),
                unbound: None,
                on_device: None,
                attached: None,
            });
        };
        let bound = with_particles!(self, |_positions, particles| found.unbind(&particles, unbinding))?;
        let subhalos = bound.structures;
        let noise = |subhalos: &Subhalos| subhalos.structures().labels().n_noise();
        // The finder weighs particles of equal masses by 1.
        let unit = if let Masses::Equal(mass) = self.snapshot.masses { mass } else { 1.0 };
        let unbound = Unbound {
            found_masses: bound.rows.iter().map(|row| unit * found.rows()[row.from as usize].mass).collect(),
            n_dissolved: found.len() - subhalos.len(),
            n_particles: noise(&subhalos) - noise(&found),
            rows: bound.rows,
        };
        let halos = subhalos.nested();
        Ok(Found {
            halos,
            density: None,
            subhalos: Some(subhalos),
            unbound: Some(unbound),
            on_device: None,
            attached: None,
        })
    }
}

/// How to unbind, if the options ask for it.
pub(super) fn unbinding(options: &Options, snapshot: &Snapshot, universe: &Universe) -> Result<Option<Unbinding>> {
    let Finder::AdaptaHop { unbind: true, .. } = options.finder else { return Ok(None) };
    let lacks = |name, what: &str| Err(Error::missing(name, format!("bound masses need {what}")));
    if snapshot.masses == Masses::Unknown {
        return lacks("masses", "masses, and the snapshot has none");
    }
    if snapshot.velocities.is_none() {
        return lacks("velocities", "velocities, and the snapshot has none");
    }
    let gravity = universe.conversion("bound masses")?.gravity();
    if !universe.has_velocity_unit {
        return lacks("velocity_unit", "the unit of velocities, which is not known");
    }
    Ok(Some(Unbinding::new(gravity).softening(options.softening).min_members(options.min_members)))
}
