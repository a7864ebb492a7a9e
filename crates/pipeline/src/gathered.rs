//! Columns of particles, sent to the ranks that own their halos.
//!
//! In: on each rank its part of a snapshot, and the route of its particles. Out: a snapshot of the received
//! particles.
//! Cost: a particle is sent once for each column.

use std::borrow::Cow;

use bytemuck::Pod;
use ropewalk::Result;
use ropewalk::distributed::{AttachedPoints, Communicator, Halos};
use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};

use crate::attached::type_of_each;
use crate::census::Census;

/// The route of this rank's particles to the ranks that own their halos.
pub(super) trait Route {
    /// Sends a column and returns the values of the received particles. Collective.
    fn send_column<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>>;
}

impl Route for Halos {
    fn send_column<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        Halos::send_column(self, ranks, column)
    }
}

impl Route for AttachedPoints {
    fn send_column<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        AttachedPoints::send_column(self, ranks, column)
    }
}

/// Returns a snapshot of the received particles with the given `ids`. Points have 64 bits if `uses_f64` is `true`.
/// Collective.
pub(super) fn gathered(
    ranks: &dyn Communicator,
    route: &impl Route,
    part: &Snapshot,
    census: &Census,
    uses_f64: bool,
    ids: Vec<u64>,
) -> Result<Snapshot> {
    let mut all = part.without_particles();
    all.points = vectors(ranks, route, Some(&part.points), uses_f64)?;
    if census.has_velocities {
        all.velocities = Some(vectors(ranks, route, part.velocities.as_ref(), census.has_wide_velocities)?);
    }
    all.ids = Some(ids);
    all.types = match census.kinds[..] {
        // With at most one type, types need not be sent.
        [] | [_] => {
            let mut runs = runs_of(&census.kinds, vec![]);
            runs.iter_mut().for_each(|run| run.count = all.points.len());
            runs
        }
        _ => runs_of(&census.kinds, route.send_column(ranks, &type_of_each(part))?),
    };
    all.masses = match &census.masses {
        Masses::Each(_) => Masses::Each(route.send_column(ranks, &each(part))?),
        same => same.clone(),
    };
    Ok(all)
}

/// Sends points or velocities and returns those of the received particles.
fn vectors(ranks: &dyn Communicator, route: &impl Route, column: Option<&Points>, uses_f64: bool) -> Result<Points> {
    Ok(if uses_f64 {
        let table = column.map(wide);
        let rows = table.as_ref().map_or(&[][..], |table| rows(table));
        Points::F64(Table::from_valid(3, route.send_column(ranks, rows)?.into_flattened()))
    } else {
        Points::F32(Table::from_valid(3, route.send_column(ranks, column.map_or(&[][..], narrow))?.into_flattened()))
    })
}

/// Returns runs of particles of one type. The first runs are empty, one for each of `kinds`.
fn runs_of(kinds: &[u8], each: Vec<u8>) -> Vec<TypeRun> {
    let mut runs: Vec<TypeRun> = kinds.iter().map(|&particle_type| TypeRun { particle_type, count: 0 }).collect();
    for kind in each {
        match runs.last_mut() {
            Some(last) if last.particle_type == kind => last.count += 1,
            _ => runs.push(TypeRun { particle_type: kind, count: 1 }),
        }
    }
    runs
}

/// Returns the table in 64 bits.
pub(super) fn wide(points: &Points) -> Cow<'_, Table<f64>> {
    match points {
        Points::F32(table) => Cow::Owned(table.widened()),
        Points::F64(table) => Cow::Borrowed(table),
    }
}

/// Returns the rows of a 64-bit table. Empty if they do not have three numbers, as on ranks without particles.
pub(super) fn rows(table: &Table<f64>) -> &[[f64; 3]] {
    table.rows::<3>().unwrap_or_default()
}

/// Returns the rows of a 32-bit table. Empty for 64-bit tables and for rows without three numbers, as on ranks
/// without particles.
pub(super) fn narrow(points: &Points) -> &[[f32; 3]] {
    match points {
        Points::F32(table) => table.rows::<3>().unwrap_or_default(),
        Points::F64(_) => &[],
    }
}

/// Returns a mass for each particle; empty if masses are not known.
pub(super) fn each(part: &Snapshot) -> Vec<f64> {
    match &part.masses {
        Masses::Equal(mass) => vec![*mass; part.points.len()],
        Masses::Each(masses) => masses.clone(),
        Masses::Unknown => vec![],
    }
}
