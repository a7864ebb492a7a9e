//! The arguments of all commands about points in 1 to 10 dimensions.

use std::path::PathBuf;

use ropewalk::io::ReadOptions;

/// Where the points are.
#[derive(Clone, Debug, clap::Args)]
pub struct Points {
    /// The file with the points: a table, an array, or a snapshot, of which all particles are read; - is standard input
    pub file: PathBuf,
    /// Which columns of a table are coordinates: names or numbers from 1, as lon,lat or 2,3, in HDF5 names or paths. Otherwise those named x, y (and z), or
    /// without an x and a y all but id, mass, type, vx, vy, vz
    #[arg(long, value_name = "A,B", value_delimiter = ',', visible_alias = "coordinates")]
    pub columns: Vec<String>,
    /// Side of the periodic box, in the unit of the coordinates; otherwise boundaries are open, also where the file names a box
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub periodic: Option<f64>,
    /// Read one file of a split snapshot alone, without the others
    #[arg(long)]
    pub single_part: bool,
    /// Number of threads; otherwise one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Write what the report says as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Points {
    /// What is read of the file. Its box is not used, of whatever shape.
    pub fn options(&self) -> ReadOptions {
        ReadOptions::default().columns(&self.columns).open(true).single_part(self.single_part)
    }
}
