//! DBSCAN of a table.

use ropewalk::Result;
use ropewalk::cluster::{Dbscan, Labels};
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{compiled, with_rows};

/// The clusters of points, as [`Dbscan::run`] finds them.
///
/// Errors: as [`Dbscan::run`]. Cost: as there; points of other kinds than the compiled ones are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Dbscan;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 9.0])?);
/// assert_eq!(ropewalk_table::dbscan(&points, &Dbscan::new(1.0, 2))?.as_slice(), [0, 0, 0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn dbscan(points: &Points, options: &Dbscan) -> Result<Labels> {
    guarded(|| {
        let (points, size) = compiled(points, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.run(rows))
    })
}
