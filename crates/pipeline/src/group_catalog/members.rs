//! Counts, masses and ids of members, type by type.

use ropewalk_io::{Masses, Snapshot};

/// The type of particles that have none.
const DARK: u8 = 1;

/// What some particles are together.
pub(super) struct Members {
    /// By type.
    pub counts: Vec<u64>,
    /// By type.
    pub masses: Vec<f64>,
    /// In the order in which they were added.
    pub ids: Vec<u64>,
}

impl Members {
    /// None, of that many types.
    pub(super) fn new(types: usize) -> Self {
        Self { counts: vec![0; types], masses: vec![0.0; types], ids: vec![] }
    }

    /// Adds particles of snapshots, type by type.
    pub(super) fn add<'a>(&mut self, particles: impl IntoIterator<Item = (&'a Snapshot, &'a [u32])>) {
        let mut all: Vec<(u8, u64)> = vec![];
        for (snapshot, members) in particles {
            // The run that a member is in: members ascend, but for those of other snapshots.
            let (mut run, mut start) = (0, 0);
            for place in members.iter().map(|&member| member as usize) {
                if place < start {
                    (run, start) = (0, 0);
                }
                while let Some(here) = snapshot.types.get(run).filter(|here| place >= start + here.count) {
                    (run, start) = (run + 1, start + here.count);
                }
                let kind = snapshot.types.get(run).map_or(DARK, |run| run.particle_type);
                let mass = match &snapshot.masses {
                    Masses::Equal(mass) => *mass,
                    Masses::Each(masses) => masses[place],
                    Masses::Unknown => 1.0,
                };
                self.counts[usize::from(kind)] += 1;
                self.masses[usize::from(kind)] += mass;
                // Ids are used if all particles have some.
                all.push((kind, snapshot.ids.as_ref().map_or(0, |ids| ids[place])));
            }
        }
        all.sort_by_key(|(kind, _)| *kind);
        self.ids.extend(all.into_iter().map(|(_, id)| id));
    }
}
