//! Checks that the points of all ranks fit a periodic box.
//!
//! In: the points of each rank, and the sides of a box. Out: the number of points outside the box, or an error on all
//! ranks if the points of all ranks together span more than a side.
//! Cost: one pass over the points, and 16 bytes from each rank for each axis.

use ropewalk::Result;
use ropewalk::distributed::{Communicator, Reduction, agree};
use ropewalk::internals::distributed::{all_gather_v, reduce};

use crate::points::Points;
use crate::points::extent::{Extent, is_box};

/// Returns the number of points of all ranks outside the periodic box `[0, side]`, like [`Points::check_box`] for one
/// process. Collective.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_table::{Points, Table, check_box_across};
///
/// let error = on_threads(2, |ranks| {
///     // Each rank has one point, which alone has no extent.
///     let points = Points::F32(Table::new(3, vec![100.0 * ranks.rank() as f32; 3])?);
///     check_box_across(ranks, &points, 1.0, false)
/// });
/// assert!(error.unwrap_err().to_string().contains("the points run from 0 to 100"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails on all ranks if the points of all ranks together span more than [`Points::check_box`] allows, or if a rank
/// has ended.
pub fn check_box_across(ranks: &dyn Communicator, points: &Points, side: f64, is_of_file: bool) -> Result<u64> {
    let all = reduce(ranks, points.len() as u64, Reduction::Sum)?;
    if !is_box(&side) {
        return Ok(0);
    }
    agree(ranks, extent(ranks, points, side)?.check(side, is_of_file, "points", all))
}

/// Checks the points of all ranks against a box with a side for each axis, like [`Points::check_sides`] for one
/// process. All ranks pass the same sides. Collective.
///
/// # Errors
/// Fails on all ranks if the points of all ranks together span more than a side, or if a rank has ended.
pub fn check_sides_across(ranks: &dyn Communicator, points: &Points, sides: &[f64]) -> Result<()> {
    let all = reduce(ranks, points.len() as u64, Reduction::Sum)?;
    // The extent is the same on all ranks, so all take the same branch.
    let Some((axis, side)) = extent(ranks, points, f64::INFINITY)?.too_wide(sides) else { return Ok(()) };
    agree(ranks, Err(extent(ranks, points, side)?.refusal(axis, side, "points", all)))
}

/// Returns the range of the points of all ranks along each axis, and the number of points with a coordinate outside
/// `[0, side]`. Collective.
///
/// All ranks return the same, including those without points, whose tables may have fewer axes.
pub fn extent(ranks: &dyn Communicator, points: &Points, side: f64) -> Result<Extent> {
    let own = Extent::new(points, side);
    let axes: Vec<[f64; 2]> = own.axes.iter().map(|&(lo, hi)| [lo, hi]).collect();
    let of_ranks = all_gather_v(ranks, &axes)?;
    let outside = reduce(ranks, own.outside, Reduction::Sum)?;
    let dim = of_ranks.iter().map(<[_]>::len).max().unwrap_or(0);
    let none = Extent { axes: vec![(f64::INFINITY, f64::NEG_INFINITY); dim], outside };
    let of_rank = |axes: &[[f64; 2]]| Extent { axes: axes.iter().map(|&[lo, hi]| (lo, hi)).collect(), outside: 0 };
    Ok(of_ranks.iter().fold(none, |all, axes| all.join(&of_rank(axes))))
}

#[cfg(test)]
mod tests {
    use ropewalk::distributed::on_threads;

    use super::*;
    use crate::points::Table;

    #[test]
    fn ranks_without_points_know_all_axes() {
        let refused = on_threads(3, |ranks| {
            let (dim, values) = if ranks.rank() == 1 { (3, vec![0.0, 0.0, 0.0, 0.5, 0.5, 9.0]) } else { (1, vec![]) };
            let points = Points::F64(Table::new(dim, values)?);
            let box_error = check_box_across(ranks, &points, 1.0, false).unwrap_err().to_string();
            Ok([box_error, check_sides_across(ranks, &points, &[1.0; 3]).unwrap_err().to_string()])
        });
        for message in refused.unwrap().into_iter().flatten() {
            assert!(message.contains("along axis 2 the points run from 0 to 9"), "{message}");
        }
    }
}
