//! Reading of files and of standard input.

use std::path::Path;

use ropewalk::Error;
use ropewalk_io::{Fields, Points, Progress, ReadOptions, Snapshot};

use super::args::UNIT_VECTORS;
use super::failure::Failure;
use super::phases::Phases;
use super::{args, option_names, periodic};

/// The name of standard input on the command line.
pub const STANDARD_INPUT: &str = "-";

/// Reads a file, or standard input for `-`, and shows a progress bar.
pub fn read(path: &Path, options: &ReadOptions, phases: &mut Phases) -> Result<Snapshot, Failure> {
    let mut snapshot = phases.run_with_bar("read", |tell: &(dyn Fn(Progress) + Sync)| {
        if path.as_os_str() == STANDARD_INPUT {
            ropewalk_io::read_from(std::io::stdin().lock(), "standard input", options, Some(tell))
        } else {
            ropewalk_io::read_with(path, options, Some(tell))
        }
    })?;
    snapshot.notes = option_names::notes(&snapshot.notes);
    Ok(snapshot)
}

/// Returns the name of a file for messages; `standard input` for `-`.
fn shown(path: &Path) -> std::borrow::Cow<'_, str> {
    match path.as_os_str() == STANDARD_INPUT {
        true => "standard input".into(),
        false => path.to_string_lossy(),
    }
}

/// Refuses coordinates that are not finite. The error names the file and the row; `first_row` is the row of the first
/// point.
pub fn check_finite(path: &Path, points: &Points, first_row: u64) -> ropewalk::Result<()> {
    points.check_finite().map_err(|error| {
        let row = first_row as usize + error.index().unwrap_or(0);
        let error = error.at(row);
        Error::new(error.kind(), error.to_string()).at(row).in_file(&*shown(path))
    })
}

/// A snapshot, and the number of its points outside of the periodic box.
pub struct PointsInput {
    pub snapshot: Snapshot,
    /// The number of points outside of the periodic box.
    pub outside: u64,
}

/// Reads the points of a command. They must fit the periodic box, if there is one.
pub fn points(args: &args::Points, phases: &mut Phases) -> Result<PointsInput, Failure> {
    points_of(&args.file, args, phases)
}

/// Reads another file of points, such as queries or targets. They must fit the same periodic box.
pub fn points_of(path: &Path, args: &args::Points, phases: &mut Phases) -> Result<PointsInput, Failure> {
    let mut snapshot = read(path, &args.options(), phases)?;
    snapshot.notes.extend(sky_note(&snapshot.columns));
    check_finite(path, &snapshot.points, 0)?;
    let outside = periodic::wrapped(&snapshot.points, args.periodic, snapshot.box_size)
        .map_err(|error| format!("{}: {error}", shown(path)))?;
    Ok(PointsInput { snapshot, outside })
}

/// Returns a note if the coordinates include longitude and latitude, whose distances are Euclidean.
pub fn sky_note(columns: &[String]) -> Option<String> {
    let [longitude, latitude] = ropewalk_io::sky_columns(columns)?.map(|column| columns[column].as_str());
    Some(format!(
        "{longitude} and {latitude} are treated as Cartesian coordinates; for angles on the sphere {UNIT_VECTORS}"
    ))
}

/// Reads the chosen fields, or all of them, with one row per point. If the file has no names, the fields are called
/// value, or value0, value1 and so on.
pub fn fields(path: &Path, chosen: &[String], points: usize) -> Result<Fields, Failure> {
    let mut fields = ropewalk_io::read_fields(path, chosen)?;
    fields.notes = option_names::notes(&fields.notes);
    let len = fields.values.len() / fields.columns;
    if len != points {
        return Err(format!("{}: has {len} rows; expected {points}, one per source", path.display()).into());
    }
    if fields.names.len() != fields.columns {
        fields.names = match fields.columns {
            1 => vec!["value".into()],
            n => (0..n).map(|i| format!("value{i}")).collect(),
        };
    }
    Ok(fields)
}

/// Expands values of points to all rows of the file. The `skipped` rows, in ascending order, get the value `missing`.
pub fn of_rows<T: Copy>(values: &[T], skipped: &[u64], missing: T) -> Vec<T> {
    let mut rows = Vec::with_capacity(values.len() + skipped.len());
    let mut rest = values.iter().copied();
    for &row in skipped {
        rows.extend(rest.by_ref().take(row as usize - rows.len()));
        rows.push(missing);
    }
    rows.extend(rest);
    rows
}

/// Returns notes with the prefix `what`, the role of the file that they are about.
pub fn notes_of<'a>(what: &'a str, notes: &'a [String]) -> impl Iterator<Item = String> + 'a {
    notes.iter().map(move |note| format!("{what}: {note}"))
}

fn wide(points: Points) -> Vec<f64> {
    match points {
        Points::F32(table) => table.as_slice().iter().map(|&x| x.into()).collect(),
        Points::F64(table) => table.into_vec(),
    }
}

/// Reads a file of one column with one value per point, for the option `option`. Adds the notes of its reader to
/// `notes`.
pub fn values(option: &str, path: &Path, points: usize, notes: &mut Vec<String>) -> Result<Vec<f64>, Failure> {
    let read = ropewalk_io::read(path, &ReadOptions::default().coordinates_only(true))?;
    notes.extend(notes_of(option, &option_names::notes(&read.notes)));
    let column = read.points;
    if column.dim() != 1 || column.len() != points {
        let (file, len, dim) = (path.display(), column.len(), column.dim());
        return Err(format!(
            "{option} {file}: has {len} rows of {dim} values; expected {points} rows of one value, one per point"
        )
        .into());
    }
    Ok(wide(column))
}
