//! The number of particles on all ranks, and their columns.
//!
//! In: on each rank its part of the particles. Out: the same census on all ranks.
//! Cost: some reductions of one number.

use std::collections::BTreeSet;

use ropewalk::Result;
use ropewalk::distributed::{Communicator, Reduction, agree};
use ropewalk::internals::distributed::{all_gather, all_gather_v, reduce, some_ranks_lack};
use ropewalk_io::{Masses, Points, Snapshot};

use crate::particle_sets::kinds;

/// The number, columns, precision and types of the particles of all ranks.
#[derive(Clone, Debug)]
pub(super) struct Census {
    /// The number of particles.
    pub n: u64,
    pub has_velocities: bool,
    pub has_ids: bool,
    pub has_wide_points: bool,
    pub has_wide_velocities: bool,
    /// The kind of masses; [`Masses::Each`] has no values here.
    pub masses: Masses,
    /// The types of the particles, ascending.
    pub kinds: Vec<u8>,
}

impl Census {
    /// Takes the census of all ranks. Columns that only some ranks have are an error on all; ranks without particles
    /// are ignored. Collective.
    pub fn new(ranks: &dyn Communicator, part: &Snapshot) -> Result<Self> {
        let own = part.points.len() as u64;
        let n = reduce(ranks, own, Reduction::Sum)?;
        // Ranks without particles are ignored, unless no rank has particles.
        let knows = own > 0 || n == 0;
        let any = |is: bool| any(ranks, is && knows);
        let all = |is: bool, what: &'static str| {
            let [some, none] = [is, !is].map(any);
            if some? && none? && n > 0 { agree(ranks, Err(some_ranks_lack(what))) } else { any(is) }
        };
        let has_velocities = all(part.velocities.is_some(), "velocities")?;
        let has_ids = all(part.ids.is_some(), "ids")?;
        let has_masses = all(part.masses != Masses::Unknown, "masses")?;
        let has_types = all(!part.types.is_empty(), "particle types")?;
        Ok(Self {
            n,
            has_velocities,
            has_ids,
            has_wide_points: any(matches!(part.points, Points::F64(_)))?,
            has_wide_velocities: any(matches!(part.velocities, Some(Points::F64(_))))?,
            masses: masses_of(ranks, part, has_masses || n == 0)?,
            kinds: kinds_of(ranks, part)?.into_iter().filter(|_| has_types).collect(),
        })
    }

    /// Returns the census for other particles than the linked ones. If there are none, they do not lack velocities
    /// and need no precision.
    pub fn of_others(self) -> Self {
        match self.n {
            0 => Self { has_velocities: true, has_wide_points: false, has_wide_velocities: false, ..self },
            _ => self,
        }
    }

    /// Returns `true` if points and velocities are converted to 64 bits, since one process has both in one precision.
    pub fn uses_f64(&self) -> bool {
        self.has_wide_points || self.has_wide_velocities
    }

    /// Returns `true` if particles have no masses.
    pub fn lacks_masses(&self) -> bool {
        self.masses == Masses::Unknown
    }
}

/// Returns `true` if `is` is `true` on any rank. Collective.
pub(super) fn any(ranks: &dyn Communicator, is: bool) -> Result<bool> {
    Ok(reduce(ranks, is.into(), Reduction::Max)? == 1)
}

/// Returns the kind of masses of all ranks: unknown, equal, or [`Masses::Each`] without values. Collective.
fn masses_of(ranks: &dyn Communicator, part: &Snapshot, has_masses: bool) -> Result<Masses> {
    let one = if let Masses::Equal(mass) = part.masses { mass.to_bits() } else { u64::MAX };
    let all = all_gather(ranks, [one, part.points.len() as u64])?;
    let ones: Vec<u64> = all.into_iter().filter(|of| of[1] > 0).map(|of| of[0]).collect();
    Ok(match (ones.first(), &part.masses) {
        _ if !has_masses => Masses::Unknown,
        (Some(&first), _) if first != u64::MAX && ones.iter().all(|&one| one == first) => {
            Masses::Equal(f64::from_bits(first))
        }
        (Some(_), _) | (None, Masses::Each(_)) => Masses::Each(vec![]),
        (None, same) => same.clone(),
    })
}

/// Returns the types of the particles of all ranks, ascending. Collective.
fn kinds_of(ranks: &dyn Communicator, part: &Snapshot) -> Result<Vec<u8>> {
    let all = all_gather_v(ranks, &kinds(part))?;
    let all: BTreeSet<u8> = all.values().iter().copied().collect();
    Ok(all.into_iter().collect())
}
