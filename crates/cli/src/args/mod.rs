//! The command-line arguments.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

mod convert;
mod halos;
mod hdbscan;
mod hop;
mod interpolate;
mod metric;
mod neighbors;
mod particle_type;
mod pictures;
mod points;
mod raycast;
mod shell;
mod tree;
mod trees;

pub use super::number::number;
pub use convert::Convert;
pub use halos::{Attach, Halos, Particles};
pub use hdbscan::{Hdbscan, Method};
pub use hop::{AdaptaHop, Finder, Hop};
pub use interpolate::{Interpolate, Method as InterpolationMethod};
pub use metric::{UNIT_VECTORS, metric};
pub use neighbors::{Knn, Pairs};
pub use particle_type::particle_type;
pub use pictures::{Format, Pictures};
pub use points::Points;
pub use raycast::Raycast;
pub use shell::{Completions, Man};
pub use tree::Tree;
pub use trees::{Emst, Linkage, TreeArgs};

use super::device::{DeviceArg, DevicesArg};
use super::verbosity::Verbosity;

/// Friends-of-friends halos of N-body snapshots, and density clusters of points in 1 to 10 dimensions.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, arg_required_else_help = true)]
pub struct Args {
    #[command(flatten)]
    pub verbosity: Verbosity,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Halos(Box<Halos>),
    Dbscan(Dbscan),
    Hdbscan(Box<Hdbscan>),
    Kdist(Kdist),
    Knn(Knn),
    Pairs(Pairs),
    Interpolate(Box<Interpolate>),
    Emst(Emst),
    Linkage(Linkage),
    Tree(Tree),
    Raycast(Raycast),
    Info(Info),
    Convert(Convert),
    Sample(Sample),
    Bench(Bench),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Returns `true` if the report of the command is its result, which `--quiet` does not hide.
    pub fn reports_result(&self) -> bool {
        matches!(self, Self::Info(_) | Self::Kdist(_) | Self::Bench(_) | Self::Completions(_))
    }
}

/// Find clusters of dense points and noise, as scikit-learn's DBSCAN does.
///
/// A core point has at least M points, itself included, within the distance E. Core points within E of each other
/// belong to the same cluster. A point that is not core but within E of a core point is a border point: it joins the
/// lowest-numbered cluster among these core points. All other points are noise.
///
/// `ropewalk kdist` helps to choose E.
#[derive(Clone, Debug, clap::Args)]
pub struct Dbscan {
    #[command(flatten)]
    pub points: Points,
    /// Maximum distance between neighbours, in the unit of the coordinates
    #[arg(long, value_name = "E", value_parser = number, allow_negative_numbers = true)]
    pub eps: f64,
    /// Minimum number of points within E of a core point, itself included
    #[arg(long = "min-samples", value_name = "M", visible_alias = "min-pts")]
    pub min_samples: usize,
    /// Algorithm; all give the same labels
    #[arg(long, value_enum, default_value_t = Algorithm::Auto)]
    pub algorithm: Algorithm,
    /// DBSCAN*: label border points as noise
    #[arg(long)]
    pub star: bool,
    /// Device that finds the clusters: cpu, cuda, vulkan, or one of several, as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true)]
    pub device: DeviceArg,
    /// Write the cluster of each point in file order, -1 for noise
    ///
    /// By the ending of the name, the input table with the column label (.csv, .ecsv, .parquet), or a NumPy
    /// array of i32 with the labels alone (.npy). All columns and rows of text tables and Parquet tables are kept; rows
    /// that --skip-missing skips have the label -1. For other files, such as snapshots, arrays and standard input, the
    /// table has the coordinates and the label. Standard output (-) is CSV.
    #[arg(long, value_name = "OUT.csv|ecsv|parquet|npy")]
    pub out: Option<PathBuf>,
    /// Draw the points in two or three dimensions, coloured by cluster, or a page for a browser
    ///
    /// With the ending .html, one file for a browser: points of any dimension that can be turned and zoomed, and a
    /// table of the clusters.
    #[arg(long, value_name = "CLUSTERS.png|svg|pdf|html")]
    pub plot: Option<PathBuf>,
    /// Share the work among the processes that mpirun or srun starts
    ///
    /// Each process reads its part of the points. Labels are the same as those of one process; LABELS is a NumPy
    /// array. Each process has one thread unless --threads is given.
    #[arg(long, hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Algorithm {
    /// Same as densebox, which is 0.98 to 10 times as fast as fdbscan
    Auto,
    /// Count the neighbours of each point, then unite pairs of core points
    Fdbscan,
    /// Unite the points of dense cells without computing their distances
    Densebox,
}

impl From<Algorithm> for ropewalk::cluster::DbscanAlgorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Auto => Self::Auto,
            Algorithm::Fdbscan => Self::Fdbscan,
            Algorithm::Densebox => Self::DenseBox,
        }
    }
}

/// Show the distances to the k-th neighbours, to choose eps for `ropewalk dbscan`.
///
/// The distances from each point to its k-th nearest neighbour, the point itself not counted, are sorted. As
/// min_samples does count the point itself, exactly the points with a distance of at most eps are core with min_samples
/// = K + 1. Printed distances are rounded up, so that this holds for them too.
///
/// The knee of the curve, where it turns upwards from points in clusters to points between them, is an eps to try. It
/// is the point farthest below the chord from the 5th percentile to the largest distance, on a logarithmic axis. The
/// 5th percentile and the logarithm keep a few near copies and a few outliers from tilting the chord. The knee is a
/// starting point, not an answer: data may have several scales, and data without a gap in density, such as galaxies,
/// have no clear knee.
///
/// Memory: up to 16 bytes per point and neighbour if K is at most 32, otherwise 8 bytes per point.
#[derive(Debug, clap::Args)]
pub struct Kdist {
    #[command(flatten)]
    pub points: Points,
    /// Rank of the neighbour, the point itself not counted; 2 D - 1 is customary
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub k: usize,
    /// Write the sorted distances
    ///
    /// By the ending of the name, a NumPy array of f64 (.npy) or a text table with the column distance (.csv).
    #[arg(long, value_name = "KDIST.npy|csv")]
    pub out: Option<PathBuf>,
    /// Draw the curve, as PNG, SVG or PDF by the ending of the name
    #[arg(long, value_name = "KDIST.png|svg|pdf")]
    pub plot: Option<PathBuf>,
}

/// Show the contents of files: format, particle types, fields, units, cosmology.
///
/// Also shows the number of files and the memory that a run needs. Particles are not read, except from text tables.
#[derive(Debug, clap::Args)]
pub struct Info {
    /// Files with particles; all files of a split snapshot are shown as one
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    /// Read the particles and print the ranges of their values
    #[arg(long)]
    pub ranges: bool,
    /// Coordinate columns of a table: names, or numbers from 1, as lon,lat or 2,3
    #[arg(long = "coordinates", value_name = "A,B", value_delimiter = ',', visible_alias = "columns")]
    pub columns: Vec<String>,
}

/// Write a clustered set of points, identical for equal seeds on every machine.
///
/// SPEC is `uniform:n=1e6,seed=7`, `halos:n=4e6,seed=3,background=0.3,box=100`, `lattice:n=64^3,jitter=0.1` or
/// `nfw:n=1e5,concentration=10`. All parameters are optional.
#[derive(Debug, clap::Args)]
pub struct Sample {
    /// Kind of point set, and its parameters
    pub spec: String,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Format [default: by the ending of the name, .npy or .csv]
    #[arg(long, value_enum)]
    pub format: Option<SampleFormat>,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum SampleFormat {
    /// A NumPy array, N x 3 of f32
    Npy,
    /// A text table with the columns x, y and z
    Csv,
    /// A Gadget-2 snapshot, SnapFormat 1, with the box
    Gadget,
}

/// Time operations on a set of points, after checking their results.
#[derive(Debug, clap::Args)]
pub struct Bench {
    /// File with the points
    #[arg(required_unless_present = "sample")]
    pub file: Option<PathBuf>,
    /// Generate the points instead; see `ropewalk sample`
    #[arg(long, value_name = "SPEC", conflicts_with = "file")]
    pub sample: Option<String>,
    /// Radius of range queries and clustering [default: 0.2 mean separations]
    ///
    /// There is no default with --mpi or several devices.
    #[arg(long, value_name = "E", value_parser = number, allow_negative_numbers = true)]
    pub eps: Option<f64>,
    /// Minimum number of points within E of a core point, itself included
    #[arg(long = "min-samples", value_name = "M", default_value_t = 10, visible_alias = "min-pts")]
    pub min_samples: usize,
    /// Minimum cluster size of hdbscan [default: M]
    #[arg(long, value_name = "C")]
    pub min_cluster_size: Option<usize>,
    /// Number of nearest neighbours
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub k: usize,
    /// Side of the periodic box [default: open boundaries]
    #[arg(long = "box", value_name = "L", value_parser = number, allow_negative_numbers = true, visible_alias = "periodic")]
    pub periodic: Option<f64>,
    /// Device to time: cpu, cuda, vulkan, or one of several, as cuda:1
    ///
    /// Points are uploaded before the clock starts, and results stay on the device.
    ///
    /// Several devices, as cuda:0,1, share the work of fof. They exchange data through host memory and share the
    /// threads of the host. The table shows the slowest and the mean time of the devices, the memory of all together,
    /// the bytes sent, and the number of collective calls. With --mpi the ranks of one host take its devices in turn,
    /// from the given one on.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true)]
    pub device: DevicesArg,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Operations to time
    ///
    /// Default: build, range_count, range_csr, half_count, knn, fof, dbscan_fdbscan and dbscan_densebox.
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        hide_default_value = true,
        default_value = "build,range_count,range_csr,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox"
    )]
    pub ops: Vec<String>,
    /// Number of timed runs
    #[arg(long, value_name = "R", default_value_t = 5)]
    pub reps: usize,
    /// Show the time of each step of an operation
    #[arg(long)]
    pub phases: bool,
    /// Show times on 1, 2, 4, ... threads up to all, beside the speed of copying memory
    #[arg(long)]
    pub scaling: bool,
    /// Also write the measurements as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Time the processes that mpirun or srun starts, working together
    ///
    /// The operations are build, range_count, knn, fof and dbscan_densebox, each including the exchange of the points
    /// between ranks. The table shows the time of the slowest rank and the mean of all ranks. It also shows the
    /// largest memory of a rank beyond its points, the bytes sent, and the number of collective calls.
    #[arg(long, hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}
