//! Data of all particles together: box, lengths, cosmology, thresholds, and the types that numbers are over.
//!
//! In: on each rank its part of a snapshot, and options. Out: the same data on all ranks; one process is a single
//! rank.
//! Cost: a pass over the points, and one over the masses if their sum is needed.

use std::borrow::Cow;

use ropewalk::distributed::{Communicator, Reduction, agree, agree_on};
use ropewalk::halo::{Overdensity, Unbinding, Universe};
use ropewalk::internals::distributed::all_gather;
use ropewalk::internals::halo::{check_masses, check_velocities};
use ropewalk::internals::random::mixed;
use ropewalk::{Error, ErrorKind, Result};
use ropewalk_io::{MassSum, Masses, Points, Snapshot};
use ropewalk_table::extent_across::extent;
use ropewalk_table::points::extent::{Extent, is_box};

use crate::census::{Census, any};
use crate::matter_fraction::{self, ComparedMass};
use crate::particle_sets::mass_sum;
use crate::particles::check_dimensions;
use crate::{Finder, Options, ParticleSets, Scales};

const R200C: Overdensity = Overdensity::Critical(200.0);

/// The steps that ranks might call in different order, by number.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Attaching = 1,
    Finding = 2,
}

/// Returns an error on all ranks if they call different steps. Collective.
pub(super) fn begin(ranks: &dyn Communicator, step: Step) -> Result<()> {
    agree_on(ranks, step as u64, &[])
}

/// The data of a shared snapshot that are equal on all ranks.
#[derive(Clone, Debug)]
pub(super) struct SharedState<'a> {
    /// The data of the snapshot other than its particles. In one process it is the snapshot itself.
    pub about: Cow<'a, Snapshot>,
    /// The census of the linked particles.
    pub census: Census,
    pub extent: Extent,
    pub period: Option<f64>,
    pub scales: Scales,
    /// The number of linked particles outside of the box.
    pub outside: u64,
    pub universe: Universe,
    pub thresholds: Vec<f64>,
    /// The threshold density of R200c, if units and cosmology give one.
    pub r200c: Option<f64>,
    pub unbinding: Option<Unbinding>,
    /// The types that are linked, attached or not read.
    pub sets: ParticleSets,
}

impl<'a> SharedState<'a> {
    /// Collects the data from all ranks. Collective.
    ///
    /// Errors, on all ranks:
    ///
    /// - an invalid part on any rank
    /// - as [`Pipeline::new`](crate::Pipeline::new)
    /// - options that differ
    pub fn new(ranks: &dyn Communicator, part: &'a Snapshot, options: &Options) -> Result<Self> {
        agree(ranks, check(part, options, ranks.size()))?;
        check_same(ranks, options)?;
        let census = Census::new(ranks, part)?;
        let side = options.box_size.or(part.box_size);
        let period = side.filter(|_| !options.open);
        let extent = extent(ranks, &part.points, period.unwrap_or(f64::INFINITY))?;
        let volume = match side {
            Some(side) => side.powi(3),
            None if census.n == 0 => 0.0,
            None => extent.axes.iter().map(|(lo, hi)| hi - lo).product(),
        };
        let about = about(ranks, part, &census)?;
        let universe = about.universe(&options.universe, side);
        let known = MatterInputs { about: &about, universe: &universe, kinds: [&census.kinds[..], &[]] };
        let share = known.share_of_matter(ranks, [Some(part), None], volume)?;
        let sets = known.particle_sets(ranks, [Some(part), None], !census.lacks_masses())?;
        let settled = || -> Result<_> {
            let scales = Scales::new(options.linking_length, census.n, volume, share)?;
            let outside = match period.filter(is_box) {
                Some(side) => extent.check(side, part.box_size == Some(side), "points", census.n)?,
                None => 0,
            };
            let spheres = match &options.overdensities[..] {
                [] => vec![],
                overdensities => thresholds(&about, &universe, overdensities, "overdensities")?,
            };
            let r200c = match (options.profiles, thresholds(&about, &universe, &[R200C], "profiles")) {
                (0, of_profiles) => of_profiles.ok(),
                (_, of_profiles) => Some(of_profiles?),
            };
            let unbinding = unbinding(options, &census, &universe)?;
            Ok((scales, outside, spheres, r200c.and_then(|r200c| r200c.first().copied()), unbinding))
        };
        let (scales, outside, thresholds, r200c, unbinding) = agree(ranks, settled())?;
        Ok(Self { about, census, extent, period, scales, outside, universe, thresholds, r200c, unbinding, sets })
    }

    /// Returns the same data, for the pipeline of particles that a rank has received.
    pub fn borrowed(&self) -> SharedState<'_> {
        SharedState { about: Cow::Borrowed(&self.about), ..self.clone() }
    }
}

/// Returns the error of a step that runs on one rank only.
pub(super) fn single_rank_error(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what}: not across ranks; run on one rank"))
}

/// Checks this rank's part; `ranks` is the number of ranks.
fn check(part: &Snapshot, options: &Options, ranks: usize) -> Result<()> {
    options.check()?;
    check_dimensions(part)?;
    if ranks == 1 {
        return Ok(());
    }
    if options.finder.has_subhalos() {
        return Err(single_rank_error("AdaptaHOP"));
    }
    // One process checks all particles when it measures halos. Owners of halos receive the members only, so each rank
    // checks its own particles here.
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
    check_numbers(part)
}

/// Returns an error for a velocity that is not finite, or a mass that is negative or not finite.
pub(super) fn check_numbers(part: &Snapshot) -> Result<()> {
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

/// Returns an error on all ranks if options differ. Collective.
fn check_same(ranks: &dyn Communicator, options: &Options) -> Result<()> {
    let digest = format!("{options:?}").bytes().fold(0, |digest, byte| mixed(digest ^ u64::from(byte)));
    if all_gather(ranks, digest)?.iter().any(|other| *other != digest) {
        let sentence = "options differ between ranks; all ranks must specify the same";
        return agree(ranks, Err(Error::new(ErrorKind::Parameter, sentence)));
    }
    Ok(())
}

/// Returns the data of a snapshot other than its particles. If the parts have their shares of the mass of all matter,
/// this mass is the sum of the shares. Collective.
fn about<'a>(ranks: &dyn Communicator, part: &'a Snapshot, census: &Census) -> Result<Cow<'a, Snapshot>> {
    let share = part.slice.as_ref().and_then(|slice| slice.matter.as_ref());
    // A part that is read without the others does not give the mass of the whole.
    let matter = match share.filter(|_| part.total_rows() == census.n) {
        share if any(ranks, share.is_some())? => {
            sum_across(ranks, &share.cloned().unwrap_or_default())?.map(|sum| sum.value())
        }
        _ => part.matter,
    };
    if ranks.size() == 1 && matter == part.matter {
        return Ok(Cow::Borrowed(part));
    }
    let mut about = part.without_particles();
    (about.matter, about.masses) = (matter, census.masses.clone());
    Ok(Cow::Owned(about))
}

fn thresholds(about: &Snapshot, universe: &Universe, overdensities: &[Overdensity], what: &str) -> Result<Vec<f64>> {
    if universe.omega_m.is_some() && about.masses == Masses::Unknown {
        return Err(Error::missing("masses", format!("{what} need masses; the snapshot has no masses")));
    }
    universe.thresholds(overdensities, what)
}

/// Returns the unbinding of the options, if they request it.
fn unbinding(options: &Options, census: &Census, universe: &Universe) -> Result<Option<Unbinding>> {
    let Finder::AdaptaHop { unbind: true, .. } = options.finder else { return Ok(None) };
    let lacks = |name, what: &str| Err(Error::missing(name, format!("bound masses need {what}")));
    if census.lacks_masses() {
        return lacks("masses", "masses; the snapshot has no masses");
    }
    if !census.has_velocities {
        return lacks("velocities", "velocities; the snapshot has no velocities");
    }
    let gravity = universe.conversion("bound masses")?.gravity();
    if !universe.has_velocity_unit {
        return lacks("velocity_unit", "the unit of velocities, which is unknown");
    }
    Ok(Some(Unbinding::new(gravity).softening(options.softening).min_members(options.min_members)))
}

/// The data that the mass of linked and other particles is compared with.
pub(super) struct MatterInputs<'k> {
    pub about: &'k Snapshot,
    pub universe: &'k Universe,
    /// The types of linked and of other particles on all ranks.
    pub kinds: [&'k [u8]; 2],
}

impl MatterInputs<'_> {
    /// Returns [`Scales::share_of_matter`] for a volume. `parts` are this rank's linked and other particles.
    /// Collective.
    pub fn share_of_matter(
        &self,
        ranks: &dyn Communicator,
        parts: [Option<&Snapshot>; 2],
        volume: f64,
    ) -> Result<Option<f64>> {
        let mass = matter_fraction::mass(self.about, self.kinds);
        let sum = match any(ranks, mass == ComparedMass::OfRead)? {
            true => sum_known(ranks, parts, matter_fraction::mass_read(parts))?.map(|sum| sum.value()),
            false => None,
        };
        let mass = match mass {
            ComparedMass::Known(mass) => Some(mass),
            ComparedMass::OfRead => sum,
            ComparedMass::Unknown => None,
        };
        Ok(matter_fraction::share(self.universe, mass, volume))
    }

    /// Returns the types that were linked, attached or not read. `parts` are this rank's linked and other particles;
    /// `has_masses` is `true` if the linked ones have masses. Collective.
    pub fn particle_sets(
        &self,
        ranks: &dyn Communicator,
        parts: [Option<&Snapshot>; 2],
        has_masses: bool,
    ) -> Result<ParticleSets> {
        let mut sets = ParticleSets::of_types(self.kinds, self.about);
        // The mass of a sample differs from that of all particles.
        let is_known = has_masses && self.about.matter.is_some() && self.about.subsample.is_none();
        if any(ranks, is_known && !sets.unread.is_empty())? {
            let mut own = MassSum::default();
            parts.into_iter().flatten().filter_map(mass_sum).for_each(|sum| own.merge(&sum));
            let read = sum_across(ranks, &own)?;
            let share =
                |(matter, read): (f64, MassSum)| (matter > 0.0).then(|| (1.0 - read.value() / matter).clamp(0.0, 1.0));
            sets.unread_share = self.about.matter.zip(read).and_then(share);
        }
        Ok(sets)
    }
}

/// Returns the sum of the sums of all ranks; `None` if a rank with particles has no sum. Collective.
fn sum_known(ranks: &dyn Communicator, parts: [Option<&Snapshot>; 2], own: Option<MassSum>) -> Result<Option<MassSum>> {
    let is_empty = parts.into_iter().flatten().all(|part| part.points.is_empty());
    let is_known = !any(ranks, own.is_none() && !is_empty)?;
    Ok(sum_across(ranks, &own.unwrap_or_default())?.filter(|_| is_known))
}

/// Returns the sum of the sums of all ranks. Collective.
fn sum_across(ranks: &dyn Communicator, own: &MassSum) -> Result<Option<MassSum>> {
    let mut words: Vec<u64> = own.words().into_iter().map(|word| word as u64).collect();
    ranks.all_reduce(&mut words, Reduction::Sum)?;
    let words: Vec<i64> = words.into_iter().map(|word| word as i64).collect();
    Ok(MassSum::from_words(&words))
}
