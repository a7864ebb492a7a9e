//! The arguments of `ropewalk emst` and `ropewalk linkage`.

use std::path::PathBuf;

use super::super::device::DeviceArg;
use super::Points;

/// The points, and the weights of the spanning tree.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct TreeArgs {
    #[command(flatten)]
    pub points: Points,
    /// Above 1: weight edges by mutual reachability
    ///
    /// The mutual reachability of two points is the maximum of their distance and the distances of both to their S-th
    /// nearest point, the point itself counted.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub min_samples: usize,
}

/// Write the minimum spanning tree of points, shortest edges first.
///
/// The tree consists of the n - 1 edges of minimum total length, and is exact. Edges are ordered by squared weight in
/// 64 bits, then by the lower and by the higher index. This order makes the tree unique, for any number of threads.
#[derive(Debug, clap::Args)]
pub struct Emst {
    #[command(flatten)]
    pub spanned: TreeArgs,
    /// Write the edges in order, the lower index of each first
    ///
    /// By the ending of the name, a NumPy array (n - 1) x 2 of u32 (.npy) or a text table with the columns low and
    /// high (.csv).
    #[arg(long, value_name = "EDGES.npy|csv")]
    pub out: PathBuf,
    /// Write the weight of each edge: .npy (f64) or .csv (column weight)
    #[arg(long, value_name = "WEIGHTS.npy|csv")]
    pub weights: Option<PathBuf>,
    /// Device: cpu, cuda, vulkan, or one of several, as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true)]
    pub device: DeviceArg,
}

/// Write the single-linkage dendrogram of points, in the format of SciPy.
///
/// The rows are those of scipy.cluster.hierarchy.linkage(points, "single"). Row i merges two clusters, the lower
/// number first, into cluster n + i. It has the numbers of both, the height, and the number of points. Clusters 0 to
/// n - 1 are the points. Memory grows with the number of points, not of pairs.
#[derive(Debug, clap::Args)]
pub struct Linkage {
    #[command(flatten)]
    pub spanned: TreeArgs,
    /// Write the rows
    ///
    /// By the ending of the name, a NumPy array (n - 1) x 4 of f64 (.npy) or a text table with the columns a, b,
    /// height and size (.csv).
    #[arg(long, value_name = "Z.npy|csv")]
    pub out: PathBuf,
}
