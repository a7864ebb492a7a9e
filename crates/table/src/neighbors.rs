//! Nearest neighbours of points, with a temporary tree.

use ropewalk::geometry::BoxSize;
use ropewalk::search::{Nearest, Neighbor};
use ropewalk::{Csr, Result};

use super::queries::NAME;
use super::rows::check_dim;
use super::{Bvh, Points};

/// Finds the nearest neighbours of each point among the points themselves, as [`ropewalk::Bvh::nearest_neighbors`]
/// does: nearest first, ties by index.
///
/// ```
/// use ropewalk_table::{Points, Table, nearest_neighbors};
/// use ropewalk::geometry::BoxSize;
/// use ropewalk::Nearest;
///
/// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0])?);
/// let lists = nearest_neighbors(&points, Nearest::new(1).excluding_self(), BoxSize::default())?;
/// assert_eq!((lists.of(2)[0].index, lists.of(2)[0].distance2), (1, 4.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails as [`ropewalk::Bvh::build`] does. Fails if a periodic box is not positive, or has another dimension than the
/// points, or if the lists exceed memory.
pub fn nearest_neighbors(
    points: &Points,
    wanted: impl Into<Nearest>,
    box_size: impl Into<BoxSize>,
) -> Result<Csr<Neighbor>> {
    Bvh::build_periodic(points, box_size)?.nearest_neighbors(wanted)
}

/// Finds the nearest neighbours of each of `queries` among `points`, as [`ropewalk::Bvh::nearest_all`] does. If the
/// precisions differ, both are converted to 64 bits.
///
/// ```
/// use ropewalk::geometry::BoxSize;
/// use ropewalk_table::{Points, Table, nearest_to};
///
/// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0])?);
/// let queries = Points::F32(Table::new(1, vec![2.5])?);
/// assert_eq!(nearest_to(&queries, &points, 1, BoxSize::default())?.of(0)[0].index, 2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails as [`ropewalk::Bvh::build`] does. Fails if a periodic box is not positive, or has another dimension than the
/// points. Fails if queries have another dimension than the points, or coordinates that are not finite.
pub fn nearest_to(
    queries: &Points,
    points: &Points,
    wanted: impl Into<Nearest>,
    box_size: impl Into<BoxSize>,
) -> Result<Csr<Neighbor>> {
    check_dim(NAME, queries, points.dim())?;
    let bvh = match (queries, points) {
        // Convert now; the tree would do it later, and keep both.
        (Points::F64(_), Points::F32(narrow)) => Bvh::build_periodic(&Points::F64(narrow.widened()), box_size)?,
        _ => Bvh::build_periodic(points, box_size)?,
    };
    bvh.nearest(queries, wanted)
}
