//! Particles of other types than the linked ones, which ranks share: what joins halos goes to the ranks that own these.
//!
//! In: on each rank a part of the other particles. Out: on the owner of each halo the particles that joined it, and for spheres and profiles
//! all particles of all types in the regions of ranks.
//! Cost: a tree over the linked particles for the search, and where spheres or profiles are asked for one over all particles.

use ropewalk::cluster::Halos;
use ropewalk::distributed::{self, AttachedPoints, Communicator, Domain, Reduction, agree};
use ropewalk::internals::distributed::{all_gather_v, reduce, some_ranks_lack, starts};
use ropewalk::{Error, Result, Scalar};
use ropewalk_io::{MassSum, Masses, Points, Snapshot, Table};
use ropewalk_table::extent_across::extent;
use ropewalk_table::points::extent::is_box;

use crate::around::{Around, InRegions, OneOrder};
use crate::attached::{ids_or_places, type_of_each};
use crate::combined::{ALL_POINTS, check_others};
use crate::particle_sets::mass_sum;
use crate::whole::{MatterIn, Whole, each, kinds_of, masses_of, narrow, runs_of, share_of_matter, sum_across, wide};
use crate::{Attached, Options, ParticleSets, Scales};

/// The particles that joined the halos of this rank, and the labels of those that it came with.
#[derive(Debug)]
pub(super) struct Joined {
    /// What is known of the particles that joined halos of this rank, by their global index.
    pub snapshot: Snapshot,
    pub points: AttachedPoints,
}

impl Joined {
    /// The particles as attached ones of this rank's halos.
    pub fn attached(&self, owned: &Halos) -> Attached<'_> {
        let halo_of = self.points.halos.iter().map(|&halo| Some(halo as usize));
        Attached::new(&self.snapshot, vec![], owned.len(), halo_of)
    }
}

/// What all ranks know of the other particles.
pub(super) struct Others<'p> {
    part: &'p Snapshot,
    /// The number of particles of all ranks, and of those outside of the periodic box.
    n: u64,
    pub outside: u64,
    /// The number of particles of each type on lower ranks.
    before: [u64; 256],
    has_velocities: bool,
    has_ids: bool,
    has_wide_points: bool,
    has_wide_velocities: bool,
    masses: Masses,
    pub kinds: Vec<u8>,
}

impl<'p> Others<'p> {
    /// Errors on all ranks: what [`Pipeline::attaching`](super::Pipeline::attaching) refuses on one; velocities, ids or masses that only
    /// some ranks have. Collective.
    pub fn of(
        ranks: &dyn Communicator,
        linked: &Snapshot,
        whole: &Whole,
        part: &'p Snapshot,
        period: Option<f64>,
    ) -> Result<Self> {
        let before = counts_before(ranks, part)?;
        agree(ranks, check_others(linked, part, &before))?;
        let own = part.points.len() as u64;
        let n = reduce(ranks, own, Reduction::Sum)?;
        let any = |is: bool| Ok(reduce(ranks, u64::from(is && own > 0), Reduction::Max)? == 1);
        let all = |is: bool, what: &'static str| {
            let [some, none] = [is, !is].map(any);
            if some? && none? { agree(ranks, Err(some_ranks_lack(what))) } else { any(is) }
        };
        let has_velocities = all(part.velocities.is_some(), "velocities")?;
        let has_ids = all(part.ids.is_some(), "ids")?;
        let has_masses = all(part.masses != Masses::Unknown, "masses")?;
        let outside = match period.filter(is_box) {
            Some(side) => {
                let others = extent(ranks, &part.points, side)?;
                let outside = others.outside;
                let all = others.join(&whole.extent);
                let checked = all.check(side, linked.box_size == Some(side), ALL_POINTS, whole.n + n);
                agree(ranks, checked)?;
                outside
            }
            None => 0,
        };
        let others = Self {
            part,
            n,
            outside,
            before,
            has_velocities: has_velocities || n == 0,
            has_ids,
            has_wide_points: any(matches!(part.points, Points::F64(_)))?,
            has_wide_velocities: any(matches!(part.velocities, Some(Points::F64(_))))?,
            masses: masses_of(ranks, part, has_masses || n == 0)?,
            kinds: kinds_of(ranks, part)?,
        };
        let is_bare = others.masses == Masses::Unknown;
        if n > 0 && whole.n > 0 && is_bare != (whole.masses == Masses::Unknown) {
            let (with, without) = if is_bare { ("linked", "attached") } else { ("attached", "linked") };
            let message = format!("the {with} particles have masses, and the {without} ones have none");
            return agree(ranks, Err(Error::missing("masses", message)));
        }
        Ok(others)
    }

    /// The lengths of the whole with these particles. Collective.
    pub fn scales(
        &self,
        ranks: &dyn Communicator,
        linked: &Snapshot,
        whole: &Whole,
        options: &Options,
    ) -> Result<Scales> {
        let (n, volume, kinds) = (whole.n, whole.scales.volume, [&whole.kinds[..], &self.kinds]);
        let matter = MatterIn { volume, mass: whole.matter };
        let share = share_of_matter(ranks, linked, options, kinds, matter, Some(self.part))?;
        agree(ranks, Scales::of(options.linking_length, n, volume, share))
    }

    /// Attaches the particles to halos. Collective.
    pub fn join(
        &self,
        ranks: &dyn Communicator,
        linked: &Snapshot,
        whole: &Whole,
        halos: &distributed::Halos,
        period: Option<f64>,
    ) -> Result<Joined> {
        let length = whole.scales.linking_length;
        let points = if whole.is_wide || self.has_wide_points {
            let (a, b) = (wide(&linked.points), wide(&self.part.points));
            halos.attach(ranks, rows(&a), rows(&b), length, period)?
        } else {
            halos.attach(ranks, narrow(&linked.points), narrow(&self.part.points), length, period)?
        };
        let bring = |points: &AttachedPoints, column: Option<&Points>, is_wide: bool| -> Result<Points> {
            Ok(if is_wide {
                let table = column.map(wide).unwrap_or_else(|| Table::of(3, vec![]));
                Points::F64(Table::of(3, points.bring(ranks, rows(&table))?.into_flattened()))
            } else {
                Points::F32(Table::of(3, points.bring(ranks, column.map_or(&[][..], narrow))?.into_flattened()))
            })
        };
        let part = self.part;
        let positions = bring(&points, Some(&part.points), self.has_wide_points)?;
        let mut snapshot = part.without_particles();
        snapshot.points = positions;
        if self.has_velocities {
            snapshot.velocities = Some(bring(&points, part.velocities.as_ref(), self.has_wide_velocities)?);
        }
        // Without an id, the index of a particle of this rank among those of its type on all ranks.
        snapshot.ids = Some(points.bring(ranks, &ids_or_places(part, &self.before))?);
        snapshot.types_without_ids = vec![];
        snapshot.types = runs_of(&self.kinds, points.bring(ranks, &type_of_each(part))?);
        snapshot.masses = match &self.masses {
            Masses::Each(_) => Masses::Each(points.bring(ranks, &each(part))?),
            same => same.clone(),
        };
        Ok(Joined { snapshot, points })
    }

    /// The types of particles without ids.
    pub fn types_without_ids(&self) -> Vec<u8> {
        match (self.n, self.has_ids) {
            (0, _) => vec![],
            (_, true) => self.part.types_without_ids.clone(),
            (_, false) => self.kinds.clone(),
        }
    }

    /// Linked and other particles together in the regions of ranks, in the precision in which one process joins them. Collective.
    pub fn around<'a>(
        &self,
        ranks: &'a dyn Communicator,
        linked: &Snapshot,
        whole: &Whole,
        period: Option<f64>,
    ) -> Result<Around<'a>> {
        let masses = [linked, self.part].map(|part| match &part.masses {
            Masses::Unknown => vec![1.0; part.points.len()],
            _ => each(part),
        });
        let order = OneOrder {
            all: starts(ranks, linked.points.len() + self.part.points.len())?,
            linked: starts(ranks, linked.points.len())?,
        };
        if whole.is_wide || self.has_wide_points || self.has_wide_velocities {
            let (a, b) = (wide(&linked.points), wide(&self.part.points));
            let all = [rows(&a), rows(&b)].concat();
            return Ok(Around::F64(regions(ranks, &all, period, &masses.concat(), order)?));
        }
        let all = [narrow(&linked.points), narrow(&self.part.points)].concat();
        Ok(Around::F32(regions(ranks, &all, period, &masses.concat(), order)?))
    }
}

/// The number of particles of each type on lower ranks. Collective.
fn counts_before(ranks: &dyn Communicator, part: &Snapshot) -> Result<[u64; 256]> {
    let mut counts = [0u64; 256];
    part.types.iter().for_each(|run| counts[usize::from(run.particle_type)] += run.count as u64);
    let mut before = [0; 256];
    for of_rank in all_gather_v(ranks, &counts)?.iter().take(ranks.rank()) {
        before.iter_mut().zip(of_rank).for_each(|(before, count)| *before += count);
    }
    Ok(before)
}

fn regions<'a, S: Scalar>(
    ranks: &'a dyn Communicator,
    rows: &[[S; 3]],
    period: Option<f64>,
    masses: &[f64],
    order: OneOrder,
) -> Result<InRegions<'a, S>> {
    InRegions::new(ranks, Domain::new(ranks, rows, period)?, masses, &Masses::Each(vec![]), Some(order))
}

fn rows(table: &Table<f64>) -> &[[f64; 3]] {
    table.rows::<3>().unwrap_or_default()
}

/// The types that were linked, attached or not read, of all ranks. Collective.
pub(super) fn sets(
    ranks: &dyn Communicator,
    part: &Snapshot,
    whole: &Whole,
    others: Option<&Others<'_>>,
) -> Result<ParticleSets> {
    let mut own = MassSum::default();
    for part in [Some(part), others.map(|others| others.part)].into_iter().flatten() {
        mass_sum(part).iter().for_each(|sum| own.merge(sum));
    }
    let read = sum_across(ranks, &own)?;
    let mut about = part.without_particles();
    about.matter = whole.matter;
    let kinds = others.map_or(vec![], |others| others.kinds.clone());
    let is_known = whole.masses != Masses::Unknown;
    Ok(ParticleSets::of_types(whole.kinds.clone(), kinds, true, &about, || read.filter(|_| is_known)))
}
