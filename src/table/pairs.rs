//! All pairs of a table's points within a radius.
//!
//! In: a tree. Out: pairs in ascending order, with their distances.
//! Cost: that of the neighbours of all points. Memory: up to 64 bytes a pair, 4 a point.

use super::bvh::check_memory;
use super::{Bvh, Points, Table};
use crate::bvh::{self, copied};
use crate::error::Result;
use crate::geometry::{BoxSize, Scalar};
use crate::parallel::list_tasks;

/// Points whose pairs a task lists.
const TASK: usize = 1 << 10;

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
    super::queries::check_radius(radius)?;
    Bvh::build(points, box_size)?.pairs(radius)
}

/// The pairs of a tree.
pub(super) fn list<S: Scalar, const D: usize>(tree: &bvh::Bvh<S, D>, radius: f64) -> Result<Pairs> {
    // Of lists both ways, pairs as they are found, and the result, at most.
    check_memory(usize::try_from(tree.count_pairs(radius)).unwrap_or(usize::MAX), "pairs", 64)?;
    let positions = tree.positions();
    let place = |index: usize| tree.item(positions[index] as usize).lo;
    let lists = tree.neighbors(radius);
    let found = list_tasks(tree.len(), TASK, &|range| {
        let mut found = vec![];
        for i in range {
            let (start, own) = (found.len(), place(i));
            let others = lists.of(i).iter().filter(|&&j| j as usize > i);
            found.extend(others.map(|&j| ([i as u32, j], tree.space().distance2(&own, &place(j as usize)))));
            found[start..].sort_unstable_by_key(|(pair, _)| *pair);
        }
        found
    });
    drop(lists);
    let indices = copied(&found, |(pair, _)| *pair).into_flattened();
    let distances2 = copied(&found, |(_, distance2)| *distance2);
    Ok(Pairs { indices: Table::of(2, indices), distances2 })
}
