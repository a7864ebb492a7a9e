//! What the columns of a table hold by their names, and the rows of text read so far.
//!
//! - names: `vx`, `vy`, `vz` are velocities, `id`, `mass` and `type` what they say. If there are columns `x` and `y`, they are the
//!   coordinates, with `z` if there is one, and others are ignored; else all other columns are coordinates, so that of RA, DEC and z
//!   none is lost. Upper and lower case are the same.
//! - no names: all columns are coordinates
//! - fields: all columns that hold numbers, or the chosen ones, whatever their names; the first row shows which do
//! - chosen columns, by name or number from 1: these are the coordinates, in this order, and other columns are what their names say

use std::collections::BTreeMap;

use csv::ByteRecord;

use crate::io::columns::Target;
use crate::io::type_column::{NO_TYPE, particle_type};
use crate::io::{Format, Masses, Points, Snapshot, Table, TypeRun, shorten};

/// Names of columns that are known.
const KNOWN: [&str; 9] = ["x", "y", "z", "vx", "vy", "vz", "id", "mass", "type"];

/// Why columns are taken for coordinates.
#[derive(Clone, Copy, Default, PartialEq)]
enum Taken {
    /// By their names, or because they are chosen.
    #[default]
    ByName,
    /// They are just what is left over.
    Rest,
    /// They are no coordinates, but fields that are chosen.
    Fields,
    /// The same, and all that hold numbers.
    AllFields,
}

/// Which columns hold what; positions in a row of `width` fields.
#[derive(Default)]
pub(super) struct Columns {
    width: usize,
    /// What the first line calls them, or what they were chosen by; empty if nothing does.
    pub names: Vec<String>,
    taken: Taken,
    pub coordinates: Vec<usize>,
    pub velocities: Vec<usize>,
    pub id: Option<usize>,
    pub mass: Option<usize>,
    pub kind: Option<usize>,
    /// Columns that are no fields, as the first row has text there.
    text: Vec<Text>,
}

/// A column of text, and what it is in the first row.
struct Text {
    column: usize,
    first: String,
}

impl Columns {
    /// The columns of a table without names.
    pub(super) fn plain(width: usize, chosen: &[String]) -> std::result::Result<Self, String> {
        if chosen.is_empty() {
            return Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked();
        }
        let coordinates = choose(chosen, &[], width)?;
        Self { width, names: numbered(width), coordinates, ..Self::default() }.checked()
    }

    /// The columns of a table of fields: `names` are empty if it has none.
    pub(super) fn fields(names: Vec<String>, width: usize, chosen: &[String]) -> std::result::Result<Self, String> {
        if width == 0 {
            return Err("has no column that holds numbers".into());
        }
        if chosen.is_empty() {
            let (coordinates, taken) = ((0..width).collect(), Taken::AllFields);
            return Ok(Self { width, names, taken, coordinates, ..Self::default() });
        }
        let (coordinates, taken) = (choose(chosen, &names, width)?, Taken::Fields);
        let names = if names.is_empty() { numbered(width) } else { names };
        Ok(Self { width, names, taken, coordinates, ..Self::default() })
    }

    /// The columns of a table with names.
    pub(super) fn named(names: Vec<String>, chosen: &[String]) -> std::result::Result<Self, String> {
        let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        if let Some(twice) = KNOWN.into_iter().find(|name| lower.iter().filter(|n| n == name).count() > 1) {
            return Err(format!("has two columns named {twice}"));
        }
        let find = |name: &str| lower.iter().position(|n| n == name);
        let mut taken = Taken::ByName;
        let coordinates: Vec<usize> = match (find("x"), find("y")) {
            _ if !chosen.is_empty() => choose(chosen, &names, names.len())?,
            (Some(x), Some(y)) => [x, y].into_iter().chain(find("z")).collect(),
            _ => {
                taken = Taken::Rest;
                let others = ["vx", "vy", "vz", "id", "mass", "type"];
                (0..).zip(&lower).filter(|(_, name)| !others.contains(&name.as_str())).map(|(i, _)| i).collect()
            }
        };
        // What is chosen for a coordinate is nothing else.
        let find = |name: &str| find(name).filter(|column| !coordinates.contains(column));
        // Of the axes in the order in which they are chosen.
        let axes: Vec<&str> = coordinates.iter().map(|&column| lower[column].as_str()).collect();
        let has_axes = axes.iter().all(|axis| ["x", "y", "z"].contains(axis));
        let axes = if has_axes { axes } else { vec!["x", "y", "z"] };
        let mut velocities: Vec<usize> = axes.iter().filter_map(|axis| find(&format!("v{axis}"))).collect();
        if !chosen.is_empty() && velocities.len() != coordinates.len() {
            velocities.clear();
        }
        let (id, mass, kind) = (find("id"), find("mass"), find("type"));
        Self { width: names.len(), names, taken, coordinates, velocities, id, mass, kind, text: vec![] }.checked()
    }

    fn checked(self) -> std::result::Result<Self, String> {
        let (dim, speeds) = (self.coordinates.len(), self.velocities.len());
        if !(1..=10).contains(&dim) {
            return Err(format!("has {dim} columns of coordinates; points have 1 to 10. {ADVICE}"));
        }
        if speeds != 0 && speeds != dim {
            return Err(format!("has {dim} columns of coordinates, but {speeds} of velocities"));
        }
        Ok(self)
    }

    /// Leaves out the columns of text, as the first row shows them.
    fn leave_out_text(&mut self, fields: &ByteRecord) -> std::result::Result<(), String> {
        for column in std::mem::take(&mut self.coordinates) {
            let field = fields.get(column).unwrap_or_default();
            if is_text(field) {
                self.text.push(Text { column, first: shorten(field) });
            } else {
                self.coordinates.push(column);
            }
        }
        if self.coordinates.is_empty() { Err("no column holds a number".into()) } else { Ok(()) }
    }

    /// Errors: the second row has a number where the first has text. That was no row, or it lacks a number.
    fn check_text(&self, fields: &ByteRecord) -> std::result::Result<(), String> {
        let found = self.text.iter().find_map(|text| {
            // Text that is missing may be `nan`.
            let field = fields.get(text.column).filter(|field| number(field).is_some_and(f64::is_finite))?;
            Some((text, shorten(field)))
        });
        let Some((Text { column, first }, second)) = found else { return Ok(()) };
        Err(match self.names.get(*column) {
            Some(name) => {
                let name = shorten(name.as_bytes());
                format!("the field {name} is the number {second}, but '{first}' in the first row. {FIELDS_ADVICE}")
            }
            None => {
                let column = column + 1;
                let what = "the first line is neither names nor numbers";
                format!("column {column} is the number {second}, but '{first}' in the first line: {what}")
            }
        })
    }

    /// What to add to the error that a field or coordinate in `column` is no number.
    fn advice(&self, column: usize) -> String {
        let name = self.names.get(column).map(|name| shorten(name.as_bytes()));
        match (self.taken, name) {
            (Taken::ByName, _) | (Taken::Rest | Taken::Fields, None) => String::new(),
            (Taken::Rest, Some(name)) => format!(", in the column {name}. {ADVICE}"),
            (Taken::Fields, Some(name)) => format!(", in the field {name}"),
            (Taken::AllFields, Some(name)) => format!(", in the field {name}. {FIELDS_ADVICE}"),
            (Taken::AllFields, None) => format!(". {FIELDS_ADVICE}"),
        }
    }

    /// Whether the coordinates are the columns that no name tells anything of.
    pub(super) fn is_rest(&self) -> bool {
        self.taken == Taken::Rest
    }

    /// The columns that are read.
    pub(super) fn places(&self) -> impl Iterator<Item = &usize> {
        let Self { coordinates, velocities, id, mass, kind, .. } = self;
        coordinates.iter().chain(velocities).chain(id).chain(mass).chain(kind)
    }

    /// The same, to be changed.
    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self { coordinates, velocities, id, mass, kind, .. } = self;
        coordinates.iter_mut().chain(velocities).chain(id).chain(mass).chain(kind)
    }

    /// What the columns of coordinates are called.
    pub(super) fn called(&self) -> Vec<String> {
        self.coordinates.iter().filter_map(|&column| self.names.get(column).cloned()).collect()
    }
}

/// Columns called by their numbers.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|column| column.to_string()).collect()
}

/// What to do if columns are taken for coordinates that are none.
pub(super) const ADVICE: &str =
    "Choose the columns that are coordinates (ReadOptions::columns, --columns A,B, in Python columns=)";

/// What to do if columns are taken for fields that are none.
pub(super) const FIELDS_ADVICE: &str = "Choose the fields that are wanted (read_fields, --fields A,B)";

/// The columns that are chosen by name or by number from 1.
pub(super) fn choose(chosen: &[String], names: &[String], width: usize) -> std::result::Result<Vec<usize>, String> {
    let mut columns = Vec::with_capacity(chosen.len());
    for wanted in chosen {
        let wanted = wanted.trim();
        let mut exact = (0..names.len()).filter(|&i| names[i] == wanted);
        let (exact, is_twice) = (exact.next(), exact.next().is_some());
        let mut alike = (0..names.len()).filter(|&i| names[i].to_lowercase() == wanted.to_lowercase());
        let column = match (exact, alike.next(), wanted.parse::<usize>()) {
            (Some(column), ..) if !is_twice => column,
            (_, Some(column), _) if alike.next().is_none() => column,
            (_, None, Ok(number)) if (1..=width).contains(&number) => number - 1,
            (_, Some(_), _) => return Err(format!("has several columns named {wanted}; choose by number")),
            _ => {
                let known = if names.is_empty() { "no names".into() } else { shorten(names.join(", ").as_bytes()) };
                return Err(format!("has no column {wanted}; it has {width} columns and {known}"));
            }
        };
        if columns.contains(&column) {
            return Err(format!("column {wanted} is chosen twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// What has been read so far.
#[derive(Default)]
pub(super) struct Rows {
    columns: Columns,
    coordinates: Vec<f64>,
    velocities: Vec<f64>,
    ids: Vec<u64>,
    masses: Vec<f64>,
    /// The sum of all masses, of all types.
    matter: f64,
    /// The types of the rows that are kept, as stretches; none if there is a value that is no type.
    types: Option<Vec<TypeRun>>,
    /// The types whose rows are kept; empty for all.
    wanted: Vec<u8>,
    /// Rows of each type, and of none.
    counts: BTreeMap<u8, u64>,
}

impl Rows {
    pub(super) fn new(columns: Columns, wanted: &[u8]) -> Self {
        let types = columns.kind.map(|_| vec![]);
        Self { columns, types, wanted: wanted.to_vec(), ..Self::default() }
    }

    /// How many there were, of all types.
    pub(super) fn len(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many there were of each type; `None` if they have none.
    pub(super) fn counts(&self) -> Option<Vec<(u8, u64)>> {
        self.types.as_ref().map(|_| self.counts.iter().map(|(&kind, &n)| (kind, n)).collect())
    }

    pub(super) fn push(&mut self, fields: &ByteRecord) -> std::result::Result<(), String> {
        let columns = &mut self.columns;
        if fields.len() != columns.width {
            let text = shorten(&fields.iter().collect::<Vec<_>>().join(&b' '));
            return Err(format!("{} columns where the first line has {}: {text}", fields.len(), columns.width));
        }
        if columns.taken == Taken::AllFields {
            match self.counts.values().sum() {
                0 => columns.leave_out_text(fields)?,
                1 => columns.check_text(fields)?,
                _ => {}
            }
        }
        let mass = columns.mass.map(|column| parse::<f64>(fields, column, "a mass")).transpose()?;
        self.matter += mass.unwrap_or(0.0);
        let kind = columns
            .kind
            .map_or(NO_TYPE, |column| number(fields.get(column).unwrap_or_default()).map_or(NO_TYPE, particle_type));
        *self.counts.entry(kind).or_default() += 1;
        match (&mut self.types, columns.kind) {
            (Some(_), Some(column)) if kind == NO_TYPE && !self.wanted.is_empty() => {
                let field = shorten(fields.get(column).unwrap_or_default());
                return Err(format!(
                    "column type is not {}, and types are to be chosen: '{field}'",
                    <u8 as Target>::MUST
                ));
            }
            // Other values than types mean something else.
            (types @ Some(_), _) if kind == NO_TYPE => *types = None,
            (Some(_), _) if !self.wanted.is_empty() && !self.wanted.contains(&kind) => return Ok(()),
            (Some(types), _) => match types.last_mut().filter(|last| last.particle_type == kind) {
                Some(last) => last.count += 1,
                None => types.push(TypeRun { particle_type: kind, count: 1 }),
            },
            (None, _) => {}
        }
        for &column in &columns.coordinates {
            let value = parse(fields, column, "a number");
            let value = value.map_err(|message| message + &columns.advice(column))?;
            self.coordinates.push(value);
        }
        for &column in &columns.velocities {
            self.velocities.push(parse(fields, column, "a number")?);
        }
        if let Some(column) = columns.id {
            self.ids.push(parse::<Id>(fields, column, "an id (a whole number from 0)")?.0);
        }
        self.masses.extend(mass);
        Ok(())
    }

    pub(super) fn finish(self) -> Snapshot {
        let matter = self.columns.mass.map(|_| self.matter);
        let dim = self.columns.coordinates.len();
        let table = |mut data: Vec<f64>| {
            data.shrink_to_fit();
            Points::F64(Table::of(dim, data))
        };
        Snapshot {
            types: self.types.unwrap_or_default(),
            velocities: (!self.columns.velocities.is_empty()).then(|| table(self.velocities)),
            ids: self.columns.id.map(|_| self.ids),
            masses: self.columns.mass.map_or(Masses::Unknown, |_| Masses::Each(self.masses)),
            matter,
            format: Format::Csv,
            columns: self.columns.called(),
            ..Snapshot::new(table(self.coordinates))
        }
    }
}

/// The value in `column`, or what was found instead of `what`.
fn parse<T: std::str::FromStr>(fields: &ByteRecord, column: usize, what: &str) -> std::result::Result<T, String> {
    let field = fields.get(column).unwrap_or_default();
    number(field).ok_or_else(|| format!("column {} is not {what}: '{}'", column + 1, shorten(field)))
}

/// A whole number from 0, also written as `1.0` or `1e3` as long as it is exact, which is up to 2^53.
struct Id(u64);

impl std::str::FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        if let Ok(id) = text.parse() {
            return Ok(Self(id));
        }
        let id: f64 = text.parse().map_err(|_| ())?;
        let is_exact = (0.0..=(1u64 << 53) as f64).contains(&id) && id.fract() == 0.0;
        if is_exact { Ok(Self(id as u64)) } else { Err(()) }
    }
}

/// True for what is no number, nor begins like one: a slip in the first row must not make it a line of names.
pub(super) fn is_name(field: &[u8]) -> bool {
    let begins = field.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    !begins && number::<f64>(field).is_none()
}

/// True for what is there and no number, nor begins like one.
fn is_text(field: &[u8]) -> bool {
    !field.is_empty() && is_name(field)
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
