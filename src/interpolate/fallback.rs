//! The values of targets that have no source near enough.

/// What a target gets that has no source within the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Fallback {
    /// NaN; but 0 for a sum that is not normed, as sums of nothing are.
    #[default]
    Nan,
    /// The value of the nearest source.
    Nearest,
    /// The mean of the eight nearest sources, each counted one over its squared distance.
    InverseDistance,
}
