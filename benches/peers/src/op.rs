//! The operations that are timed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Op {
    /// From a slice of points to a tree that answers queries
    Build,
    /// For each point, how many are within the radius, itself included; the tree is there
    RangeCount,
    /// For each point, indices and squared distances of the k nearest, itself included; the tree is there
    Knn,
    /// For each of as many places between points, one after the other in random order, the k nearest; one thread; the tree is there
    Nearest,
    /// For each point, the density by its k - 1 nearest, itself included: a spline as wide as the k-th is far, gathered; the tree is there
    Density,
    /// Friends-of-friends: a label for each point, tree included
    Fof,
    /// DBSCAN: a label for each point, tree included
    Dbscan,
    /// The Euclidean minimum spanning tree: edges and their lengths, search tree included
    Emst,
    /// The same by mutual reachability with min_pts samples
    MutualReachability,
    /// HDBSCAN* with min_pts samples: a label for each point, tree included
    Hdbscan,
}

impl Op {
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
