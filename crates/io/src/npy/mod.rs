//! NumPy `.npy` arrays: reading of points, and writing of points and labels.
//!
//! - in: an array of N x D (1 to 10) or N numbers, in C or Fortran order. Numbers are floats of 16 to 64 bits or
//!   integers of 8 to 64 bits, in either byte order. Or N records with named fields, see `records`
//! - out: a [`Snapshot`] with only points; integers become 64-bit floats, which represent them exactly up to 2^53
//! - cost: one pass in parallel, or one per column if columns are chosen or stored one after the other
//! - source: NumPy enhancement proposal 1

mod descr;
mod header;
mod records;
mod shared;
mod write;

use std::cell::Cell;
use std::path::Path;

use ropewalk::Result;

use crate::columns;
use crate::file_format::FileFormat;
use crate::number_types::{Number, Word};
use crate::reading::Reading;
use crate::source::{Source, room};
use crate::table_columns::choose;
use crate::{Contents, Format, Snapshot};

use header::MAGIC;
pub(super) use header::{ArrayUse, Header, LONGEST_HEADER, decode, rows_of_numbers};
use header::{after, header_text};
pub use shared::{NpyNumber, SharedNpy};
pub(super) use write::{write, write_points};
pub use write::{
    write_npy, write_npy_f64, write_npy_f64_rows_to, write_npy_f64_shaped_to, write_npy_f64_to, write_npy_i32,
    write_npy_i32_to, write_npy_to, write_npy_u32_to, write_npy_u64_to,
};

/// The format of NumPy arrays.
pub(crate) struct Npy;

impl FileFormat for Npy {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(MAGIC)
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        Ok(Contents::from_table(path, &read(path, reading)?))
    }
}

/// Reads the points in a `.npy` file, from the chosen columns if there are any.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let chosen = &reading.options.columns[..];
    let mut source = reading.open(path)?;
    let text = header_text(&mut source)?;
    let of = match chosen {
        _ if reading.reads_fields => ArrayUse::Fields,
        [] => ArrayUse::Points,
        _ => ArrayUse::Chosen,
    };
    if records::is_record(&text) {
        return records::read(path, &text, &mut source, reading);
    }
    let header = Header::parse(&text, of).map_err(|message| source.error(message))?;
    let axes = choose(chosen, &[], header.dim).map_err(|message| source.error(message))?;
    if axes.len() > 10 && !reading.reads_fields {
        return Err(source.error(format!("{} columns are chosen; points must have 1 to 10", axes.len())));
    }
    header.check_length(&source)?;
    let notes = after(&source, header.points * header.dim as u64 * header.bytes());
    let columns = header.columns(path, source.at(), &axes);
    let points = columns::points(reading, path, &[columns], 1.0)?;
    Ok(Snapshot { format: Format::Npy, columns: chosen.to_vec(), notes, ..Snapshot::new(points) })
}

/// Reads integers of at least 0, such as ids, from a one-dimensional `.npy` array. All values up to 2^64 - 1 are
/// exact.
///
/// ```
/// use ropewalk_io::{read_npy_u64, write_npy_i32};
///
/// let path = std::env::temp_dir().join("ropewalk_read_npy_u64.npy");
/// write_npy_i32(&path, &[3, 1])?;
/// assert_eq!(read_npy_u64(&path)?, [3, 1]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If the file is not a one-dimensional array of integers, or contains a negative number.
pub fn read_npy_u64(path: impl AsRef<Path>) -> Result<Vec<u64>> {
    let mut source = Source::open(path.as_ref())?;
    if source.prefix(MAGIC.len())? != MAGIC {
        return Err(source.error("is not a NumPy array"));
    }
    let text = header_text(&mut source)?;
    let header = Header::parse(&text, ArrayUse::Points).map_err(|message| source.error(message))?;
    if header.dim != 1 {
        return Err(source.error(format!("has rows of {} values; ids must have one", header.dim)));
    }
    let negative = Cell::new(None);
    let values = {
        let source = &mut source;
        let whole = |x: i64| {
            u64::try_from(x).unwrap_or_else(|_| {
                negative.set(Some(x));
                0
            })
        };
        match header.number {
            Number::F16 | Number::F32 | Number::F64 => return Err(source.error("holds floats; ids must be integers")),
            Number::I8 => list(source, &header, |x: i8| whole(x.into()))?,
            Number::I16 => list(source, &header, |x: i16| whole(x.into()))?,
            Number::I32 => list(source, &header, |x: i32| whole(x.into()))?,
            Number::I64 => list(source, &header, whole)?,
            Number::U8 => list(source, &header, |x: u8| x.into())?,
            Number::U16 => list(source, &header, |x: u16| x.into())?,
            Number::U32 => list(source, &header, |x: u32| x.into())?,
            Number::U64 => list(source, &header, |x: u64| x)?,
        }
    };
    match negative.get() {
        Some(x) => Err(source.error(format!("holds {x}; ids must not be negative"))),
        None => Ok(values),
    }
}

/// Reads the values of a one-dimensional array, converted by `convert`.
fn list<T: Word>(source: &mut Source, header: &Header, convert: impl Fn(T) -> u64) -> Result<Vec<u64>> {
    header.check_length(source)?;
    let mut values = room(source.path(), header.points)?;
    source.words(header.points, header.big_endian, |chunk| values.extend(chunk.iter().map(|&x| convert(x))))?;
    Ok(values)
}
