//! Text tables: numbers separated by commas, semicolons, vertical bars, tabs or blanks.
//!
//! - in: one row per point. Empty lines and those that begin with `#` are skipped, but not rows that begin with
//!   `#N/A` or `#NA`. Before the first row, lines that begin with `%`, `//` or `!` are comments. Enhanced CSV and
//!   ARFF are recognised by their headers
//! - out: a [`Snapshot`] in f64
//! - names: from the first line, if none of its fields is a number. Otherwise from a comment before the rows with one
//!   name per column, or from one comment per column
//! - steps: the layout of the file (`layout`), the kinds of its columns and the number of its rows (`column_kinds`), the
//!   rows (`rows`)
//!
//! | metadata | treatment |
//! |---|---|
//! | names of columns in the first line, or in a comment | used; names from a comment are noted |
//! | comments that may name the columns, but do not match them | noted, or an error if two match |
//! | other comments, before, between and after the rows | the first ones are noted, with their number |
//! | units in names, as `x [kpc]` | noted; an error if the coordinates x, y, z have different units |
//! | columns of labels, ids, indexes and text; columns beside x and y | left out and noted; an error if they are named x, y, z, vx, vy, vz or mass |
//! | integers without a decimal point that 64-bit floats round, as 9007199254740993, in coordinates and fields | an error |
//! | missing values | an error, or left out and noted with [`ReadOptions::skip_missing`] |
//! | header of enhanced CSV: units, box, redshift, cosmology, kinds of columns, masks, objects | used; unknown entries are noted; it is an error if an entry cannot be read, or differs between coordinates |

mod arff;
mod cells;
mod comments;
mod layout;
mod lines;
mod pass;
mod rows;
mod column_kinds;
mod values;

use std::path::Path;

pub(super) use cells::{lacks_value, number_in, read_cells};
use column_kinds::{ColumnKinds, Kind, Purpose};
use layout::{Layout, Slip};
use lines::Lines;
pub(super) use lines::Record;
use pass::Pass;
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
pub(super) use rows::TableBuilder;
pub(super) use values::may_name_a_column;

use crate::box_sides::side_of_chosen;
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::messages::shorten;
use crate::reading::Reading;
use crate::reduce::reduced;
use crate::table_columns::{ADVICE, Columns, CoordinateReason, FIELDS_ADVICE, choose, own_coordinates};
use crate::{Format, Points, ReadOptions, Snapshot, ecsv, particle_type};

/// The format of text tables: any text without another format.
pub(crate) struct TextTable;

impl FileFormat for TextTable {
    fn recognises_prefix(&self, _: &[u8]) -> bool {
        true
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        Ok(reduced(read(path, reading)?, reading))
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }

    fn is_text_table(&self) -> bool {
        true
    }
}

/// Reads the rows of requested types from the text file `path`.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    // Ensures that all passes read the same version of the file.
    drop(reading.open(path)?);
    let options = reading.options;
    let mut layout = Layout::read(path)?;
    // One pass examines the columns, the other reads the rows.
    Pass::announce(path, 2, reading);
    let purpose = if reading.reads_fields { Purpose::Fields } else { Purpose::Points };
    let survey = ColumnKinds::read(path, &layout, purpose, reading)?;
    let (mut snapshot, rows) = read_rows(path, &layout, &survey, reading)?;
    snapshot.notes.splice(0..0, std::mem::take(&mut layout.notes).into_iter().chain(survey.comments.note()));
    if reading.reads_fields {
        return Ok(snapshot);
    }
    let Some(values) = layout.header else { return with_velocities(path, snapshot, options, None) };
    let header = ecsv::Header::new(path, &values, &snapshot.columns)?;
    let ecsv::Header { units, coordinate_unit, redshift, box_size, background, particle_mass, notes } = header;
    snapshot.notes.extend(notes);
    snapshot.notes.extend(ecsv::Header::unread(&values));
    (snapshot.coordinate_unit, snapshot.redshift) = (coordinate_unit, redshift);
    (snapshot.box_size, snapshot.background, snapshot.units) = (box_size, background, units);
    if !options.columns.is_empty() {
        let own = own_coordinates(&layout.names);
        snapshot.box_size = side_of_chosen(box_size, &own, &snapshot.columns, &mut snapshot.notes);
    }
    Ok(with_velocities(path, snapshot, options, units.velocity)?.with_equal_masses(particle_mass, 1.0, rows))
}

/// Converts velocities to peculiar ones, from the unit that the options or the file state.
pub(super) fn with_velocities(
    path: &Path,
    mut snapshot: Snapshot,
    options: &ReadOptions,
    named: Option<VelocityUnit>,
) -> Result<Snapshot> {
    let options = ReadOptions { redshift: options.redshift.or(snapshot.redshift), ..options.clone() };
    let velocity_unit = options.velocity_unit.or(named);
    if let (Some(unit), Some(Points::F64(table))) = (velocity_unit, &mut snapshot.velocities) {
        let factor = options.velocity_factor(unit, options.redshift, None).map_err(|error| Error::file(path, error))?;
        table.values_mut().iter_mut().for_each(|value| *value *= factor);
    }
    let velocity = velocity_unit.map(|unit| VelocityUnit { is_internal: false, ..unit });
    snapshot.units = KnownUnits { velocity, ..snapshot.units };
    Ok(snapshot)
}

/// Returns the columns of a table that are read.
fn columns(layout: &Layout, survey: &ColumnKinds, reading: &Reading<'_>) -> std::result::Result<Columns, String> {
    let (names, chosen) = (layout.names.clone(), &reading.options.columns);
    let declared = |column: usize| layout.declared.get(column).cloned().flatten();
    let no_numbers = |column: usize| declared(column).or_else(|| survey.no_numbers(column));
    if reading.reads_fields {
        let mut columns = Columns::fields(names, layout.width, chosen)?;
        if columns.taken == CoordinateReason::AllFields {
            columns.leave_out_fields(&no_numbers);
            if columns.coordinates.is_empty() {
                return Err("no column holds a number".into());
            }
            check_mixed(&columns, survey)?;
        } else {
            columns.check_fields(&declared)?;
        }
        return Ok(columns);
    }
    if !names.is_empty() {
        // Text in a chosen column causes an error later that names the line.
        let picked = choose(chosen, &names, layout.width)?;
        let no_numbers = |column: usize| if picked.contains(&column) { declared(column) } else { no_numbers(column) };
        return Columns::named_of(names, &no_numbers, reading.options);
    }
    match &layout.slip {
        Some(Slip { line, column, text }) if chosen.is_empty() => {
            let message = format!("column {} is not a number: '{text}', and no line names the columns", column + 1);
            Err(format!("line {line}: {message}; {ADVICE}"))
        }
        _ => Columns::plain(layout.width, chosen),
    }
}

/// Errors: a field is text in the first row and a number in the second. Either the first line is not a row, or it
/// lacks a number.
fn check_mixed(columns: &Columns, survey: &ColumnKinds) -> std::result::Result<(), String> {
    for &column in &columns.coordinates {
        let Some(Kind::Mixed(first, second)) = survey.columns.get(column).map(|column| &column.kind) else { continue };
        return Err(match columns.names.get(column) {
            Some(name) => {
                let name = shorten(name.as_bytes());
                format!("the field {name} is the number {second}, but '{first}' in the first row; {FIELDS_ADVICE}")
            }
            None => {
                let column = column + 1;
                let what = "the first line is neither names nor numbers";
                format!("column {column} is the number {second}, but '{first}' in the first line: {what}")
            }
        });
    }
    Ok(())
}

/// Reads the rows. Also returns the number of rows of all types.
fn read_rows(path: &Path, layout: &Layout, survey: &ColumnKinds, reading: &Reading<'_>) -> Result<(Snapshot, u64)> {
    let refuse = |message: String| Error::file(path, message);
    if survey.rows == 0 {
        return Err(refuse("has no rows of numbers".into()));
    }
    let columns = columns(layout, survey, reading).map_err(refuse)?;
    let mut rows = TableBuilder::new(path, columns, survey.rows, reading.options)?;
    let (mut lines, mut fields) = (Lines::open(path)?, Record::default());
    let mut pass = Pass::new(path, reading);
    while lines.advance().map_err(refuse)? {
        pass.at(lines.bytes());
        if lines.number() <= layout.before || !layout.syntax.is_row(lines.line()) {
            continue;
        }
        layout.syntax.split(lines.line(), &mut fields);
        if fields.len() == 0 {
            continue;
        }
        let pushed = match fields.len() == layout.width {
            true => rows.push(&fields),
            false => Err(layout.wrong_width(&fields, lines.number())),
        };
        pushed.map_err(|message| refuse(format!("line {}: {message}", lines.number())))?;
    }
    pass.end();
    if let Some(counts) = rows.counts() {
        reading.wanted_types(path, &counts)?;
    }
    let all = rows.len();
    Ok((rows.finish(), all))
}

/// Describes the columns of the text file `path`, and their unreadable content.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    drop(reading.open(path)?);
    let layout = Layout::read(path)?;
    let survey = ColumnKinds::read(path, &layout, Purpose::Description, reading)?;
    let mut notes = layout.notes.clone();
    notes.extend(survey.comments.note());
    let mut columns = columns(&layout, &survey, reading).unwrap_or_else(|message| {
        notes.extend(Some(message).filter(|_| survey.rows > 0));
        Columns::default()
    });
    if survey.rows == 0 {
        notes.push("the file has no rows of numbers".into());
    }
    let types =
        columns.type_column.map_or(Ok(Ok(vec![])), |column| types(path, &layout, column))?.unwrap_or_else(|text| {
            columns.leave_out_types(&text);
            vec![]
        });
    notes.extend(columns.notes());
    let values = layout.header.as_deref().unwrap_or_default();
    let header = match ecsv::Header::new(path, values, &columns.called()) {
        Ok(header) => header,
        Err(error) => {
            notes.push(error.to_string());
            ecsv::Header::default()
        }
    };
    notes.extend(header.notes.iter().cloned());
    notes.extend(ecsv::Header::unread(values));
    let (mut fields, units) = (vec![], ecsv::units(values));
    for (place, column) in survey.columns.iter().enumerate() {
        let name = layout.names.get(place).cloned().unwrap_or_else(|| format!("column {}", place + 1));
        let number = match &column.kind {
            Kind::Empty if survey.rows == 0 => "no values",
            Kind::Empty => "only missing values",
            Kind::Number if column.has_fractions => "f64",
            Kind::Number => "i64",
            Kind::Text | Kind::Mixed(..) => "text",
        };
        if let Kind::Mixed(first, second) = &column.kind {
            notes.push(format!("{}: the number {second}, but '{first}' in the first row", shorten(name.as_bytes())));
        }
        if let Some((line, text)) = &column.text {
            notes.push(format!("{}: numbers, but in line {line} '{text}'", shorten(name.as_bytes())));
        }
        if let Some((line, number)) = column.rounded.as_ref().filter(|_| columns.role(place) == Role::Position) {
            notes.push(format!("{}: line {line} has {number}, which 64-bit floats round", shorten(name.as_bytes())));
        }
        let shown = if name.is_empty() { "(no name)".to_string() } else { name };
        if column.missing > 0 && column.kind != Kind::Empty {
            notes.push(format!(
                "{}: {} of {} rows have no value",
                shorten(shown.as_bytes()),
                column.missing,
                survey.rows
            ));
        }
        let mut field = Field::new(shown, number, 1, columns.role(place));
        field.unit = layout.names.get(place).and_then(|name| units.get(name)).cloned().unwrap_or_default();
        fields.push(field);
    }
    Ok(Contents {
        format: Format::Csv,
        code: None,
        files: vec![path.to_path_buf()],
        types: TypeContents::of_table(survey.rows, &types, &fields),
        box_size: header.box_size,
        redshift: header.redshift,
        background: header.background,
        units: header.units,
        notes,
    })
}

/// Counts the rows of each particle type. If `column` holds a value that is not a type, returns that value.
fn types(path: &Path, layout: &Layout, column: usize) -> Result<std::result::Result<Vec<(u8, u64)>, String>> {
    let (mut lines, mut fields) = (Lines::open(path)?, Record::default());
    let mut each = vec![];
    while lines.advance().map_err(|message| Error::file(path, message))? {
        if lines.number() > layout.before && layout.syntax.is_row(lines.line()) {
            layout.syntax.split(lines.line(), &mut fields);
            let kind = values::number(fields.get(column)).map_or(particle_type::NO_TYPE, particle_type::of_number);
            if kind == particle_type::NO_TYPE {
                return Ok(Err(shorten(fields.get(column))));
            }
            match each.last_mut() {
                Some((last, n)) if *last == kind => *n += 1,
                _ => each.push((kind, 1)),
            }
        }
    }
    Ok(Ok(particle_type::counts(each.into_iter())))
}
