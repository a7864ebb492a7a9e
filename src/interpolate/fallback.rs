//! The value of targets without sources within the radius.

/// The value assigned to targets without sources within the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Fallback {
    /// NaN; 0 for a sum that is not normalized, as an empty sum is 0.
    #[default]
    Nan,
    /// The value of the nearest source.
    Nearest,
    /// The mean of the eight nearest sources, weighted by the inverse of the squared distance.
    InverseDistance,
}
