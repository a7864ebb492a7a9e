//! The pipeline for a snapshot whose particles ranks share.
//!
//! In: on each rank a part of the particles, and the same options. Out: halos, each on one rank with all of its members; there they are
//! measured as in one process, and rank 0 gets all rows.
//! Cost: what is known of a member, as velocities and ids, is sent once, to the rank that owns its halo. Where spheres or profiles are asked
//! for, each rank keeps all particles of its region, and a tree of them.

use ropewalk::distributed::{self, Communicator, agree};
use ropewalk::halo::{Halos, NoCenter};
use ropewalk::internals::cluster::check_clusters;
use ropewalk::internals::distributed::{all_gather, gather};
use ropewalk::internals::random::mixed;
use ropewalk::{Error, ErrorKind, Result};
use ropewalk_io::{Masses, Points, Snapshot, Table};

use crate::around::{Around, Asked};
use crate::others_across::{Joined, Others, sets};
use crate::whole::{Place, Whole, check, each, narrow, wide};
use crate::{Found, LinkingLength, Measured, Note, Options, ParticleSets, Pipeline, Scales};

/// The halos of a snapshot that ranks share, and what is needed to measure them.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_pipeline::{Across, LinkingLength, Options};
/// use ropewalk_io::{Points, Snapshot, Table};
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
    /// Types of other particles that have none.
    others_without_ids: Vec<u8>,
    pub(super) halos: distributed::Halos,
    /// All particles, if spheres or profiles are asked for.
    pub(super) around: Option<Around<'a>>,
    /// The particles that joined halos, if there are any of other types.
    pub(super) joined: Option<Joined>,
    pub(super) sets: ParticleSets,
    place: Place,
}

impl<'a> Across<'a> {
    /// Finds the halos of all ranks' particles, of which `part` has those of this rank; what belongs to the whole, as box and units, all
    /// ranks name alike. Collective.
    ///
    /// # Errors
    /// On all ranks what [`Pipeline::new`] and [`Fof::run`](ropewalk::Fof::run) or [`Hop::run`](ropewalk::Hop::run) refuse on one; AdaptaHOP, which is of one process;
    /// velocities, ids, masses or types that only some ranks have; options that differ.
    pub fn find(ranks: &'a dyn Communicator, part: &Snapshot, options: &Options) -> Result<Self> {
        Self::find_in(ranks, part, None, options, Place::Cpu)
    }

    /// The same with particles of other types, of which `others` has those of this rank: they join halos as in [`Pipeline::attach`], and
    /// count in spheres and profiles. Collective.
    ///
    /// # Errors
    /// As [`Across::find`] and [`Pipeline::attaching`].
    pub fn find_attaching(
        ranks: &'a dyn Communicator,
        part: &Snapshot,
        others: &Snapshot,
        options: &Options,
    ) -> Result<Self> {
        Self::find_in(ranks, part, Some(others), options, Place::Cpu)
    }

    /// The same where each rank has a device, which finds the groups of its region and the centres of the halos that it owns:
    /// [`Fof`](ropewalk::gpu::Fof) alone, with centres as of [`Pipeline::find_on`]. Ranks may share one. Collective.
    ///
    /// # Errors
    /// As [`Across::find_attaching`] and [`Pipeline::find_on`]; HOP.
    #[cfg(feature = "gpu")]
    pub fn find_on(
        ranks: &'a dyn Communicator,
        part: &Snapshot,
        others: Option<&Snapshot>,
        options: &Options,
        device: ropewalk::gpu::Device,
    ) -> Result<Self> {
        Self::find_in(ranks, part, others, options, Place::Device(device))
    }

    fn find_in(
        ranks: &'a dyn Communicator,
        part: &Snapshot,
        others: Option<&Snapshot>,
        options: &Options,
        place: Place,
    ) -> Result<Self> {
        agree(ranks, check(part, options, place))?;
        let text = format!("{options:?} {}", others.is_some());
        let digest = text.bytes().fold(0, |digest, byte| mixed(digest ^ u64::from(byte)));
        if all_gather(ranks, digest)?.iter().any(|other| *other != digest) {
            let sentence = "ranks give differing options; all are to give the same";
            return agree(ranks, Err(Error::new(ErrorKind::Parameter, sentence)));
        }
        let mut whole = Whole::of(ranks, part, options)?;
        let period = whole.side.filter(|_| !options.open);
        let others = others.map(|others| Others::of(ranks, part, &whole, others, period)).transpose()?;
        if let Some(others) = &others {
            whole.scales = others.scales(ranks, part, &whole, options)?;
        }
        let sets = sets(ranks, part, &whole, others.as_ref())?;
        let has_others = others.is_some();
        let (halos, points, around) = if whole.is_wide {
            let table = wide(&part.points);
            let rows = table.rows::<3>().unwrap_or_default();
            let (halos, around) = whole.halos(ranks, part, options, place, has_others, rows)?;
            let around = around.map(Around::F64);
            let members = halos.bring(ranks, rows)?;
            (halos, Points::F64(Table::of(3, members.into_flattened())), around)
        } else {
            let rows = narrow(&part.points);
            let (halos, around) = whole.halos(ranks, part, options, place, has_others, rows)?;
            let around = around.map(Around::F32);
            let members = halos.bring(ranks, rows)?;
            (halos, Points::F32(Table::of(3, members.into_flattened())), around)
        };
        check_clusters(halos.labels().n_clusters() as usize)?;
        let joined = others.as_ref().map(|others| others.join(ranks, part, &whole, &halos, period)).transpose()?;
        let has_spheres = !options.overdensities.is_empty() || options.profiles > 0;
        let around = match &others {
            Some(others) if has_spheres => Some(others.around(ranks, part, &whole, period)?),
            _ => around,
        };
        let mut members = part.without_particles();
        members.points = points;
        members.matter = whole.matter;
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
            outside: whole.outside + others.as_ref().map_or(0, |others| others.outside),
            n: whole.n,
            has_ids: whole.has_ids,
            others_without_ids: others.as_ref().map_or(vec![], Others::types_without_ids),
            halos,
            around,
            joined,
            sets,
            place,
        })
    }

    /// The halos.
    pub fn halos(&self) -> &distributed::Halos {
        &self.halos
    }

    /// The labels of the other particles that this rank came with, -1 for none, in their order; `None` without other particles.
    pub fn attached_labels(&self) -> Option<&[i64]> {
        self.joined.as_ref().map(|joined| &joined.points.labels[..])
    }

    /// How many linked particles all ranks have.
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
        if let Some(joined) = &self.joined {
            pipeline = pipeline.attaching(&joined.snapshot)?;
        }
        pipeline.scales = self.scales;
        (pipeline.outside, pipeline.outside_others) = (self.outside, 0);
        (pipeline.n, pipeline.has_ids) = (self.n, self.has_ids);
        pipeline.others_without_ids.clone_from(&self.others_without_ids);
        pipeline.whole_sets = Some(self.sets.clone());
        Ok(pipeline)
    }

    /// Measures the halos: each rank its own, and rank 0 returns the rows of all; the catalogue, its order and its notes are those of one
    /// process. Centres stay where their halos are, and only their columns come. Collective.
    ///
    /// # Errors
    /// As [`Pipeline::measure`].
    pub fn measure(&self, ranks: &dyn Communicator, pipeline: &Pipeline<'_>) -> Result<Option<Measured>> {
        let owned = self.halos.owned();
        let measured = self.measured(ranks, pipeline)?;
        let Measured { catalog, notes, .. } = measured;
        let index = |members: &[u32]| members.first().map_or(u64::MAX, |&at| self.halos.indices()[at as usize]);
        let firsts: Vec<u64> = owned.iter().map(index).collect();
        let largest = catalog.halos().iter().map(|row| (row.tag, row.count)).collect::<Vec<_>>();
        let notes = join_notes(ranks, notes, &largest)?;
        let catalog = catalog.gather(ranks, &self.halos.numbers(), &firsts)?;
        Ok(catalog.map(|catalog| Measured { catalog, centers: None, notes }))
    }

    /// Measures the halos: each rank its own, and keeps their rows; together these are the rows of [`Across::measure`]. Labels are those of
    /// all ranks, notes those of this one. Collective; nothing is sent but what is around centres, where spheres are asked for.
    ///
    /// # Errors
    /// As [`Pipeline::measure`].
    pub fn measure_owned(&self, ranks: &dyn Communicator, pipeline: &Pipeline<'_>) -> Result<Measured> {
        let measured = self.measured(ranks, pipeline)?;
        Ok(Measured { catalog: measured.catalog.labelled(&self.halos.numbers()), ..measured })
    }

    /// What this rank measures, with labels of its own. Collective.
    fn measured(&self, ranks: &dyn Communicator, pipeline: &Pipeline<'_>) -> Result<Measured> {
        let owned = self.halos.owned();
        let found = Found {
            halos: owned.clone(),
            subhalos: None,
            unbound: None,
            attached: self.joined.as_ref().map(|joined| joined.attached(owned)),
            density: None,
            on_device: match self.place {
                Place::Cpu => None,
                #[cfg(feature = "gpu")]
                Place::Device(device) => Some(agree(ranks, pipeline.centers_on(owned, device))?),
            },
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
        agree(ranks, pipeline.describe_and_keep(&mut measured))?;
        Ok(measured)
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
        .partition(|note| !matches!(note, Note::NoVelocityUnit | Note::NoAttachedVelocities));
    Ok(before.into_iter().chain(joined).chain(after).collect())
}
