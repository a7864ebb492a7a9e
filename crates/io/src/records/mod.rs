//! Point clouds and tables of fixed-size records: FITS, LAS, PCD and PLY, and the text forms of these and OBJ.
//!
//! - in: a [`Cloud`], which each reader creates from the header of its format: the fields of a record, their units,
//!   entries and notes
//! - out: a [`Snapshot`] of the columns chosen by their names or by the caller. Other columns are named in a note
//! - cost: one pass over the records for each column that is read, in parallel
//!
//! Rows of text forms are read in [`text`]. Every count in a header is checked against the length of the file before
//! memory is reserved. Coordinates that are not finite are errors that name the row, since these formats use them to
//! mark missing points.

pub(super) mod fits;
pub(super) mod las;
mod las_records;
pub(super) mod obj;
pub(super) mod pcd;
pub(super) mod ply;
mod roles;
mod rows;
mod text;

use std::path::Path;

use roles::{UnreadableColumn, left_out, named};
use ropewalk::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};
use rows::{Joined, Mapping, Slot, sum};

use crate::box_sides::side_of_chosen;
use crate::contents::{Contents, Field as ContentsField, Role, TypeContents};
use crate::messages::shorten;
use crate::number_types::{Number, Target};
use crate::read_columns::{RowSource, fill};
use crate::reading::Reading;
use crate::source::room;
use crate::table_columns::{self, Columns};
use crate::temp_file::TempFile;
use crate::total_mass::TotalMass;
use crate::type_column::TypeColumn;
use crate::{Format, Masses, Points, ReadOptions, Snapshot, Table, ecsv};

/// The maximum number of values of a field that become columns. Fields with more values are left out.
const WIDEST: u64 = 64;
/// Names of fields of several values that are positions, and of those that are velocities.
const POSITIONS: [&str; 8] = ["pos", "position", "positions", "coordinates", "coords", "xyz", "point", "points"];
const VELOCITIES: [&str; 4] = ["vel", "velocity", "velocities", "v"];

/// The kind of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number(Number, Mapping),
    /// Values other than numbers, as named in messages: text, truth values, lists, bits.
    Other(&'static str),
}

/// A field of the records.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    /// The byte offset of its first value in the file.
    at: u64,
    /// Bytes between its values in successive records.
    stride: u64,
    /// The number of values per record.
    width: u64,
    kind: Kind,
    unit: Option<String>,
    null: Option<i64>,
}

impl Field {
    /// Creates a field with one value per record, without a unit.
    fn new(name: impl Into<String>, at: u64, stride: u64, kind: Kind) -> Self {
        Self { name: name.into(), at, stride, width: 1, kind, unit: None, null: None }
    }
}

/// A file of records whose header has been read.
struct Cloud<'a> {
    format: Format,
    path: &'a Path,
    /// The uncompressed records, if the file stores them compressed.
    temp_file: Option<TempFile>,
    rows: u64,
    big_endian: bool,
    fields: Vec<Field>,
    /// Entries of the header, by name, that may be the redshift, the box and the cosmology.
    entries: Vec<(String, String)>,
    code: Option<String>,
    notes: Vec<String>,
}

/// The roles of the columns.
struct ColumnRoles {
    columns: Columns,
    slots: Vec<Slot>,
    /// The field of each slot.
    owners: Vec<usize>,
    /// The slots that are coordinates if no columns are chosen.
    own: Vec<usize>,
}

impl Cloud<'_> {
    /// Returns the path of the file that contains the records.
    fn data(&self) -> &Path {
        self.temp_file.as_ref().map_or(self.path, |temp_file| temp_file.path())
    }

    /// Returns an error that names the file.
    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::file(self.path, message)
    }

    /// Errors: a field has values beyond the end of the file.
    fn check_length(&self, len: u64) -> Result<()> {
        let Some(last) = self.rows.checked_sub(1) else { return Ok(()) };
        let due = |field: &Field| {
            let Kind::Number(number, _) = field.kind else { return Some(0) };
            let bytes = number.bytes().checked_mul(field.width)?;
            last.checked_mul(field.stride)?.checked_add(field.at)?.checked_add(bytes)
        };
        match self.fields.iter().find(|field| due(field).is_none_or(|due| due > len)) {
            None => Ok(()),
            Some(_) => {
                let message =
                    format!("truncated: its header declares {} points, but the file has {len} bytes", self.rows);
                Err(self.error(message))
            }
        }
    }

    /// Returns the numbers of a record as slots, and the field of each slot. A field of several values has one slot
    /// per value. If the field is named as positions or velocities, its slots have the names of the components,
    /// unless `is_plain`.
    fn slots(&self, is_plain: bool) -> (Vec<Slot>, Vec<usize>) {
        let is_named = |name: &str| self.fields.iter().any(|field| field.name.eq_ignore_ascii_case(name));
        let has_axes = is_plain || (is_named("x") && is_named("y"));
        let one_of = |names: &[&str]| {
            let is_it = |field: &&Field| {
                let is_vector = (2..=3).contains(&field.width) && matches!(field.kind, Kind::Number(..));
                is_vector && names.contains(&field.name.to_lowercase().as_str())
            };
            let mut all = self.fields.iter().filter(is_it);
            all.next().filter(|_| !has_axes && all.next().is_none()).map(|field| field.name.as_str())
        };
        let (positions, velocities) = (one_of(&POSITIONS), one_of(&VELOCITIES));
        let (mut slots, mut owners) = (vec![], vec![]);
        for (owner, field) in self.fields.iter().enumerate() {
            let Kind::Number(number, mapping) = field.kind else { continue };
            if field.width > WIDEST {
                continue;
            }
            for k in 0..field.width {
                let axis = ["x", "y", "z"].get(k as usize).copied().unwrap_or_default();
                let name = match Some(field.name.as_str()) {
                    _ if field.width == 1 => field.name.clone(),
                    own if own == positions => axis.into(),
                    own if own == velocities && positions.is_some() => format!("v{axis}"),
                    _ => format!("{}[{}]", field.name, k + 1),
                };
                let at = field.at + k * number.bytes();
                slots.push(Slot { name, at, stride: field.stride, number, mapping, null: field.null });
                owners.push(owner);
            }
        }
        (slots, owners)
    }

    /// Describes the values of a field that has no slots.
    fn what(&self, field: usize) -> String {
        match self.fields[field].kind {
            Kind::Other(what) => what.to_string(),
            Kind::Number(..) if self.fields[field].width == 0 => "no values".into(),
            Kind::Number(..) => format!("{} numbers a row, more than {WIDEST}", self.fields[field].width),
        }
    }

    /// Chooses the columns that are read, by the options or by their names.
    fn choose(&self, reading: &Reading<'_>) -> Result<ColumnRoles> {
        let wanted = &reading.options.columns[..];
        let (slots, owners) = self.slots(reading.reads_fields || !wanted.is_empty());
        let names: Vec<String> = slots.iter().map(|slot| slot.name.clone()).collect();
        let own: Vec<String> = self.fields.iter().map(|field| field.name.clone()).collect();
        // A number, or the name of a field of several values, chooses all columns of the field.
        let mut chosen = vec![];
        for name in wanted {
            let exact = names.iter().position(|slot| slot == name.trim());
            let mut alike = (0..names.len()).filter(|&slot| names[slot].eq_ignore_ascii_case(name.trim()));
            let alike = alike.next().filter(|_| alike.next().is_none());
            if let Some(slot) = exact.or(alike) {
                chosen.push(slot);
                continue;
            }
            let fields = table_columns::choose(std::slice::from_ref(name), &own, own.len());
            for field in fields.map_err(|message| self.error(message))? {
                let before = chosen.len();
                chosen.extend((0..slots.len()).filter(|&slot| owners[slot] == field));
                if chosen.len() == before {
                    let what = self.what(field);
                    return Err(self.error(format!("column {} holds {what}", shorten(name.as_bytes()))));
                }
            }
        }
        let unread: Vec<UnreadableColumn> = (0..self.fields.len())
            .filter(|field| !owners.contains(field))
            .map(|field| (self.fields[field].name.clone(), self.what(field)))
            .collect();
        let all = || names.iter().chain(unread.iter().map(|(name, _)| name));
        let is_twice = |name: &str| all().filter(|other| other.eq_ignore_ascii_case(name)).count() > 1;
        let chosen: Vec<String> = chosen
            .into_iter()
            .map(|slot| if is_twice(&names[slot]) { (slot + 1).to_string() } else { names[slot].clone() })
            .collect();
        let columns = named(names, &unread, &chosen, reading).map_err(|message| self.error(message))?;
        let own = self.slots(false).0.into_iter().map(|slot| slot.name).collect();
        let own = Columns::named(own, &[]).map(|columns| columns.coordinates).unwrap_or_default();
        Ok(ColumnRoles { columns, slots, owners, own })
    }

    /// Returns the units, the redshift, the box and the cosmology that the header states.
    fn header(&self, choice: &ColumnRoles) -> Result<ecsv::Header> {
        let columns = choice.slots.iter().zip(&choice.owners);
        let columns = columns.map(|(slot, &owner)| (slot.name.as_str(), self.fields[owner].unit.as_deref()));
        header_of(self.path, columns, &self.entries, &choice.columns.called())
    }

    /// Returns notes on the file, on units that are not used, and on columns that are not read.
    fn remarks(&self, choice: &ColumnRoles, reading: &Reading<'_>) -> Vec<String> {
        let mut notes = self.notes.clone();
        let columns = &choice.columns;
        let unit = |slot: &usize| self.fields[choice.owners[*slot]].unit.as_deref();
        let strange = |slots: &[usize], is_known: &dyn Fn(&str) -> bool| {
            let any = slots.iter().any(|slot| unit(slot).is_some_and(|unit| !is_known(unit)));
            let each = slots.iter().map(|slot| {
                let name = shorten(choice.slots[*slot].name.as_bytes());
                format!("{name} in {}", unit(slot).map_or("no unit".into(), |unit| shorten(unit.as_bytes())))
            });
            any.then(|| {
                format!("units that are not used: {}; values are not converted", each.collect::<Vec<_>>().join(", "))
            })
        };
        if !reading.reads_fields {
            notes.extend(strange(&columns.coordinates, &|unit| unit.parse::<LengthUnit>().is_ok()));
            notes.extend(strange(&columns.velocities, &|unit| unit.parse::<VelocityUnit>().is_ok()));
            notes.extend(strange(columns.mass.as_slice(), &|unit| unit.parse::<MassUnit>().is_ok()));
        }
        let used = |field: usize| {
            (0..choice.slots.len()).any(|slot| choice.owners[slot] == field && columns.role(slot) != Role::Other)
        };
        let others: Vec<&str> = (0..self.fields.len())
            .filter(|&field| !used(field))
            .map(|field| self.fields[field].name.as_str())
            .collect();
        notes.extend(left_out(&others));
        notes.extend(columns.remarks.iter().cloned());
        notes
    }

    fn joined<'b>(&'b self, reading: &'b Reading<'b>, choice: &'b ColumnRoles, slots: &[usize]) -> Joined<'b> {
        Joined {
            reading,
            path: self.data(),
            rows: self.rows,
            big_endian: self.big_endian,
            slots: slots.iter().map(|&slot| &choice.slots[slot]).collect(),
            factor: 1.0,
            is_finite: false,
        }
    }

    fn gather<T: Target>(&self, joined: Joined<'_>) -> Result<Vec<T>> {
        let (reading, width) = (joined.reading, joined.slots.len());
        fill(reading, self.path, width, &[Box::new(joined) as Box<dyn RowSource<T> + '_>])
    }

    fn points(&self, joined: Joined<'_>) -> Result<Points> {
        let dim = joined.slots.len();
        Ok(if joined.slots.iter().all(|slot| slot.is_narrow()) {
            Points::F32(Table::from_valid(dim, self.gather(joined)?))
        } else {
            Points::F64(Table::from_valid(dim, self.gather(joined)?))
        })
    }

    /// Returns the types of the rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>, choice: &ColumnRoles) -> Result<Option<TypeColumn>> {
        let Some(kind) = choice.columns.type_column else { return Ok(None) };
        let mut each: Vec<u8> = room(self.path, self.rows)?;
        each.resize(self.rows as usize, 0);
        self.joined(reading, choice, &[kind]).read(0, &mut each)?;
        reading.type_column(self.path, "column type", each)
    }

    /// Reads the points.
    fn read(&self, reading: &Reading<'_>) -> Result<Snapshot> {
        let snapshot = self.read_records(reading).map_err(|error| match &self.temp_file {
            Some(temp_file) => error.renamed(temp_file.path(), self.path),
            None => error,
        })?;
        if let Some(temp_file) = &self.temp_file {
            reading.forget(temp_file.path());
        }
        Ok(snapshot)
    }

    fn read_records(&self, reading: &Reading<'_>) -> Result<Snapshot> {
        let choice = self.choose(reading)?;
        let columns = &choice.columns;
        let header = if reading.reads_fields { ecsv::Header::default() } else { self.header(&choice)? };
        let ecsv::Header { units, coordinate_unit, redshift, box_size, background, .. } = header;
        let options = ReadOptions { redshift: reading.options.redshift.or(redshift), ..reading.options.clone() };
        let has_velocities = options.velocities && !columns.velocities.is_empty();
        let unit = options.velocity_unit.or(units.velocity).filter(|_| has_velocities);
        let factor = unit.map(|unit| options.velocity_factor(unit, options.redshift, None)).transpose();
        let factor = factor.map_err(|error| self.error(error))?.unwrap_or(1.0);
        reading.set_types(self.types(reading, &choice)?);
        let mut notes = self.remarks(&choice, reading);
        let box_size = match options.columns.is_empty() {
            true => box_size,
            false => side_of_chosen(box_size, &choice.own, &columns.coordinates, &mut notes),
        };
        let joined = |slots: &[usize]| self.joined(reading, &choice, slots);
        let positions = Joined { is_finite: !reading.reads_fields, ..joined(&columns.coordinates) };
        let positions = self.points(positions)?;
        let velocities =
            has_velocities.then(|| self.points(Joined { factor, ..joined(&columns.velocities) })).transpose()?;
        let id = columns.id.filter(|_| options.ids);
        let ids = id.map(|id| self.gather(joined(&[id]))).transpose()?;
        let (mut masses, mut matter) = (Masses::Unknown, None);
        if let Some(mass) = columns.mass.filter(|_| options.masses) {
            masses = Masses::Each(self.gather(Joined { factor: 1.0 / reading.keep.fraction, ..joined(&[mass]) })?);
            matter = reading.matter(TotalMass { share: Some(sum(&joined(&[mass]))?), ..TotalMass::default() });
        }
        Ok(Snapshot {
            types: reading.type_runs(),
            velocities,
            ids,
            masses,
            matter,
            units: KnownUnits { velocity: unit.map(|unit| VelocityUnit { is_internal: false, ..unit }), ..units },
            coordinate_unit,
            redshift,
            box_size,
            background,
            format: self.format,
            columns: columns.called(),
            notes,
            ..Snapshot::new(positions)
        })
    }

    /// Describes the file without reading its points.
    fn inspect(&self, reading: &Reading<'_>) -> Result<Contents> {
        let (choice, notes) = match self.choose(reading) {
            Ok(choice) => {
                let notes = self.remarks(&choice, reading);
                (choice, notes)
            }
            Err(error) if reading.options.columns.is_empty() => {
                let (slots, owners) = self.slots(false);
                let notes = self.notes.iter().cloned().chain([error.to_string()]).collect();
                (ColumnRoles { columns: Columns::default(), slots, owners, own: vec![] }, notes)
            }
            Err(error) => return Err(error),
        };
        let header = self.header(&choice)?;
        let of = |(owner, own): (usize, &Field)| {
            let slot = choice.owners.iter().position(|&other| other == owner);
            let number = match (own.kind, slot) {
                (Kind::Number(..), Some(slot)) => choice.slots[slot].kind(),
                (Kind::Number(number, _), None) => number.name(),
                (Kind::Other(what), _) => what,
            };
            let role = slot.map_or(Role::Other, |slot| choice.columns.role(slot));
            let field = ContentsField::new(own.name.as_str(), number, own.width, role);
            ContentsField { unit: own.unit.clone().unwrap_or_default(), ..field }
        };
        let fields: Vec<ContentsField> = self.fields.iter().enumerate().map(of).collect();
        let types = self.types(reading, &choice)?;
        let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
        if let Some(temp_file) = &self.temp_file {
            reading.forget(temp_file.path());
        }
        Ok(Contents {
            format: self.format,
            code: self.code.clone(),
            files: vec![self.path.to_path_buf()],
            types: TypeContents::of_table(self.rows, counts, &fields),
            box_size: header.box_size,
            redshift: header.redshift,
            background: header.background,
            units: header.units,
            notes,
        })
    }
}

/// Returns the units, redshift, box and cosmology that follow from the names and units of columns and from the
/// entries of a header.
fn header_of<'a>(
    path: &Path,
    columns: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    entries: &[(String, String)],
    coordinates: &[String],
) -> Result<ecsv::Header> {
    let mut known = vec![];
    for (at, (name, unit)) in columns.enumerate() {
        for (key, value) in [("name", Some(name)), ("unit", unit)] {
            known.extend(value.map(|value| (vec!["datatype".into(), at.to_string(), key.into()], value.to_string())));
        }
    }
    for (name, value) in entries {
        known.push((vec!["meta".into(), name.clone()], value.clone()));
    }
    ecsv::Header::new(path, &known, coordinates)
}
