//! What ranks know together of a snapshot that they share: its size, box and scales, and what is known of its particles.

use std::collections::BTreeSet;

#[cfg(not(feature = "gpu"))]
use ropewalk::Scalar as Coordinate;
use ropewalk::cluster::{Fof, Hop};
use ropewalk::distributed::{self, Communicator, Domain, Reduction, agree};
#[cfg(feature = "gpu")]
use ropewalk::gpu::Coordinate;
use ropewalk::internals::distributed::{all_gather, all_gather_v, reduce, some_ranks_lack};
use ropewalk::internals::halo::{check_masses, check_velocities};
use ropewalk::{Error, ErrorKind, Result};
use ropewalk_io::{MassSum, Masses, Points, Snapshot, Table, TypeRun};
use ropewalk_table::extent_across::extent;
use ropewalk_table::points::extent::{Extent, is_box};

use crate::around::InRegions;
use crate::attached::type_of_each;
use crate::particle_sets::kinds;
use crate::particles::check_dimensions;
use crate::{Finder, Options, Pipeline, Scales, filling};

/// What a rank can refuse by itself.
pub(super) fn check(part: &Snapshot, options: &Options, place: Place) -> Result<()> {
    options.check()?;
    if !matches!(place, Place::Cpu) && matches!(options.finder, Finder::Hop(_)) {
        return Err(one_rank_alone("HOP on devices"));
    }
    if let Finder::AdaptaHop { .. } = options.finder {
        return Err(one_rank_alone("AdaptaHOP"));
    }
    check_dimensions(part)?;
    let points = part.points.len();
    let masses = if let Masses::Each(masses) = &part.masses { Some(masses.len()) } else { None };
    let lengths = [
        ("velocities", part.velocities.as_ref().map(Points::len)),
        ("ids", part.ids.as_ref().map(Vec::len)),
        ("masses", masses),
    ];
    for (what, len) in lengths {
        if let Some(len) = len.filter(|&len| len != points) {
            return Err(Error::length(what, len, points));
        }
    }
    // Those of particles in no halo as well.
    match &part.velocities {
        Some(Points::F64(table)) => check_velocities(table.rows::<3>().unwrap_or_default())?,
        Some(Points::F32(table)) => check_velocities(table.rows::<3>().unwrap_or_default())?,
        None => {}
    }
    match &part.masses {
        Masses::Equal(mass) => check_masses(&[*mass]),
        Masses::Each(masses) => check_masses(masses),
        Masses::Unknown => Ok(()),
    }
}

/// A step that runs on one rank alone.
fn one_rank_alone(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what}: not across ranks; run on one rank"))
}

/// Where halos and centres are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Cpu,
    #[cfg(feature = "gpu")]
    Device(ropewalk::gpu::Device),
}

/// What finds halos across ranks.
enum OneOf {
    Hop(Hop),
    Fof(Fof),
    #[cfg(feature = "gpu")]
    OnDevice(ropewalk::gpu::Fof, ropewalk::gpu::Device),
}

impl OneOf {
    /// Friends of friends.
    fn new(length: f64, min_members: usize, place: Place) -> Self {
        match place {
            Place::Cpu => Self::Fof(Fof::new(length).min_members(min_members)),
            #[cfg(feature = "gpu")]
            Place::Device(device) => Self::OnDevice(ropewalk::gpu::Fof::new(length).min_members(min_members), device),
        }
    }
}

/// What all ranks know of the whole.
pub(super) struct Whole {
    pub n: u64,
    pub side: Option<f64>,
    pub scales: Scales,
    pub outside: u64,
    pub extent: Extent,
    pub is_wide: bool,
    pub has_velocities: bool,
    pub has_wide_velocities: bool,
    pub has_ids: bool,
    /// Of [`Masses::Each`] only that it is so.
    pub masses: Masses,
    pub matter: Option<f64>,
    pub kinds: Vec<u8>,
}

impl Whole {
    pub fn of(ranks: &dyn Communicator, part: &Snapshot, options: &Options) -> Result<Self> {
        let own = part.points.len() as u64;
        let n = reduce(ranks, own, Reduction::Sum)?;
        // Ranks without particles know nothing against it, unless none has any.
        let knows = own > 0 || n == 0;
        let any = |is: bool| Ok(reduce(ranks, u64::from(is && knows), Reduction::Max)? == 1);
        let all = |is: bool, what: &'static str| {
            let [some, none] = [is, !is].map(any);
            if some? && none? { agree(ranks, Err(some_ranks_lack(what))) } else { any(is) }
        };
        let has_velocities = all(part.velocities.is_some(), "velocities")?;
        let has_ids = all(part.ids.is_some(), "ids")?;
        let has_masses = all(part.masses != Masses::Unknown, "masses")?;
        let has_types = all(!part.types.is_empty(), "particle types")?;
        let has_wide_velocities = any(matches!(part.velocities, Some(Points::F64(_))))?;
        // As in one process, where both have one precision.
        let is_wide = any(matches!(part.points, Points::F64(_)))? || has_wide_velocities;

        let side = options.box_size.or(part.box_size);
        let period = side.filter(|_| !options.open);
        let extent = extent(ranks, &part.points, period.unwrap_or(f64::INFINITY))?;
        let volume = match side {
            Some(side) => side.powi(3),
            None if n == 0 => 0.0,
            None => extent.axes.iter().map(|(lo, hi)| hi - lo).product(),
        };
        let outside = match period.filter(is_box) {
            Some(side) => extent.check(side, part.box_size == Some(side), "points", n),
            None => Ok(0),
        };
        let outside = agree(ranks, outside)?;
        let masses = masses_of(ranks, part, has_masses || n == 0)?;
        let matter = match part.slice.as_ref().and_then(|slice| slice.matter.as_ref()) {
            share if any_share(ranks, share.is_some())? => {
                sum_across(ranks, &share.cloned().unwrap_or_default())?.map(|sum| sum.value())
            }
            _ => part.matter,
        };
        let kinds: Vec<u8> = kinds_of(ranks, part)?.into_iter().filter(|_| has_types).collect();
        let share = share_of_matter(ranks, part, options, [&kinds, &[]], MatterIn { volume, mass: matter }, None)?;
        let scales = agree(ranks, Scales::of(options.linking_length, n, volume, share))?;
        // What it lacks for spheres and profiles is said before halos are found.
        let mut bare = part.without_particles();
        bare.matter = matter;
        bare.masses = masses.clone();
        agree(ranks, Pipeline::new(&bare, options).map(drop))?;
        Ok(Self {
            n,
            side,
            scales,
            outside,
            extent,
            is_wide,
            has_velocities,
            has_wide_velocities,
            has_ids,
            masses,
            matter,
            kinds,
        })
    }

    /// The halos of positions, and all of them in regions if spheres or profiles are asked for of these alone. Collective.
    pub fn halos<'a, S: Coordinate>(
        &self,
        ranks: &'a dyn Communicator,
        part: &Snapshot,
        options: &Options,
        place: Place,
        has_others: bool,
        rows: &[[S; 3]],
    ) -> Result<(distributed::Halos, Option<InRegions<'a, S>>)> {
        let period = self.side.filter(|_| !options.open);
        let is_bare = has_others || (options.overdensities.is_empty() && options.profiles == 0);
        let finder = match &options.finder {
            Finder::Hop(hop) => OneOf::Hop(self.hop(hop, part, options)),
            Finder::AdaptaHop { .. } => return Err(one_rank_alone("AdaptaHOP")),
            Finder::FriendsOfFriends => OneOf::new(self.scales.linking_length, options.min_members, place),
        };
        if is_bare {
            let halos = match finder {
                OneOf::Hop(hop) => hop.periodic(period).run_across(ranks, rows)?,
                OneOf::Fof(fof) => fof.periodic(period).run_across(ranks, rows)?,
                #[cfg(feature = "gpu")]
                OneOf::OnDevice(fof, device) => fof.run_across(ranks, rows, period, device)?,
            };
            return Ok((halos, None));
        }
        let domain = Domain::new(ranks, rows, period)?;
        let halos = match finder {
            OneOf::Hop(hop) => hop.run_on_domain(&domain)?,
            OneOf::Fof(fof) => fof.run_on_domain(&domain)?,
            #[cfg(feature = "gpu")]
            OneOf::OnDevice(fof, device) => fof.halos_on_domain(&domain, device)?,
        };
        Ok((halos, Some(InRegions::new(ranks, domain, &each(part), &self.masses, None)?)))
    }

    /// HOP with what is known of the particles.
    fn hop(&self, hop: &Hop, part: &Snapshot, options: &Options) -> Hop {
        let hop = hop.clone().min_members(options.min_members).volume(self.scales.filled_volume());
        if let Masses::Each(_) = self.masses { hop.masses(each(part)) } else { hop }
    }

    /// The types of the members that this rank has, in stretches; those of all kinds, though there be none of some.
    pub fn types_of(
        &self,
        ranks: &dyn Communicator,
        part: &Snapshot,
        halos: &distributed::Halos,
    ) -> Result<Vec<TypeRun>> {
        if self.kinds.len() < 2 {
            let mut runs = runs_of(&self.kinds, vec![]);
            runs.iter_mut().for_each(|run| run.count = halos.indices().len());
            return Ok(runs);
        }
        Ok(runs_of(&self.kinds, halos.bring(ranks, &type_of_each(part))?))
    }
}

/// The matter in the volume of a snapshot.
pub(super) struct MatterIn {
    pub volume: f64,
    /// The mass of all of it, where the file has it.
    pub mass: Option<f64>,
}

/// [`Scales::share_of_matter`] of linked particles and others; `kinds` are the types of both on all ranks. Collective.
pub(super) fn share_of_matter(
    ranks: &dyn Communicator,
    part: &Snapshot,
    options: &Options,
    kinds: [&[u8]; 2],
    matter: MatterIn,
    others: Option<&Snapshot>,
) -> Result<Option<f64>> {
    let read = filling::mass_read(part, others);
    let is_known = reduce(ranks, u64::from(read.is_none() && !part.points.is_empty()), Reduction::Max)? == 0;
    let read = sum_across(ranks, &read.unwrap_or_default())?.filter(|_| is_known);
    let mut about = part.without_particles();
    about.matter = matter.mass;
    let universe = about.universe(&options.universe, options.box_size.or(part.box_size));
    let mass = filling::mass(&about, matter.mass, kinds, || read);
    Ok(filling::share(&universe, mass, matter.volume))
}

/// The sum of the sums of all ranks. Collective.
pub(super) fn sum_across(ranks: &dyn Communicator, own: &MassSum) -> Result<Option<MassSum>> {
    let mut words: Vec<u64> = own.words().into_iter().map(|word| word as u64).collect();
    ranks.all_reduce(&mut words, Reduction::Sum)?;
    let words: Vec<i64> = words.into_iter().map(|word| word as i64).collect();
    Ok(MassSum::from_words(&words))
}

/// Stretches of particles of one type; the first of them are empty ones of all `kinds`.
pub(super) fn runs_of(kinds: &[u8], each: Vec<u8>) -> Vec<TypeRun> {
    let mut runs: Vec<TypeRun> = kinds.iter().map(|&particle_type| TypeRun { particle_type, count: 0 }).collect();
    for kind in each {
        match runs.last_mut() {
            Some(last) if last.particle_type == kind => last.count += 1,
            _ => runs.push(TypeRun { particle_type: kind, count: 1 }),
        }
    }
    runs
}

/// What the masses of all ranks are; of [`Masses::Each`] only that they are so. Collective.
pub(super) fn masses_of(ranks: &dyn Communicator, part: &Snapshot, has_masses: bool) -> Result<Masses> {
    let one = if let Masses::Equal(mass) = part.masses { mass.to_bits() } else { u64::MAX };
    let all = all_gather(ranks, [one, part.points.len() as u64])?;
    let ones: Vec<u64> = all.into_iter().filter(|of| of[1] > 0).map(|of| of[0]).collect();
    Ok(match ones.first() {
        _ if !has_masses => Masses::Unknown,
        Some(&first) if first != u64::MAX && ones.iter().all(|&one| one == first) => {
            Masses::Equal(f64::from_bits(first))
        }
        Some(_) => Masses::Each(vec![]),
        None => part.masses.clone(),
    })
}

/// The types that particles of any rank have, ascending. Collective.
pub(super) fn kinds_of(ranks: &dyn Communicator, part: &Snapshot) -> Result<Vec<u8>> {
    let all = all_gather_v(ranks, &kinds(part))?;
    let all: BTreeSet<u8> = all.values().iter().copied().collect();
    Ok(all.into_iter().collect())
}

fn any_share(ranks: &dyn Communicator, own: bool) -> Result<bool> {
    Ok(reduce(ranks, own.into(), Reduction::Max)? == 1)
}

pub(super) fn wide(points: &Points) -> Table<f64> {
    match points {
        Points::F32(table) => table.widened(),
        Points::F64(table) => table.clone(),
    }
}

/// Rows of 32 bits; none if they are of others, as where a rank has no particles.
pub(super) fn narrow(points: &Points) -> &[[f32; 3]] {
    match points {
        Points::F32(table) => table.rows::<3>().unwrap_or_default(),
        Points::F64(_) => &[],
    }
}

/// A mass for each particle.
pub(super) fn each(part: &Snapshot) -> Vec<f64> {
    match &part.masses {
        Masses::Equal(mass) => vec![*mass; part.points.len()],
        Masses::Each(masses) => masses.clone(),
        Masses::Unknown => vec![],
    }
}
