//! The arguments of `ropewalk knn` and `ropewalk pairs`.

use std::path::PathBuf;

use super::{Points, number};

/// Write the k nearest neighbours of each point.
///
/// Neighbours are sorted by distance, ties by index. Indices are rows of the file, from 0. The distances are exact.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Knn {
    #[command(flatten)]
    pub points: Points,
    /// Number of neighbours, the point itself not counted
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: u32,
    /// Find neighbours of the points in this file instead; --coordinates applies to both
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// Write the neighbours; - is standard output
    ///
    /// By the ending of the name, a NumPy array N x K of u32 (.npy) or a text table with the columns point, neighbor
    /// and distance (.csv). Standard output is that table.
    #[arg(long, value_name = "NEIGHBORS.npy|csv")]
    pub out: PathBuf,
    /// Write the distances: .npy (N x K of f64) or .csv (column distance)
    #[arg(long, value_name = "DISTANCES.npy|csv")]
    pub distances: Option<PathBuf>,
}

/// Write all pairs of points within a distance of each other.
///
/// Pairs are in ascending order, with the lower index first. Indices are rows of the file, from 0. The distance is
/// inclusive.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Pairs {
    #[command(flatten)]
    pub points: Points,
    /// Maximum distance, in the unit of the coordinates
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true, visible_alias = "eps")]
    pub radius: f64,
    /// Write the pairs; - is standard output
    ///
    /// By the ending of the name, a NumPy array of two columns of u32 (.npy) or a text table with the columns low,
    /// high and distance (.csv). Standard output is that table.
    #[arg(long, value_name = "PAIRS.npy|csv")]
    pub out: PathBuf,
    /// Write the distances: .npy (f64) or .csv (column distance)
    #[arg(long, value_name = "DISTANCES.npy|csv")]
    pub distances: Option<PathBuf>,
}
