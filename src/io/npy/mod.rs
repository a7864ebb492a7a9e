//! NumPy `.npy` arrays: points in, points and labels out.
//!
//! - in: N x D (1 to 10) or N floats of 32 or 64 bits, or integers of 8 to 64 bits, either byte order, C or Fortran order
//! - out: a [`Snapshot`] with the points alone; integers as 64-bit floats, which hold them exactly up to 2^53
//! - layout: NumPy enhancement proposal 1
//!
//! The header is read here, in the one form NumPy writes: a general reader of Python literals recurses and multiplies
//! at the mercy of the file.

mod write;

use std::cell::Cell;
use std::path::Path;

use npyz::{Endianness, TypeChar, TypeStr};

use crate::io::columns;
use crate::io::csv_columns::choose;
use crate::io::reading::Reading;
use crate::io::source::{Source, Word, room};
use crate::io::{Format, Points, Result, Snapshot, Table};

pub(super) use write::{write, write_points};
pub use write::{
    write_npy, write_npy_f64, write_npy_f64_rows_to, write_npy_f64_to, write_npy_i32, write_npy_i32_to, write_npy_to,
    write_npy_u32_to,
};

/// How a `.npy` file begins.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header NumPy itself reads without being told to.
pub(super) const LONGEST_HEADER: u64 = 10_000;

/// The widest row that columns are chosen of.
const MOST_COLUMNS: u64 = 1 << 16;

/// The points in a `.npy` file, from the columns `chosen` if there are any.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let chosen = &reading.options.columns[..];
    let mut source = reading.open(path)?;
    let text = header_text(&mut source)?;
    let header = Header::parse(&text, !chosen.is_empty()).map_err(|message| source.error(message))?;
    let axes = choose(chosen, &[], header.dim).map_err(|message| source.error(message))?;
    if axes.len() > 10 {
        return Err(source.error(format!("{} columns are chosen; points have 1 to 10", axes.len())));
    }
    let inexact = Cell::new(None);
    let points = {
        let source = &mut source;
        let whole = |x: i128| {
            if x.unsigned_abs() > 1 << 53 && inexact.get().is_none() {
                inexact.set(Some(x));
            }
            x as f64
        };
        match (header.kind, header.bytes) {
            (Number::Float, 4) => Points::F32(table(source, &header, &axes, |x: f32| x)?),
            (Number::Float, _) => Points::F64(table(source, &header, &axes, |x: f64| x)?),
            (Number::Signed, 1) => Points::F64(table(source, &header, &axes, |x: i8| x.into())?),
            (Number::Signed, 2) => Points::F64(table(source, &header, &axes, |x: i16| x.into())?),
            (Number::Signed, 4) => Points::F64(table(source, &header, &axes, |x: i32| x.into())?),
            (Number::Signed, _) => Points::F64(table(source, &header, &axes, |x: i64| whole(x.into()))?),
            (Number::Unsigned, 1) => Points::F64(table(source, &header, &axes, |x: u8| x.into())?),
            (Number::Unsigned, 2) => Points::F64(table(source, &header, &axes, |x: u16| x.into())?),
            (Number::Unsigned, 4) => Points::F64(table(source, &header, &axes, |x: u32| x.into())?),
            (Number::Unsigned, _) => Points::F64(table(source, &header, &axes, |x: u64| whole(x.into()))?),
        }
    };
    if let Some(x) = inexact.get() {
        return Err(source.error(format!("holds {x}; 64-bit floats, which points are, are exact up to 2^53 only")));
    }
    Ok(Snapshot { format: Format::Npy, columns: chosen.to_vec(), ..Snapshot::new(points) })
}

/// Whole numbers from 0, as ids are, of a one-dimensional `.npy` array: all of them exactly, up to 2^64 - 1.
///
/// ```
/// use ropewalk::io::{read_npy_u64, write_npy_i32};
///
/// let path = std::env::temp_dir().join("ropewalk_read_npy_u64.npy");
/// write_npy_i32(&path, &[3, 1])?;
/// assert_eq!(read_npy_u64(&path)?, [3, 1]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it is no such array, or has a negative number.
pub fn read_npy_u64(path: impl AsRef<Path>) -> Result<Vec<u64>> {
    let mut source = Source::open(path.as_ref())?;
    if source.prefix(MAGIC.len())? != MAGIC {
        return Err(source.error("is not a NumPy array"));
    }
    let text = header_text(&mut source)?;
    let header = Header::parse(&text, false).map_err(|message| source.error(message))?;
    if header.dim != 1 {
        return Err(source.error(format!("has rows of {} values; ids are one each", header.dim)));
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
        match (header.kind, header.bytes) {
            (Number::Float, _) => return Err(source.error("holds floats; ids are integers")),
            (Number::Signed, 1) => table(source, &header, &[], |x: i8| whole(x.into()))?,
            (Number::Signed, 2) => table(source, &header, &[], |x: i16| whole(x.into()))?,
            (Number::Signed, 4) => table(source, &header, &[], |x: i32| whole(x.into()))?,
            (Number::Signed, _) => table(source, &header, &[], whole)?,
            (Number::Unsigned, 1) => table(source, &header, &[], |x: u8| x.into())?,
            (Number::Unsigned, 2) => table(source, &header, &[], |x: u16| x.into())?,
            (Number::Unsigned, 4) => table(source, &header, &[], |x: u32| x.into())?,
            (Number::Unsigned, _) => table(source, &header, &[], |x: u64| x)?,
        }
    };
    match negative.get() {
        Some(x) => Err(source.error(format!("holds {x}; ids are not negative"))),
        None => Ok(values.into_vec()),
    }
}

/// The Python literal at the start of the file.
fn header_text(source: &mut Source) -> Result<String> {
    let [_, _, _, _, _, _, major, minor] = source.array()?;
    let bytes = match major {
        1 => u64::from(u16::from_le_bytes(source.array()?)),
        2 | 3 => u64::from(source.u32(false)?),
        _ => return Err(source.error(format!("has npy format version {major}.{minor}; 1 to 3 are known"))),
    };
    if bytes > LONGEST_HEADER {
        return Err(source.error(format!("has a header of {bytes} bytes; an array of floats needs under 200")));
    }
    let mut text = vec![0; bytes as usize];
    source.fill(&mut text)?;
    String::from_utf8(text).map_err(|error| source.error(format!("its header is not text: {error}")))
}

/// What an array that begins with `bytes` says, and where its values begin; one without dimensions has one row.
pub(super) fn decode(bytes: &[u8]) -> std::result::Result<(Header, u64), String> {
    let (length, start) = match bytes {
        [b'\x93', b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => (u32::from(u16::from_le_bytes([*a, *b])), 10),
        [b'\x93', b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]), 12),
        _ => return Err("is no NumPy array of version 1 to 3".into()),
    };
    let end = start + length as usize;
    let text =
        bytes.get(start..end).ok_or_else(|| format!("has a header of {length} bytes, of which some are missing"))?;
    let text = String::from_utf8_lossy(text).replace("()", "(1,)");
    Ok((Header::parse(&text, false)?, end as u64))
}

/// What the header says, checked to be an array of points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub big_endian: bool,
    kind: Number,
    /// Bytes per value: 4 or 8, of integers also 1 or 2.
    pub bytes: u64,
    pub fortran: bool,
    pub points: u64,
    pub dim: usize,
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Float,
    Signed,
    Unsigned,
}

impl Header {
    /// What its values are.
    pub(super) fn number(&self) -> columns::Number {
        use columns::Number::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        match (self.kind, self.bytes) {
            (Number::Float, 4) => F32,
            (Number::Float, _) => F64,
            (Number::Signed, 1) => I8,
            (Number::Signed, 2) => I16,
            (Number::Signed, 4) => I32,
            (Number::Signed, _) => I64,
            (Number::Unsigned, 1) => U8,
            (Number::Unsigned, 2) => U16,
            (Number::Unsigned, 4) => U32,
            (Number::Unsigned, _) => U64,
        }
    }

    /// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (10, 3), }`. Rows that columns are chosen of may be of any width.
    fn parse(text: &str, is_chosen: bool) -> std::result::Result<Self, String> {
        let wanted = "an array of 32- or 64-bit floats or of integers is wanted";
        let descr = value(text, "descr")?;
        let Some(type_name) = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next()) else {
            return Err(format!("holds records of type {}; {wanted}", shorten(descr)));
        };
        let found = type_name.parse::<TypeStr>().ok().and_then(|found| {
            let kind = match (found.type_char(), found.size_field()) {
                (TypeChar::Float, 4 | 8) => Number::Float,
                (TypeChar::Int, 1 | 2 | 4 | 8) => Number::Signed,
                (TypeChar::Uint, 1 | 2 | 4 | 8) => Number::Unsigned,
                _ => return None,
            };
            Some((found.endianness() == Endianness::Big, kind, found.size_field()))
        });
        let (big_endian, kind, bytes) = match found {
            Some(found) => found,
            None => return Err(format!("holds values of type '{}'; {wanted}", shorten(type_name))),
        };
        let order = value(text, "fortran_order")?;
        let fortran = match (order.starts_with("True"), order.starts_with("False")) {
            (false, false) => return Err(format!("its header has fortran_order {}", shorten(order))),
            (fortran, _) => fortran,
        };
        let shape = value(text, "shape")?;
        let inner = shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(inner, _)| inner);
        let sides: Option<Vec<u64>> = inner.and_then(|inner| {
            let sides = inner.split(',').map(|side| side.trim().trim_end_matches('L')).filter(|side| !side.is_empty());
            sides.map(|side| side.parse().ok()).collect()
        });
        let (points, dim) = match sides.as_deref() {
            Some(&[points]) => (points, 1),
            Some(&[points, dim @ 1..=10]) => (points, dim as usize),
            Some(&[points, dim]) if is_chosen && (1..=MOST_COLUMNS).contains(&dim) => (points, dim as usize),
            Some(_) => {
                let shape = shape.split_inclusive(')').next().unwrap_or_default();
                return Err(format!("has shape {}; N points are (N, 1) to (N, 10), or (N,)", shorten(shape)));
            }
            None => return Err(format!("its header has shape {}", shorten(shape))),
        };
        Ok(Self { big_endian, kind, bytes, fortran, points, dim })
    }
}

/// What follows `'key':` in the header.
fn value<'a>(text: &'a str, key: &str) -> std::result::Result<&'a str, String> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted.iter().find_map(|key| Some(text.split_once(key.as_str())?.1));
    after
        .and_then(|rest| rest.trim_start().strip_prefix(':'))
        .map(str::trim)
        .ok_or_else(|| format!("its header has no '{key}'"))
}

/// The first 60 characters, printable.
fn shorten(text: &str) -> String {
    text.chars().take(60).collect::<String>().escape_debug().to_string()
}

/// The values after the header, by rows; of the columns `axes`, if there are any.
fn table<T: Word, S: bytemuck::Pod>(
    source: &mut Source,
    header: &Header,
    axes: &[usize],
    convert: impl Fn(T) -> S,
) -> Result<Table<S>> {
    let &Header { points, dim, big_endian, bytes, .. } = header;
    let (promised, left) = (u128::from(points) * dim as u128 * u128::from(bytes), source.left());
    if promised > u128::from(left) {
        return Err(source.error(format!(
            "truncated: {points} points of {dim} coordinates are {promised} bytes, {left} follow the header"
        )));
    }
    // No more than the file has bytes.
    let n = points * dim as u64;
    if !axes.is_empty() {
        return chosen(source, header, axes, convert);
    }
    let mut data: Vec<S> = room(source.path(), n)?;
    if header.fortran && dim > 1 {
        data.resize(n as usize, S::zeroed());
        for axis in 0..dim {
            let mut column = data.iter_mut().skip(axis).step_by(dim);
            source.words(points, big_endian, |chunk| {
                // The chunk goes first: a zip asks its second half only while the first has more.
                for (value, place) in chunk.iter().zip(column.by_ref()) {
                    *place = convert(*value);
                }
            })?;
        }
    } else {
        source.words(n, big_endian, |chunk| data.extend(chunk.iter().map(|&x| convert(x))))?;
    }
    Ok(Table::of(dim, data))
}

/// The columns `axes` of an array whose length has been checked.
fn chosen<T: Word, S: bytemuck::Pod>(
    source: &mut Source,
    header: &Header,
    axes: &[usize],
    convert: impl Fn(T) -> S,
) -> Result<Table<S>> {
    let &Header { points, dim, big_endian, .. } = header;
    let (rows, width) = (points as usize, axes.len());
    let mut data: Vec<S> = room(source.path(), points * width as u64)?;
    data.resize(rows * width, S::zeroed());
    let mut places = vec![None; dim];
    for (place, &axis) in axes.iter().enumerate() {
        places[axis] = Some(place);
    }
    let (mut row, mut axis) = (0, 0);
    source.words(points * dim as u64, big_endian, |chunk| {
        for &value in chunk {
            if let Some(place) = places[axis] {
                data[row * width + place] = convert(value);
            }
            // The index that runs fastest in the file; the other follows when it is through.
            let (fast, slow, end) =
                if header.fortran { (&mut row, &mut axis, rows) } else { (&mut axis, &mut row, dim) };
            *fast += 1;
            if *fast == end {
                (*fast, *slow) = (0, *slow + 1);
            }
        }
    })?;
    Ok(Table::of(width, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let header = |descr: &str, order: &str, shape: &str| {
            Header::parse(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}   \n"), false)
        };
        let good = Header { big_endian: true, kind: Number::Float, bytes: 8, fortran: true, points: 7, dim: 3 };
        assert_eq!(header("'>f8'", "True", "(7, 3)"), Ok(good));
        // Python 2 wrote long integers with an L, and dictionaries in any order.
        let text = "{'shape': (7L,), \"fortran_order\": False, 'descr': '<f4'}";
        let good = Header { big_endian: false, kind: Number::Float, bytes: 4, fortran: false, points: 7, dim: 1 };
        assert_eq!(Header::parse(text, false), Ok(good));
        let good = Header { big_endian: false, kind: Number::Unsigned, bytes: 1, fortran: false, points: 7, dim: 2 };
        assert_eq!(header("'|u1'", "False", "(7, 2)"), Ok(good));

        let cases = [
            ("'<i16'", "False", "(7, 3)", "'<i16'"),
            ("'|b1'", "False", "(7, 3)", "'|b1'"),
            ("'<f2'", "False", "(7, 3)", "'<f2'"),
            ("'<c16'", "False", "(7, 3)", "'<c16'"),
            ("'|O'", "False", "(7, 3)", "'|O'"),
            ("[('x', '<f4'), ('y', '<f4')]", "False", "(7,)", "[(\\'x\\'"),
            ("'<f4'", "Maybe", "(7,)", "Maybe"),
            ("'<f4'", "False", "()", "shape ()"),
            ("'<f4'", "False", "(7, 0)", "(7, 0)"),
            ("'<f4'", "False", "(7, 11)", "(7, 11)"),
            ("'<f4'", "False", "(7, 3, 1)", "(7, 3, 1)"),
            ("'<f4'", "False", "(-7, 3)", "(-7, 3)"),
            ("'<f4'", "False", "(99999999999999999999, 3)", "99999999999999999999"),
            ("'<f4'", "False", "7", "shape 7"),
        ];
        for (descr, order, shape, said) in cases {
            let message = header(descr, order, shape).unwrap_err();
            assert!(message.contains(said), "{message}");
        }
        assert!(Header::parse("", false).unwrap_err().contains("'descr'"));
    }
}
