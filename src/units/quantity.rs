//! What numbers measure.

/// What a number measures, and with it which unit it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Quantity {
    /// A count, an id, a ratio: no unit.
    #[default]
    Pure,
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
