//! Counts, masses and ids of members, by type.

use ropewalk_io::{Masses, Snapshot};

/// The type of particles in files without types.
const DARK: u8 = 1;

/// Sums over particles, and their ids.
pub(super) struct MemberSums {
    /// The number of particles of each type.
    pub counts: Vec<u64>,
    /// The mass of each type.
    pub masses: Vec<f64>,
    /// The ids: those of each call of `add`, sorted by type.
    pub ids: Vec<u64>,
}

impl MemberSums {
    /// Returns empty sums for `types` types.
    pub(super) fn new(types: usize) -> Self {
        Self { counts: vec![0; types], masses: vec![0.0; types], ids: vec![] }
    }

    /// Adds particles of snapshots, sorted by type.
    pub(super) fn add<'a>(&mut self, particles: impl IntoIterator<Item = (&'a Snapshot, &'a [u32])>) {
        let mut all: Vec<(u8, u64)> = vec![];
        for (snapshot, members) in particles {
            // The run of types that contains a member. Members are ascending, except at the start of the next
            // snapshot.
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
                // The ids are used only if all particles have ids.
                all.push((kind, snapshot.ids.as_ref().map_or(0, |ids| ids[place])));
            }
        }
        all.sort_by_key(|(kind, _)| *kind);
        self.ids.extend(all.into_iter().map(|(_, id)| id));
    }
}
