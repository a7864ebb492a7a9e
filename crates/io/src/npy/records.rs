//! Structured `.npy` arrays: records with named fields, read as columns of a table.
//!
//! - names: as in the text formats. As in archives, `positions` and `velocities` with up to three values become x, y,
//!   z and vx, vy, vz. Other fields of several values become columns with a number after the name
//! - out: a [`Snapshot`]; fields that are not numbers are left out with a note
//! - cost: one pass over the file each for positions, velocities, ids, masses and types

use std::path::Path;

use ropewalk::Result;
use ropewalk::units::{KnownUnits, VelocityUnit};

use crate::array_names::{IDS, MASSES, POSITIONS, TYPES, VELOCITIES};
use crate::columns::{Column, gather, points, sum, whole};
use crate::npy::descr::{Field, fields};
use crate::npy::header::{after, sides, value};
use crate::reading::Reading;
use crate::source::Source;
use crate::table_columns::{ADVICE, Columns};
use crate::total_mass::TotalMass;
use crate::type_column::TypeColumn;
use crate::typed_columns::{TypedColumn, choose_typed};
use crate::{Format, Masses, Snapshot};

/// The maximum number of values of a record, in all fields.
const MAX_COLUMNS: u64 = 1 << 16;

/// Returns `true` if the header text describes records.
pub(super) fn is_record(text: &str) -> bool {
    value(text, "descr").is_ok_and(|descr| descr.starts_with('['))
}

/// Reads the records that follow the header `text`.
pub(super) fn read(path: &Path, text: &str, source: &mut Source, reading: &Reading<'_>) -> Result<Snapshot> {
    let options = reading.options;
    let refuse = |source: &Source, message: String| source.error(message);
    let (fields, bytes) = value(text, "descr").and_then(fields).map_err(|message| refuse(source, message))?;
    let shape = value(text, "shape").and_then(sides).map_err(|message| refuse(source, message))?;
    let [rows] = shape[..] else {
        return Err(refuse(source, format!("has records of shape {shape:?}; it must be (N,) for N records")));
    };
    let (promised, left) = (u128::from(rows) * u128::from(bytes), source.left());
    if promised > u128::from(left) {
        let message = format!("truncated: expected {promised} bytes for {rows} records of {bytes} bytes, got {left}");
        return Err(refuse(source, message));
    }
    let values = fields.iter().fold(0u64, |sum, field| sum.saturating_add(field.width));
    if values > MAX_COLUMNS {
        return Err(refuse(source, format!("has records of {values} values; they must have at most {MAX_COLUMNS}")));
    }
    let (columns, typed) = spread(&fields, path, source.at(), rows, bytes, options.columns.is_empty());
    if options.columns.is_empty() && !reading.reads_fields {
        check_names(&fields).map_err(|message| refuse(source, message))?;
    }
    let chosen = chosen(&fields, &options.columns);
    let chosen = choose_typed(&typed, &chosen, reading).map_err(|message| refuse(source, message))?;
    let mut notes = chosen.notes();
    notes.extend(after(source, rows * bytes));
    let table = RecordTable { path, columns, of: chosen };
    reading.set_types(table.types(reading)?);
    let unit = options.velocity_unit;
    let factor = unit.map(|unit| options.velocity_factor(unit, None, None)).transpose();
    let factor = factor.map_err(|error| ropewalk::Error::file(path, error))?.unwrap_or(1.0);
    let (masses, matter) = table.masses(reading)?;
    let vectors = |of: &[usize], factor| points(reading, path, &[table.picked(of)], factor);
    let velocities = Some(&table.of.velocities).filter(|of| options.velocities && !of.is_empty());
    let id = table.of.id.filter(|_| options.ids);
    Ok(Snapshot {
        types: reading.type_runs(),
        velocities: velocities.map(|of| vectors(of, factor)).transpose()?,
        ids: id.map(|id| gather(reading, path, &[table.picked(&[id])], 1.0)).transpose()?,
        masses,
        matter,
        units: KnownUnits {
            velocity: unit.filter(|_| velocities.is_some()).map(|unit| VelocityUnit { is_internal: false, ..unit }),
            ..KnownUnits::default()
        },
        notes,
        format: Format::Npy,
        columns: table.of.called(),
        ..Snapshot::new(vectors(&table.of.coordinates, 1.0)?)
    })
}

/// Returns a column for each value of a record, and `None` in place of values that cannot be read.
fn spread<'a>(
    fields: &[Field],
    path: &'a Path,
    start: u64,
    rows: u64,
    stride: u64,
    is_renamed: bool,
) -> (Vec<Option<Column<'a>>>, Vec<TypedColumn>) {
    let (mut columns, mut typed) = (vec![], vec![]);
    for field in fields {
        // A list of values that cannot be read is named only once.
        let width = if field.number.is_ok() { field.width } else { 1 };
        for k in 0..width {
            let name = if is_renamed { column_name(field, k) } else { plain_name(field, k) };
            let at = start + field.at + k * field.bytes;
            columns.push(field.number.ok().map(|number| Column {
                path,
                at,
                rows,
                width: 1,
                stride,
                number,
                big_endian: field.big_endian,
            }));
            let is_of_numbers = matches!(field.number, Err("floats of more than 64 bits" | "lists of records"));
            typed.push(TypedColumn { name, unread: field.number.err(), is_of_numbers, ..TypedColumn::default() });
        }
    }
    (columns, typed)
}

fn plain_name(field: &Field, k: u64) -> String {
    if field.width > 1 { format!("{}{k}", field.name) } else { field.name.clone() }
}

/// Returns the name of value `k` of a field in the table of columns.
fn column_name(field: &Field, k: u64) -> String {
    let is = |names: &[&str]| names.iter().any(|name| field.name.eq_ignore_ascii_case(name));
    let axis = ["x", "y", "z"].get(k as usize).filter(|_| (2..=3).contains(&field.width));
    match axis {
        Some(axis) if is(&POSITIONS) => (*axis).into(),
        Some(axis) if is(&VELOCITIES) => format!("v{axis}"),
        _ if field.width > 1 => plain_name(field, k),
        _ if is(&IDS) => "id".into(),
        _ if is(&MASSES) => "mass".into(),
        _ if is(&TYPES) => "type".into(),
        _ => field.name.clone(),
    }
}

/// Errors: two fields that represent the same column, such as `pos` and `x`.
fn check_names(fields: &[Field]) -> std::result::Result<(), String> {
    let read = || fields.iter().filter(|field| field.number.is_ok());
    let columns = || read().flat_map(|field| (0..field.width.min(3)).map(move |k| (field, k)));
    for (field, k) in columns().filter(|&(field, k)| column_name(field, k) != plain_name(field, k)) {
        let name = column_name(field, k);
        let is_same = |&(other, k): &(&Field, u64)| column_name(other, k) == name && other.name != field.name;
        if let Some((other, _)) = columns().find(is_same) {
            let [a, b] = [field, other].map(|field| field.name.escape_debug().to_string());
            return Err(format!("has the fields {a} and {b}, both of which hold {name}; {ADVICE}"));
        }
    }
    Ok(())
}

/// Returns the chosen columns, with fields of several values replaced by their columns.
fn chosen(fields: &[Field], chosen: &[String]) -> Vec<String> {
    let wide = |wanted: &String| {
        let field = fields.iter().find(|field| field.width > 1 && field.name == wanted.trim())?;
        Some((0..field.width).map(|k| plain_name(field, k)).collect())
    };
    chosen.iter().flat_map(|wanted| wide(wanted).unwrap_or_else(|| vec![wanted.clone()])).collect()
}

/// The columns of the records, and their roles.
struct RecordTable<'a> {
    path: &'a Path,
    columns: Vec<Option<Column<'a>>>,
    of: Columns,
}

impl<'a> RecordTable<'a> {
    fn picked(&self, of: &[usize]) -> Vec<Column<'a>> {
        of.iter().filter_map(|&place| *self.columns.get(place)?).collect()
    }

    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(kind) = self.of.type_column else { return Ok(None) };
        let each = whole(reading, &self.picked(&[kind]))?;
        reading.type_column(self.path, "field type", each)
    }

    fn masses(&self, reading: &Reading<'_>) -> Result<(Masses, Option<f64>)> {
        let Some(mass) = self.of.mass.filter(|_| reading.options.masses) else { return Ok((Masses::Unknown, None)) };
        let column = self.picked(&[mass]);
        let share = Some(sum(reading, &column)?);
        let masses = Masses::Each(gather(reading, self.path, &[column], 1.0 / reading.keep.fraction)?);
        Ok((masses, reading.matter(TotalMass { share, ..TotalMass::default() })))
    }
}
