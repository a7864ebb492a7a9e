//! Friends of friends of a table.

use ropewalk::cluster::{Fof, Halos};
use ropewalk::internals::cancel::guarded;
use ropewalk::{Boundary, Result};

use super::Points;
use super::rows::{compiled, with_rows};

/// The halos of points, as [`Fof::run`] finds them.
///
/// Errors: as [`Fof::run`]. Cost: as there; points of other kinds than the compiled ones are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Fof;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 9.0])?);
/// assert_eq!(ropewalk_table::fof(&points, &Fof::new(1.0))?.members(0), [0, 1, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn fof(points: &Points, options: &Fof) -> Result<Halos> {
    guarded(|| {
        let sides = options.box_size().sides_of(points.dim())?;
        let (rows, size) = compiled(points, options.box_size())?;
        let options = options.clone().periodic(size);
        let halos = with_rows!(&*rows, rows => options.run(rows))?;
        // Of the axes that the caller knows.
        Ok(halos.in_boundary(sides.map_or(Boundary::Open, Boundary::Periodic)))
    })
}
