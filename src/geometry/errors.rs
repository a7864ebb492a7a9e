//! Errors about the periodic box and about primitives with an extent.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// The error for a box whose number of sides differs from the dimension of the points.
pub(super) fn box_dimension(sides: usize, dim: usize) -> Error {
    let sentence = format!(
        "the periodic box has {sides} sides, but the points have {dim} dimensions; specify one side, or one per dimension"
    );
    Error::new(ErrorKind::Parameter, sentence)
}

/// The error for a side that is not positive or exceeds `limit`.
pub(super) fn box_size(axis: usize, size: f64, limit: f64) -> Error {
    let size = number(size);
    let sentence =
        format!("the side of the periodic box along axis {axis} is {size}; it must be positive and at most {limit:e}");
    Error::new(ErrorKind::Parameter, sentence)
}

/// The error for a side shorter than twice the parameter `name`.
pub(super) fn box_too_small(axis: usize, size: f64, name: &'static str, length: f64) -> Error {
    let (size, length) = (number(size), number(length));
    let sentence = format!(
        "the side of the periodic box along axis {axis} is {size}; it must be at least twice {name} = {length}, so that no point meets two images of another"
    );
    Error::new(ErrorKind::Parameter, sentence).about(name)
}

/// The error for two inputs in different spaces. `what` includes the verb, as in "the points are in".
pub(crate) fn spaces(what: [&'static str; 2], spaces: [String; 2]) -> Error {
    let ([what, other_what], [of, other_of]) = (what, spaces);
    let sentence = format!("{what} {of}, but {other_what} {other_of}; specify the same periodic box for both");
    Error::new(ErrorKind::Parameter, sentence)
}

/// The error for primitives with an extent in an algorithm for points. `what` includes the verb, as in "interpolation
/// is".
pub(crate) fn has_extent(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} for points only, got primitives with an extent"))
}
