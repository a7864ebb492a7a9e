//! What the columns of a text table hold, and the rows read so far.
//!
//! - names: `vx`, `vy`, `vz` are velocities, `id` and `mass` what they say. If there are columns `x`, `y` or `z`, they
//!   are the coordinates and others are ignored; else all other columns are coordinates. Upper and lower case are the
//!   same.
//! - no names: all columns are coordinates

use csv::ByteRecord;

use super::{Format, Masses, Points, Snapshot, Table};
use crate::units::KnownUnits;

/// Which columns hold what; positions in a row of `width` fields.
#[derive(Default)]
pub(super) struct Columns {
    width: usize,
    coordinates: Vec<usize>,
    velocities: Vec<usize>,
    id: Option<usize>,
    mass: Option<usize>,
}

impl Columns {
    pub(super) fn plain(width: usize) -> std::result::Result<Self, String> {
        Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked()
    }

    pub(super) fn named(fields: &ByteRecord) -> std::result::Result<Self, String> {
        let names: Vec<String> = fields.iter().map(|name| String::from_utf8_lossy(name).to_lowercase()).collect();
        let known = ["x", "y", "z", "vx", "vy", "vz", "id", "mass"];
        if let Some(twice) = known.into_iter().find(|name| names.iter().filter(|n| n == name).count() > 1) {
            return Err(format!("has two columns named {twice}"));
        }
        let find = |name: &str| names.iter().position(|n| n == name);
        let mut coordinates: Vec<usize> = ["x", "y", "z"].into_iter().filter_map(find).collect();
        if coordinates.is_empty() {
            coordinates = (0..).zip(&names).filter(|(_, n)| !known.contains(&n.as_str())).map(|(i, _)| i).collect();
        }
        let velocities = ["vx", "vy", "vz"].into_iter().filter_map(find).collect();
        Self { width: names.len(), coordinates, velocities, id: find("id"), mass: find("mass") }.checked()
    }

    fn checked(self) -> std::result::Result<Self, String> {
        let (dim, speeds) = (self.coordinates.len(), self.velocities.len());
        if !(1..=10).contains(&dim) {
            return Err(format!("has {dim} columns of coordinates; points have 1 to 10"));
        }
        if speeds != 0 && speeds != dim {
            return Err(format!("has {dim} columns of coordinates, but {speeds} of velocities"));
        }
        Ok(self)
    }
}

/// What has been read so far.
#[derive(Default)]
pub(super) struct Rows {
    columns: Columns,
    coordinates: Vec<f64>,
    velocities: Vec<f64>,
    ids: Vec<u64>,
    masses: Vec<f64>,
}

impl Rows {
    pub(super) fn new(columns: Columns) -> Self {
        Self { columns, ..Self::default() }
    }

    pub(super) fn push(&mut self, fields: &ByteRecord) -> std::result::Result<(), String> {
        let columns = &self.columns;
        if fields.len() != columns.width {
            let text = shorten(&fields.iter().collect::<Vec<_>>().join(&b' '));
            return Err(format!("{} columns where the first line has {}: {text}", fields.len(), columns.width));
        }
        for &column in &columns.coordinates {
            self.coordinates.push(parse(fields, column, "a number")?);
        }
        for &column in &columns.velocities {
            self.velocities.push(parse(fields, column, "a number")?);
        }
        if let Some(column) = columns.id {
            self.ids.push(parse(fields, column, "an id (a whole number from 0)")?);
        }
        if let Some(column) = columns.mass {
            self.masses.push(parse(fields, column, "a mass")?);
        }
        Ok(())
    }

    /// The snapshot, velocities times `velocity_factor`, or `None` if there were no rows.
    pub(super) fn finish(mut self, velocity_factor: f64) -> Option<Snapshot> {
        if self.coordinates.is_empty() {
            return None;
        }
        self.velocities.iter_mut().for_each(|value| *value *= velocity_factor);
        let matter = self.columns.mass.map(|_| self.masses.iter().sum());
        let dim = self.columns.coordinates.len();
        let table = |mut data: Vec<f64>| {
            data.shrink_to_fit();
            Points::F64(Table { dim, data })
        };
        Some(Snapshot {
            points: table(self.coordinates),
            velocities: (!self.columns.velocities.is_empty()).then(|| table(self.velocities)),
            ids: self.columns.id.map(|_| self.ids),
            masses: self.columns.mass.map_or(Masses::Unknown, |_| Masses::Each(self.masses)),
            matter,
            units: KnownUnits::default(),
            box_size: None,
            header: None,
            format: Format::Csv,
        })
    }
}

/// The value in `column`, or what was found instead of `what`.
fn parse<T: std::str::FromStr>(fields: &ByteRecord, column: usize, what: &str) -> std::result::Result<T, String> {
    let field = fields.get(column).unwrap_or_default();
    number(field).ok_or_else(|| format!("column {} is not {what}: '{}'", column + 1, shorten(field)))
}

/// The first 60 bytes, printable.
fn shorten(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..60).unwrap_or(text)).escape_debug().to_string()
}

/// True for what is no number, nor begins like one: a slip in the first row must not make it a line of names.
pub(super) fn is_name(field: &[u8]) -> bool {
    let begins = field.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    !begins && number::<f64>(field).is_none()
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
