//! The header of enhanced CSV: the units of its columns.
//!
//! In: the path of a text table. Out: the units of coordinates, masses and velocities, where the header names some we know.
//! Cost: the lines that start with `#`, 64 KiB at most.
//! Source: Aldcroft, "The Enhanced Character Separated Values table format", APE 6.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use yaml_rust2::{Yaml, YamlLoader};

use super::{Error, Result};
use crate::units::KnownUnits;

/// Bytes of a header that are read.
const LONGEST_HEADER: u64 = 1 << 16;

/// The units that the header of the table names for its columns, of which those with the names `coordinates` are coordinates, or
/// x, y and z if there are none; no units if it is no enhanced CSV.
///
/// Errors: coordinates, or velocities, whose units differ. A unit of another kind, degrees say, is nothing that we know.
pub(super) fn units(path: &Path, coordinates: &[String]) -> Result<KnownUnits> {
    let lower: Vec<String> = coordinates.iter().map(|name| name.to_lowercase()).collect();
    let coordinates: Vec<&str> =
        if lower.is_empty() { vec!["x", "y", "z"] } else { lower.iter().map(String::as_str).collect() };
    let Some(columns) = header(path).and_then(|header| columns(&header)) else { return Ok(KnownUnits::default()) };
    Ok(KnownUnits {
        length: common(path, &columns, &coordinates)?,
        mass: common(path, &columns, &["mass"])?,
        velocity: common(path, &columns, &["vx", "vy", "vz"])?,
    })
}

/// The YAML of the header; none if there is no such header.
fn header(path: &Path) -> Option<String> {
    let mut bytes = vec![];
    File::open(path).ok()?.take(LONGEST_HEADER).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let first = lines.next()?.trim_start_matches('\u{feff}');
    first.strip_prefix('#')?.trim_start().strip_prefix("%ECSV")?;
    let lines: Vec<&str> = lines.map_while(|line| line.strip_prefix('#')).collect();
    // Lines begin with `# `.
    Some(lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n"))
}

/// The names of the columns, in lower case, and their units.
fn columns(header: &str) -> Option<Vec<(String, String)>> {
    let documents = YamlLoader::load_from_str(header).ok()?;
    let columns = documents.first()?["datatype"].as_vec()?;
    let text = |column: &Yaml, key: &str| column[key].as_str().map(str::to_owned);
    Some(
        columns
            .iter()
            .filter_map(|column| Some((text(column, "name")?.to_lowercase(), text(column, "unit")?)))
            .collect(),
    )
}

/// The one unit of the columns with these names.
fn common<T: FromStr + PartialEq>(path: &Path, columns: &[(String, String)], names: &[&str]) -> Result<Option<T>> {
    let mut found: Option<(&str, T)> = None;
    for (name, unit) in columns.iter().filter(|(name, _)| names.contains(&name.as_str())) {
        match (&found, unit.parse::<T>()) {
            (Some((first, known)), Ok(own)) if own != *known => {
                return Err(Error::file(
                    path,
                    format!("columns {first} and {name} have different units; {name} has {unit}"),
                ));
            }
            (None, Ok(own)) => found = Some((name, own)),
            _ => {}
        }
    }
    Ok(found.map(|(_, unit)| unit))
}
