//! Points outside of a periodic box.

use ropewalk_io::Points;

use super::failure::Failure;
use super::text::{counted, short};

/// Returns the number of points outside of the periodic box `[0, side]`, which will be wrapped into it; 0 without a
/// box. `file_box` is the side that the file names.
///
/// Errors: as [`Points::check_box`].
pub fn wrapped(points: &Points, side: Option<f64>, file_box: Option<f64>) -> Result<u64, Failure> {
    match side {
        Some(side) => Ok(points.check_box(side, file_box == Some(side))?),
        None => Ok(0),
    }
}

/// Describes points outside of the box for the report.
pub fn sentence(outside: u64, side: f64) -> String {
    format!("{} outside of the box from 0 to {}", counted(outside, "point"), short(side))
}
