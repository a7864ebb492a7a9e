//! The arguments of what is made of a spanning tree.

use std::path::PathBuf;

use super::super::device::Name;
use super::Points;

/// Points, and how they are spanned.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Spanned {
    #[command(flatten)]
    pub points: Points,
    /// More than 1: edges weigh by mutual reachability, the largest of their length and the distances of their ends to the S-th
    /// nearest point, itself counted
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub min_samples: usize,
}

/// Write the minimum spanning tree of points: n - 1 edges of least length in all, the shortest first.
///
/// The tree is exact. Edges are ordered by their squared weight in 64 bits, then by the lower and by the higher index, which makes it
/// unique: the same for any number of threads.
#[derive(Debug, clap::Args)]
pub struct Emst {
    #[command(flatten)]
    pub spanned: Spanned,
    /// Write the edges in order, the lower index first, by the name's ending: .npy is a NumPy array (n - 1) x 2 of u32, .csv a text
    /// table with the columns low and high
    #[arg(long, value_name = "EDGES.npy|csv")]
    pub out: PathBuf,
    /// Write the weight of each edge: .npy is a NumPy array of f64, .csv a text table with the column weight
    #[arg(long, value_name = "WEIGHTS.npy|csv")]
    pub weights: Option<PathBuf>,
    /// What spans the points: cpu, cuda or vulkan, or one of several by its number, as cuda:1. On a device samples are
    /// at most 65
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Name,
}

/// Write the dendrogram of single linkage, as scipy.cluster.hierarchy.linkage(points, "single") does.
///
/// Row i merges two clusters, the lower number first, into cluster n + i: their numbers, the height, the number of points. Clusters
/// 0 to n - 1 are the points. Memory grows with the number of points, not of pairs.
#[derive(Debug, clap::Args)]
pub struct Linkage {
    #[command(flatten)]
    pub spanned: Spanned,
    /// Write the rows by the name's ending: .npy is a NumPy array (n - 1) x 4 of f64, .csv a text table with the columns a, b, height
    /// and size
    #[arg(long, value_name = "Z.npy|csv")]
    pub out: PathBuf,
}
