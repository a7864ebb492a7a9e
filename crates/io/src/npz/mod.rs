//! NumPy archives as tables: arrays by name.
//!
//! - in: an archive of `numpy.savez` or `savez_compressed`. Positions are an array `positions` (or `pos`,
//!   `coordinates`, `points`, ..) with N rows, a matrix `X` or `data`, or `x`, `y` and `z`. Velocities, `id`, `mass`
//!   and `types` are given in the same ways, and `box_size`, `redshift`, `omega_m`, `omega_lambda` and `h` are
//!   numbers
//! - fields: the chosen arrays, or all arrays of numbers with as many rows as the longest one, whatever their names
//! - out: a [`Snapshot`], in the precision of the arrays
//! - cost: requested arrays are read twice, first for their checksums, or uncompressed into a temporary file
//! - steps: the arrays in the file (`archive`), their roles by name (`array_roles`)
//! - source: NumPy enhancement proposal 1; PKWARE's APPNOTE

mod archive;
mod array_roles;
mod write;

use std::path::Path;

use archive::{Archive, Array, LocatedArray, columns, values};
use array_roles::{ArrayRoles, MAX_NUMBERS, own_positions};
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
pub(super) use write::stored;
pub use write::{write_npz, write_npz_to};

use crate::array_names::COSMOLOGY;
use crate::box_sides::{of_chosen, side_or_note};
use crate::columns::{gather, points, sum, whole};
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::reading::Reading;
use crate::total_mass::TotalMass;
use crate::type_column::TypeColumn;
use crate::{Background, Format, Masses, Snapshot};

/// The format of NumPy archives.
pub(crate) struct Npz;

impl FileFormat for Npz {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(b"PK\x03\x04")
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}

/// Returns the values of an array of up to three numbers.
fn numbers(archive: &mut Archive<'_>, array: Option<usize>, reading: &Reading<'_>) -> Result<Vec<f64>> {
    let Some(array) = array else { return Ok(vec![]) };
    let header = archive.header(array)?;
    if header.dim != 1 || !(1..=MAX_NUMBERS).contains(&header.points) {
        let message = format!("has {} rows of {}; it must have one to three numbers", header.points, header.dim);
        return Err(archive.error(array, message));
    }
    values(archive, array, reading)
}

/// Returns the value of an array of numbers that are all equal.
///
/// Errors: different values; a value that is not finite.
fn number(archive: &mut Archive<'_>, array: Option<usize>, reading: &Reading<'_>) -> Result<Option<f64>> {
    let Some(array) = array else { return Ok(None) };
    let values = numbers(archive, Some(array), reading)?;
    let Some(&first) = values.first() else { return Ok(None) };
    if !first.is_finite() || values.iter().any(|value| *value != first) {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        return Err(archive.error(array, format!("is {}; it must be one finite number", values.join(", "))));
    }
    Ok(Some(first))
}

fn background(archive: &mut Archive<'_>, choice: &ArrayRoles, reading: &Reading<'_>) -> Result<Background> {
    let mut found = [None; 3];
    for ((slot, array), name) in found.iter_mut().zip(choice.cosmology).zip(COSMOLOGY) {
        *slot = number(archive, array, reading)?;
        if let (Some(array), Some(value)) = (array, slot.filter(|&value| value < 0.0 && name != "omega_lambda")) {
            return Err(archive.error(array, format!("is {value}; it must not be below 0")));
        }
    }
    let [omega_m, omega_lambda, h] = found;
    let is_above = |value: &f64| *value > 0.0;
    Ok(Background { omega_m: omega_m.filter(is_above), omega_lambda, h: h.filter(is_above) })
}

/// Returns the types of the rows, if there is an array of types.
fn types(archive: &mut Archive<'_>, choice: &ArrayRoles, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
    let Some(array) = choice.types else { return Ok(None) };
    let each = values(archive, array, reading)?;
    reading.type_column(archive.path, "its types", each)
}

/// Describes the archive.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let mut archive = Archive::open(path, reading)?;
    let choice = ArrayRoles::new(&archive, reading)?;
    let field = |(place, array): (usize, &Array)| match &array.header {
        Ok((header, _)) => Field::new(array.name.as_str(), header.number.name(), header.dim as u64, choice.role(place)),
        Err(_) => Field::new(array.name.as_str(), "other", 1, Role::Other),
    };
    let fields: Vec<Field> = archive.arrays.iter().enumerate().map(field).collect();
    let types = types(&mut archive, &choice, reading)?;
    let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
    let sides = numbers(&mut archive, choice.box_size, reading)?;
    let count = choice.positions.first().map_or(Ok(0), |&array| archive.header(array).map(|header| header.points))?;
    let (box_size, mut notes) = side_or_note(&sides);
    notes.extend(choice.notes(&archive));
    Ok(Contents {
        format: Format::Npz,
        code: None,
        files: vec![path.to_path_buf()],
        types: TypeContents::of_table(count, counts, &fields),
        box_size,
        redshift: number(&mut archive, choice.redshift, reading)?,
        background: background(&mut archive, &choice, reading)?,
        units: KnownUnits::default(),
        notes,
    })
}

/// Reads the points of the archive.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let mut archive = Archive::open(path, reading)?;
    let options = reading.options;
    let choice = ArrayRoles::new(&archive, reading)?;
    let names = if reading.reads_fields { choice.fields(&archive)? } else { choice.names(&archive) };
    reading.set_types(types(&mut archive, &choice, reading)?);
    let mut temp_files = vec![];
    let mut place = |archive: &mut Archive<'_>, arrays: &[usize]| -> Result<Vec<LocatedArray>> {
        arrays.iter().map(|&array| archive.place(array, reading, &mut temp_files)).collect()
    };
    let positions = place(&mut archive, &choice.positions)?;
    let velocities = if options.velocities { place(&mut archive, &choice.velocities)? } else { vec![] };
    let ids = place(&mut archive, choice.ids.filter(|_| options.ids).as_slice())?;
    let masses = place(&mut archive, choice.masses.filter(|_| options.masses).as_slice())?;
    let mut notes = choice.notes(&archive);
    let mut sides = numbers(&mut archive, choice.box_size, reading)?;
    if !options.columns.is_empty() {
        let own = own_positions(&archive).unwrap_or_default();
        sides = of_chosen(&sides, &own, &choice.positions, &mut notes);
    }
    let box_size = options.side(path, &sides, &mut notes)?;
    let background = background(&mut archive, &choice, reading)?;
    let redshift = number(&mut archive, choice.redshift, reading)?;

    let renamed =
        |error: Error| temp_files.iter().fold(error, |error, temp_file| error.renamed(temp_file.path(), path));
    let velocity = options.velocity_unit.filter(|_| !velocities.is_empty());
    let factor = velocity.map(|unit| options.velocity_factor(unit, redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(path, error))?.unwrap_or(1.0);
    let read = || -> Result<Snapshot> {
        let each = 1.0 / reading.keep.fraction;
        let (mut all, mut matter) = (Masses::Unknown, TotalMass::default());
        if let Some(array) = masses.first() {
            let rows = positions.first().map_or(0, |array| array.header.points);
            if array.header.points == 1 && rows != 1 {
                let mass = whole::<f64>(reading, &array.columns())?.first().copied().unwrap_or_default();
                all = Masses::Equal(mass * each);
                matter.known.add_times(mass, rows);
            } else {
                all = Masses::Each(gather(reading, path, &[array.columns()], each)?);
                matter.share = Some(sum(reading, &array.columns())?);
            }
        }
        let vectors = |arrays: &[LocatedArray], factor| points(reading, path, &[columns(arrays)], factor);
        Ok(Snapshot {
            types: reading.type_runs(),
            velocities: (!velocities.is_empty()).then(|| vectors(&velocities, factor)).transpose()?,
            ids: ids.first().map(|array| gather(reading, path, &[array.columns()], 1.0)).transpose()?,
            masses: all,
            matter: reading.matter(matter),
            units: KnownUnits {
                velocity: velocity.map(|unit| VelocityUnit { is_internal: false, ..unit }),
                ..KnownUnits::default()
            },
            box_size,
            notes,
            redshift,
            background,
            format: Format::Npz,
            columns: names,
            ..Snapshot::new(vectors(&positions, 1.0)?)
        })
    };
    let snapshot = read().map_err(renamed)?;
    temp_files.iter().for_each(|temp_file| reading.forget(temp_file.path()));
    Ok(snapshot)
}
