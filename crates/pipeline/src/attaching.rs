//! Adds particles of other types to a pipeline, which join halos and count in spheres and profiles.
//!
//! In: on each rank its part of the other particles. Out: the pipeline with them, with lengths and types of all
//! particles.
//! Cost: a pass over their points, velocities and masses.

use ropewalk::distributed::agree;
use ropewalk::{Error, Result};
use ropewalk_io::Snapshot;
use ropewalk_table::extent_across::extent;
use ropewalk_table::points::extent::is_box;

use crate::census::Census;
use crate::others::{OtherTypes, check_others, counts_before, types_without_ids};
use crate::shared_state::{MatterInputs, Step, begin};
use crate::{Pipeline, Scales};

/// The name of all particles in errors about the periodic box.
const ALL_POINTS: &str = "linked and attached points";

impl<'a> Pipeline<'a> {
    /// Adds particles of other types; `others` has those of this rank. Collective.
    ///
    /// Halos are found among the linked particles only; [`Pipeline::attach`] then attaches the others to them.
    /// Spheres and profiles are over all particles, attached or not.
    ///
    /// # Errors
    /// - positions or velocities without three coordinates, or with values that are not finite
    /// - more than 2^32 - 1 linked and other particles on one rank
    /// - linked and other particles that together span more than the periodic box
    /// - masses of only the linked or only the other particles; masses that are negative or not finite
    /// - units that differ from those of the linked particles
    /// - across ranks: velocities, ids, masses or types that only some ranks have
    pub fn attaching(mut self, others: &'a Snapshot) -> Result<Self> {
        let (ranks, linked, whole) = (self.ranks, self.snapshot, &mut self.whole);
        begin(ranks, Step::Attaching)?;
        let before = counts_before(ranks, others)?;
        agree(ranks, check_others(linked, others, &before))?;
        let census = Census::new(ranks, others)?.of_others();
        let n = whole.census.n + census.n;
        let checked = match whole.period.filter(is_box) {
            _ if whole.census.n > 0 && census.n > 0 && whole.census.lacks_masses() != census.lacks_masses() => {
                let (with, without) =
                    if census.lacks_masses() { ("linked", "attached") } else { ("attached", "linked") };
                let message = format!("the {with} particles have masses, and the {without} particles do not");
                Err(Error::missing("masses", message))
            }
            None => Ok(0),
            Some(side) => {
                let own = extent(ranks, &others.points, side)?;
                let outside = own.outside;
                let all = own.join(&whole.extent);
                all.check(side, linked.box_size == Some(side), ALL_POINTS, n).map(|_| outside)
            }
        };
        let outside = agree(ranks, checked)?;
        let (kinds, parts) = ([&whole.census.kinds[..], &census.kinds], [Some(linked), Some(others)]);
        let known = MatterInputs { about: &whole.about, universe: &whole.universe, kinds };
        let volume = whole.scales.volume;
        let share = known.share_of_matter(ranks, parts, volume)?;
        let sets = known.particle_sets(ranks, parts, !whole.census.lacks_masses())?;
        whole.scales = agree(ranks, Scales::new(self.options.linking_length, whole.census.n, volume, share))?;
        whole.sets = sets;
        let types_without_ids = types_without_ids(others, &census);
        self.others = Some(OtherTypes { part: others, census, outside, before, types_without_ids });
        self.all.take();
        Ok(self)
    }
}
