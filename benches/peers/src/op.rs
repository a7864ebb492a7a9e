//! The operations that are timed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Op {
    /// From a slice of points to a tree that answers queries
    Build,
    /// The number of points within the radius of each point, itself included; without building the tree
    RangeCount,
    /// Indices and squared distances of the k nearest points of each point, itself included; without building the
    /// tree
    Knn,
    /// The k nearest points of positions between points, one by one in random order on one thread; without building
    /// the tree
    Nearest,
    /// The density of each point, gathered from its k - 1 nearest, itself included. The spline is as wide as the k-th
    /// distance. Building the tree is not timed
    Density,
    /// Friends of friends: a label for each point, including the tree
    Fof,
    /// DBSCAN: a label for each point, including the tree
    Dbscan,
    /// The Euclidean minimum spanning tree: edges and their lengths, including the search tree
    Emst,
    /// The minimum spanning tree by mutual reachability with min_pts samples, including the search tree
    MutualReachability,
    /// HDBSCAN* with min_pts samples: a label for each point, including the tree
    Hdbscan,
}

impl Op {
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
