//! Errors about particles.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// A mass that is not positive and finite.
pub(super) fn no_mass(index: usize, mass: f64) -> Error {
    let mass = number(mass);
    let sentence = format!("its mass is {mass}; for centres and unbinding, masses must be positive and finite");
    Error::new(ErrorKind::Input, sentence).of_item("particle", index)
}

/// A velocity that is not finite.
pub(super) fn velocity(index: usize, axis: usize, value: f64) -> Error {
    let sentence = format!("velocity {axis} is {}; velocities must be finite", number(value));
    Error::new(ErrorKind::NotFinite, sentence).of_item("particle", index)
}
