//! Errors about particles and columns of catalogues.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// A mass that is not positive and finite.
pub(super) fn no_mass(index: usize, mass: f64) -> Error {
    let mass = number(mass);
    let sentence = format!("its mass is {mass}; centres and unbinding take masses that are finite and positive");
    Error::new(ErrorKind::Input, sentence).of_item("particle", index)
}

/// A velocity that is not finite.
pub(super) fn velocity(index: usize, axis: usize, value: f64) -> Error {
    let sentence = format!("velocity {axis} is {}; velocities must be finite", number(value));
    Error::new(ErrorKind::NotFinite, sentence).of_item("particle", index)
}

/// A column that has not one value for each halo.
pub(super) fn column_length(name: &str, len: usize, halos: usize) -> Error {
    let sentence = format!("column {name} has {len} values for {halos} halos; there must be one each");
    Error::new(ErrorKind::Input, sentence)
}

/// A column with the name of another.
pub(super) fn column_taken(name: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is a column {name} already"))
}

/// The name of no column. `known` lists the names that there are.
pub(super) fn column_unknown(name: &str, known: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is no column {name}; there are {known}"))
}
