//! Spheres, profiles and structure of halos over linked and other particles together.
//!
//! In: the linked particles and the others of [`Pipeline::attaching`]. Out: spheres and profiles over all of them,
//! and the structure and motion of halos over linked members and attached particles.
//! Cost: if there are others, a copy of all positions, velocities and masses.

use ropewalk::halo::{
    Centers, Halos, Particles, Profile, Profiles, SphericalOverdensity, Structure, measure_structure, overdensities,
};
use ropewalk::{Result, Scalar};
use ropewalk_io::{Masses, Points, Snapshot, Table};
use ropewalk_table::{Catalog, Halo};

use super::particles::particles_of;
use super::state::with_particles;
use super::{FoundHalos, Pipeline};
use crate::errors;
use crate::overdensity_across::Spheres;

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

impl Pipeline<'_> {
    /// Returns positions, velocities and masses of all particles together. `None` if there are only linked particles.
    fn all(&self) -> Option<&Snapshot> {
        let others = self.others()?;
        Some(self.all.get_or_init(|| {
            let uses_f64 = uses_f64(&self.points, others);
            let points = joined(&self.points, &others.points, uses_f64);
            let velocities = match (&self.velocities, &others.velocities) {
                (Some(own), Some(more)) => Some(joined(own, more, uses_f64)),
                (Some(own), None) if others.points.is_empty() => Some(joined(own, &others.points, uses_f64)),
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

    /// Measures spheres about centres, over all particles that this process has read.
    pub(super) fn spheres_here(&self, centers: &Centers, thresholds: &[f64]) -> Result<Spheres> {
        match self.all().map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| overdensities(&particles, centers, thresholds)),
            Some((Points::F32(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
            Some((Points::F64(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
        }
    }

    /// Measures profiles about centres, over all particles that this process has read.
    pub(super) fn shells_here(&self, centers: &Centers, radii: &[f64], how: &Profiles) -> Result<Vec<Profile>> {
        match self.all().map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| how.run(&particles, centers, radii)),
            Some((Points::F32(table), all)) => how.run(&self.of(table, all)?, centers, radii),
            Some((Points::F64(table), all)) => how.run(&self.of(table, all)?, centers, radii),
        }
    }

    /// Measures the structure of halos over their linked members and attached particles, about centres and within
    /// spheres.
    pub(super) fn structure(
        &self,
        found: &FoundHalos<'_>,
        centers: &Centers,
        spheres: &[SphericalOverdensity],
        gravity: f64,
    ) -> Result<Vec<Structure>> {
        let Some(all) = self.all_if_attached(found) else {
            return with_particles!(self, |_positions, particles| {
                measure_structure(&found.halos, &particles, centers, spheres, gravity)
            });
        };
        let halos = self.halos_with_attached(found);
        with_all!(self, all, |particles| measure_structure(&halos, &particles, centers, spheres, gravity))
    }

    /// Returns mass, mean position and motion of each halo over its linked members and attached particles, in the
    /// order of `found`. `None` without attached particles.
    pub(super) fn halos_of_all(&self, found: &FoundHalos<'_>) -> Result<Option<Vec<Halo>>> {
        let Some(all) = self.all_if_attached(found) else { return Ok(None) };
        let halos = self.halos_with_attached(found);
        with_all!(self, all, |particles| rows_of(&halos, &particles)).map(Some)
    }

    /// Measures lists of linked and attached particles as halos, in their order. An attached particle is named by its
    /// index plus the number of linked particles.
    pub(super) fn halos_of_lists(
        &self,
        found: &FoundHalos<'_>,
        offsets: &[usize],
        members: &[u32],
    ) -> Result<Vec<Halo>> {
        let Some(all) = self.all_if_attached(found) else {
            let halos = Halos::from_lists(self.points.len(), offsets, members)?;
            return with_particles!(self, |_positions, particles| rows_of(&halos, &particles));
        };
        let halos = Halos::from_lists(all.points.len(), offsets, members)?;
        with_all!(self, all, |particles| rows_of(&halos, &particles))
    }

    /// Returns all particles together if some are attached.
    fn all_if_attached(&self, found: &FoundHalos<'_>) -> Option<&Snapshot> {
        found.attached.is_some().then(|| self.all()).flatten()
    }

    /// Returns the halos with their attached particles as members, among all particles together.
    fn halos_with_attached(&self, found: &FoundHalos<'_>) -> Halos {
        let attached = |halo| found.attached.as_ref().map_or(&[][..], |attached| attached.members(halo));
        found.halos.with_more_members(self.others().map_or(0, |others| others.points.len()), &attached)
    }

    fn of<'s, S: Scalar>(&self, table: &'s Table<S>, all: &'s Snapshot) -> Result<Particles<'s, S>> {
        Ok(particles_of(rows("points", table)?, all, self.whole.period))
    }
}

/// Measures halos, in their order.
fn rows_of<S: Scalar>(halos: &Halos, particles: &Particles<'_, S>) -> Result<Vec<Halo>> {
    let catalog = Catalog::new(halos, particles)?;
    let mut rows = catalog.halos().to_vec();
    for (row, &halo) in catalog.halos().iter().zip(catalog.order()) {
        rows[halo as usize] = *row;
    }
    Ok(rows)
}

fn rows<'s, S: Scalar>(what: &'static str, table: &'s Table<S>) -> Result<&'s [[S; 3]]> {
    table.rows::<3>().ok_or_else(|| errors::halo_dimension(what, table.dim()))
}

/// Returns `true` if linked and other points are joined as 64-bit floats.
fn uses_f64(linked: &Points, others: &Snapshot) -> bool {
    let wide = |points: &Points| matches!(points, Points::F64(_)) && !points.is_empty();
    matches!(linked, Points::F64(_)) || wide(&others.points) || others.velocities.as_ref().is_some_and(wide)
}

/// Concatenates points. If `uses_f64` is `true`, they are converted to 64 bits, which is exact.
fn joined(a: &Points, b: &Points, uses_f64: bool) -> Points {
    match (a, b) {
        (Points::F32(a), Points::F32(b)) if !uses_f64 => {
            Points::F32(Table::from_valid(3, [a.as_slice(), b.as_slice()].concat()))
        }
        (a, b) => Points::F64(Table::from_valid(3, [a, b].map(wide).concat())),
    }
}

fn wide(points: &Points) -> Vec<f64> {
    match points {
        Points::F32(table) => table.widened().into_vec(),
        Points::F64(table) => table.as_slice().to_vec(),
    }
}
