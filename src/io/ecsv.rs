//! The header of enhanced CSV: the units of its columns, the redshift, the box and the cosmology.
//!
//! In: the path of a text table. Out: the units of coordinates, masses and velocities, where the header names some we know; the entries
//! that catalogues of ours have, where it has them.
//! Cost: the lines that start with `#`, 64 KiB at most. The header is read as events, without aliases and to a limited depth, so
//! that no file takes more memory or stack than it is long.
//! Source: Aldcroft, "The Enhanced Character Separated Values table format", APE 6.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use yaml_rust2::Event;
use yaml_rust2::parser::Parser;

use crate::io::{Background, Error, Result};
use crate::units::{Frame, KnownUnits, LengthUnit};

/// Bytes of a header that are read.
const LONGEST_HEADER: u64 = 1 << 16;
/// Csr and maps within each other; a header has four.
const DEEPEST: usize = 8;

/// What a header says.
#[derive(Default)]
pub(super) struct Header {
    pub units: KnownUnits,
    pub redshift: Option<f64>,
    pub box_size: Option<f64>,
    pub background: Background,
    /// The mass of each particle, if all have one.
    pub particle_mass: Option<f64>,
}

/// A column of the header.
#[derive(Default)]
struct Column {
    name: String,
    unit: Option<String>,
    description: String,
}

impl Header {
    /// What the header of a table says of its columns, of which those with the names `coordinates` are coordinates, or x, y and z if
    /// there are none; nothing if it is no enhanced CSV.
    ///
    /// Errors: coordinates, or velocities, of which some have a unit that we know and others have another one or none. Units of
    /// another kind alone, degrees say, are nothing that we know.
    pub(super) fn read(path: &Path, coordinates: &[String]) -> Result<Self> {
        let values = text(path).and_then(|text| values(&text));
        values.map_or_else(|| Ok(Self::default()), |values| Self::of(path, &values, coordinates))
    }

    /// The same of the scalars of its YAML, with the keys and places that lead to them.
    pub(super) fn of(path: &Path, values: &[(Vec<String>, String)], coordinates: &[String]) -> Result<Self> {
        let columns = columns(values);
        let named: Vec<String> = coordinates.iter().map(|name| name.to_lowercase()).collect();
        let coordinates: Vec<&str> =
            if named.is_empty() { vec!["x", "y", "z"] } else { named.iter().map(String::as_str).collect() };
        let length: Option<LengthUnit> = common(path, &columns, &coordinates)?;
        let is_physical = columns
            .iter()
            .any(|column| coordinates.contains(&column.name.as_str()) && column.description.ends_with("physical"));
        let frame = |unit: LengthUnit| if is_physical { LengthUnit { frame: Frame::Physical, ..unit } } else { unit };
        let units = KnownUnits {
            length: length.map(frame),
            mass: common(path, &columns, &["mass"])?,
            velocity: common(path, &columns, &["vx", "vy", "vz"])?,
        };
        let entry = |name: &str| {
            let is_entry = |(path, _): &&(Vec<String>, String)| {
                path.first().is_some_and(|first| first == "meta") && path.last().is_some_and(|last| last == name)
            };
            values.iter().find(is_entry).and_then(|(_, value)| value.parse::<f64>().ok())
        };
        let positive = |name: &str| entry(name).filter(|&value| value > 0.0 && value < f64::INFINITY);
        Ok(Self {
            units,
            redshift: entry("redshift"),
            box_size: positive("box_size"),
            background: Background {
                omega_m: positive("omega_m"),
                omega_lambda: entry("omega_lambda").filter(|value| value.is_finite()),
                h: positive("h"),
            },
            particle_mass: positive("particle_mass"),
        })
    }
}

/// The YAML of the header; none if there is no such header.
fn text(path: &Path) -> Option<String> {
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

/// All scalars of the YAML with the keys and the places in lists that lead to them; none if it is no YAML, has aliases or is too
/// deep.
pub(super) fn values(yaml: &str) -> Option<Vec<(Vec<String>, String)>> {
    enum Nesting {
        Map { key: Option<String> },
        List { at: usize },
    }
    let mut parser = Parser::new_from_str(yaml);
    let mut nestings: Vec<Nesting> = vec![];
    let mut found = vec![];
    // Each event takes a byte of the text at least, or ends one that did.
    loop {
        let (event, _) = parser.next_token().ok()?;
        let is_complete = match event {
            Event::StreamEnd => return Some(found),
            Event::Alias(_) => return None,
            Event::MappingStart(..) | Event::SequenceStart(..) if nestings.len() == DEEPEST => return None,
            Event::MappingStart(..) => {
                nestings.push(Nesting::Map { key: None });
                false
            }
            Event::SequenceStart(..) => {
                nestings.push(Nesting::List { at: 0 });
                false
            }
            Event::MappingEnd | Event::SequenceEnd => {
                nestings.pop();
                true
            }
            Event::Scalar(text, ..) => match nestings.last_mut() {
                Some(Nesting::Map { key: key @ None }) => {
                    *key = Some(text);
                    false
                }
                _ => {
                    let steps = nestings.iter().map(|level| match level {
                        Nesting::Map { key } => key.clone().unwrap_or_default(),
                        Nesting::List { at } => at.to_string(),
                    });
                    found.push((steps.collect(), text));
                    true
                }
            },
            _ => false,
        };
        if is_complete {
            match nestings.last_mut() {
                Some(Nesting::Map { key }) => *key = None,
                Some(Nesting::List { at }) => *at += 1,
                None => {}
            }
        }
    }
}

/// The columns, with names in lower case.
fn columns(values: &[(Vec<String>, String)]) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![];
    for (path, value) in values {
        let [first, at, key] = path.as_slice() else { continue };
        let Some(at) = at.parse::<usize>().ok().filter(|_| first == "datatype") else { continue };
        // Places ascend, one value at least for each.
        while columns.len() <= at {
            columns.push(Column::default());
        }
        match key.as_str() {
            "name" => columns[at].name = value.to_lowercase(),
            "unit" => columns[at].unit = Some(value.clone()),
            "description" => columns[at].description = value.clone(),
            _ => {}
        }
    }
    columns
}

/// The one unit of the columns with these names, if any of them has one that we know.
fn common<T: FromStr + PartialEq + Copy>(path: &Path, columns: &[Column], names: &[&str]) -> Result<Option<T>> {
    let own: Vec<&Column> = columns.iter().filter(|column| names.contains(&column.name.as_str())).collect();
    let unit = |column: &Column| column.unit.as_ref().and_then(|unit| unit.parse::<T>().ok());
    let Some((first, known)) = own.iter().find_map(|column| Some((column, unit(column)?))) else { return Ok(None) };
    match own.iter().find(|column| unit(column) != Some(known)) {
        None => Ok(Some(known)),
        Some(other) => {
            let [first_unit, other_unit] = [first, other].map(|column| column.unit.as_deref().unwrap_or("none"));
            let message = format!(
                "column {} has the unit {first_unit}, but column {} has {other_unit}: they must have one",
                first.name, other.name
            );
            Err(Error::file(path, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_bombs() {
        let mut bomb = String::from("a0: &a0 [x, x]\n");
        for i in 1..20 {
            bomb += &format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1);
        }
        assert!(values(&bomb).is_none());
        for deep in ["- ".repeat(20_000), "? ".repeat(20_000), "[".repeat(20_000), "{".repeat(20_000)] {
            assert!(values(&deep).is_none());
        }
    }

    #[test]
    fn columns_of_a_header() {
        let text = "---\ndelimiter: ','\ndatatype:\n- {name: X, unit: kpc, datatype: float64,\n  description: 'a, b'}\n\
                    - name: m\n  unit: Msun\nmeta: !!omap\n- {redshift: 1.5}\n- {other: [1, 2]}\nschema: astropy-2.0\n";
        let values = values(text).unwrap();
        let columns = columns(&values);
        assert_eq!((columns[0].name.as_str(), columns[0].description.as_str()), ("x", "a, b"));
        assert_eq!((columns.len(), columns[1].unit.as_deref()), (2, Some("Msun")));
        assert!(values.contains(&(["meta", "0", "redshift"].map(String::from).to_vec(), "1.5".into())));
    }
}
