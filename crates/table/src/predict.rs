//! Prediction of clusters for new points of a table.

use ropewalk::Result;
use ropewalk::cluster::{Dbscan, Hdbscan, HdbscanClusters, HdbscanPrediction, Labels};
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{check_dim, of_one_precision, rows_of_same_kind, to_compiled_kind, with_rows};

/// Predicts the clusters of new points, as [`Dbscan::predict`] does. If the precisions differ, all points are
/// converted to 64 bits.
///
/// ```
/// use ropewalk::Dbscan;
/// use ropewalk_table::{Points, Table};
///
/// let dbscan = Dbscan::new(1.0, 3);
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 9.0])?);
/// let labels = ropewalk_table::dbscan(&points, &dbscan)?;
/// let new = Points::F64(Table::new(1, vec![0.5, 2.5])?);
/// assert_eq!(ropewalk_table::dbscan_predict(&points, &labels, &new, &dbscan)?, [0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Dbscan::predict`]. Also fails if new points have another dimension.
pub fn dbscan_predict(points: &Points, labels: &Labels, new: &Points, options: &Dbscan) -> Result<Vec<i32>> {
    guarded(|| {
        check_dim(NAME, new, points.dim())?;
        let (new, points) = of_one_precision(new, points);
        let (points, size) = to_compiled_kind(&points, options.box_size())?;
        let (new, _) = to_compiled_kind(&new, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.predict(rows, labels, rows_of_same_kind(rows, &new)?))
    })
}

/// Predicts the clusters of new points, as [`Hdbscan::predict`] does. If the precisions differ, all points are
/// converted to 64 bits.
///
/// ```
/// use ropewalk::Hdbscan;
/// use ropewalk_table::{Points, Table};
///
/// let hdbscan = Hdbscan::new(3).min_samples(2);
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 2.0, 30.0, 31.0, 32.0])?);
/// let clusters = ropewalk_table::hdbscan(&points, &hdbscan)?;
/// let new = Points::F32(Table::new(1, vec![1.5, 34.0])?);
/// assert_eq!(ropewalk_table::hdbscan_predict(&points, &clusters, &new, &hdbscan)?.labels, [0, 1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Hdbscan::predict`]. Also fails if new points have another dimension.
pub fn hdbscan_predict(
    points: &Points,
    clusters: &HdbscanClusters,
    new: &Points,
    options: &Hdbscan,
) -> Result<HdbscanPrediction> {
    guarded(|| {
        check_dim(NAME, new, points.dim())?;
        let (new, points) = of_one_precision(new, points);
        let (points, size) = to_compiled_kind(&points, options.box_size())?;
        let (new, _) = to_compiled_kind(&new, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.predict(rows, clusters, rows_of_same_kind(rows, &new)?))
    })
}

const NAME: &str = "the dimension of the new points";
