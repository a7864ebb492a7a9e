//! Tables with all columns of a file and further ones, such as labels.
//!
//! - in: a text table or a Parquet table, whose columns of any kind are kept, or points of any other file; and columns
//!   with one value per row
//! - out: the same rows in the same order as CSV, enhanced CSV or Parquet
//! - cost: the file is read once more. Parquet tables that stay Parquet are copied as they are stored; other tables
//!   are held in memory as text

use std::io::Write;
use std::path::{Path, PathBuf};

use ropewalk::internals::cancel::guarded;
use ropewalk::{Error, ErrorKind, Result};
use ropewalk_table::columns::{Column, HeaderEntry, Values, csv_name, write_header};

use crate::cells::{CellKind, Cells};
use crate::locate::located;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::read_file::{TableKind, kind_of_table};
use crate::text::{self, lacks_value};
use crate::{Points, TableFormat};

/// The columns of a file, to which further columns are added.
///
/// ```
/// use ropewalk_io::{ExtendedTable, TableFormat};
/// use ropewalk_table::columns::{Column, Values};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "name,x\nfirst,0.50\nsecond,\n")?;
/// let table = ExtendedTable::open(&path, TableFormat::Csv)?.expect("a text table");
/// let labels = Column::new(table.free_name("label", "cluster"), Values::Signed(vec![0, -1]));
/// let mut text = vec![];
/// table.write(&mut text, &[labels])?;
/// assert_eq!(text, b"name,x,label\nfirst,0.50,0\nsecond,,-1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExtendedTable {
    path: PathBuf,
    format: TableFormat,
    rows: usize,
    content: Content,
    notes: Vec<String>,
}

enum Content {
    Cells(Vec<Cells>),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::ParquetFile>),
}

impl ExtendedTable {
    /// Reads all columns of a text table or a Parquet table, for a table in `format`. Returns `None` for files of
    /// other formats, of which [`ExtendedTable::of_points`] makes a table.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid table, or if `format` is HDF5.
    pub fn open(path: impl AsRef<Path>, format: TableFormat) -> Result<Option<Self>> {
        check_format(path.as_ref(), format)?;
        let (path, _) = located(path.as_ref())?;
        guarded(|| {
            let mut notes = vec![];
            let content = match kind_of_table(&path)? {
                TableKind::Text => {
                    let (cells, has_metadata) = text::read_cells(&path)?;
                    if has_metadata {
                        notes.push("the metadata in the header of the input is left out".into());
                    }
                    Content::Cells(cells)
                }
                #[cfg(feature = "parquet")]
                TableKind::Parquet if format == TableFormat::Parquet => {
                    let file = parquet::ParquetFile::open(&path)?;
                    if file.has_descriptions() {
                        notes.push("units and descriptions of columns of the input are left out".into());
                    }
                    Content::Parquet(Box::new(file))
                }
                #[cfg(feature = "parquet")]
                TableKind::Parquet => {
                    let (cells, left_out) = parquet::read_cells(&path)?;
                    if !left_out.is_empty() {
                        notes.push(format!("columns of lists are left out: {}", left_out.join(", ")));
                    }
                    Content::Cells(cells)
                }
                TableKind::Other => return Ok(None),
            };
            Ok(Some(Self::new(path.clone(), format, content, notes)))
        })
    }

    /// Makes a table of points, for a table in `format`. Coordinates without `names` are called x, y and z, or
    /// x_1, x_2 and so on if there are more than three. The `skipped` rows, ascending, are added with coordinates of
    /// NaN.
    ///
    /// # Errors
    /// If `format` is HDF5.
    pub fn of_points(points: &Points, names: &[String], skipped: &[u64], format: TableFormat) -> Result<Self> {
        check_format(Path::new("points"), format)?;
        let dim = points.dim();
        let values = |axis: usize| -> Vec<f64> {
            let each: Vec<f64> = match points {
                Points::F32(table) => table.as_slice().iter().skip(axis).step_by(dim).map(|&x| x.into()).collect(),
                Points::F64(table) => table.as_slice().iter().skip(axis).step_by(dim).copied().collect(),
            };
            let mut rows = Vec::with_capacity(each.len() + skipped.len());
            let mut rest = each.into_iter();
            for &row in skipped {
                rows.extend(rest.by_ref().take((row as usize).saturating_sub(rows.len())));
                rows.push(f64::NAN);
            }
            rows.extend(rest);
            rows
        };
        let name = |axis: usize| match names.get(axis).filter(|_| names.len() == dim) {
            Some(name) => name.clone(),
            None if dim <= 3 => ["x", "y", "z"][axis].into(),
            None => format!("x_{}", axis + 1),
        };
        guarded(|| {
            let column = |axis: usize| Cells::of(&Column::new(name(axis), Values::Numbers(values(axis))));
            Ok(Self::new(PathBuf::new(), format, Content::Cells((0..dim).map(column).collect()), vec![]))
        })
    }

    fn new(path: PathBuf, format: TableFormat, content: Content, notes: Vec<String>) -> Self {
        let rows = match &content {
            Content::Cells(cells) => cells.first().map_or(0, Cells::len),
            #[cfg(feature = "parquet")]
            Content::Parquet(file) => file.rows(),
        };
        Self { path, format, rows, content, notes }
    }

    /// Returns notes about columns and metadata that are left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns a name that no column has: `name`, or else `prefix` with `name`, and a number if that is taken, too.
    /// Upper and lower case count as the same.
    pub fn free_name(&self, name: &str, prefix: &str) -> String {
        let names: Vec<String> = match &self.content {
            Content::Cells(cells) => cells.iter().map(|cells| cells.name.to_lowercase()).collect(),
            #[cfg(feature = "parquet")]
            Content::Parquet(file) => file.names().iter().map(|name| name.to_lowercase()).collect(),
        };
        let more = (2..).map(|number| format!("{prefix}_{name}_{number}"));
        let mut all = [name.to_string(), format!("{prefix}_{name}")].into_iter().chain(more);
        all.find(|free| !names.contains(&free.to_lowercase())).unwrap_or_default()
    }

    /// Writes the table with `columns` at the end.
    ///
    /// Cells of CSV are those of the text table. In enhanced CSV and Parquet, a column of a text table has the kind of
    /// all of its values: integers, numbers, true and false, or text.
    ///
    /// # Errors
    /// If `out` fails, or a column does not have a value for each row. In Parquet, also if a name occurs twice.
    pub fn write(&self, mut out: impl Write + Send, columns: &[Column]) -> Result<()> {
        if let Some(column) = columns.iter().find(|column| column.values().len() != self.rows) {
            let (rows, values) = (self.rows, column.values().len());
            let message =
                format!("has {rows} rows, but {values} values of {}; it changed while it was used", column.name());
            return Err(Error::file(&self.path, message));
        }
        guarded(|| {
            let more: Vec<Cells> = columns.iter().map(Cells::of).collect();
            match &self.content {
                #[cfg(feature = "parquet")]
                Content::Parquet(file) => file.write_with(out, &more),
                Content::Cells(cells) => {
                    let all: Vec<&Cells> = cells.iter().chain(&more).collect();
                    match self.format {
                        #[cfg(feature = "parquet")]
                        TableFormat::Parquet => {
                            check_names(&all)?;
                            parquet::write_cells(out, &all)
                        }
                        format => write_text(&mut out, &all, self.rows, format).map_err(Error::write),
                    }
                }
            }
        })
    }
}

fn check_format(path: &Path, format: TableFormat) -> Result<()> {
    match format {
        TableFormat::Hdf5 => {
            let sentence = "further columns are added to CSV, enhanced CSV and Parquet, not to HDF5";
            Err(Error::new(ErrorKind::Unsupported, sentence).in_file(path))
        }
        _ => Ok(()),
    }
}

/// Errors: two columns with one name.
#[cfg(feature = "parquet")]
fn check_names(columns: &[&Cells]) -> Result<()> {
    for (i, cells) in columns.iter().enumerate() {
        if columns[..i].iter().any(|other| other.name == cells.name) {
            let sentence = format!("two columns are named {}, which Parquet does not allow", cells.name);
            return Err(Error::new(ErrorKind::Input, sentence));
        }
    }
    Ok(())
}

/// Writes CSV, or enhanced CSV with types and units.
fn write_text(out: &mut dyn Write, columns: &[&Cells], rows: usize, format: TableFormat) -> std::io::Result<()> {
    let is_typed = format == TableFormat::Ecsv;
    if is_typed {
        // Units are words and operators; others would need quotes.
        let is_plain = |unit: &String| unit.chars().all(|c| c.is_alphanumeric() || " ./*^()+-".contains(c));
        let entries = columns.iter().map(|cells| HeaderEntry {
            name: &cells.name,
            unit: cells.unit.clone().filter(is_plain),
            datatype: match cells.kind {
                CellKind::Signed => "int64",
                CellKind::Unsigned => "uint64",
                CellKind::Number => "float64",
                CellKind::Boolean => "bool",
                CellKind::Text => "string",
            },
            description: String::new(),
        });
        write_header(out, &entries.collect::<Vec<_>>(), &[])?;
    }
    let names: Vec<String> = columns.iter().map(|cells| csv_name(&cells.name)).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..rows {
        for (i, cells) in columns.iter().enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            let cell = cells.get(row);
            match cells.kind {
                CellKind::Text => out.write_all(quoted(cell).as_bytes())?,
                CellKind::Number if is_typed && text::number_in(cell).is_none() => {}
                CellKind::Signed | CellKind::Unsigned | CellKind::Boolean if is_typed && lacks_value(cell) => {}
                CellKind::Boolean if is_typed => {
                    out.write_all(if cell.eq_ignore_ascii_case("true") { b"True" } else { b"False" })?;
                }
                _ => out.write_all(cell.as_bytes())?,
            }
        }
        writeln!(out)?;
    }
    out.flush()
}

/// Returns a cell in quotes if readers could misinterpret parts of it. Line breaks become blanks, since they end a line
/// of a table even within quotes.
fn quoted(cell: &str) -> String {
    let cell = cell.replace(['\n', '\r'], " ");
    let is_plain = cell.trim() == cell && !cell.contains([',', ';', '|', '\t', '"', '\'', '#']);
    if is_plain { cell } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}
