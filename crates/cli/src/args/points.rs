//! The arguments of all commands on points in 1 to 10 dimensions.

use std::path::PathBuf;

use ropewalk_io::ReadOptions;

use super::super::failure::Failure;
use super::number;

/// The file with the points, and the options for reading it.
#[derive(Clone, Debug, clap::Args)]
pub struct Points {
    /// File with the points: a table, an array or a snapshot; - is standard input
    ///
    /// Tables are text, Parquet, FITS or HDF5, and arrays .npy or .npz. Point clouds (LAS, PCD, PLY, vertices of OBJ)
    /// are read, too, and all particles of a snapshot. Points have 1 to 10 coordinates.
    pub file: PathBuf,
    /// Coordinate columns of a table: names, or numbers from 1, as lon,lat or 2,3
    ///
    /// Default: the columns x, y (and z), else longitude and latitude, else all numeric columns except those named as
    /// indexes, ids, labels, weights or particle data. The report names the columns that are not used. Distances are
    /// Euclidean: convert longitude and latitude to unit vectors x, y, z for angles on the sphere.
    #[arg(long = "coordinates", value_name = "A,B", value_delimiter = ',', visible_alias = "columns")]
    pub columns: Vec<String>,
    /// Skip rows of a table with missing coordinates
    ///
    /// Missing values are NaN, nulls of Parquet tables, and in text empty fields, NA, N/A, null, None and --. Skipped
    /// rows have the label -1, so that labels and rows of the file correspond.
    #[arg(long)]
    pub skip_missing: bool,
    /// Side of the periodic box, in the coordinates' unit [default: open boundaries]
    ///
    /// A box in the file is not used.
    #[arg(long = "box", value_name = "L", value_parser = number, allow_negative_numbers = true, visible_alias = "periodic")]
    pub periodic: Option<f64>,
    /// Read only the given file of a split snapshot
    #[arg(long)]
    pub single_part: bool,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Write the report as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Points {
    /// Returns the options for reading the coordinates of the file. A box in the file is ignored, whatever its shape.
    pub fn options(&self) -> ReadOptions {
        ReadOptions::default()
            .columns(&self.columns)
            .coordinates_only(true)
            .skip_missing(self.skip_missing)
            .single_part(self.single_part)
            .open(true)
    }

    /// Refuses `--skip-missing` for a `command` whose results are numbered by the rows of the file. The help of such
    /// a command hides the option; the error names an alternative.
    pub fn refuse_skipping(&self, command: &str) -> Result<(), Failure> {
        if !self.skip_missing {
            return Ok(());
        }
        let file = self.file.display();
        let (chosen, after) = match &self.columns[..] {
            [] => (String::new(), ""),
            columns => (format!("--coordinates {} ", columns.join(",")), ", and read it without --coordinates"),
        };
        Err(format!(
            "--skip-missing: not with {command}, whose results are numbered by rows; write a table without them first \
             (ropewalk convert --skip-missing {chosen}{file} complete.csv){after}"
        )
        .into())
    }
}
