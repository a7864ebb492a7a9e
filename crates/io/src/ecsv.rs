//! The header of enhanced CSV: the units of its columns, the redshift, the box and the cosmology.
//!
//! In: the YAML of a header. Out: its declarations of columns, the units of coordinates, masses and velocities, and
//! the entries that catalogues written by this crate contain. Source: Aldcroft, "The Enhanced Character Separated
//! Values table format", APE 6.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::str::FromStr;

use ropewalk::units::{Frame, KnownUnits, LengthUnit, MassUnit};
use ropewalk::{Error, Result};

use crate::Background;
use crate::messages::{list, shorten};
use crate::yaml::{self, Scalar};

/// Values of an entry that mean "no value".
const EMPTY: [&str; 4] = ["", "~", "null", "None"];
/// Keys of the entry for the box.
const BOX: [&str; 4] = ["box_size", "boxsize", "box", "lbox"];
/// Keys of entries that are numbers without a unit.
const ENTRIES: [&str; 4] = ["redshift", "omega_m", "omega_lambda", "h"];

/// The quantities of a snapshot that a header states.
#[derive(Default)]
pub(super) struct Header {
    pub units: KnownUnits,
    /// The unit of the coordinates as written, if it is not a known unit of length.
    pub coordinate_unit: Option<String>,
    pub redshift: Option<f64>,
    pub box_size: Option<f64>,
    pub background: Background,
    /// The mass of each particle, if all have the same mass.
    pub particle_mass: Option<f64>,
    /// Notes about metadata that is not used.
    pub notes: Vec<String>,
}

/// The declaration of a column in a header.
#[derive(Default)]
pub(super) struct Column {
    name: String,
    unit: Option<String>,
    datatype: String,
    subtype: Option<String>,
    description: String,
}

impl Column {
    /// Creates a column of numbers with this unit.
    pub(super) fn with_unit(name: &str, unit: Option<String>) -> Self {
        Self { name: name.into(), unit, ..Self::default() }
    }
}

/// The declarations of a header about the columns of its table.
pub(super) struct Declared {
    /// `None` if the header names no delimiter.
    pub delimiter: Option<u8>,
    pub values: Vec<Scalar>,
}

impl Declared {
    /// Reads the YAML of a header.
    ///
    /// Errors: the YAML cannot be read, or names a delimiter that enhanced CSV does not allow.
    pub(super) fn of(yaml: &str) -> std::result::Result<Self, String> {
        let values = yaml::scalars(yaml).map_err(|message| format!("has a header of enhanced CSV that {message}"))?;
        let delimiter = values.iter().find(|(path, _)| path.len() == 1 && path[0] == "delimiter");
        let delimiter = match delimiter.map(|(_, text)| &text[..]) {
            None => None,
            Some(" " | "space") => Some(b' '),
            Some("," | "comma") => Some(b','),
            Some(other) => {
                return Err(format!(
                    "has a header with the delimiter '{}'; it must be ',' or ' '",
                    shorten(other.as_bytes())
                ));
            }
        };
        Ok(Self { delimiter, values })
    }

    /// The number of columns that the header declares.
    pub(super) fn width(&self) -> usize {
        columns(&self.values).len()
    }

    /// Errors: a declared column is missing in the line of names.
    pub(super) fn check(&self, names: &[String]) -> std::result::Result<(), String> {
        let declared: Vec<String> = columns(&self.values).into_iter().map(|column| column.name).collect();
        let known: HashSet<&String> = names.iter().collect();
        if declared.iter().all(|name| known.contains(name)) {
            return Ok(());
        }
        let text = |names: &[String]| shorten(list(names).as_bytes());
        Err(format!("names the columns {}, but the header of the table declares {}", text(names), text(&declared)))
    }

    /// Returns, for each column, the reason why it holds no numbers, or `None`.
    pub(super) fn no_numbers(&self, names: &[String]) -> Vec<Option<String>> {
        let columns = columns(&self.values);
        // Of columns with the same name, the first one counts.
        let columns: HashMap<&str, &Column> =
            columns.iter().rev().map(|column| (column.name.as_str(), column)).collect();
        let objects: HashMap<String, String> = self.objects().into_iter().rev().collect();
        let of = |name: &String| {
            let column = columns.get(name.as_str())?;
            if let Some(subtype) = &column.subtype {
                return Some(format!("arrays of {}", shorten(subtype.as_bytes())));
            }
            let kind = column.datatype.trim_end_matches(|letter: char| letter.is_ascii_digit());
            if !["int", "uint", "float"].contains(&kind) {
                return Some(format!("values of the type {}", shorten(column.datatype.as_bytes())));
            }
            objects.get(name).cloned()
        };
        names.iter().map(of).collect()
    }

    /// Returns the columns that are parts of objects, or that another column masks, with the reasons why they are not
    /// read.
    fn objects(&self) -> Vec<(String, String)> {
        fn of((path, text): &Scalar) -> Option<(&str, &[String], &str)> {
            match &path[..] {
                [meta, _, key, object, rest @ ..] if meta == "meta" && key == "__serialized_columns__" => {
                    Some((object, rest, text))
                }
                _ => None,
            }
        }
        let all: Vec<(&str, &[String], &str)> = self.values.iter().filter_map(of).collect();
        let (mut classes, mut masks) = (HashMap::new(), HashMap::new());
        for (object, path, text) in &all {
            match path {
                [key] if key == "__class__" => _ = classes.entry(*object).or_insert(*text),
                [key, _, ..] if key == "mask" => _ = masks.entry(*object).or_insert(*text),
                _ => {}
            }
        }
        let mut parts = vec![];
        for (object, path, name) in &all {
            if path.last().is_none_or(|last| last != "name") {
                continue;
            }
            let class = classes.get(object).copied().unwrap_or_default();
            let mask = masks.get(object);
            let is_plain = class.starts_with("astropy.coordinates.")
                || ["Quantity", "Column", "MaskedColumn", "Masked", "MaskedQuantity"]
                    .iter()
                    .any(|plain| class.rsplit('.').next() == Some(plain));
            match mask {
                Some(mask) => parts.push(((*name).to_string(), format!("values that the column {mask} masks"))),
                None if !is_plain => {
                    parts.push(((*name).to_string(), format!("a component of {}", shorten(class.as_bytes()))))
                }
                None => {}
            }
        }
        parts
    }
}

impl Header {
    /// Reads the quantities of a snapshot from the scalars of a header. The columns named in `coordinates` are the
    /// coordinates; if it is empty, x, y and z are.
    ///
    /// Errors: coordinates or velocities with different units, or of which only some have a known unit; a box,
    /// redshift, cosmology or mass that cannot be read.
    pub(super) fn new(path: &Path, values: &[Scalar], coordinates: &[String]) -> Result<Self> {
        let refuse = |message: String| Error::file(path, message);
        let columns = columns(values);
        let find = |name: &String| {
            let exact = columns.iter().find(|column| column.name == *name);
            exact.or_else(|| columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)))
        };
        let named =
            |names: &[&str]| -> Vec<&Column> { names.iter().filter_map(|name| find(&(*name).into())).collect() };
        let coordinates: Vec<&Column> = match coordinates {
            [] => named(&["x", "y", "z"]),
            names => names.iter().filter_map(find).collect(),
        };
        let mut notes = vec![];
        let length: Option<LengthUnit> = common(&coordinates, "length", &mut notes).map_err(refuse)?;
        let is_physical = coordinates.iter().any(|column| column.description.ends_with("physical"));
        let frame = |unit: LengthUnit| if is_physical { LengthUnit { frame: Frame::Physical, ..unit } } else { unit };
        let units = KnownUnits {
            length: length.map(frame),
            mass: common(&named(&["mass"]), "mass", &mut notes).map_err(refuse)?,
            velocity: common(&named(&["vx", "vy", "vz"]), "velocity", &mut notes).map_err(refuse)?,
        };
        let (entries, masses) = (Entries(values), named(&["mass"]));
        let unit = coordinates.iter().find_map(|column| column.unit.as_deref());
        let mass = masses.first().map_or(Measure::Unknown, |column| Measure::Mass(column.unit.as_deref()));
        let [redshift, omega_m, omega_lambda, h] = ENTRIES.map(|name| entries.number(&[name], Measure::Dimensionless));
        let particle_mass = entries.number(&["particle_mass"], mass).map_err(refuse)?;
        if particle_mass.is_some() && masses.is_empty() {
            notes.push("particle_mass in the header is not used: the table has no column named mass".into());
        }
        let positive = |value: Option<f64>, name: &str| match value.filter(|x| !(*x > 0.0 && *x < f64::INFINITY)) {
            Some(x) => Err(refuse(format!("has the {name} {x} in its header; it must be above 0"))),
            None => Ok(value),
        };
        let all_have_units = coordinates.iter().all(|column| column.unit.is_some());
        Ok(Self {
            coordinate_unit: unit.filter(|_| units.length.is_none() && all_have_units).map(Into::into),
            units,
            redshift: redshift.map_err(refuse)?,
            box_size: positive(entries.number(&BOX, Measure::Length(unit)).map_err(refuse)?, "box")?,
            background: Background {
                omega_m: positive(omega_m.map_err(refuse)?, "omega_m")?,
                omega_lambda: omega_lambda.map_err(refuse)?,
                h: positive(h.map_err(refuse)?, "h")?,
            },
            particle_mass: positive(particle_mass, "particle_mass")?,
            notes,
        })
    }

    /// Returns a note that lists the keys of entries that are neither read nor about columns; empty if there are
    /// none.
    pub(super) fn unread(values: &[Scalar]) -> Vec<String> {
        let known = [&BOX[..], &ENTRIES, &["particle_mass", "program", "__serialized_columns__"]].concat();
        let (mut keys, mut seen): (Vec<String>, HashSet<&str>) = Default::default();
        for (path, _) in values {
            let Some(key) = entry(path).map(|(key, _)| key) else { continue };
            if !known.contains(&key.to_lowercase().as_str()) && seen.insert(key) {
                keys.push(key.into());
            }
        }
        if keys.is_empty() { keys } else { vec![format!("entries of the header that are not read: {}", list(&keys))] }
    }
}

/// Returns the units that a header assigns to columns, by column name.
pub(super) fn units(values: &[Scalar]) -> HashMap<String, String> {
    columns(values).into_iter().rev().filter_map(|column| Some((column.name, column.unit?))).collect()
}

/// Returns the key of the entry that a path leads to, and the rest of the path. Entries are in a map, or in a list of
/// maps.
fn entry(path: &[String]) -> Option<(&str, &[String])> {
    match path {
        [meta, place, key, rest @ ..] if meta == "meta" && place.parse::<usize>().is_ok() => Some((key, rest)),
        [meta, key, rest @ ..] if meta == "meta" => Some((key, rest)),
        _ => None,
    }
}

/// The quantity that an entry of a header measures, with the unit of the columns of this quantity.
#[derive(Clone, Copy)]
enum Measure<'a> {
    Length(Option<&'a str>),
    Mass(Option<&'a str>),
    /// A number without a unit.
    Dimensionless,
    /// No column has this quantity.
    Unknown,
}

impl Measure<'_> {
    /// Errors: the unit of an entry differs from that of the columns.
    fn check(self, key: &str, text: &str) -> std::result::Result<(), String> {
        fn is_same<T: FromStr + PartialEq>(text: &str, unit: &str) -> bool {
            text == unit || matches!((text.parse::<T>(), unit.parse::<T>()), (Ok(text), Ok(unit)) if text == unit)
        }
        let (is_right, columns) = match self {
            Self::Unknown | Self::Length(None) => (true, String::new()),
            Self::Length(Some(unit)) => (is_same::<LengthUnit>(text, unit), format!("coordinates in {unit}")),
            Self::Mass(Some(unit)) => (is_same::<MassUnit>(text, unit), format!("masses in {unit}")),
            Self::Mass(None) => (false, "masses without a unit".into()),
            Self::Dimensionless => (["", "dimensionless", "1", "redshift"].contains(&text), "it has no unit".into()),
        };
        if is_right { Ok(()) } else { Err(format!("has {key} in {}, but {columns}", shorten(text.as_bytes()))) }
    }
}

/// The entries of a header.
struct Entries<'a>(&'a [Scalar]);

impl Entries<'_> {
    /// Returns the number in the entry with one of these names, stored alone or as a quantity. If the entry is a
    /// list, all its numbers must be equal.
    ///
    /// Errors: the value is not a number, or its unit differs from that of the columns.
    fn number(&self, names: &[&str], measure: Measure<'_>) -> std::result::Result<Option<f64>, String> {
        let mut found: Option<f64> = None;
        for (path, text) in self.0 {
            let Some((key, rest)) = entry(path).filter(|(key, _)| names.contains(&key.to_lowercase().as_str())) else {
                continue;
            };
            let shown = || shorten(text.as_bytes());
            let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
            match &rest[..] {
                ["unit", ..] => measure.check(key, text)?,
                [] | ["value"] if EMPTY.contains(&text.as_str()) => {}
                [] | ["value"] => {
                    let value = text.parse::<f64>().or_else(|_| {
                        let words = [(".nan", f64::NAN), (".inf", f64::INFINITY), ("-.inf", f64::NEG_INFINITY)];
                        words
                            .iter()
                            .find(|(word, _)| text.eq_ignore_ascii_case(word))
                            .map(|(_, value)| *value)
                            .ok_or(())
                    });
                    let value = value.ok().filter(|value| value.is_finite());
                    let value = value
                        .ok_or_else(|| format!("has {key} in its header, which is not a number: '{}'", shown()))?;
                    if found.is_some_and(|other| other != value) {
                        return Err(format!("has two values of {key} in its header"));
                    }
                    found = Some(value);
                }
                [place] if place.parse::<usize>().is_ok() => {
                    let value = text.parse::<f64>().ok().filter(|&value| found.is_none_or(|other| other == value));
                    let message =
                        || format!("has {key} in its header, whose list must hold equal numbers: '{}'", shown());
                    found = Some(value.ok_or_else(message)?);
                }
                _ => return Err(format!("has {key} in its header as an object that is not supported")),
            }
        }
        Ok(found)
    }
}

/// Returns `true` if the line begins a header of enhanced CSV.
pub(super) fn begins(line: &[u8]) -> bool {
    line.strip_prefix(b"#").is_some_and(|line| line.trim_ascii_start().starts_with(b"%ECSV"))
}

/// Returns the YAML in the lines of a header, without their `#`; `None` if the lines are not a header of enhanced
/// CSV.
pub(super) fn yaml<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    if !begins(lines.next()?) {
        return None;
    }
    let bare = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).into_owned();
        let line = line.strip_prefix('#').map_or(line.as_str(), |line| line.strip_prefix(' ').unwrap_or(line));
        line.to_string()
    };
    Some(lines.map(bare).collect::<Vec<_>>().join("\n"))
}

/// Returns all scalars of a YAML document, each with the path of keys and list indices that leads to it. `None` if
/// the text is not YAML, too deep or too long.
pub(super) fn values(yaml: &str) -> Option<Vec<Scalar>> {
    yaml::scalars(yaml).ok()
}

/// Returns the columns that a header declares.
fn columns(values: &[Scalar]) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![];
    for (path, value) in values {
        let [first, at, key, rest @ ..] = path.as_slice() else { continue };
        let Some(at) = at.parse::<usize>().ok().filter(|_| first == "datatype") else { continue };
        // Indices ascend, with at least one value for each index.
        while columns.len() <= at && columns.len() < MAX_COLUMNS {
            columns.push(Column::default());
        }
        let Some(column) = columns.get_mut(at) else { continue };
        match (key.as_str(), rest) {
            ("name", []) => column.name.clone_from(value),
            // The unit stands alone, or in an object of the class Unit.
            ("unit", _) => column.unit = Some(value.clone()).filter(|unit| !EMPTY.contains(&unit.as_str())),
            ("datatype", []) => column.datatype.clone_from(value),
            ("subtype", _) => column.subtype = Some(value.clone()),
            ("description", []) => column.description.clone_from(value),
            _ => {}
        }
    }
    columns
}

/// The maximum number of columns that are examined.
const MAX_COLUMNS: usize = 1 << 16;

/// Returns the unit that the columns share, if it is known. Adds a note on a unit that is not known.
///
/// Errors: the columns have different units, or only some have a known unit.
pub(super) fn common<T: FromStr + PartialEq + Copy>(
    own: &[&Column],
    what: &str,
    notes: &mut Vec<String>,
) -> std::result::Result<Option<T>, String> {
    let unit = |column: &Column| column.unit.as_ref().and_then(|unit| unit.parse::<T>().ok());
    let differ = |first: &Column, other: &Column| {
        let [first_unit, other_unit] = [first, other].map(|column| column.unit.as_deref().unwrap_or("none"));
        format!(
            "column {} has the unit {first_unit}, but column {} has {other_unit}; both must have the same unit",
            first.name, other.name
        )
    };
    if let Some((first, known)) = own.iter().find_map(|column| Some((column, unit(column)?))) {
        let other = own.iter().find(|column| unit(column) != Some(known));
        return other.map_or(Ok(Some(known)), |other| Err(differ(first, other)));
    }
    // An unknown unit must also be the same in all columns, since they hold one quantity.
    let mut others = own.iter().filter(|column| column.unit.is_some());
    let Some(first) = others.next() else { return Ok(None) };
    if let Some(other) = others.find(|other| other.unit != first.unit) {
        return Err(differ(first, other));
    }
    let names: Vec<String> = own.iter().map(|column| column.name.clone()).collect();
    let text = first.unit.as_deref().unwrap_or_default();
    notes.push(format!(
        "the unit '{}' of {} is not a known unit of {what} and is not used",
        shorten(text.as_bytes()),
        list(&names)
    ));
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_header() {
        let text = "---\ndelimiter: ','\ndatatype:\n- {name: X, unit: kpc, datatype: float64,\n  description: 'a, b'}\n\
                    - name: m\n  unit: !astropy.units.Unit {unit: Msun}\nmeta: !!omap\n- {redshift: 1.5}\n- {other: [1, 2]}\n\
                    schema: astropy-2.0\n";
        let values = values(text).unwrap();
        let columns = columns(&values);
        assert_eq!((columns[0].name.as_str(), columns[0].description.as_str()), ("X", "a, b"));
        assert_eq!((columns.len(), columns[1].unit.as_deref()), (2, Some("Msun")));
        assert!(values.contains(&(["meta", "0", "redshift"].map(String::from).to_vec(), "1.5".into())));
        assert_eq!(Header::unread(&values), ["entries of the header that are not read: other"]);
    }

    #[test]
    fn boxes_of_a_header() {
        let of = |meta: &str| {
            let text = format!("datatype:\n- {{name: x, unit: kpc}}\n- {{name: y, unit: kpc}}\nmeta: !!omap\n{meta}\n");
            Header::new(Path::new("a"), &values(&text).unwrap(), &[]).map(|header| header.box_size)
        };
        assert_eq!(of("- {box_size: 10}").unwrap(), Some(10.0));
        assert_eq!(of("- {BoxSize: '10.0'}").unwrap(), Some(10.0));
        assert_eq!(of("- box_size: !q {unit: kpc, value: 10.0}").unwrap(), Some(10.0));
        assert_eq!(of("- box_size: !q {unit: !u {unit: kpc}, value: 10.0}").unwrap(), Some(10.0));
        assert_eq!(of("- {box_size: [10, 10, 10]}").unwrap(), Some(10.0));
        assert_eq!(of("- {box_size: null}").unwrap(), None);
        for bad in ["ten", "[10, 10, 20]", "!q {unit: Mpc, value: 10.0}", "0", "-1", ".inf", "!n {buffer: abc}"] {
            assert!(of(&format!("- box_size: {bad}")).is_err(), "{bad}");
        }
    }
}
