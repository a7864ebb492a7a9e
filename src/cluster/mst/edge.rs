//! An edge between two points, with its squared weight.

use crate::geometry::distance_from_square;

/// An edge of a [`SpanningTree`](super::SpanningTree), `low < high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edge {
    /// The lower of the indices of its ends.
    pub low: u32,
    /// The higher one.
    pub high: u32,
    /// The squared weight: the squared distance of its ends, or by mutual reachability the largest of that and their squared core
    /// distances.
    pub weight2: f64,
}

impl Edge {
    /// Returns the weight, in the units of the points: the smallest radius that reaches it ([`distance_from_square`]).
    pub fn weight(&self) -> f64 {
        distance_from_square(self.weight2)
    }
}
