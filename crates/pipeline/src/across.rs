//! Halos of particles that ranks share.
//!
//! In: on each rank a part of the particles. Out: halos, each on one rank with all of its members. If spheres or
//! profiles are requested, also all particles, in the regions of ranks. Halos are then measured as in one process,
//! and rank 0 gets all rows.
//! Cost: the data of a member, such as its velocity and id, are sent once, to the rank that owns its halo.

use std::borrow::Cow;
use std::cmp::Reverse;

#[cfg(not(feature = "gpu"))]
use ropewalk::Scalar as Coordinate;
use ropewalk::cluster::{Fof, Hop};
use ropewalk::distributed::{self, AttachedPoints, Communicator, DomainOptions, agree};
#[cfg(feature = "gpu")]
use ropewalk::gpu::Coordinate;
use ropewalk::halo::NoCenter;
use ropewalk::internals::cluster::check_clusters;
use ropewalk::internals::distributed::{gather, starts};
use ropewalk::{Result, Scalar};
use ropewalk_io::{Masses, Snapshot};

use crate::attached::ids_or_places;
use crate::gathered::{each, gathered, narrow, rows, wide};
use crate::others::OtherTypes;
use crate::overdensity_across::{AllParticles, RegionParticles, SingleProcessOrder};
use crate::shared::{Processor, RankHalos};
use crate::shared_state::{Step, begin, single_rank_error};
use crate::{Attached, Finder, FoundHalos, Measured, Note, Pipeline};

/// A finder of halos across ranks.
enum FinderAcross {
    Hop(Hop),
    Fof(Fof),
    #[cfg(feature = "gpu")]
    OnDevice(ropewalk::gpu::Fof, ropewalk::gpu::Device),
}

impl<'a> Pipeline<'a> {
    /// Finds the halos of all ranks. Collective.
    pub(super) fn find_across(&self, place: Processor) -> Result<FoundHalos<'a>> {
        let (ranks, part, census) = (self.ranks, self.snapshot, &self.whole.census);
        begin(ranks, Step::Finding)?;
        if !matches!(place, Processor::Cpu) && matches!(self.options.finder, Finder::Hop(_)) {
            return agree(ranks, Err(single_rank_error("HOP on devices")));
        }
        let (halos, around) = if census.uses_f64() {
            let table = wide(&part.points);
            let (halos, around) = self.groups(rows(&table), place)?;
            (halos, around.map(AllParticles::F64))
        } else {
            let (halos, around) = self.groups(narrow(&part.points), place)?;
            (halos, around.map(AllParticles::F32))
        };
        check_clusters(halos.labels().n_clusters() as usize)?;
        let ids = match census.has_ids {
            true => halos.send_column(ranks, part.ids.as_deref().unwrap_or_default())?,
            false => halos.indices().to_vec(),
        };
        let mut members = gathered(ranks, &halos, part, census, census.uses_f64(), ids)?;
        members.matter = self.whole.about.matter;
        let owned = halos.owned().clone();
        let shared = RankHalos { halos, members, around, place };
        Ok(FoundHalos { shared: Some(Box::new(shared)), ..FoundHalos::new(owned) })
    }

    /// Finds the halos of `positions`. If spheres or profiles are requested and there are no other particles, also
    /// returns the particles in the regions of ranks. Collective.
    fn groups<S: Coordinate>(
        &self,
        positions: &[[S; 3]],
        place: Processor,
    ) -> Result<(distributed::Halos, Option<RegionParticles<'a, S>>)> {
        let (ranks, period) = (self.ranks, self.whole.period);
        let fof = Fof::new(self.whole.scales.linking_length).min_members(self.options.min_members);
        let finder = match (&self.options.finder, place) {
            (Finder::Hop(hop), _) => FinderAcross::Hop(self.hop_across(hop)),
            (Finder::AdaptaHop { .. }, _) => return Err(single_rank_error("AdaptaHOP")),
            (Finder::FriendsOfFriends, Processor::Cpu) => FinderAcross::Fof(fof),
            #[cfg(feature = "gpu")]
            (Finder::FriendsOfFriends, Processor::Device(device)) => FinderAcross::OnDevice(fof.into(), device),
        };
        if self.others.is_some() || !self.needs_regions() {
            let halos = match finder {
                FinderAcross::Hop(hop) => hop.periodic(period).run_across(ranks, positions)?,
                FinderAcross::Fof(fof) => fof.periodic(period).run_across(ranks, positions)?,
                #[cfg(feature = "gpu")]
                FinderAcross::OnDevice(fof, device) => fof.run_across(ranks, positions, period, device)?,
            };
            return Ok((halos, None));
        }
        let domain = DomainOptions::new().periodic(period).distribute(ranks, positions)?;
        let halos = match finder {
            FinderAcross::Hop(hop) => hop.run_on_domain(&domain)?,
            FinderAcross::Fof(fof) => fof.run_on_domain(&domain)?,
            #[cfg(feature = "gpu")]
            FinderAcross::OnDevice(fof, device) => fof.run_on_domain(&domain, device)?,
        };
        let masses = &self.whole.census.masses;
        Ok((halos, Some(RegionParticles::new(ranks, domain, &each(self.snapshot), masses, None)?)))
    }

    /// Returns `true` if spheres or profiles are requested. They are over particles of all ranks.
    fn needs_regions(&self) -> bool {
        !self.options.overdensities.is_empty() || self.options.profiles > 0
    }

    /// Returns HOP with the masses, the volume and the minimum number of members of the pipeline.
    fn hop_across(&self, hop: &Hop) -> Hop {
        let hop = hop.clone().min_members(self.options.min_members).volume(self.whole.scales.effective_volume());
        if let Masses::Each(_) = self.whole.census.masses { hop.masses(each(self.snapshot)) } else { hop }
    }

    /// Attaches other particles to the halos of all ranks. Particles that join a halo are sent to the rank that owns
    /// it. Collective.
    pub(super) fn attach_across(&self, others: &OtherTypes<'_>, shared: &mut RankHalos<'a>) -> Result<Attached<'a>> {
        let (ranks, linked, part, census) = (self.ranks, self.snapshot, others.part, &others.census);
        let (length, period) = (self.whole.scales.linking_length, self.whole.period);
        let halos = &shared.halos;
        let points: AttachedPoints = if self.whole.census.uses_f64() || census.has_wide_points {
            let (a, b) = (wide(&linked.points), wide(&part.points));
            halos.attach(ranks, rows(&a), rows(&b), length, period)?
        } else {
            halos.attach(ranks, narrow(&linked.points), narrow(&part.points), length, period)?
        };
        // A particle without an id gets its index among all particles of its type on all ranks.
        let ids = points.send_column(ranks, &ids_or_places(part, &others.before))?;
        let mut joined = gathered(ranks, &points, part, census, census.has_wide_points, ids)?;
        joined.types_without_ids = vec![];
        if self.needs_regions() {
            shared.around = Some(self.around_all(others)?);
        }
        let mut members = vec![vec![]; shared.halos.owned().len()];
        for (place, &halo) in (0..).zip(&points.halos) {
            if let Some(list) = members.get_mut(halo as usize) {
                list.push(place);
            }
        }
        // Labels are below 2^31: `check_clusters` in `find_across`.
        let labels = points.labels.iter().map(|&label| label as i32).collect();
        Ok(Attached::new(Cow::Owned(joined), labels, members))
    }

    /// Returns linked and other particles together in the regions of ranks, in the precision in which one process
    /// joins them. Collective.
    fn around_all(&self, others: &OtherTypes<'_>) -> Result<AllParticles<'a>> {
        let (linked, part) = (self.snapshot, others.part);
        let masses = [linked, part].map(|part| match &part.masses {
            Masses::Unknown => vec![1.0; part.points.len()],
            _ => each(part),
        });
        if self.whole.census.uses_f64() || others.census.uses_f64() {
            let (a, b) = (wide(&linked.points), wide(&part.points));
            let all = [rows(&a), rows(&b)].concat();
            return Ok(AllParticles::F64(self.regions(&all, &masses.concat(), part)?));
        }
        let all = [narrow(&linked.points), narrow(&part.points)].concat();
        Ok(AllParticles::F32(self.regions(&all, &masses.concat(), part)?))
    }

    fn regions<S: Scalar>(&self, rows: &[[S; 3]], masses: &[f64], others: &Snapshot) -> Result<RegionParticles<'a, S>> {
        let (ranks, linked) = (self.ranks, self.snapshot.points.len());
        let order =
            SingleProcessOrder { all: starts(ranks, linked + others.points.len())?, linked: starts(ranks, linked)? };
        let domain = DomainOptions::new().periodic(self.whole.period).distribute(ranks, rows)?;
        RegionParticles::new(ranks, domain, masses, &Masses::Each(vec![]), Some(order))
    }

    /// Gathers the rows of the halos of all ranks on rank 0, from the results of [`Pipeline::measure`] on each rank.
    /// The other ranks get `None`. The catalogue, its order and its notes are those of one process. Across ranks only
    /// the columns of centres are gathered, and [`Measured::centers`] is `None`. Collective.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn gather(&self, found: &FoundHalos<'_>, measured: &Measured) -> Result<Option<Measured>> {
        let (ranks, Measured { catalog, notes, .. }) = (self.ranks, measured);
        let Some(shared) = &found.shared else { return Ok(Some(measured.clone())) };
        let index = |members: &[u32]| members.first().map_or(u64::MAX, |&at| shared.halos.indices()[at as usize]);
        let firsts: Vec<u64> = found.halos.iter().map(index).collect();
        let sizes: Vec<(u64, usize)> = catalog.halos().iter().map(|row| (row.tag, row.count)).collect();
        let notes = join_notes(ranks, notes.clone(), &sizes)?;
        let catalog = catalog.clone().gather(ranks, &shared.halos.numbers(), &firsts)?;
        Ok(catalog.map(|catalog| Measured { catalog, centers: None, notes }))
    }
}

/// Combines the notes of all ranks into those of one process. `rows` has the tag and the size of each halo of this
/// rank. Collective.
fn join_notes(ranks: &dyn Communicator, notes: Vec<Note>, rows: &[(u64, usize)]) -> Result<Vec<Note>> {
    let own = notes.iter().filter_map(|note| match note {
        Note::NoCenter { tag, reason, others } => Some((*tag, reason, *others)),
        _ => None,
    });
    let pack = |(tag, reason, others): (u64, &NoCenter, usize)| {
        let size = rows.iter().find(|row| row.0 == tag).map_or(0, |row| row.1);
        let reason = match *reason {
            NoCenter::TooWide { axis, width, size } => [axis as u64, width.to_bits(), size.to_bits()],
            NoCenter::NoMembers => [u64::MAX, 0, 0],
        };
        [size as u64, tag, others as u64, reason[0], reason[1], reason[2]]
    };
    let (_, mut all) = gather(ranks, &own.map(pack).collect::<Vec<_>>(), 0)?.into_parts();
    // The largest halo first, ties by tag.
    all.sort_by_key(|note| (Reverse(note[0]), note[1]));
    let joined = all.first().map(|&[_, tag, _, axis, width, size]| {
        let [width, size] = [width, size].map(f64::from_bits);
        let reason = match axis {
            u64::MAX => NoCenter::NoMembers,
            axis => NoCenter::TooWide { axis: axis as usize, width, size },
        };
        let others = all.iter().map(|note| note[2] as usize + 1).sum::<usize>() - 1;
        Note::NoCenter { tag, reason, others }
    });
    let (before, after): (Vec<Note>, Vec<Note>) = notes
        .into_iter()
        .filter(|note| !matches!(note, Note::NoCenter { .. }))
        .partition(|note| !matches!(note, Note::NoVelocityUnit | Note::NoAttachedVelocities));
    Ok(before.into_iter().chain(joined).chain(after).collect())
}
