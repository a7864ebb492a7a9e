//! Formats of columns and pictures by the ending of the name, and text tables.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;

use ropewalk_io::TableFormat;
use ropewalk_plot::PictureFormat;
use ropewalk_table::columns::csv_name;

use crate::failure::Failure;

/// The format of a file with a column of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column {
    Npy,
    Csv,
}

impl Column {
    /// Returns the format for a name. `-`, standard output, is text. The format of a link without an ending, such as
    /// /dev/stdout, is that of its target. A pipe or a device without an ending gets an array.
    pub fn new(option: &str, path: &Path) -> Result<Self, Failure> {
        Ok(if found_ending(option, path, &["npy", "csv"])? == "csv" { Self::Csv } else { Self::Npy })
    }
}

/// The format of a file with values of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointsFormat {
    /// The values alone.
    Npy,
    /// A table with columns of the points, and the values.
    Table(TableFormat),
}

impl PointsFormat {
    /// Returns the format for a name, as [`Column::new`] does.
    pub fn new(option: &str, path: &Path) -> Result<Self, Failure> {
        Ok(match found_ending(option, path, &["npy", "csv", "ecsv", "parquet"])? {
            "csv" => Self::Table(TableFormat::Csv),
            "ecsv" => Self::Table(TableFormat::Ecsv),
            "parquet" => Self::Table(TableFormat::Parquet),
            _ => Self::Npy,
        })
    }
}

/// Returns the ending of a name, or that of the format that [`Column::new`] describes.
fn found_ending(option: &str, path: &Path, known: &[&'static str]) -> Result<&'static str, Failure> {
    if path.as_os_str() == "-" {
        return Ok("csv");
    }
    let bare = path.extension().is_none();
    if bare && fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Ok("npy");
    }
    let real = path.canonicalize().ok().filter(|_| bare);
    ending(option, real.as_deref().unwrap_or(path), known)
}

/// Returns the ending of a name, in lower case. Refuses endings that are not in `known`.
pub fn ending(option: &str, path: &Path, known: &[&'static str]) -> Result<&'static str, Failure> {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    let found = known.iter().find(|known| ending.as_deref() == Some(OsStr::new(known)));
    found.copied().ok_or_else(|| {
        let endings: Vec<String> = known.iter().map(|known| format!(".{known}")).collect();
        format!("{option} {}: the name must end in {}", path.display(), endings.join(" or ")).into()
    })
}

/// Returns the picture format for the ending of a name.
pub fn picture_format(option: &str, path: &Path) -> Result<PictureFormat, Failure> {
    let found = ending(option, path, &PictureFormat::ALL.map(PictureFormat::ending))?;
    Ok(PictureFormat::ALL.into_iter().find(|format| format.ending() == found).unwrap_or_default())
}

/// Returns the picture format for the ending of a name; `None` for a page, .html.
pub fn plot_format(option: &str, path: &Path) -> Result<Option<PictureFormat>, Failure> {
    let [png, svg, pdf] = PictureFormat::ALL.map(PictureFormat::ending);
    let found = ending(option, path, &[png, svg, pdf, "html"])?;
    Ok(PictureFormat::ALL.into_iter().find(|format| format.ending() == found))
}

/// Writes a text table with column names, and rows with one value per name. Values are the same when read back.
pub fn write_csv<T: std::fmt::Debug>(mut out: impl Write, names: &[&str], values: &[T]) -> Result<(), Failure> {
    writeln!(out, "{}", names.iter().map(|name| csv_name(name)).collect::<Vec<_>>().join(","))?;
    for row in values.chunks_exact(names.len().max(1)) {
        for (k, value) in row.iter().enumerate() {
            // `Debug` uses an exponent for numbers that would have many digits.
            write!(out, "{}{value:?}", if k > 0 { "," } else { "" })?;
        }
        writeln!(out)?;
    }
    Ok(())
}
