//! A spherical shell of a density profile.

/// A spherical shell, `inner < r <= outer`, and the particles in it, in the units of the particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shell {
    /// The inner radius, exclusive.
    pub inner: f64,
    /// The outer radius, inclusive.
    pub outer: f64,
    /// The number of particles in the shell; the relative Poisson error of the density is `1 / sqrt(count)`.
    pub count: usize,
    /// The mass of the particles in the shell.
    pub mass: f64,
    /// The mass over the volume of the shell.
    pub density: f64,
    /// The mass within the outer radius, including all inner shells and the centre.
    pub enclosed: f64,
}
