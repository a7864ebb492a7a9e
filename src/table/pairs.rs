//! All pairs of a table's points within a radius.
//!
//! In: a tree. Out: pairs in ascending order, with their distances.
//! Cost: that of the neighbours of all points. Memory: up to 32 bytes a pair, 4 a point.

use super::bvh::check_memory;
use super::{Bvh, Points, Table};
use crate::bvh::{self, copied};
use crate::cancel::guarded;
use crate::error::Result;
use crate::geometry::{BoxSize, Scalar};

/// Pairs of points that are near each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The lower index and the higher one, in ascending order.
    pub indices: Table<u32>,
    /// The squared distance of each pair.
    pub distances2: Vec<f64>,
}

/// All pairs of points within `radius` of each other (inclusive).
///
/// Errors: points that [`crate::Bvh::build`] refuses; more pairs than memory holds; a radius that is negative or not finite; a periodic
/// box that is not positive, or not of the points' dimension.
///
/// ```
/// use ropewalk::BoxSize;
/// use ropewalk::table::{Points, Table, pairs};
///
/// let points = Points::F64(Table::new(1, vec![3.0, 0.0, 1.0])?);
/// let pairs = pairs(&points, 2.0, BoxSize::default())?;
/// assert_eq!((pairs.indices.as_slice(), &pairs.distances2[..]), (&[0, 2, 1, 2][..], &[4.0, 1.0][..]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn pairs(points: &Points, radius: f64, box_size: impl Into<BoxSize>) -> Result<Pairs> {
    guarded(|| {
        super::queries::check_radius(radius)?;
        Bvh::build(points, box_size)?.pairs(radius)
    })
}

/// The pairs of a tree.
pub(super) fn list<S: Scalar, const D: usize>(tree: &bvh::Bvh<S, D>, radius: f64) -> Result<Pairs> {
    // Of lists both ways, pairs as they are found, and the result, at most.
    check_memory(usize::try_from(tree.count_pairs(radius)).unwrap_or(usize::MAX), "pairs", 32)?;
    let pairs = tree.pairs(radius);
    let positions = tree.positions();
    let place = |index: u32| tree.item(positions[index as usize] as usize).lo;
    let distances2 = copied(&pairs, |&[i, j]| tree.space().distance2(&place(i), &place(j)));
    Ok(Pairs { indices: Table::of(2, pairs.into_flattened()), distances2 })
}
