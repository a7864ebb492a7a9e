//! The rows of a text table that have been read.
//!
//! In: the fields of a row, one at a time. Out: a [`Snapshot`]. Memory for all rows is reserved at once, since their
//! number is known.

use std::collections::BTreeMap;
use std::path::Path;

use ropewalk::Result;
use ropewalk::internals::memory::grow;

use crate::messages::shorten;
use crate::number_types::Target;
use crate::particle_type::{NO_TYPE, of_number};
use crate::source::room;
use crate::table_columns::{Columns, CoordinateReason};
use crate::text::lines::Record;
use crate::text::values::{id, is_missing, is_rounded, number};
use crate::{Format, Masses, Points, ReadOptions, Snapshot, Table, TypeRun};

/// The advice in errors about missing values.
const SKIP_ADVICE: &str = "; use ReadOptions::skip_missing to drop rows with missing values";

/// The rows that have been read so far.
pub(crate) struct TableBuilder {
    columns: Columns,
    coordinates: Vec<f64>,
    velocities: Vec<f64>,
    ids: Vec<u64>,
    masses: Vec<f64>,
    /// The sum of the masses of all types.
    matter: f64,
    /// The types of the rows that are kept, as runs; `None` without types, or if a value is not a type.
    types: Option<Vec<TypeRun>>,
    /// The types whose rows are kept; empty for all.
    wanted: Vec<u8>,
    /// The number of rows of each type; rows without a type are counted as [`NO_TYPE`].
    counts: BTreeMap<u8, u64>,
    /// The number of rows of requested types so far.
    place: u64,
    /// The indices of the rows among these that are left out.
    skipped: Vec<u64>,
    skips: bool,
}

/// The reason why a row is rejected.
enum Refused {
    Missing(String),
    Wrong(String),
}

impl TableBuilder {
    /// Creates an empty table with memory for `rows` rows.
    pub(crate) fn new(path: &Path, columns: Columns, rows: u64, options: &ReadOptions) -> Result<Self> {
        let [dim, speeds] = [&columns.coordinates, &columns.velocities].map(|all| all.len() as u64);
        let [has_id, has_mass] = [&columns.id, &columns.mass].map(|column| u64::from(column.is_some()));
        let bytes = rows.saturating_mul(8 * (dim + speeds + has_id + has_mass));
        crate::memory_limit::check(path, bytes)?;
        Ok(Self {
            coordinates: room(path, rows.saturating_mul(dim))?,
            velocities: room(path, rows.saturating_mul(speeds))?,
            ids: room(path, rows * has_id)?,
            masses: room(path, rows * has_mass)?,
            matter: 0.0,
            types: columns.type_column.map(|_| vec![]),
            columns,
            wanted: options.types.clone(),
            counts: BTreeMap::new(),
            place: 0,
            skipped: vec![],
            skips: options.skip_missing,
        })
    }

    /// Returns the number of rows of all types.
    pub(crate) fn len(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of rows of each type; `None` without types.
    pub(crate) fn counts(&self) -> Option<Vec<(u8, u64)>> {
        self.types.as_ref().map(|_| self.counts.iter().map(|(&kind, &n)| (kind, n)).collect())
    }

    pub(crate) fn push(&mut self, fields: &Record) -> std::result::Result<(), String> {
        let columns = &self.columns;
        let mass = columns.mass.map(|column| parse(columns, fields, column, "a mass", number, true));
        if let Some(Ok(mass)) = mass
            && (mass.is_finite() || !self.skips)
        {
            self.matter += mass;
        }
        let kind = columns.type_column.map_or(NO_TYPE, |column| number(fields.get(column)).map_or(NO_TYPE, of_number));
        *self.counts.entry(kind).or_default() += 1;
        if self.types.is_some() && kind != NO_TYPE && !self.wanted.is_empty() && !self.wanted.contains(&kind) {
            // The sum of masses includes all types.
            return match mass {
                Some(Err(refused)) => self.refused(refused),
                _ => Ok(()),
            };
        }
        self.place += 1;
        let lengths = [self.coordinates.len(), self.velocities.len(), self.ids.len(), self.masses.len()];
        match self.push_values(fields) {
            Ok(()) => self.push_type(fields, kind),
            Err(Refused::Missing(_)) if self.skips => {
                self.coordinates.truncate(lengths[0]);
                self.velocities.truncate(lengths[1]);
                self.ids.truncate(lengths[2]);
                self.masses.truncate(lengths[3]);
                self.skipped.push(self.place - 1);
                Ok(())
            }
            Err(refused) => self.refused(refused),
        }
    }

    /// Returns the error message for a row, unless the row is skipped because of a missing value.
    fn refused(&self, refused: Refused) -> std::result::Result<(), String> {
        match refused {
            Refused::Missing(_) if self.skips => Ok(()),
            Refused::Missing(message) => Err(message + SKIP_ADVICE),
            Refused::Wrong(message) => Err(message),
        }
    }

    fn push_values(&mut self, fields: &Record) -> std::result::Result<(), Refused> {
        let Self { columns, skips, .. } = self;
        let reads_fields = matches!(columns.taken, CoordinateReason::Fields | CoordinateReason::AllFields);
        for &column in &columns.coordinates {
            let value = parse(columns, fields, column, "a number", number, !reads_fields)?;
            let field = fields.get(column);
            if !value.is_finite() && !reads_fields {
                // Decimal numbers that are too large are parsed as infinite, too.
                let message = if field.iter().any(u8::is_ascii_digit) {
                    format!(
                        "{} is {}: 64-bit floats have no such large numbers{}",
                        columns.title(column),
                        shorten(field),
                        columns.advice()
                    )
                } else {
                    format!("{} is {value}: coordinates must be finite{}", columns.title(column), columns.advice())
                };
                return Err(if value.is_nan() { Refused::Missing(message) } else { Refused::Wrong(message) });
            }
            if is_rounded(field, value) {
                return Err(Refused::Wrong(format!(
                    "{} is {}: 64-bit floats round this whole number to {value}; write it with a decimal point to accept rounding{}",
                    columns.title(column),
                    shorten(field),
                    columns.advice()
                )));
            }
            self.coordinates.push(value);
        }
        for &column in columns.velocities.iter().chain(&columns.mass) {
            let what = if columns.mass == Some(column) { "a mass" } else { "a number" };
            let value = parse(columns, fields, column, what, number, true)?;
            if value.is_nan() && *skips {
                return Err(Refused::Missing(String::new()));
            }
            match columns.mass == Some(column) {
                true => self.masses.push(value),
                false => self.velocities.push(value),
            }
        }
        if let Some(column) = columns.id {
            self.ids.push(parse(columns, fields, column, "an id (a whole number from 0)", id, true)?);
        }
        Ok(())
    }

    /// Adds the type of a row that is kept.
    fn push_type(&mut self, fields: &Record, kind: u8) -> std::result::Result<(), String> {
        match (&mut self.types, self.columns.type_column) {
            (Some(_), Some(column)) if kind == NO_TYPE && !self.wanted.is_empty() => {
                let field = shorten(fields.get(column));
                let (title, must) = (self.columns.title(column), <u8 as Target>::MUST);
                return Err(format!("{title} is not {must}, but types were requested: '{field}'"));
            }
            // Values other than types have another meaning.
            (types @ Some(_), Some(column)) if kind == NO_TYPE => {
                *types = None;
                self.columns.leave_out_types(&shorten(fields.get(column)));
            }
            (Some(types), _) => match types.last_mut().filter(|last| last.particle_type == kind) {
                Some(last) => last.count += 1,
                None => {
                    grow(types, 1);
                    types.push(TypeRun { particle_type: kind, count: 1 });
                }
            },
            (None, _) => {}
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Snapshot {
        let matter = self.columns.mass.map(|_| self.matter);
        let dim = self.columns.coordinates.len();
        let table = |mut data: Vec<f64>| {
            data.shrink_to_fit();
            Points::F64(Table::from_valid(dim, data))
        };
        let mut notes = self.columns.notes();
        if !self.skipped.is_empty() {
            let (n, all) = (self.skipped.len(), self.place);
            notes.push(format!("{n} of {all} rows have missing values and are left out"));
        }
        Snapshot {
            types: self.types.unwrap_or_default(),
            velocities: (!self.columns.velocities.is_empty()).then(|| table(self.velocities)),
            ids: self.columns.id.map(|_| self.ids),
            masses: self.columns.mass.map_or(Masses::Unknown, |_| Masses::Each(self.masses)),
            matter,
            format: Format::Csv,
            columns: self.columns.called(),
            skipped: self.skipped,
            notes,
            ..Snapshot::new(table(self.coordinates))
        }
    }
}

/// Returns the value in `column`, or an error that states that it is not `what`.
fn parse<T>(
    columns: &Columns,
    fields: &Record,
    column: usize,
    what: &str,
    value: impl Fn(&[u8]) -> Option<T>,
    may_be_missing: bool,
) -> std::result::Result<T, Refused> {
    let field = fields.get(column);
    value(field).ok_or_else(|| {
        let message = format!("{} is not {what}: '{}'{}", columns.title(column), shorten(field), columns.advice());
        if may_be_missing && is_missing(field) { Refused::Missing(message) } else { Refused::Wrong(message) }
    })
}
