//! Linked and other particles together: spheres, profiles and the structure of halos.
//!
//! In: the linked particles and the others that were read ([`Pipeline::attaching`]). Out: spheres and profiles over all of them, and the
//! structure and motion of halos over their linked members and attached particles.
//! Cost: where there are others, a copy of all positions, velocities and masses.

use ropewalk::halo::{
    Centers, Halos, NoSphere, Particles, Profile, Profiles, SphericalOverdensity, Structure, measure_structure,
    overdensities,
};
use ropewalk::internals::halo::{check_masses, check_velocities};
use ropewalk::{Error, Result, Scalar, Space};
use ropewalk_io::{Masses, Points, Snapshot, Table};
use ropewalk_table::points::extent::{Extent, is_box};
use ropewalk_table::{Catalog, Halo};

use super::particles::particles_of;
use super::state::with_particles;
use super::{Found, Pipeline, Scales, filling};
use crate::errors;
use crate::particle_sets::kinds;

/// The name of all particles in an error about the periodic box.
pub(super) const ALL_POINTS: &str = "linked and attached points";

/// For each centre, a sphere for each threshold.
pub(super) type Spheres = Vec<Vec<std::result::Result<SphericalOverdensity, NoSphere>>>;

/// Runs `$work` with the [`Particles`] of a snapshot that holds all particles, in their precision.
macro_rules! with_all {
    ($pipeline:expr, $all:expr, |$particles:ident| $work:expr) => {
        match (&$all.points, &$all.velocities) {
            (Points::F32(table), Some(Points::F32(velocities))) => {
                let $particles = $pipeline.of(table, $all)?.velocities(rows("velocities", velocities)?);
                $work
            }
            (Points::F64(table), Some(Points::F64(velocities))) => {
                let $particles = $pipeline.of(table, $all)?.velocities(rows("velocities", velocities)?);
                $work
            }
            (Points::F32(table), _) => {
                let $particles = $pipeline.of(table, $all)?;
                $work
            }
            (Points::F64(table), _) => {
                let $particles = $pipeline.of(table, $all)?;
                $work
            }
        }
    };
}

impl<'a> Pipeline<'a> {
    /// Adds particles of other types. Halos are found among the linked particles alone; [`Pipeline::attach`] then attaches the others to
    /// them. Spheres and profiles are over all particles, linked or not, attached or not. For halos with subhalos
    /// ([`Finder::AdaptaHop`](super::Finder::AdaptaHop)) the others count in spheres and profiles alone.
    ///
    /// Errors: positions or velocities without three coordinates; coordinates or velocities that are not finite; more than 2^32 - 1
    /// particles in all; linked and other particles that together span more than the periodic box; masses of the linked or of the other
    /// particles alone; masses that are negative or not finite; units that differ.
    pub fn attaching(mut self, others: &'a Snapshot) -> Result<Self> {
        check_others(self.snapshot, others, &[0; 256])?;
        let (n, max) = (self.points.len().saturating_add(others.points.len()), u32::MAX as usize);
        if n > max {
            return Err(Error::too_many_points(n, max));
        }
        self.outside_others = 0;
        if let Some(side) = self.period.filter(is_box) {
            let all = Extent::of(&others.points, side);
            self.outside_others = all.outside;
            let all = all.join(&Extent::of(&self.points, side));
            all.check(side, self.snapshot.box_size == Some(side), ALL_POINTS, n as u64)?;
        }
        self.others_without_ids = match &others.ids {
            Some(_) => others.types_without_ids.clone(),
            None => kinds(others),
        };
        let (linked, volume) = (self.snapshot, self.scales.volume);
        let read = || filling::mass_read(linked, Some(others));
        let mass = filling::mass(linked, linked.matter, [&kinds(linked), &kinds(others)], read);
        let share = filling::share(&self.universe, mass, volume);
        self.scales = Scales::of(self.options.linking_length, self.n, volume, share)?;
        self.others = Some(others);
        self.all.take();
        Ok(self)
    }

    /// All particles together, if there are others than the linked ones: positions, velocities and masses.
    fn all(&self) -> Option<&Snapshot> {
        let others = self.others?;
        Some(self.all.get_or_init(|| {
            let is_wide = is_wide(&self.points, others);
            let points = joined(&self.points, &others.points, is_wide);
            let velocities = match (&self.velocities, &others.velocities) {
                (Some(own), Some(more)) => Some(joined(own, more, is_wide)),
                (Some(own), None) if others.points.is_empty() => Some(joined(own, &others.points, is_wide)),
                _ => None,
            };
            let each = |snapshot: &Snapshot| match &snapshot.masses {
                Masses::Equal(mass) => vec![*mass; snapshot.points.len()],
                Masses::Each(masses) => masses.clone(),
                Masses::Unknown => vec![1.0; snapshot.points.len()],
            };
            let masses = Masses::Each([each(self.snapshot), each(others)].concat());
            let mut joined = Snapshot::new(points);
            joined.masses = masses;
            joined.velocities = velocities;
            joined
        }))
    }

    /// Spheres about centres, over all particles that were read.
    pub(super) fn spheres(&self, centers: &Centers, thresholds: &[f64]) -> Result<Spheres> {
        match self.all().map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| overdensities(&particles, centers, thresholds)),
            Some((Points::F32(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
            Some((Points::F64(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
        }
    }

    /// Profiles about centres, over all particles that were read.
    pub(super) fn shells(&self, centers: &Centers, radii: &[f64], how: &Profiles) -> Result<Vec<Profile>> {
        match self.all().map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| how.run(&particles, centers, radii)),
            Some((Points::F32(table), all)) => how.run(&self.of(table, all)?, centers, radii),
            Some((Points::F64(table), all)) => how.run(&self.of(table, all)?, centers, radii),
        }
    }

    /// The structure of halos over their linked members and attached particles, about centres and within spheres.
    pub(super) fn structure(
        &self,
        found: &Found<'_>,
        centers: &Centers,
        spheres: &[SphericalOverdensity],
        gravity: f64,
    ) -> Result<Vec<Structure>> {
        let of_all = found.attached.is_some().then(|| self.all()).flatten();
        let Some(all) = of_all else {
            return with_particles!(self, |_positions, particles| {
                measure_structure(&found.halos, &particles, centers, spheres, gravity)
            });
        };
        let halos = self.halos_with_attached(found)?;
        with_all!(self, all, |particles| measure_structure(&halos, &particles, centers, spheres, gravity))
    }

    /// Mass, mean position and motion of each halo over its linked members and attached particles, in the order of `found`. `None` without
    /// attached particles.
    pub(super) fn halos_of_all(&self, found: &Found<'_>) -> Result<Option<Vec<Halo>>> {
        let Some(all) = found.attached.is_some().then(|| self.all()).flatten() else { return Ok(None) };
        let halos = self.halos_with_attached(found)?;
        let catalog = with_all!(self, all, |particles| Catalog::new(&halos, &particles))?;
        let mut rows = catalog.halos().to_vec();
        for (row, &halo) in catalog.halos().iter().zip(catalog.order()) {
            rows[halo as usize] = *row;
        }
        Ok(Some(rows))
    }

    /// The halos with their attached particles, among all particles together.
    fn halos_with_attached(&self, found: &Found<'_>) -> Result<Halos> {
        let first = self.points.len() as u32;
        let (mut offsets, mut members) = (vec![0], vec![]);
        for (halo, linked) in found.halos.iter().enumerate() {
            members.extend_from_slice(linked);
            let attached = found.attached.as_ref().map_or(&[][..], |attached| attached.members(halo));
            members.extend(attached.iter().map(|place| first + place));
            offsets.push(members.len());
        }
        let n = self.points.len() + self.others.map_or(0, |others| others.points.len());
        Halos::from_lists(n, &offsets, &members)
    }

    fn of<'s, S: Scalar>(&self, table: &'s Table<S>, all: &'s Snapshot) -> Result<Particles<'s, S>> {
        Ok(particles_of(rows("points", table)?, all, self.period))
    }
}

/// Checks that dimensions, masses and units of `others` fit those of the linked particles, and that their numbers are finite. Errors about
/// a particle have its index among those of its type, of which lower ranks have as many as `before` says.
pub(super) fn check_others(linked: &Snapshot, others: &Snapshot, before: &[u64; 256]) -> Result<()> {
    let points = Some(&others.points).filter(|points| !points.is_empty());
    for (what, points) in [("attached points", points), ("velocities of attached points", others.velocities.as_ref())] {
        if let Some(dim) = points.map(Points::dim).filter(|&dim| dim != 3) {
            return Err(errors::halo_dimension(what, dim));
        }
    }
    let is_bare = |snapshot: &Snapshot| snapshot.masses == Masses::Unknown;
    if is_bare(linked) != is_bare(others) && !others.points.is_empty() && !linked.points.is_empty() {
        let (with, without) = if is_bare(others) { ("linked", "attached") } else { ("attached", "linked") };
        let message = format!("the {with} particles have masses, and the {without} ones have none");
        return Err(Error::missing("masses", message));
    }
    check_numbers(others).map_err(|error| of_type(error, others, before))?;
    let (own, theirs) = (&linked.units, &others.units);
    let differ = [
        ("lengths", own.length.zip(theirs.length).is_some_and(|(a, b)| a != b)),
        ("masses", own.mass.zip(theirs.mass).is_some_and(|(a, b)| a != b)),
        ("velocities", own.velocity.zip(theirs.velocity).is_some_and(|(a, b)| a != b)),
    ];
    if let Some((what, _)) = differ.into_iter().find(|(_, differ)| *differ) {
        let message = format!("{what} of the linked particles are in other units than those of the attached ones");
        return Err(Error::missing("attach", message));
    }
    Ok(())
}

/// Errors: a coordinate or a velocity that is not finite; a mass that is negative or not finite.
fn check_numbers(others: &Snapshot) -> Result<()> {
    match &others.points {
        Points::F32(table) => {
            ropewalk::internals::bvh::check(table.rows::<3>().unwrap_or_default(), &Space::OPEN).map(drop)?
        }
        Points::F64(table) => {
            ropewalk::internals::bvh::check(table.rows::<3>().unwrap_or_default(), &Space::OPEN).map(drop)?
        }
    }
    match &others.velocities {
        Some(Points::F32(table)) => check_velocities(table.rows::<3>().unwrap_or_default())?,
        Some(Points::F64(table)) => check_velocities(table.rows::<3>().unwrap_or_default())?,
        None => {}
    }
    match &others.masses {
        Masses::Equal(mass) => check_masses(&[*mass]),
        Masses::Each(masses) => check_masses(masses),
        Masses::Unknown => Ok(()),
    }
}

/// An error about a particle, with the particle's type and its index among those of its type. Other errors stay as they are.
fn of_type(error: Error, others: &Snapshot, before: &[u64; 256]) -> Error {
    let mut earlier = *before;
    let Some(mut place) = error.index() else { return error };
    for run in &others.types {
        let count = &mut earlier[usize::from(run.particle_type)];
        if place < run.count {
            return error.of_type(run.particle_type, *count as usize + place);
        }
        place -= run.count;
        *count += run.count as u64;
    }
    error
}

fn rows<'s, S: Scalar>(what: &'static str, table: &'s Table<S>) -> Result<&'s [[S; 3]]> {
    table.rows::<3>().ok_or_else(|| errors::halo_dimension(what, table.dim()))
}

/// Whether linked points and others are joined in 64 bits.
pub(super) fn is_wide(linked: &Points, others: &Snapshot) -> bool {
    let wide = |points: &Points| matches!(points, Points::F64(_)) && !points.is_empty();
    matches!(linked, Points::F64(_)) || wide(&others.points) || others.velocities.as_ref().is_some_and(wide)
}

/// Points one after the other, widened if asked for, which is exact.
pub(super) fn joined(a: &Points, b: &Points, is_wide: bool) -> Points {
    match (a, b) {
        (Points::F32(a), Points::F32(b)) if !is_wide => {
            Points::F32(Table::of(3, [a.as_slice(), b.as_slice()].concat()))
        }
        (a, b) => Points::F64(Table::of(3, [a, b].map(wide).concat())),
    }
}

fn wide(points: &Points) -> Vec<f64> {
    match points {
        Points::F32(table) => table.widened().into_vec(),
        Points::F64(table) => table.as_slice().to_vec(),
    }
}
