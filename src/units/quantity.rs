//! Physical quantities, by which numbers are converted between units.

/// The physical quantity of a number, which determines its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Quantity {
    /// A dimensionless number: a count, an id, a ratio.
    #[default]
    Dimensionless,
    /// A position or a radius.
    Length,
    /// A mass.
    Mass,
    /// A peculiar velocity.
    Velocity,
    /// A mass over the cube of a length.
    Density,
    /// A number over the cube of a length.
    NumberDensity,
}
