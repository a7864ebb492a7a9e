//! The arguments.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand};

/// Friends-of-friends halos of N-body snapshots.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Halos(Halos),
    Info(Info),
    Sample(Sample),
    Bench(Bench),
}

/// Find the halos of a snapshot; write a catalogue, labels and two pictures.
///
/// SNAPSHOT is a Gadget-2 binary snapshot, a NumPy array (N x 3) or a text table with three columns. Into DIR go
/// halos.csv (a line per halo, largest first), labels.npy (the group of each particle in file order, -1 for none),
/// mass_function.svg and projection.png; all of them, or none if there is an error.
#[derive(Debug, clap::Args)]
pub struct Halos {
    /// The file with the particles
    pub snapshot: PathBuf,
    /// Where to write; made if need be
    #[arg(long, value_name = "DIR", value_parser = NonEmptyStringValueParser::new())]
    pub out: String,
    /// Linking length in mean separations, (volume / particles)^(1/3); the volume is that of the box if one is known,
    /// otherwise that of the smallest box around the particles
    #[arg(long, value_name = "B", default_value_t = 0.2, allow_negative_numbers = true)]
    pub linking_length: f64,
    /// Linking length in the snapshot's length unit instead
    #[arg(long, value_name = "LENGTH", conflicts_with = "linking_length", allow_negative_numbers = true)]
    pub eps: Option<f64>,
    /// The least number of particles of a halo
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..))]
    pub min_members: u32,
    /// No periodic boundaries, even if the snapshot has a box
    #[arg(long)]
    pub open: bool,
    /// Side of the periodic box; otherwise the snapshot's, if it has one
    #[arg(long = "box", value_name = "L", allow_negative_numbers = true)]
    pub box_size: Option<f64>,
    /// Particle type to read from a Gadget snapshot
    #[arg(long = "type", value_name = "TYPE", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..6))]
    pub particle_type: u8,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

/// Print what a snapshot holds.
#[derive(Debug, clap::Args)]
pub struct Info {
    /// The file with the particles
    pub snapshot: PathBuf,
}

/// Write a clustered set of points, the same for a seed on every machine.
///
/// SPEC is `uniform:n=1e6,seed=7`, `halos:n=4e6,seed=3,background=0.3,box=100` or `lattice:n=64^3,jitter=0.1`; what is left
/// out has a default.
#[derive(Debug, clap::Args)]
pub struct Sample {
    /// What to make
    pub spec: String,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value_t = SampleFormat::Npy)]
    pub format: SampleFormat,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum SampleFormat {
    /// A NumPy array, N x 3 of f32
    Npy,
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
    /// Nearest neighbours
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub k: usize,
    /// Side of the periodic box; otherwise boundaries are open
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub periodic: Option<f64>,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// What to time
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
    /// Show the steps of each operation
    #[arg(long)]
    pub phases: bool,
    /// Write the figures as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
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
