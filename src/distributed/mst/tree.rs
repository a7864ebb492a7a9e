//! A minimum spanning tree of which each rank holds consecutive edges.

use crate::geometry::distance_from_square;

/// An edge of a [`SpanningTree`], with `low < high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edge {
    /// The lower global index of its two ends.
    pub low: u64,
    /// The higher global index of its two ends.
    pub high: u64,
    /// The squared distance of its two ends.
    pub weight2: f64,
}

impl Edge {
    /// Returns the weight in the units of the points: the smallest radius that includes the edge
    /// ([`distance_from_square`]).
    pub fn weight(&self) -> f64 {
        distance_from_square(self.weight2)
    }
}

/// A minimum spanning tree of the points of all ranks: the counterpart of [`crate::cluster::SpanningTree`], of which
/// each rank holds consecutive edges.
#[derive(Clone, Default, PartialEq)]
pub struct SpanningTree {
    pub(super) n_points: u64,
    pub(super) first: u64,
    pub(super) edges: Vec<Edge>,
}

crate::brief::brief_debug!(SpanningTree, lists: [edges], others: [n_points, first]);

impl SpanningTree {
    /// Returns the number of points of all ranks.
    pub fn n_points(&self) -> u64 {
        self.n_points
    }

    /// Returns the edges of this rank, in ascending order of (squared weight, lower index, higher index). Those of rank
    /// 1 follow those of rank 0, and so on.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the position of the first of [`SpanningTree::edges`] among the edges of all ranks.
    pub fn first(&self) -> u64 {
        self.first
    }
}
