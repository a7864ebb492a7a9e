//! The file of `--out` of `dbscan` and `hdbscan`: labels alone, or the input table with a column of labels.

use std::path::{Path, PathBuf};

use ropewalk::Labels;
use ropewalk_io::{ExtendedTable, Snapshot};
use ropewalk_table::columns::{Column, Values};

use super::failure::Failure;
use super::input::{STANDARD_INPUT, of_rows};
use super::outputs::{Outputs, PointsFormat};

/// The prefix of the name of a column whose own name the table has already.
const PREFIX: &str = "cluster";

/// The file of `--out` and its format.
pub struct LabelsFile<'a> {
    path: &'a Path,
    format: PointsFormat,
}

impl<'a> LabelsFile<'a> {
    pub fn new(path: &'a Option<PathBuf>) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        Ok(Some(Self { path, format: PointsFormat::new("--out", path)? }))
    }

    /// Returns `true` for tables, which have further columns besides the labels.
    pub fn is_table(&self) -> bool {
        self.format != PointsFormat::Npy
    }

    /// Writes the labels of the points of `file`. Tables also get the columns `more`: names, values of the points, and
    /// the value of skipped rows. Adds notes to `snapshot`.
    pub fn write(
        &self,
        outputs: &mut Outputs,
        file: &Path,
        snapshot: &mut Snapshot,
        labels: &Labels,
        more: &[(&str, &[f64], f64)],
    ) -> Result<(), Failure> {
        let labels = of_rows(labels.as_slice(), &snapshot.skipped, -1);
        let PointsFormat::Table(format) = self.format else {
            return outputs.write(self.path, |out| ropewalk_io::write_npy_i32_to(out, &labels));
        };
        let table = match file.as_os_str() == STANDARD_INPUT {
            true => None,
            false => ExtendedTable::open(file, format)?,
        };
        let table = match table {
            Some(table) => table,
            None => {
                let name = self.path.display();
                snapshot.notes.push(format!(
                    "{name}: holds coordinates and labels only; other columns are kept for text tables and Parquet tables read from a file"
                ));
                ExtendedTable::of_points(&snapshot.points, &snapshot.columns, &snapshot.skipped, format)?
            }
        };
        snapshot.notes.extend(table.notes().iter().map(|note| format!("{}: {note}", self.path.display())));
        let labels = Values::Signed(labels.into_iter().map(i64::from).collect());
        let more = more
            .iter()
            .map(|&(name, values, skipped)| (name, Values::Numbers(of_rows(values, &snapshot.skipped, skipped))));
        let columns: Vec<Column> = [("label", labels)]
            .into_iter()
            .chain(more)
            .map(|(name, values)| Column::new(table.free_name(name, PREFIX), values))
            .collect();
        for (column, name) in columns.iter().zip(["label", "probability", "outlier_score"]) {
            if column.name() != name {
                let (out, new) = (self.path.display(), column.name());
                snapshot.notes.push(format!("{out}: the table has a column {name}, so that the new one is {new}"));
            }
        }
        outputs.write(self.path, |out| table.write(out, &columns))
    }
}
