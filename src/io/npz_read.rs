//! NumPy archives as tables: arrays by name.
//!
//! - in: an archive of `numpy.savez` or `savez_compressed`. Positions are `positions` (or `pos`, `coordinates`, `points`, ..), an array
//!   of N rows, or `x`, `y` and `z`; beside them velocities, `id`, `mass` and `types` in the same ways, and the numbers `box_size`, `redshift`,
//!   `omega_m`, `omega_lambda` and `h`
//! - fields: the arrays that are chosen, or all of numbers with as many rows as the longest, whatever their names
//! - out: a [`Snapshot`], in the precision of the arrays
//! - cost: arrays that are wanted are read twice, first for their checksums, or uncompressed into a temporary file
//! - layout: NumPy enhancement proposal 1; PKWARE's APPNOTE

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive};

use crate::io::columns::{Column, gather, points, sum, whole};
use crate::io::contents::{Contents, Field, Role, TypeContents};
use crate::io::csv_columns::FIELDS_ADVICE;
use crate::io::matter::Matter;
use crate::io::npz_choice::{COSMOLOGY, Choice, MOST_NUMBERS, own_positions};
use crate::io::number_types::Target;
use crate::io::reading::Reading;
use crate::io::sides::{of_chosen, told};
use crate::io::source::Cancellable;
use crate::io::spool::Spool;
use crate::io::type_column::TypeColumn;
use crate::io::{Background, Format, Masses, Snapshot, npy};
use crate::units::{KnownUnits, VelocityUnit};
use crate::{Error, Result};

/// An array of the archive.
pub(super) struct Array {
    index: usize,
    pub name: String,
    /// What it is, and where its values begin in it; or why they cannot be read.
    header: std::result::Result<(npy::Header, u64), String>,
    /// How many rows it has, if it holds numbers, also those that are not read.
    rows: std::result::Result<Option<u64>, String>,
    /// Bytes of it, uncompressed.
    size: u64,
    /// Where it begins in the archive, if it is not compressed.
    stored_at: Option<u64>,
}

pub(super) struct Archive<'a> {
    pub path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
    pub arrays: Vec<Array>,
    /// The names of members that are no arrays.
    pub others: Vec<String>,
}

/// An array where it can be read.
struct Placed {
    path: PathBuf,
    at: u64,
    header: npy::Header,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        let refuse =
            |error: zip::result::ZipError| Error::file(path, format!("is a zip archive that cannot be read: {error}"));
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(refuse)?;
        let of = if reading.is_of_fields { npy::Of::Fields } else { npy::Of::Points };
        let (mut arrays, mut others) = (vec![], vec![]);
        for index in 0..zip.len() {
            let mut file = zip.by_index(index).map_err(refuse)?;
            let Some(name) = file.name().ok().and_then(|name| Some(name.strip_suffix(".npy")?.to_string())) else {
                others.push(file.name().map_or_else(|_| "?".into(), |name| name.escape_debug().to_string()));
                continue;
            };
            let mut start = vec![];
            let most = npy::LONGEST_HEADER + 12;
            let read = file.by_ref().take(most).read_to_end(&mut start);
            let read = read.map_err(|error| format!("cannot be read: {error}"));
            let rows = read.clone().and_then(|_| npy::rows_of_numbers(&start));
            let header = read.and_then(|_| npy::decode(&start, of));
            let is_stored = file.compression() == CompressionMethod::Stored;
            let stored_at = file
                .data_start()
                .filter(|&start| is_stored && start.checked_add(file.size()).is_some_and(|end| end <= len));
            if is_stored && stored_at.is_none() {
                let message = format!(
                    "truncated: its array {} has {} bytes, more than the file",
                    name.escape_debug(),
                    file.size()
                );
                return Err(Error::file(path, message));
            }
            arrays.push(Array { index, name, header, rows, size: file.size(), stored_at });
        }
        Ok(Self { path, zip, arrays, others })
    }

    pub(super) fn error(&self, array: usize, message: impl std::fmt::Display) -> Error {
        let name = self.arrays.get(array).map_or_else(String::new, |array| array.name.escape_debug().to_string());
        Error::file(self.path, format!("array {name} {message}"))
    }

    pub(super) fn header(&self, array: usize) -> Result<&npy::Header> {
        match self.arrays.get(array).map(|array| &array.header) {
            Some(Ok((header, _))) => Ok(header),
            Some(Err(message)) => Err(self.error(array, message)),
            None => Err(self.error(array, "is not there")),
        }
    }

    /// The first array with one of these names.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.arrays.iter().position(|array| array.name.eq_ignore_ascii_case(name)))
    }

    /// The arrays of numbers with as many rows as the longest, all of which must be such as are read.
    pub(super) fn longest(&self) -> Result<Vec<usize>> {
        let refuse = |array, message: &String| self.error(array, format!("{message}. {FIELDS_ADVICE}"));
        let rows = |(place, array): (usize, &Array)| array.rows.clone().map_err(|message| refuse(place, &message));
        let rows: Vec<Option<u64>> = self.arrays.iter().enumerate().map(rows).collect::<Result<_>>()?;
        let most = rows.iter().flatten().max();
        let longest: Vec<usize> =
            (0..rows.len()).filter(|&array| most.is_some() && rows[array].as_ref() == most).collect();
        let refused = longest.iter().find_map(|&array| Some((array, self.arrays[array].header.as_ref().err()?)));
        refused.map_or(Ok(longest), |(array, message)| Err(refuse(array, message)))
    }

    /// An array with the checksum it should have, in this file or in a temporary one, which is added to `spools`.
    fn place(&mut self, array: usize, reading: &Reading<'_>, spools: &mut Vec<Spool>) -> Result<Placed> {
        let header = self.header(array)?.clone();
        let Some(Array { index, size, stored_at, header: Ok((_, start)), .. }) = self.arrays.get(array) else {
            return Err(self.error(array, "is not there"));
        };
        let (index, size, stored_at, start) = (*index, *size, *stored_at, *start);
        let bytes = u128::from(header.points) * header.dim as u128 * u128::from(header.bytes());
        if u128::from(start) + bytes > u128::from(size) {
            let left = size.saturating_sub(start);
            let (n, dim) = (header.points, header.dim);
            return Err(self
                .error(array, format!("is truncated: {n} rows of {dim} are {bytes} bytes, {left} follow the header")));
        }
        let failed = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
        let opened = self.zip.by_index(index).map_err(|error| failed(&error));
        let placed = opened.and_then(|file| {
            if let Some(at) = stored_at {
                // The archive's reader looks at the checksum.
                return io::copy(&mut Cancellable(file), &mut io::sink())
                    .map(|_| (self.path.to_path_buf(), at))
                    .map_err(|error| failed(&error));
            }
            let spool = Spool::of(file.take(size), self.path).map_err(|error| failed(&error))?;
            let path = spool.path().clone();
            spools.push(spool);
            Ok((path, 0))
        });
        let (path, at) = placed.map_err(|message| self.error(array, message))?;
        let at = at + start;
        let there = reading.open(&path)?.len();
        if u128::from(at) + bytes > u128::from(there) {
            return Err(self
                .error(array, format!("is truncated: {bytes} bytes are due, {} are there", there.saturating_sub(at))));
        }
        Ok(Placed { path, at, header })
    }
}

impl Placed {
    /// Its rows: one column, or several if it has them one after the other.
    fn columns(&self) -> Vec<Column<'_>> {
        self.header.columns(&self.path, self.at, &[])
    }
}

/// Arrays side by side.
fn columns(arrays: &[Placed]) -> Vec<Column<'_>> {
    arrays.iter().flat_map(Placed::columns).collect()
}

/// The values of an array.
fn values<T: Target>(archive: &mut Archive<'_>, array: usize, reading: &Reading<'_>) -> Result<Vec<T>> {
    let mut spools = vec![];
    let placed = archive.place(array, reading, &mut spools)?;
    let renamed = |error: Error| spools.iter().fold(error, |error, spool| error.renamed(spool.path(), archive.path));
    let values = whole(reading, &placed.columns()).map_err(renamed)?;
    spools.iter().for_each(|spool| reading.forget(spool.path()));
    Ok(values)
}

/// The values of an array of up to three numbers.
fn numbers(archive: &mut Archive<'_>, array: Option<usize>, reading: &Reading<'_>) -> Result<Vec<f64>> {
    let Some(array) = array else { return Ok(vec![]) };
    let header = archive.header(array)?;
    if header.dim != 1 || !(1..=MOST_NUMBERS).contains(&header.points) {
        let message = format!("has {} rows of {}; it must have one to three numbers", header.points, header.dim);
        return Err(archive.error(array, message));
    }
    values(archive, array, reading)
}

/// The one value of an array of numbers that are all the same.
///
/// Errors: several values; one that is not finite.
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

fn background(archive: &mut Archive<'_>, choice: &Choice, reading: &Reading<'_>) -> Result<Background> {
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

/// The types of the rows, if there is an array of types.
fn types(archive: &mut Archive<'_>, choice: &Choice, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
    let Some(array) = choice.types else { return Ok(None) };
    let each = values(archive, array, reading)?;
    reading.type_column(archive.path, "its types", each)
}

/// What the archive says about itself.
pub(super) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let mut archive = Archive::open(path, reading)?;
    let choice = Choice::new(&archive, reading)?;
    let field = |(place, array): (usize, &Array)| match &array.header {
        Ok((header, _)) => Field::new(array.name.as_str(), header.number.name(), header.dim as u64, choice.role(place)),
        Err(_) => Field::new(array.name.as_str(), "other", 1, Role::Other),
    };
    let fields: Vec<Field> = archive.arrays.iter().enumerate().map(field).collect();
    let types = types(&mut archive, &choice, reading)?;
    let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
    let sides = numbers(&mut archive, choice.box_size, reading)?;
    let count = choice.positions.first().map_or(Ok(0), |&array| archive.header(array).map(|header| header.points))?;
    let (box_size, mut notes) = told(&sides);
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

/// The points of the archive.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let mut archive = Archive::open(path, reading)?;
    let options = reading.options;
    let choice = Choice::new(&archive, reading)?;
    let names = if reading.is_of_fields { choice.fields(&archive)? } else { options.columns.clone() };
    reading.choose(types(&mut archive, &choice, reading)?);
    let mut spools = vec![];
    let mut place = |archive: &mut Archive<'_>, arrays: &[usize]| -> Result<Vec<Placed>> {
        arrays.iter().map(|&array| archive.place(array, reading, &mut spools)).collect()
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

    let renamed = |error: Error| spools.iter().fold(error, |error, spool| error.renamed(spool.path(), path));
    let velocity = options.velocity_unit.filter(|_| !velocities.is_empty());
    let factor = velocity.map(|unit| options.velocity_factor(unit, redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(path, error))?.unwrap_or(1.0);
    let read = || -> Result<Snapshot> {
        let each = 1.0 / reading.keep.fraction;
        let (mut all, mut matter) = (Masses::Unknown, Matter::default());
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
        let vectors = |arrays: &[Placed], factor| points(reading, path, &[columns(arrays)], factor);
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
    spools.iter().for_each(|spool| reading.forget(spool.path()));
    Ok(snapshot)
}
