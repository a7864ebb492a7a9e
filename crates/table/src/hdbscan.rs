//! HDBSCAN* for a table.

use ropewalk::Result;
use ropewalk::cluster::{Hdbscan, HdbscanClusters};
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// Finds the clusters of points, as [`Hdbscan::run`] does.
///
/// Cost: as [`Hdbscan::run`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::Hdbscan;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 20.0, 22.0, 90.0])?);
/// let clusters = ropewalk_table::hdbscan(&points, &Hdbscan::new(2))?;
/// assert_eq!(clusters.labels().as_slice(), [0, 0, 1, 1, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Hdbscan::run`].
pub fn hdbscan(points: &Points, options: &Hdbscan) -> Result<HdbscanClusters> {
    guarded(|| {
        let (points, size) = to_compiled_kind(points, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.run(rows))
    })
}
