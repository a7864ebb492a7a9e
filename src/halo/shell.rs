//! A spherical shell of a density profile.

/// A spherical shell: `inner < r <= outer`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shell {
    /// The inner radius, exclusive.
    pub inner: f64,
    /// The outer radius, inclusive.
    pub outer: f64,
    /// The number of particles inside; the density's relative Poisson error is `1 / sqrt(count)`.
    pub count: usize,
    /// Their mass.
    pub mass: f64,
    /// The mass over the volume.
    pub density: f64,
    /// The mass within the outer radius, from the centre on.
    pub enclosed: f64,
}
