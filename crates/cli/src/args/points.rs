//! The arguments of all commands about points in 1 to 10 dimensions.

use std::path::PathBuf;

use ropewalk_io::ReadOptions;

use super::super::failure::Failure;

/// Where the points are.
#[derive(Clone, Debug, clap::Args)]
pub struct Points {
    /// The file with the points: a table, an array, or a snapshot, of which all particles are read; - is standard input
    pub file: PathBuf,
    /// Columns of a table that are coordinates: names or numbers from 1, as lon,lat or 2,3. Default: those named x, y (and z); else
    /// longitude and latitude; else all that hold numbers, but for indexes, ids, labels, weights and particle data by their names. The report
    /// names the columns that are left out
    #[arg(long, value_name = "A,B", value_delimiter = ',', visible_alias = "coordinates")]
    pub columns: Vec<String>,
    /// Leave out rows of a text table with missing values in these columns: empty fields, NA, N/A, NaN, null, None, --. Labels of such
    /// rows are -1, so that labels and rows of the file correspond
    #[arg(long)]
    pub skip_missing: bool,
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
    /// What is read of the file: its coordinates. Its box is not used, of whatever shape.
    pub fn options(&self) -> ReadOptions {
        ReadOptions::default()
            .columns(&self.columns)
            .coordinates_only(true)
            .skip_missing(self.skip_missing)
            .single_part(self.single_part)
            .open(true)
    }

    /// Errors: rows are to be left out, and the results of `command` would not be those of the rows of the file. The help of such a command
    /// does not list the option (`hide`); the error names another way.
    pub fn refuse_skipping(&self, command: &str) -> Result<(), Failure> {
        if !self.skip_missing {
            return Ok(());
        }
        let file = self.file.display();
        let (chosen, after) = match &self.columns[..] {
            [] => (String::new(), ""),
            columns => (format!("--coordinates {} ", columns.join(",")), ", and read it without --columns"),
        };
        Err(format!(
            "--skip-missing: not with {command}, whose results are numbered by rows; write a table without them first \
             (ropewalk convert --skip-missing {chosen}{file} complete.csv){after}"
        )
        .into())
    }
}
