//! Friends of friends for a table.

use ropewalk::Result;
use ropewalk::cluster::{Fof, Halos};
use ropewalk::geometry::Boundary;
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// Finds the halos of points, as [`Fof::run`] does.
///
/// Cost: as [`Fof::run`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Fof;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 9.0])?);
/// assert_eq!(ropewalk_table::fof(&points, &Fof::new(1.0))?.members(0), [0, 1, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Fof::run`].
pub fn fof(points: &Points, options: &Fof) -> Result<Halos> {
    guarded(|| {
        let sides = options.box_size().sides_of(points.dim())?;
        let (rows, size) = to_compiled_kind(points, options.box_size())?;
        let options = options.clone().periodic(size);
        let halos = with_rows!(&*rows, rows => options.run(rows))?;
        // The boundary has the axes of the caller's points, without those added for compiled kinds.
        Ok(halos.with_boundary(sides.map_or(Boundary::Open, Boundary::Periodic)))
    })
}
