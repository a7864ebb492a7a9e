//! Errors that several modules share.

use std::borrow::Cow;

use super::{Error, ErrorKind};
use crate::format::number;

/// For the crates of this workspace; messages may change.
#[doc(hidden)]
impl Error {
    /// Creates the error for a parameter outside its range: `eps is -1; it must be finite and not negative`.
    pub fn parameter_must(name: &'static str, value: f64, must: &str) -> Self {
        Self::new(ErrorKind::Parameter, format!("{name} is {}; it must be {must}", number(value))).about(name)
    }

    /// Creates the error for a required parameter that is neither specified nor known.
    pub fn missing(name: &'static str, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Missing, sentence).about(name)
    }

    /// Creates the error for a coordinate that is NaN or infinite.
    pub fn not_finite(index: usize, axis: usize, value: f64) -> Self {
        let sentence = format!("coordinate {axis} is {}; coordinates must be finite", number(value));
        Self::new(ErrorKind::NotFinite, sentence).of_item("point", index)
    }

    /// Creates the error for a coordinate that is not finite, or exceeds `limit`.
    pub fn coordinate(index: usize, axis: usize, value: f64, limit: f64) -> Self {
        if !value.is_finite() {
            return Self::not_finite(index, axis, value);
        }
        let sentence = format!(
            "coordinate {axis} is {}; squared distances overflow beyond {limit:e}; rescale the data",
            number(value)
        );
        Self::new(ErrorKind::Input, sentence).of_item("point", index)
    }

    /// Creates the error for a mass that is negative or not finite.
    pub fn mass(index: usize, mass: f64) -> Self {
        let sentence = format!("its mass is {}; masses must be finite and not negative", number(mass));
        Self::new(ErrorKind::Input, sentence).of_item("particle", index)
    }

    /// Creates the error for a slice whose length is not the number of particles.
    pub fn length(what: &str, len: usize, particles: usize) -> Self {
        let sentence = format!("{len} {what} for {particles} particles; expected one per particle");
        Self::new(ErrorKind::Input, sentence)
    }

    /// Creates the error for a column whose length is not the number of halos.
    pub fn column_length(name: &str, len: usize, halos: usize) -> Self {
        let sentence = format!("column {name} has {len} values for {halos} halos; expected one per halo");
        Self::new(ErrorKind::Input, sentence)
    }

    /// Creates the error for radii whose number is neither 1 nor the number of centres.
    pub fn radii(len: usize, centers: usize) -> Self {
        let sentence = format!("{len} radii for {centers} centres; expected one per centre, or one for all");
        Self::new(ErrorKind::Parameter, sentence).about("radius")
    }

    /// Creates the error for a radius that is negative or not finite.
    pub fn radius(index: usize, radius: f64) -> Self {
        let sentence = format!("its radius is {}; it must be finite and not negative", number(radius));
        Self::new(ErrorKind::Parameter, sentence).about("radius").of_item("centre", index)
    }

    /// Creates the error for points with an unsupported number of dimensions.
    pub fn dimension(dim: usize) -> Self {
        Self::new(ErrorKind::Unsupported, format!("unsupported dimension {dim}; points have 1 to 10 dimensions"))
    }

    /// Creates the error for more points than a tree can index.
    pub fn too_many_points(n: usize, max: usize) -> Self {
        let sentence = format!("{n} points exceed the limit of one tree; at most {max} points have 32-bit indices");
        Self::new(ErrorKind::Unsupported, sentence)
    }

    /// Creates the error for a failed allocation for `n` of `what`.
    pub fn memory(n: usize, what: &str, bytes: u128) -> Self {
        Self::new(ErrorKind::Memory, format!("cannot allocate {bytes} bytes for {n} {what}"))
    }

    /// Creates the error for a tree that violates an invariant: a bug of this crate, or bytes that this crate did not
    /// write.
    pub fn invariant(message: impl std::fmt::Display) -> Self {
        Self::new(ErrorKind::Internal, format!("internal error: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let error = Error::mass(3, -5e-324);
        assert_eq!(error.to_string(), "particle 3: its mass is -5e-324; masses must be finite and not negative");
        assert_eq!(error.index(), Some(3));
    }
}
