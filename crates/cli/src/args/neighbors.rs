//! The arguments of `ropewalk knn` and `pairs`.

use std::path::PathBuf;

use super::Points;

/// Write the k nearest neighbours of each point.
///
/// Neighbours are nearest first, of equal distances the lower index first; indices count rows from 0. The distances are exact.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Knn {
    #[command(flatten)]
    pub points: Points,
    /// How many neighbours, the point itself not counted
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: u32,
    /// Look for the neighbours of the points of another file instead; its columns are chosen as those of FILE
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// Write the neighbours, by the name's ending: .npy is a NumPy array N x K of u32, .csv a text table with the columns point, neighbor
    /// and distance; - is that table on standard output
    #[arg(long, value_name = "NEIGHBORS.npy|csv")]
    pub out: PathBuf,
    /// Write the distances: .npy is a NumPy array N x K of f64, .csv a text table with the column distance
    #[arg(long, value_name = "DISTANCES.npy|csv")]
    pub distances: Option<PathBuf>,
}

/// Write all pairs of points within a distance of each other.
///
/// The lower index comes first, and pairs are in ascending order; indices count rows from 0. The distance is inclusive.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Pairs {
    #[command(flatten)]
    pub points: Points,
    /// How far apart they are at most, in the unit of the coordinates
    #[arg(long, value_name = "R", allow_negative_numbers = true, visible_alias = "eps")]
    pub radius: f64,
    /// Write the pairs, by the name's ending: .npy is a NumPy array of two columns of u32, .csv a text table with the columns low, high and
    /// distance; - is that table on standard output
    #[arg(long, value_name = "PAIRS.npy|csv")]
    pub out: PathBuf,
    /// Write the distances: .npy is a NumPy array of f64, .csv a text table with the column distance
    #[arg(long, value_name = "DISTANCES.npy|csv")]
    pub distances: Option<PathBuf>,
}
