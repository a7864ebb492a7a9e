//! An edge between two points, with its squared weight.

use crate::geometry::distance_from_square;

/// An edge of a [`SpanningTree`](super::SpanningTree), with `low < high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edge {
    /// The lower index of its two ends.
    pub low: u32,
    /// The higher index of its two ends.
    pub high: u32,
    /// The squared weight: the squared distance of its ends, or for mutual reachability the maximum of that and their
    /// squared core distances.
    pub weight2: f64,
}

impl Edge {
    /// Returns the weight in the units of the points: the smallest radius that includes the edge
    /// ([`distance_from_square`]).
    pub fn weight(&self) -> f64 {
        distance_from_square(self.weight2)
    }
}
