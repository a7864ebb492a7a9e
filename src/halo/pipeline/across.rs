//! The pipeline for a snapshot whose particles ranks share.
//!
//! In: on each rank a part of the particles, and the same options. Out: halos, each on one rank with all of its members; there they are
//! measured as in one process, and rank 0 gets all rows.
//! Cost: what is known of a member, as velocities and ids, is sent once, to the rank that owns its halo. Where spheres or profiles are asked
//! for, each rank keeps all particles of its region, and a tree of them.

use std::collections::BTreeSet;

use crate::cluster::Fof;
use crate::cluster::labels::check_clusters;
use crate::distributed::communicator::{all_gather, all_gather_v, gather, reduce};
use crate::distributed::{self, Communicator, Domain, Reduction, agree};
use crate::error::{Kind, Result};
use crate::geometry::Scalar;
use crate::halo::particles::{check_masses, check_velocities};
use crate::halo::pipeline::around::{Around, Asked, InRegions};
use crate::halo::pipeline::{Finder, Found, LinkingLength, Measured, Note, Options, Pipeline, Scales};
use crate::halo::{Halos, NoCenter};
use crate::io::extent::Extent;
use crate::io::{MassSum, Masses, Points, Snapshot, Table, TypeRun};
use crate::random::mixed;

/// The halos of a snapshot that ranks share, and what is needed to measure them.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk::halo::pipeline::{Across, LinkingLength, Options};
/// use ropewalk::io::{Points, Snapshot, Table};
///
/// let mut options = Options::default();
/// (options.linking_length, options.min_members) = (LinkingLength::Length(1.0), 2);
/// let rows = on_threads(2, |ranks| {
///     // One particle each, around the boundary of a periodic box.
///     let x = if ranks.rank() == 0 { 0.5f32 } else { 9.75 };
///     let mut part = Snapshot::new(Points::F32(Table::new(3, vec![x, 5.0, 5.0])?));
///     part.box_size = Some(10.0);
///     let across = Across::find(ranks, &part, &options)?;
///     let measured = across.measure(ranks, &across.pipeline()?)?;
///     Ok(measured.map(|measured| measured.catalog.halos()[0].center))
/// })?;
/// assert_eq!(rows, [Some([0.125, 5.0, 5.0]), None]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct Across<'a> {
    /// The members of owned halos, with what all particles have in common.
    pub(super) members: Snapshot,
    /// With the linking length in the unit of the particles.
    options: Options,
    pub(super) scales: Scales,
    outside: u64,
    /// Particles of all ranks, and whether they have ids.
    n: u64,
    has_ids: bool,
    pub(super) halos: distributed::Halos,
    /// All particles, if spheres or profiles are asked for.
    pub(super) around: Option<Around<'a>>,
}

impl<'a> Across<'a> {
    /// Finds the halos of all ranks' particles, of which `part` has those of this rank; what belongs to the whole, as box and units, all
    /// ranks name alike. Collective.
    ///
    /// # Errors
    /// On all ranks what [`Pipeline::new`] and [`Fof::run`] refuse on one; HOP and AdaptaHOP, which are of one process; velocities, ids,
    /// masses or types that only some ranks have.
    pub fn find(ranks: &'a dyn Communicator, part: &Snapshot, options: &Options) -> Result<Self> {
        agree(ranks, check(part, options))?;
        let text = format!("{options:?}");
        let digest = text.bytes().fold(0, |digest, byte| mixed(digest ^ u64::from(byte)));
        if all_gather(ranks, digest)?.iter().any(|other| *other != digest) {
            return agree(ranks, Err(Kind::AcrossOptions.into()));
        }
        let whole = Whole::of(ranks, part, options)?;
        let period = whole.side.filter(|_| !options.open);
        let fof = Fof::new(whole.scales.linking_length).min_members(options.min_members);
        let (halos, points, around) = if whole.is_wide {
            let table = wide(&part.points);
            let rows = table.rows::<3>().unwrap_or_default();
            let domain = Domain::new(ranks, rows, period)?;
            let halos = fof.run_on_domain(&domain)?;
            let members = halos.bring(ranks, rows)?;
            let around = whole.around(ranks, domain, part, options)?.map(Around::F64);
            (halos, Points::F64(Table::of(3, members.into_flattened())), around)
        } else {
            let rows = narrow(&part.points);
            let domain = Domain::new(ranks, rows, period)?;
            let halos = fof.run_on_domain(&domain)?;
            let members = halos.bring(ranks, rows)?;
            let around = whole.around(ranks, domain, part, options)?.map(Around::F32);
            (halos, Points::F32(Table::of(3, members.into_flattened())), around)
        };
        check_clusters(halos.labels().n_clusters() as usize)?;
        let mut members = Snapshot { points, matter: whole.matter, ..part.without_particles() };
        if whole.has_velocities {
            members.velocities = Some(if whole.has_wide_velocities {
                let table = part.velocities.as_ref().map(wide).unwrap_or_else(|| Table::of(3, vec![]));
                let rows = halos.bring(ranks, table.rows::<3>().unwrap_or_default())?;
                Points::F64(Table::of(3, rows.into_flattened()))
            } else {
                let rows = halos.bring(ranks, part.velocities.as_ref().map_or(&[][..], narrow))?;
                Points::F32(Table::of(3, rows.into_flattened()))
            });
        }
        members.ids = Some(if whole.has_ids {
            halos.bring(ranks, part.ids.as_deref().unwrap_or_default())?
        } else {
            halos.indices().to_vec()
        });
        members.types = whole.types_of(ranks, part, &halos)?;
        members.masses = match whole.masses {
            Masses::Each(_) => Masses::Each(halos.bring(ranks, &each(part))?),
            same => same,
        };
        let options = Options { linking_length: LinkingLength::Length(whole.scales.linking_length), ..options.clone() };
        Ok(Self {
            members,
            options,
            scales: whole.scales,
            outside: whole.outside,
            n: whole.n,
            has_ids: whole.has_ids,
            halos,
            around,
        })
    }

    /// The halos.
    pub fn halos(&self) -> &distributed::Halos {
        &self.halos
    }

    /// How many particles all ranks have.
    pub fn particles(&self) -> u64 {
        self.n
    }

    /// What is known of the members of owned halos, in the order of [`distributed::Halos::indices`].
    pub fn members(&self) -> &Snapshot {
        &self.members
    }

    /// The pipeline for the members of this rank's halos; what it says of the snapshot is said of that of all ranks.
    ///
    /// # Errors
    /// As [`Pipeline::new`].
    pub fn pipeline(&self) -> Result<Pipeline<'_>> {
        let mut pipeline = Pipeline::new(&self.members, &self.options)?;
        (pipeline.scales, pipeline.outside) = (self.scales, self.outside);
        (pipeline.n, pipeline.has_ids) = (self.n, self.has_ids);
        Ok(pipeline)
    }

    /// Measures the halos: each rank its own, and rank 0 returns the rows of all; the catalogue, its order and its notes are those of one
    /// process. Centres stay where their halos are, and only their columns come. Collective.
    ///
    /// # Errors
    /// As [`Pipeline::measure`].
    pub fn measure(&self, ranks: &dyn Communicator, pipeline: &Pipeline<'_>) -> Result<Option<Measured>> {
        let owned = self.halos.owned();
        let found = Found {
            halos: owned.clone(),
            subhalos: None,
            unbound: None,
            attached: None,
            density: None,
            on_device: None,
        };
        let mut measured = agree(ranks, pipeline.members_of(&found))?;
        if let (Some(around), Some(centers)) = (&self.around, &measured.centers)
            && !pipeline.thresholds.is_empty()
        {
            let masses = self.masses_of(owned);
            let (thresholds, least) = (&pipeline.thresholds[..], self.scales.linking_length);
            let spheres =
                around.spheres(ranks, &Asked { centers: centers.into(), masses: &masses, thresholds, least })?;
            agree(ranks, pipeline.add_spheres(&found, &spheres, &mut measured))?;
        }
        agree(ranks, pipeline.keep_columns(&mut measured))?;
        let Measured { catalog, notes, .. } = measured;
        let index = |members: &[u32]| members.first().map_or(u64::MAX, |&at| self.halos.indices()[at as usize]);
        let firsts: Vec<u64> = owned.iter().map(index).collect();
        let largest = catalog.halos().iter().map(|row| (row.tag, row.count)).collect::<Vec<_>>();
        let notes = join_notes(ranks, notes, &largest)?;
        let catalog = catalog.gather(ranks, &self.halos.numbers(), &firsts)?;
        Ok(catalog.map(|catalog| Measured { catalog, centers: None, notes }))
    }

    /// The mass of each of some halos of this rank's members.
    pub(super) fn masses_of(&self, halos: &Halos) -> Vec<f64> {
        let mass = |members: &[u32]| match &self.members.masses {
            Masses::Equal(mass) => mass * members.len() as f64,
            Masses::Each(masses) => members.iter().map(|&at| masses[at as usize]).sum(),
            Masses::Unknown => members.len() as f64,
        };
        halos.iter().map(mass).collect()
    }
}

/// What a rank can refuse by itself.
fn check(part: &Snapshot, options: &Options) -> Result<()> {
    options.check()?;
    if options.finder != Finder::FriendsOfFriends {
        return Err(Kind::AcrossOption { what: "finders other than friends of friends" }.into());
    }
    for (what, points) in [("points", Some(&part.points)), ("velocities", part.velocities.as_ref())] {
        if let Some(dim) = points.map(Points::dim).filter(|&dim| dim != 3) {
            return Err(Kind::HaloDimension { what, dim }.into());
        }
    }
    let points = part.points.len();
    let masses = if let Masses::Each(masses) = &part.masses { Some(masses.len()) } else { None };
    let lengths = [
        ("velocities", part.velocities.as_ref().map(Points::len)),
        ("ids", part.ids.as_ref().map(Vec::len)),
        ("masses", masses),
    ];
    for (what, len) in lengths {
        if let Some(len) = len.filter(|&len| len != points) {
            return Err(Kind::Length { what, len, points }.into());
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

/// What all ranks know of the whole.
struct Whole {
    n: u64,
    side: Option<f64>,
    scales: Scales,
    outside: u64,
    is_wide: bool,
    has_velocities: bool,
    has_wide_velocities: bool,
    has_ids: bool,
    /// Of [`Masses::Each`] only that it is so.
    masses: Masses,
    matter: Option<f64>,
    kinds: Vec<u8>,
}

impl Whole {
    fn of(ranks: &dyn Communicator, part: &Snapshot, options: &Options) -> Result<Self> {
        let own = part.points.len() as u64;
        let n = reduce(ranks, own, Reduction::Sum)?;
        // Ranks without particles know nothing against it, unless none has any.
        let knows = own > 0 || n == 0;
        let any = |is: bool| Ok(reduce(ranks, u64::from(is && knows), Reduction::Max)? == 1);
        let all = |is: bool, what: &'static str| {
            let [some, none] = [is, !is].map(any);
            if some? && none? { agree(ranks, Err(Kind::AcrossColumn { what }.into())) } else { any(is) }
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
        let extent = Extent::of(&part.points, period.unwrap_or(f64::INFINITY));
        let corners = |k: usize| extent.axes.get(k).copied().unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let of_ranks = all_gather(ranks, [0, 1, 2].map(|k| [corners(k).0, corners(k).1]))?;
        let outside = reduce(ranks, extent.outside, Reduction::Sum)?;
        let of_rank = |axes: &[[f64; 2]; 3]| Extent { axes: axes.map(|[lo, hi]| (lo, hi)).to_vec(), outside: 0 };
        let first = Extent { outside, ..of_rank(&[[f64::INFINITY, f64::NEG_INFINITY]; 3]) };
        let extent = of_ranks.iter().fold(first, |all, axes| all.join(&of_rank(axes)));
        let volume = match side {
            Some(side) => side.powi(3),
            None if n == 0 => 0.0,
            None => extent.axes.iter().map(|(lo, hi)| hi - lo).product(),
        };
        let is_box = |side: &f64| *side > 0.0 && *side < f64::INFINITY;
        let outside = match period.filter(is_box) {
            Some(side) => extent.check(side, part.box_size == Some(side), n),
            None => Ok(0),
        };
        let outside = agree(ranks, outside)?;
        let scales = agree(ranks, Scales::of(options.linking_length, n, volume))?;

        let one = if let Masses::Equal(mass) = part.masses { mass.to_bits() } else { u64::MAX };
        let ones: Vec<u64> =
            all_gather(ranks, [one, own])?.into_iter().filter(|of| of[1] > 0).map(|of| of[0]).collect();
        let masses = match ones.first() {
            _ if !has_masses && n > 0 => Masses::Unknown,
            Some(&first) if first != u64::MAX && ones.iter().all(|&one| one == first) => {
                Masses::Equal(f64::from_bits(first))
            }
            Some(_) => Masses::Each(vec![]),
            None => part.masses.clone(),
        };
        let matter = match part.slice.as_ref().and_then(|slice| slice.matter.as_ref()) {
            share if any_share(ranks, share.is_some())? => {
                let words = share.map_or_else(|| vec![0; MassSum::WORDS], |share| share.words().to_vec());
                let mut words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
                ranks.all_reduce(&mut words, Reduction::Sum)?;
                let words: Vec<i64> = words.into_iter().map(|word| word as i64).collect();
                MassSum::from_words(&words).map(|sum| sum.value())
            }
            _ => part.matter,
        };
        let kinds: BTreeSet<u8> = part.types.iter().filter(|run| run.count > 0).map(|run| run.particle_type).collect();
        let kinds = all_gather_v(ranks, &kinds.into_iter().collect::<Vec<_>>())?;
        let kinds: BTreeSet<u8> = kinds.values().iter().copied().filter(|_| has_types).collect();
        // What it lacks for spheres and profiles is said before halos are found.
        let bare = Snapshot { matter, masses: masses.clone(), ..part.without_particles() };
        agree(ranks, Pipeline::new(&bare, options).map(drop))?;
        Ok(Self {
            n,
            side,
            scales,
            outside,
            is_wide,
            has_velocities,
            has_wide_velocities,
            has_ids,
            masses,
            matter,
            kinds: kinds.into_iter().collect(),
        })
    }

    /// All particles, if spheres or profiles are asked for. Collective.
    fn around<'a, S: Scalar>(
        &self,
        ranks: &dyn Communicator,
        domain: Domain<'a, S, 3>,
        part: &Snapshot,
        options: &Options,
    ) -> Result<Option<InRegions<'a, S>>> {
        if options.overdensities.is_empty() && options.profiles == 0 {
            return Ok(None);
        }
        Ok(Some(InRegions::new(ranks, domain, &each(part), &self.masses)?))
    }

    /// The types of the members that this rank has, in stretches; those of all kinds, though there be none of some.
    fn types_of(&self, ranks: &dyn Communicator, part: &Snapshot, halos: &distributed::Halos) -> Result<Vec<TypeRun>> {
        let mut runs: Vec<TypeRun> =
            self.kinds.iter().map(|&particle_type| TypeRun { particle_type, count: 0 }).collect();
        if self.kinds.len() < 2 {
            runs.iter_mut().for_each(|run| run.count = halos.indices().len());
            return Ok(runs);
        }
        let of_run = |run: &TypeRun| std::iter::repeat_n(run.particle_type, run.count);
        for kind in halos.bring(ranks, &part.types.iter().flat_map(of_run).collect::<Vec<u8>>())? {
            match runs.last_mut() {
                Some(last) if last.particle_type == kind => last.count += 1,
                _ => runs.push(TypeRun { particle_type: kind, count: 1 }),
            }
        }
        Ok(runs)
    }
}

fn any_share(ranks: &dyn Communicator, own: bool) -> Result<bool> {
    Ok(reduce(ranks, own.into(), Reduction::Max)? == 1)
}

fn wide(points: &Points) -> Table<f64> {
    match points {
        Points::F32(table) => table.widened(),
        Points::F64(table) => table.clone(),
    }
}

/// Rows of 32 bits; none if they are of others, as where a rank has no particles.
fn narrow(points: &Points) -> &[[f32; 3]] {
    match points {
        Points::F32(table) => table.rows::<3>().unwrap_or_default(),
        Points::F64(_) => &[],
    }
}

/// A mass for each particle.
fn each(part: &Snapshot) -> Vec<f64> {
    match &part.masses {
        Masses::Equal(mass) => vec![*mass; part.points.len()],
        Masses::Each(masses) => masses.clone(),
        Masses::Unknown => vec![],
    }
}

/// The notes of all ranks as those of one; `rows` has the tag and the size of each halo here. Collective.
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
    // The largest halo first.
    all.sort_by_key(|note| (std::cmp::Reverse(note[0]), note[1]));
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
        .partition(|note| *note == Note::NoRedshift);
    Ok(before.into_iter().chain(joined).chain(after).collect())
}
