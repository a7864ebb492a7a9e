//! Errors of drawing pictures.

use std::fmt::Display;

use ropewalk::internals::format::counted;
use ropewalk::{Error, ErrorKind};

/// A picture with more than `limit` pixels.
pub(super) fn too_many_pixels(width: usize, height: usize, limit: f64) -> Error {
    let sentence = format!("{width} x {height} pixels exceed the limit of {limit:e}; reduce the resolution");
    Error::new(ErrorKind::Parameter, sentence).about("dpi")
}

/// Labels of another number than the points.
pub(super) fn labels_length(labels: usize, points: usize) -> Error {
    Error::new(ErrorKind::Input, format!("{labels} labels for {points} points; expected one per point"))
}

/// Points of a dimension that is not drawn.
pub(super) fn cluster_dimension(dim: usize) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("points have {}; a picture of clusters needs 2 or 3", counted(dim as u64, "dimension")),
    )
}

/// A picture that cannot be drawn: a failed encoder, or an invalid font.
pub(super) fn picture(cause: impl Display) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot draw the picture: {cause}"))
}

/// Text that is not a slab.
pub(super) fn unknown_slab(text: &str) -> Error {
    let sentence = format!("invalid slab {text:?}; expected an axis and a range, such as z:10..20");
    Error::new(ErrorKind::Parameter, sentence)
}
