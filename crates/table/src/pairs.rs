//! All pairs of points within a radius, with a temporary tree.

use ropewalk::Result;
use ropewalk::geometry::BoxSize;
use ropewalk::internals::cancel::guarded;

use super::{Bvh, Pairs, Points};

/// Finds all pairs of points within `radius` of each other (inclusive).
///
/// ```
/// use ropewalk::geometry::BoxSize;
/// use ropewalk_table::{Points, Table, pairs};
///
/// let points = Points::F64(Table::new(1, vec![3.0, 0.0, 1.0])?);
/// let pairs = pairs(&points, 2.0, BoxSize::default())?;
/// assert_eq!((pairs.indices.as_slice(), &pairs.distances2[..]), (&[0, 2, 1, 2][..], &[4.0, 1.0][..]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails as [`ropewalk::Bvh::build`] does. Fails if the pairs exceed memory, if the radius is negative or not finite,
/// or if a periodic box is not positive or has another dimension than the points.
pub fn pairs(points: &Points, radius: f64, box_size: impl Into<BoxSize>) -> Result<Pairs> {
    guarded(|| {
        super::queries::check_radius(radius)?;
        Bvh::build_periodic(points, box_size)?.pairs(radius)
    })
}
