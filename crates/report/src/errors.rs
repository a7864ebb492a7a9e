//! Errors of making reports.

use ropewalk::{Error, ErrorKind};

/// Labels of another number than the points.
pub(super) fn labels_length(labels: usize, points: usize) -> Error {
    Error::new(ErrorKind::Input, format!("{labels} labels for {points} points; expected one per point"))
}

/// Parents that are not one per row, or that are rows of no table.
pub(super) fn invalid_parents(parents: usize, rows: usize) -> Error {
    let sentence = format!("{parents} parents of {rows} rows; expected none, or one per row without cycles");
    Error::new(ErrorKind::Input, sentence)
}

/// Coordinates whose range overflows.
pub(super) fn too_wide(axis: usize, lo: f64, hi: f64) -> Error {
    let sentence = format!("coordinates along axis {axis} run from {lo:e} to {hi:e}, which is too wide for a view");
    Error::new(ErrorKind::Input, sentence)
}
