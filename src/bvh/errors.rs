//! Errors of building and refitting a tree.

use crate::error::{Error, ErrorKind};
use crate::format::number;
use crate::simd::{BASELINE, VARIABLE};

/// The error for a primitive whose lower corner exceeds its upper one.
pub(super) fn inverted(index: usize, axis: usize, lo: f64, hi: f64) -> Error {
    let (lo, hi) = (number(lo), number(hi));
    let sentence =
        format!("the lower corner of its box is {lo} along axis {axis}; it must not exceed the upper corner, {hi}");
    Error::new(ErrorKind::Input, sentence).of_item("item", index)
}

/// The error for an unknown instruction set in the environment variable.
pub(super) fn instruction_set(value: &str) -> Error {
    let sentence = format!("the environment variable {VARIABLE} is '{value}'; it must be '{BASELINE}' or unset");
    Error::new(ErrorKind::Parameter, sentence)
}

/// The error for points to which another thread wrote during the call.
pub(crate) fn changed() -> Error {
    let sentence = "the points changed during the call; do not write to them until it returns";
    Error::new(ErrorKind::Input, sentence)
}

/// The error for a refit to another number of primitives.
pub(crate) fn refit(len: usize, points: usize) -> Error {
    let sentence =
        format!("refitting needs the {points} primitives of the tree, got {len}; for another number build a new tree");
    Error::new(ErrorKind::Input, sentence)
}
