//! Friends of friends and DBSCAN for tables that are distributed over ranks.

use std::borrow::Cow;

use ropewalk::Result;
use ropewalk::cluster::{Dbscan, Fof};
use ropewalk::distributed::{Communicator, Halos, Labels, Term, agree, agree_on};
use ropewalk::geometry::{Boundary, BoxSize};
use ropewalk::internals::cancel::across;

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// The numbers by which ranks compare the functions that they call.
const FOF: u64 = 1;
const DBSCAN: u64 = 2;

/// Finds the halos of the points of all ranks, as [`Fof::run_across`] does. Collective.
///
/// Cost: as [`Fof::run_across`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Fof;
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_table::{Points, Table};
///
/// let labels = on_threads(3, |ranks| {
///     let points = Points::F32(Table::new(1, vec![ranks.rank() as f32, 9.0])?);
///     Ok(ropewalk_table::fof_across(ranks, &points, &Fof::new(1.0))?.labels().as_slice().to_vec())
/// })?;
/// assert_eq!(labels, [[0, 1], [0, 1], [0, 1]]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails on all ranks as [`Fof::run_across`] does. Fails if dimension or precision differ between ranks, or if ranks
/// call different functions of this module.
pub fn fof_across(ranks: &dyn Communicator, points: &Points, options: &Fof) -> Result<Halos> {
    across(ranks.size(), || {
        let (rows, size) = alike(ranks, FOF, points, options.box_size())?;
        let sides = agree(ranks, options.box_size().sides_of(points.dim()))?;
        let options = options.clone().periodic(size);
        let halos = with_rows!(&*rows, rows => options.run_across(ranks, rows))?;
        // The boundary has the axes of the caller's points, without those added for compiled kinds.
        Ok(halos.with_boundary(sides.map_or(Boundary::Open, Boundary::Periodic)))
    })
}

/// Finds the clusters of the points of all ranks, as [`Dbscan::run_across`] does. Collective.
///
/// Cost: as [`Dbscan::run_across`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Dbscan;
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_table::{Points, Table};
///
/// let error = on_threads(2, |ranks| {
///     let points = Points::F64(Table::new(1 + ranks.rank(), vec![0.0, 1.0])?);
///     ropewalk_table::dbscan_across(ranks, &points, &Dbscan::new(1.0, 2))
/// });
/// assert!(error.unwrap_err().to_string().starts_with("coordinates per point is 2 on rank 1 and 1 on rank 0"));
/// ```
///
/// # Errors
/// Fails on all ranks as [`Dbscan::run_across`] does. Fails if dimension or precision differ between ranks, or if
/// ranks call different functions of this module.
pub fn dbscan_across(ranks: &dyn Communicator, points: &Points, options: &Dbscan) -> Result<Labels> {
    across(ranks.size(), || {
        let (rows, size) = alike(ranks, DBSCAN, points, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*rows, rows => options.run_across(ranks, rows))
    })
}

/// Returns the points as rows of a compiled kind, which is the same on all ranks, and their box. Collective.
fn alike<'a>(
    ranks: &dyn Communicator,
    function: u64,
    points: &'a Points,
    size: &BoxSize,
) -> Result<(Cow<'a, Points>, BoxSize)> {
    let bits = match points {
        Points::F32(_) => 32,
        Points::F64(_) => 64,
    };
    let terms = [("coordinates per point", points.dim() as u64), ("bits per coordinate (float32 or float64)", bits)];
    agree_on(ranks, function, &terms.map(|(name, value)| (name, Term::Whole(value))))?;
    agree(ranks, to_compiled_kind(points, size))
}
