//! DBSCAN for a table.

use ropewalk::Result;
use ropewalk::cluster::{Dbscan, Labels};
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// Finds the clusters of points, as [`Dbscan::run`] does.
///
/// Cost: as [`Dbscan::run`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Dbscan;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 9.0])?);
/// assert_eq!(ropewalk_table::dbscan(&points, &Dbscan::new(1.0, 2))?.as_slice(), [0, 0, 0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Dbscan::run`].
pub fn dbscan(points: &Points, options: &Dbscan) -> Result<Labels> {
    guarded(|| {
        let (points, size) = to_compiled_kind(points, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.run(rows))
    })
}
