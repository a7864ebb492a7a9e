//! The arguments.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

mod convert;
mod halos;
mod hdbscan;
mod hop;
mod interpolate;
mod neighbors;
mod particle_type;
mod pictures;
mod points;
mod raycast;
mod trees;

pub use convert::Convert;
pub use halos::{Attach, Halos, Particles};
pub use hdbscan::{Hdbscan, Method};
pub use hop::{AdaptaHop, Finder, Hop};
pub use interpolate::{Interpolate, Method as InterpolationMethod};
pub use neighbors::{Knn, Pairs};
pub use particle_type::particle_type;
pub use pictures::Pictures;
pub use points::Points;
pub use raycast::Raycast;
pub use trees::{Emst, Linkage, Spanned};

use super::device::{Name, Names};

/// Friends-of-friends halos of N-body snapshots, and density clusters of points in 1 to 10 dimensions.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, arg_required_else_help = true)]
pub struct Args {
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
    Raycast(Raycast),
    Info(Info),
    Convert(Convert),
    Sample(Sample),
    Bench(Bench),
}

/// Find clusters of dense points and noise, as scikit-learn's DBSCAN does.
///
/// A point is core if at least M points, itself included, are at most E away. Core points within E of each other share a
/// cluster; a point that is not core but within E of one joins the lowest-numbered cluster among these, and is called border;
/// the rest is noise. FILE is a NumPy array (N x D), a text table or a Gadget-2 snapshot (all particle types), with 1 to 10
/// coordinates per point. `ropewalk kdist` helps to choose E.
#[derive(Clone, Debug, clap::Args)]
pub struct Dbscan {
    #[command(flatten)]
    pub points: Points,
    /// How far apart neighbours are at most, in the unit of the coordinates
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub eps: f64,
    /// How many points make a core point, itself included
    #[arg(long, value_name = "M", visible_alias = "min-samples")]
    pub min_pts: usize,
    /// How to find the clusters; all give the same labels
    #[arg(long, value_enum, default_value_t = Algorithm::Auto)]
    pub algorithm: Algorithm,
    /// DBSCAN*: border points are noise
    #[arg(long)]
    pub star: bool,
    /// What finds clusters: cpu, cuda or vulkan, or one of several by its number, as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Name,
    /// Write the cluster of each point in file order, -1 for noise, by the name's ending: .npy is a NumPy array of i32, .csv a text
    /// table with the column label
    #[arg(long, value_name = "LABELS.npy|csv")]
    pub out: Option<PathBuf>,
    /// Draw the points, coloured by cluster; for two dimensions
    #[arg(long, value_name = "CLUSTERS.png|svg|pdf")]
    pub plot: Option<PathBuf>,
    /// Share the work among the processes that mpirun or srun starts: each reads its part of the points. Labels are those of one process;
    /// LABELS is a NumPy array. One thread each, unless --threads says more
    #[arg(long, hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Algorithm {
    /// The faster one
    Auto,
    /// Counts and unites pairs of points
    Fdbscan,
    /// Unites dense regions without their distances
    Densebox,
}

impl From<Algorithm> for ropewalk::DbscanAlgorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Auto => Self::Auto,
            Algorithm::Fdbscan => Self::Fdbscan,
            Algorithm::Densebox => Self::DenseBox,
        }
    }
}

/// Show how far the k-th neighbours are, to choose eps for `ropewalk dbscan`.
///
/// The distance from each point to its k-th nearest neighbour, the point itself not counted, is sorted. As min_pts does count
/// the point itself, exactly the points whose distance is at most eps are core with min_pts = K + 1; distances are rounded upwards
/// as that asks. Where the curve turns
/// upwards, from points in clusters to points between them, is an eps to try: the point farthest below the chord, which runs
/// from the 5th percentile (so that a few near copies do not tilt it) to the largest distance; distances are logarithmic, so
/// that a few outliers do not either. It is a starting point, not an answer: data have as many scales as they like, and those without a
/// gap in density, as galaxies, have no clear knee.
/// Memory: up to 16 bytes for each point and neighbour up to the k-th, if K is at most 32; above, 8 bytes for each point.
#[derive(Debug, clap::Args)]
pub struct Kdist {
    #[command(flatten)]
    pub points: Points,
    /// Which neighbour, the point itself not counted; twice the dimensions less one is a custom
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub k: usize,
    /// Write the sorted distances, by the name's ending: .npy is a NumPy array of f64, .csv a text table with the column distance
    #[arg(long, value_name = "KDIST.npy|csv")]
    pub out: Option<PathBuf>,
    /// Draw the curve, as PNG, SVG or PDF by the name's ending
    #[arg(long, value_name = "KDIST.png|svg|pdf")]
    pub plot: Option<PathBuf>,
}

/// Print what a file holds: format, files, particle types with their fields and units, cosmology, and the memory a run takes.
///
/// Particles are not read, but for tables of text, which tell nothing without.
#[derive(Debug, clap::Args)]
pub struct Info {
    /// The files with the particles; all files of a split snapshot are shown as one
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,
    /// Read the particles, and print what they span
    #[arg(long)]
    pub ranges: bool,
    /// Columns of a table that are coordinates: names or numbers from 1, as lon,lat or 2,3
    #[arg(long, value_name = "A,B", value_delimiter = ',', visible_alias = "coordinates")]
    pub columns: Vec<String>,
}

/// Write a clustered set of points, the same for a seed on every machine.
///
/// SPEC is `uniform:n=1e6,seed=7`, `halos:n=4e6,seed=3,background=0.3,box=100`, `lattice:n=64^3,jitter=0.1` or
/// `nfw:n=1e5,concentration=10`; what is left out has a default.
#[derive(Debug, clap::Args)]
pub struct Sample {
    /// What to make
    pub spec: String,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// How to write it; otherwise by the name's ending, .npy or .csv
    #[arg(long, value_enum)]
    pub format: Option<SampleFormat>,
    /// Number of threads; otherwise one per processor
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

/// Time the operations on a set of points; the results are checked first.
#[derive(Debug, clap::Args)]
pub struct Bench {
    /// The file with the points
    #[arg(required_unless_present = "sample")]
    pub file: Option<PathBuf>,
    /// Points made on the spot instead: see `ropewalk sample`
    #[arg(long, value_name = "SPEC", conflicts_with = "file")]
    pub sample: Option<String>,
    /// The radius of ranges and clustering; otherwise 0.2 mean separations
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub eps: Option<f64>,
    /// Neighbours that make a core point, itself included
    #[arg(long, value_name = "M", default_value_t = 10)]
    pub min_pts: usize,
    /// The least size of a cluster of hdbscan; otherwise as min_pts
    #[arg(long, value_name = "C")]
    pub min_cluster_size: Option<usize>,
    /// Nearest neighbours
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub k: usize,
    /// Side of the periodic box; otherwise boundaries are open
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub periodic: Option<f64>,
    /// What to time: cpu, cuda or vulkan, or one of several by its number, as cuda:1. Points are on a device beforehand, and
    /// results stay there. Several, as cuda:0,1, share the work of fof; what they tell each other goes by way of the host, whose threads they
    /// share. The table is that of --mpi, but its memory, which is that of all. With --mpi the ranks of one host take its devices in turn, from
    /// this one on
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Names,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Which operations
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        default_value = "build,range_count,range_crs,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox"
    )]
    pub ops: Vec<String>,
    /// How many times
    #[arg(long, value_name = "R", default_value_t = 5)]
    pub reps: usize,
    /// Show the steps of each operation on the CPU
    #[arg(long)]
    pub phases: bool,
    /// Show the times of each operation and its steps on 1, 2, 4 threads and so on up to all, and how fast these copy memory
    #[arg(long)]
    pub scaling: bool,
    /// Write the figures as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Time what the processes that mpirun or srun starts do together: build, range_count, knn, fof and dbscan_densebox, each with the
    /// moving of the points to where they are worked on. Shows the slowest rank's time and all ranks' mean, the memory of the rank that takes
    /// most beyond its points, bytes sent, and how many collective calls they make
    #[arg(long, hide = cfg!(not(feature = "mpi")))]
    pub mpi: bool,
}

/// What clap has to say, without its paragraphs on usage.
pub fn usage_error(error: &clap::Error) -> String {
    let text = error.render().to_string();
    text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    )
}
