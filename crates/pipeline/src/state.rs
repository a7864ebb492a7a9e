//! The pipeline: a snapshot and options that are checked against each other.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use ropewalk::distributed::{Alone, Communicator};
use ropewalk::halo::{Particles, Universe};
use ropewalk::{Result, Scalar};
use ropewalk_io::{Masses, Points, Snapshot, Table};

use super::others::OtherTypes;
use super::particles::particles_of;
use super::shared_state::{SharedState, single_rank_error};
use super::{Finder, FoundHalos, Options, ParticleSets, Scales, errors};

/// A snapshot with options that fit it. The methods are the steps, in their order. One process has the whole snapshot
/// ([`Pipeline::new`]). Ranks have a part each ([`Pipeline::across`]) and call the same steps.
#[derive(Clone)]
pub struct Pipeline<'a> {
    pub(super) ranks: &'a dyn Communicator,
    pub(super) snapshot: &'a Snapshot,
    pub(super) options: &'a Options,
    /// Points, in one precision with `velocities`, so that generic code needs one type. Across ranks both are as in
    /// the snapshot.
    pub(super) points: Cow<'a, Points>,
    pub(super) velocities: Option<Cow<'a, Points>>,
    pub(super) whole: SharedState<'a>,
    /// Particles of other types, which join the halos.
    pub(super) others: Option<OtherTypes<'a>>,
    /// The linked and the other particles together, once they are needed.
    pub(super) all: OnceLock<Snapshot>,
}

impl fmt::Debug for Pipeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { snapshot, options, whole, others, .. } = self;
        let mut pipeline = f.debug_struct("Pipeline");
        pipeline.field("snapshot", snapshot).field("options", options).field("whole", whole);
        pipeline.field("others", others).finish_non_exhaustive()
    }
}

/// Runs `$work` with the positions and the [`Particles`] of a pipeline, in their precision.
macro_rules! with_particles {
    ($pipeline:expr, |$positions:ident, $particles:ident| $work:expr) => {{
        let (points, velocities) = (&*$pipeline.points, $pipeline.velocities.as_deref());
        match (points, velocities) {
            (ropewalk_table::Points::F32(points), Some(ropewalk_table::Points::F32(velocities))) => {
                let ($positions, $particles) = $pipeline.particles(points, Some(velocities))?;
                $work
            }
            (ropewalk_table::Points::F64(points), Some(ropewalk_table::Points::F64(velocities))) => {
                let ($positions, $particles) = $pipeline.particles(points, Some(velocities))?;
                $work
            }
            (ropewalk_table::Points::F32(points), _) => {
                let ($positions, $particles) = $pipeline.particles(points, None)?;
                $work
            }
            (ropewalk_table::Points::F64(points), _) => {
                let ($positions, $particles) = $pipeline.particles(points, None)?;
                $work
            }
        }
    }};
}
pub(super) use with_particles;

/// Returns points and velocities of a snapshot in the wider precision of both.
fn in_one_precision(snapshot: &Snapshot) -> (Cow<'_, Points>, Option<Cow<'_, Points>>) {
    // Widening is exact.
    match (&snapshot.points, &snapshot.velocities) {
        (Points::F32(points), Some(velocities @ Points::F64(_))) => {
            (Cow::Owned(Points::F64(points.widened())), Some(Cow::Borrowed(velocities)))
        }
        (points @ Points::F64(_), Some(Points::F32(velocities))) => {
            (Cow::Borrowed(points), Some(Cow::Owned(Points::F64(velocities.widened()))))
        }
        (points, velocities) => (Cow::Borrowed(points), velocities.as_ref().map(Cow::Borrowed)),
    }
}

impl<'a> Pipeline<'a> {
    /// Checks the options and the snapshot against each other.
    ///
    /// # Errors
    /// - as [`Options::check`]
    /// - points or velocities without three coordinates
    /// - points that span more than the box
    /// - a linking length in mean separations, if there is no mean separation
    /// - overdensities, profiles or unbinding without masses, units or a density of matter
    ///   ([`ErrorKind::Missing`](ropewalk::ErrorKind::Missing))
    pub fn new(snapshot: &'a Snapshot, options: &'a Options) -> Result<Self> {
        Self::across(&Alone, snapshot, options)
    }

    /// Returns the pipeline for a snapshot that ranks share. `part` has the particles of this rank. Data of the
    /// whole, such as box and units, must be the same on all ranks. Each halo is on one rank with all of its members.
    /// All steps are collective, and an error on one rank is an error on all.
    ///
    /// Cost: the data of a member, such as velocities and ids, are sent once, to the rank that owns its halo. If
    /// spheres or profiles are requested, each rank keeps all particles of its region, and a tree of them. A single
    /// rank sends and copies nothing.
    ///
    /// ```
    /// use ropewalk::distributed::{Communicator, on_threads};
    /// use ropewalk_pipeline::{LinkingLength, Options, Pipeline};
    /// use ropewalk_io::{Points, Snapshot, Table};
    ///
    /// let mut options = Options::default();
    /// (options.linking_length, options.min_members) = (LinkingLength::Length(1.0), 2);
    /// let rows = on_threads(2, |ranks| {
    ///     // One particle each, around the boundary of a periodic box.
    ///     let x = if ranks.rank() == 0 { 0.5f32 } else { 9.75 };
    ///     let mut part = Snapshot::new(Points::F32(Table::new(3, vec![x, 5.0, 5.0])?));
    ///     part.box_size = Some(10.0);
    ///     let pipeline = Pipeline::across(ranks, &part, &options)?;
    ///     let found = pipeline.find()?;
    ///     let measured = pipeline.gather(&found, &pipeline.measure(&found)?)?;
    ///     Ok(measured.map(|measured| measured.catalog.halos()[0].center))
    /// })?;
    /// assert_eq!(rows, [Some([0.125, 5.0, 5.0]), None]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - as [`Pipeline::new`]
    /// - velocities, ids, masses or types that only some ranks have; options that differ
    /// - a rank that has ended
    /// - on several ranks: AdaptaHOP, which needs one process; velocities and masses that one process refuses in
    ///   [`Pipeline::measure`]
    pub fn across(ranks: &'a dyn Communicator, part: &'a Snapshot, options: &'a Options) -> Result<Self> {
        let whole = SharedState::new(ranks, part, options)?;
        // Several ranks only measure the members of their halos.
        let (points, velocities) = match ranks.size() {
            1 => in_one_precision(part),
            _ => (Cow::Borrowed(&part.points), part.velocities.as_ref().map(Cow::Borrowed)),
        };
        Ok(Self { ranks, snapshot: part, options, points, velocities, whole, others: None, all: OnceLock::new() })
    }

    /// Returns the pipeline that measures this rank's halos: in one process this one, across ranks that of the
    /// members of the halos that it owns. Its data of the whole are those of all ranks.
    pub(super) fn owner_pipeline<'f>(&'f self, found: &'f FoundHalos<'_>) -> Cow<'f, Pipeline<'f>> {
        let Some(shared) = &found.shared else { return Cow::Borrowed(self) };
        let (points, velocities) = in_one_precision(&shared.members);
        let others = self.others.as_ref().zip(found.attached.as_ref());
        Cow::Owned(Pipeline {
            ranks: &Alone,
            snapshot: &shared.members,
            options: self.options,
            points,
            velocities,
            whole: self.whole.borrowed(),
            others: others.map(|(others, attached)| OtherTypes { part: &attached.others, ..others.clone() }),
            all: OnceLock::new(),
        })
    }

    /// Returns an error if there are several ranks.
    pub(super) fn require_one_rank(&self, what: &'static str) -> Result<()> {
        if self.ranks.size() > 1 { Err(single_rank_error(what)) } else { Ok(()) }
    }

    /// Returns the halo finder.
    pub fn finder(&self) -> &Finder {
        &self.options.finder
    }

    /// Returns the number of linked particles on all ranks.
    pub fn n_particles(&self) -> u64 {
        self.whole.census.n
    }

    /// Returns the data of the snapshot other than its particles, such as header, units and notes. In one process
    /// this is the snapshot itself. Across ranks it is a snapshot without particles, with the mass of all matter of
    /// the whole.
    pub fn about(&self) -> &Snapshot {
        &self.whole.about
    }

    /// Returns the linking length and the volume.
    pub fn scales(&self) -> &Scales {
        &self.whole.scales
    }

    /// Returns the side of the periodic box; `None` for open boundaries.
    pub fn period(&self) -> Option<f64> {
        self.whole.period
    }

    /// Returns the number of points outside of the periodic box `[0, side]`, which are wrapped into it. Counts linked
    /// particles and those of [`Pipeline::attaching`].
    pub fn outside(&self) -> u64 {
        self.whole.outside + self.others.as_ref().map_or(0, |others| others.outside)
    }

    /// Returns the cosmology and the units.
    pub fn universe(&self) -> &Universe {
        &self.whole.universe
    }

    /// Returns the types that were linked, attached or not read.
    pub fn particle_sets(&self) -> &ParticleSets {
        &self.whole.sets
    }

    /// Returns this rank's particles of other types.
    pub(super) fn others(&self) -> Option<&'a Snapshot> {
        self.others.as_ref().map(|others| others.part)
    }

    /// Returns the position of a particle as in the snapshot; `None` if there is no such particle.
    pub fn position(&self, index: u32) -> Option<[f64; 3]> {
        self.points.in_space(index as usize)
    }

    /// Returns `true` if particles have no masses, so that masses are numbers of particles.
    pub fn counts_particles(&self) -> bool {
        self.whole.about.masses == Masses::Unknown
    }

    /// Returns a mass for each particle; `None` if all are equal or unknown.
    pub(super) fn masses(&self) -> Option<&'a [f64]> {
        if let Masses::Each(masses) = &self.snapshot.masses { Some(masses) } else { None }
    }

    /// Returns the positions, and the particles with all their data.
    pub(super) fn particles<'p, S: Scalar>(
        &'p self,
        points: &'p Table<S>,
        velocities: Option<&'p Table<S>>,
    ) -> Result<(&'p [[S; 3]], Particles<'p, S>)> {
        let rows =
            |what, table: &'p Table<S>| table.rows::<3>().ok_or_else(|| errors::halo_dimension(what, table.dim()));
        let positions = rows("points", points)?;
        let mut particles = particles_of(positions, self.snapshot, self.whole.period);
        if let Some(velocities) = velocities {
            particles = particles.velocities(rows("velocities", velocities)?);
        }
        Ok((positions, particles))
    }
}
