//! Errors of drawing pictures.

use std::fmt::Display;

use ropewalk::{Error, ErrorKind};

/// A picture that cannot be drawn: too many pixels, or a failed encoder.
pub(super) fn picture(cause: impl Display) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot draw the picture: {cause}"))
}

/// Text that is not a slab.
pub(super) fn unknown_slab(text: &str) -> Error {
    let sentence = format!("invalid slab {text:?}; expected an axis and a range, such as z:10..20");
    Error::new(ErrorKind::Parameter, sentence)
}
