//! A snapshot and options that are checked against each other, and what follows from the two.

use std::borrow::Cow;
use std::sync::OnceLock;

use ropewalk::halo::{Particles, Unbinding, Universe};
use ropewalk::{Result, Scalar};
use ropewalk_io::{Masses, Points, Snapshot, Table};

use super::particles::particles_of;
use super::{Finder, Options, ParticleSets, Scales, errors};

/// A snapshot and options that fit each other. Its methods are the steps, in their order.
#[derive(Clone, Debug)]
pub struct Pipeline<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) options: &'a Options,
    /// In one precision, so that one type stands for both.
    pub(super) points: Cow<'a, Points>,
    pub(super) velocities: Option<Cow<'a, Points>>,
    pub(super) scales: Scales,
    pub(super) period: Option<f64>,
    /// Points outside of the box: linked ones, and others.
    pub(super) outside: u64,
    pub(super) outside_others: u64,
    pub(super) universe: Universe,
    pub(super) thresholds: Vec<f64>,
    /// The density of R200c, if units and cosmology give one.
    pub(super) r200c: Option<f64>,
    pub(super) unbinding: Option<Unbinding>,
    /// How many particles are searched for halos, and whether they have ids.
    pub(super) n: u64,
    pub(super) has_ids: bool,
    /// Particles of other types, which join the halos or count in spheres alone.
    pub(super) others: Option<&'a Snapshot>,
    /// Types of these particles that have no ids.
    pub(super) others_without_ids: Vec<u8>,
    /// The linked particles and the others together, once they are needed.
    pub(super) all: OnceLock<Snapshot>,
    /// The types that were linked, attached or not read, where this snapshot is a part of a whole.
    pub(super) whole_sets: Option<ParticleSets>,
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

impl<'a> Pipeline<'a> {
    /// What a halo is.
    pub fn finder(&self) -> &Finder {
        &self.options.finder
    }

    /// The linking length and the volume.
    pub fn scales(&self) -> &Scales {
        &self.scales
    }

    /// The side of the periodic box that halos are found in.
    pub fn period(&self) -> Option<f64> {
        self.period
    }

    /// The number of points outside of the periodic box `[0, side]`, which are wrapped into it: linked ones, and those of
    /// [`Pipeline::attaching`].
    pub fn outside(&self) -> u64 {
        self.outside + self.outside_others
    }

    /// The cosmology and the units.
    pub fn universe(&self) -> &Universe {
        &self.universe
    }

    /// The types that were linked, attached or not read.
    pub fn particle_sets(&self) -> ParticleSets {
        self.whole_sets.clone().unwrap_or_else(|| ParticleSets::of(self.snapshot, self.others, self.joins()))
    }

    /// Whether other particles join halos. Halos with subhalos have no linking length that they could join by.
    pub(super) fn joins(&self) -> bool {
        !self.options.finder.has_subhalos()
    }

    /// The position of a particle, as the snapshot has it; `None` if there is no such particle.
    pub fn position(&self, index: u32) -> Option<[f64; 3]> {
        match &*self.points {
            Points::F32(table) => table.rows::<3>()?.get(index as usize).map(|row| row.map(Into::into)),
            Points::F64(table) => table.rows::<3>()?.get(index as usize).copied(),
        }
    }

    /// Returns `true` if particles have no masses, so that masses are numbers of particles.
    pub fn counts_particles(&self) -> bool {
        self.snapshot.masses == Masses::Unknown
    }

    /// A mass for each particle, unless all are equal.
    pub(super) fn masses(&self) -> Option<&'a [f64]> {
        if let Masses::Each(masses) = &self.snapshot.masses { Some(masses) } else { None }
    }

    /// Positions and all that is known of the particles.
    pub(super) fn particles<'p, S: Scalar>(
        &'p self,
        points: &'p Table<S>,
        velocities: Option<&'p Table<S>>,
    ) -> Result<(&'p [[S; 3]], Particles<'p, S>)> {
        let rows =
            |what, table: &'p Table<S>| table.rows::<3>().ok_or_else(|| errors::halo_dimension(what, table.dim()));
        let positions = rows("points", points)?;
        let mut particles = particles_of(positions, self.snapshot, self.period);
        if let Some(velocities) = velocities {
            particles = particles.velocities(rows("velocities", velocities)?);
        }
        Ok((positions, particles))
    }
}
