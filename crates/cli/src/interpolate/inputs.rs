//! The sources, values and targets of `ropewalk interpolate`, from three files, or from a table with values and a grid.

use std::path::Path;

use ropewalk_io::{Fields, Points, Snapshot};

use crate::args::Interpolate as Args;
use crate::failure::Failure;
use crate::grid::Grid;
use crate::input;
use crate::phases::Phases;

/// The names of the files besides that of the sources.
pub struct Files<'a> {
    /// The file with the values; that of the sources with `--values-columns`.
    pub values: &'a Path,
    /// The file with the targets; `None` with `--grid`.
    pub targets: Option<&'a Path>,
}

impl<'a> Files<'a> {
    /// Returns the files that the arguments name.
    pub fn new(args: &'a Args) -> Result<Self, Failure> {
        let file = args.points.file.as_path();
        let named: Vec<&Path> = [&args.values, &args.targets].into_iter().flatten().map(AsRef::as_ref).collect();
        let in_table = !args.values_columns.is_empty();
        match (&named[..], in_table, args.grid.is_some()) {
            (&[values, targets], false, false) => Ok(Self { values, targets: Some(targets) }),
            (&[values], false, true) => Ok(Self { values, targets: None }),
            (&[targets], true, false) => Ok(Self { values: file, targets: Some(targets) }),
            (&[], true, true) => Ok(Self { values: file, targets: None }),
            (&[], true, false) => Err("the targets are missing; give the file TARGETS, or --grid 200x200".into()),
            (&[], false, _) => {
                Err("the values are missing; give the file VALUES, or --values-columns A,B of FILE itself".into())
            }
            (&[_], false, false) => {
                Err("the targets are missing; give FILE, VALUES and TARGETS, or --grid 200x200".into())
            }
            (_, true, true) => Err("--values-columns and --grid need only FILE, without VALUES and TARGETS".into()),
            (_, true, false) => Err("--values-columns: give FILE and TARGETS, without VALUES".into()),
            (_, false, _) => Err("--grid: give FILE and VALUES, without TARGETS".into()),
        }
    }

    /// Returns all files that are read.
    pub fn all(&self, args: &'a Args) -> Vec<&'a Path> {
        let mut all = vec![args.points.file.as_path(), self.values];
        all.extend(self.targets);
        all.dedup();
        all
    }
}

/// The places at which values are interpolated.
pub struct Targets {
    pub places: Points,
    /// The names of the coordinates; empty if they have none.
    pub names: Vec<String>,
    pub grid: Option<Grid>,
    /// The number of targets outside of the periodic box.
    pub outside: u64,
}

/// The points, values and targets that the command reads.
pub struct Inputs {
    pub sources: Snapshot,
    /// The number of sources outside of the periodic box.
    pub outside: u64,
    pub fields: Fields,
    pub targets: Targets,
}

impl Inputs {
    pub fn read(args: &Args, files: &Files<'_>, phases: &mut Phases) -> Result<Self, Failure> {
        let in_table = !args.values_columns.is_empty();
        if in_table && args.points.file.as_os_str() == input::STANDARD_INPUT {
            return Err("--values-columns: standard input can be read only once; give the name of a file".into());
        }
        let mut sources = input::points(&args.points, phases)?;
        let chosen = if in_table { &args.values_columns } else { &args.fields };
        let fields = input::fields(files.values, chosen, sources.snapshot.points.len())?;
        if in_table && args.points.columns.is_empty() {
            sources = without_values(args, &fields, sources, phases)?;
        }
        let input::PointsInput { mut snapshot, outside } = sources;
        if in_table {
            snapshot.notes = snapshot.notes.iter().filter_map(|note| of_others(note, &fields.names)).collect();
        }
        snapshot.notes.extend(input::notes_of("fields", &fields.notes));
        let targets = match (files.targets, &args.grid) {
            (Some(path), _) => {
                let read = input::points_of(path, &args.points, phases)?;
                snapshot.notes.extend(input::notes_of("targets", &read.snapshot.notes));
                let (places, names) = (read.snapshot.points, read.snapshot.columns);
                Targets { places, names, grid: None, outside: read.outside }
            }
            (None, Some(cells)) => {
                let grid = Grid::around(&cells.0, &snapshot.points, args.points.periodic)?;
                let (places, names) = (grid.points()?, snapshot.columns.clone());
                Targets { places, names, grid: Some(grid), outside: 0 }
            }
            (None, None) => return Err("the targets are missing".into()),
        };
        Ok(Self { sources: snapshot, outside, fields, targets })
    }
}

/// Removes the columns of values from a note about columns that are left out; `None` if no column remains.
fn of_others(note: &str, values: &[String]) -> Option<String> {
    const START: &str = "columns left out: ";
    let Some((columns, advice)) = note.strip_prefix(START).and_then(|rest| rest.rsplit_once("; ")) else {
        return Some(note.into());
    };
    let is_value =
        |column: &str| column.rsplit_once(" (").is_some_and(|(name, _)| values.iter().any(|value| value == name));
    let others: Vec<&str> = columns.split_inclusive("), ").map(|column| column.trim_end_matches(", ")).collect();
    let others: Vec<&str> = others.into_iter().filter(|column| !is_value(column)).collect();
    (!others.is_empty()).then(|| format!("{START}{}; {advice}", others.join(", ")))
}

/// Reads the sources again if columns of values were taken as coordinates.
fn without_values(
    args: &Args,
    fields: &Fields,
    sources: input::PointsInput,
    phases: &mut Phases,
) -> Result<input::PointsInput, Failure> {
    let names = &sources.snapshot.columns;
    if names.is_empty() {
        return Err(
            "--values-columns: the columns have no names; name the coordinates, too, as --coordinates 1,2".into()
        );
    }
    let rest: Vec<String> = names.iter().filter(|name| !fields.names.contains(name)).cloned().collect();
    if rest.len() == names.len() {
        return Ok(sources);
    }
    if rest.is_empty() {
        return Err("--values-columns: no column is left for coordinates; name them with --coordinates A,B".into());
    }
    let mut points = args.points.clone();
    points.columns = rest;
    input::points(&points, phases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_without_the_columns_of_values() {
        let values = ["rho".to_string(), "T (K)".to_string()];
        let of = |note: &str| of_others(note, &values);
        let all = "columns left out: rho (beside x, y), T (K) (beside x, y), name (text); choose the columns (--a)";
        assert_eq!(of(all).as_deref(), Some("columns left out: name (text); choose the columns (--a)"));
        assert_eq!(of("columns left out: rho (beside x, y); choose the columns"), None);
        for other in ["3 of 4 rows are left out", "columns left out: a (text); choose the columns"] {
            assert_eq!(of(other).as_deref(), Some(other));
        }
    }
}
