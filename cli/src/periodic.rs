//! Whether points are those of the periodic box that they are said to lie in.

use rayon::prelude::*;
use ropewalk::Scalar;
use ropewalk::io::{Points, Table};

use super::{Failure, grouped, short};

/// Points per parallel task.
const TASK: usize = 1 << 14;
/// How much wider than a box its points may be, in sides: rounding, as of `f32`.
const ROUNDING: f64 = 1e-6;

/// How many points lie outside of the periodic box `[0, side]` and are wrapped into it; none without a box.
///
/// Points of a box may have any origin, as -L/2, but they span no more than its side. Wider ones are not of this box, and wrapping
/// would lay unrelated points upon each other: an error. Where the file itself names this side, simulations may have let
/// particles drift out since they wrapped them last, so that these may span up to twice the side. Sides and coordinates that are
/// no numbers are for the algorithms to refuse.
pub fn wrapped(points: &Points, side: Option<f64>, file_box: Option<f64>) -> Result<u64, Failure> {
    let Some(side) = side.filter(|&side| side > 0.0 && side < f64::INFINITY) else { return Ok(0) };
    let most = if file_box == Some(side) { 2.0 * side } else { side * (1.0 + ROUNDING) };
    let extent = match points {
        Points::F32(table) => Extent::of(table, side),
        Points::F64(table) => Extent::of(table, side),
    };
    for (axis, (lo, hi)) in extent.axes.into_iter().enumerate() {
        let width = hi - lo;
        if width > most && width < f64::INFINITY {
            return Err(format!(
                "the periodic box is {}, but along axis {axis} the points run from {} to {}, which is {} wide; {} of {} points lie \
                 outside of the box. Give the box that they come from",
                short(side), short(lo), short(hi), short(width), grouped(extent.outside), grouped(points.len() as u64)
            )
            .into());
        }
    }
    Ok(extent.outside)
}

/// The line of a report that tells of points outside.
pub fn sentence(outside: u64, side: f64) -> String {
    format!("{} points, which lay outside of the box from 0 to {}", grouped(outside), short(side))
}

/// What the points span along each axis, and how many of them have a coordinate outside of the box.
struct Extent {
    axes: Vec<(f64, f64)>,
    outside: u64,
}

impl Extent {
    fn of<S: Scalar>(table: &Table<S>, side: f64) -> Self {
        let dim = table.dim();
        let none = || Self { axes: vec![(f64::INFINITY, f64::NEG_INFINITY); dim], outside: 0 };
        let chunks = table.as_slice().par_chunks(TASK * dim);
        let extents = chunks.map(|chunk| {
            let mut extent = none();
            for row in chunk.chunks_exact(dim) {
                let mut inside = true;
                for (axis, &x) in extent.axes.iter_mut().zip(row) {
                    let x: f64 = x.into();
                    *axis = (axis.0.min(x), axis.1.max(x));
                    inside &= (0.0..=side).contains(&x);
                }
                extent.outside += u64::from(!inside);
            }
            extent
        });
        extents.reduce(none, |mut a, b| {
            for (a, b) in a.axes.iter_mut().zip(b.axes) {
                *a = (a.0.min(b.0), a.1.max(b.1));
            }
            a.outside += b.outside;
            a
        })
    }
}
