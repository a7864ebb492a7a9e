//! Particles of other types than the linked ones, and checks that both fit together.
//!
//! Cost: a pass over their points, velocities and masses.

use ropewalk::distributed::Communicator;
use ropewalk::geometry::Space;
use ropewalk::internals::distributed::all_gather_v;
use ropewalk::{Error, Result};
use ropewalk_io::{Points, Snapshot};

use crate::census::Census;
use crate::errors;
use crate::shared_state::check_numbers;

/// The other particles of this rank, and the census of those of all ranks.
#[derive(Clone, Debug)]
pub(super) struct OtherTypes<'a> {
    pub part: &'a Snapshot,
    pub census: Census,
    /// The number of other particles outside of the periodic box, on all ranks.
    pub outside: u64,
    /// The number of particles of each type on lower ranks.
    pub before: [u64; 256],
    /// The types whose particles have no ids.
    pub types_without_ids: Vec<u8>,
}

/// Returns the types of other particles without ids.
pub(super) fn types_without_ids(part: &Snapshot, census: &Census) -> Vec<u8> {
    match (census.n, census.has_ids) {
        (0, _) => vec![],
        (_, true) => part.types_without_ids.clone(),
        (_, false) => census.kinds.clone(),
    }
}

/// Returns the number of particles of each type on lower ranks. Collective.
pub(super) fn counts_before(ranks: &dyn Communicator, part: &Snapshot) -> Result<[u64; 256]> {
    let mut counts = [0u64; 256];
    part.types.iter().for_each(|run| counts[usize::from(run.particle_type)] += run.count as u64);
    let mut before = [0; 256];
    for of_rank in all_gather_v(ranks, &counts)?.iter().take(ranks.rank()) {
        before.iter_mut().zip(of_rank).for_each(|(before, count)| *before += count);
    }
    Ok(before)
}

/// Checks that dimensions, number and units of `others` fit those of the linked particles, and that their values are
/// valid. An error about a particle has its index among those of its type on all ranks; `before` has the number on
/// lower ranks.
pub(super) fn check_others(linked: &Snapshot, others: &Snapshot, before: &[u64; 256]) -> Result<()> {
    let points = Some(&others.points).filter(|points| !points.is_empty());
    for (what, points) in [("attached points", points), ("velocities of attached points", others.velocities.as_ref())] {
        if let Some(dim) = points.map(Points::dim).filter(|&dim| dim != 3) {
            return Err(errors::halo_dimension(what, dim));
        }
    }
    check_points(others).and_then(|()| check_numbers(others)).map_err(|error| of_type(error, others, before))?;
    let (own, theirs) = (&linked.units, &others.units);
    let differ = [
        ("lengths", own.length.zip(theirs.length).is_some_and(|(a, b)| a != b)),
        ("masses", own.mass.zip(theirs.mass).is_some_and(|(a, b)| a != b)),
        ("velocities", own.velocity.zip(theirs.velocity).is_some_and(|(a, b)| a != b)),
    ];
    if let Some((what, _)) = differ.into_iter().find(|(_, differ)| *differ) {
        let message = format!("units of {what} differ between linked and attached particles");
        return Err(Error::missing("attach", message));
    }
    let (n, max) = (linked.points.len().saturating_add(others.points.len()), u32::MAX as usize);
    if n > max { Err(Error::too_many_points(n, max)) } else { Ok(()) }
}

/// Returns an error if a coordinate is not finite.
fn check_points(others: &Snapshot) -> Result<()> {
    let open = &Space::OPEN;
    match &others.points {
        Points::F32(table) => ropewalk::internals::bvh::check(table.rows::<3>().unwrap_or_default(), open).map(drop),
        Points::F64(table) => ropewalk::internals::bvh::check(table.rows::<3>().unwrap_or_default(), open).map(drop),
    }
}

/// Returns an error about a particle with its type and its index among those of its type. Other errors are unchanged.
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
