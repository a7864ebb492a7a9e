//! Errors of the pipeline.

use ropewalk::internals::format::short;
use ropewalk::{Error, ErrorKind};

/// Returns the error of points or velocities without three coordinates.
pub(super) fn halo_dimension(what: &'static str, dim: usize) -> Error {
    Error::new(ErrorKind::Input, format!("{what} have {dim} coordinates; finding halos requires 3"))
}

/// Returns the error of a value that occurs twice in a list.
pub(super) fn named_twice(name: &'static str, value: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Parameter, format!("{name}: {value} is specified twice")).about(name)
}

/// Returns the error of a volume that has no mean separation.
pub(super) fn no_separation(volume: f64) -> Error {
    let sentence = format!("no mean separation: the volume of the particles is {}", short(volume));
    Error::new(ErrorKind::Missing, sentence).about("linking_length")
}
