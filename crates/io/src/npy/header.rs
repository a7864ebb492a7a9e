//! The header of a NumPy array: a Python literal with the type, the order and the shape of the values.
//!
//! In: the first bytes of an array, in a file of its own or in an archive. Out: its [`Header`], and the columns of
//! its values. Cost: some hundred bytes are read. Source: NumPy enhancement proposal 1.
//!
//! Only the form that NumPy writes is parsed. A general parser of Python literals could be made to recurse or to
//! allocate without limit by a malicious file.

use std::path::Path;

use ropewalk::Result;

use crate::columns::Column;
use crate::messages::shorten;
use crate::npy::descr;
use crate::number_types::Number;
use crate::source::Source;

/// The first bytes of a `.npy` file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum length of a header that NumPy reads by default.
pub(crate) const LONGEST_HEADER: u64 = 10_000;

/// The maximum width of rows from which columns are chosen.
pub(super) const MAX_COLUMNS: u64 = 1 << 16;

/// Reads the Python literal at the start of the file.
pub(super) fn header_text(source: &mut Source) -> Result<String> {
    let [_, _, _, _, _, _, major, minor] = source.array()?;
    let bytes = match major {
        1 => u64::from(u16::from_le_bytes(source.array()?)),
        2 | 3 => u64::from(source.u32(false)?),
        _ => return Err(source.error(format!("has npy format version {major}.{minor}; it must be 1 to 3"))),
    };
    if bytes > LONGEST_HEADER {
        return Err(
            source.error(format!("has a header of {bytes} bytes; that of an array of floats has fewer than 200"))
        );
    }
    let mut text = vec![0; bytes as usize];
    source.fill(&mut text)?;
    String::from_utf8(text).map_err(|error| source.error(format!("its header is not text: {error}")))
}

/// Returns the literal of an array that begins with `bytes`, and the offset of its values. An array without
/// dimensions is changed to one with one row.
fn literal(bytes: &[u8]) -> std::result::Result<(String, u64), String> {
    let (length, start) = match bytes {
        [b'\x93', b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => (u32::from(u16::from_le_bytes([*a, *b])), 10),
        [b'\x93', b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]), 12),
        _ => return Err("is not a NumPy array of version 1 to 3".into()),
    };
    let end = start + length as usize;
    let text = bytes.get(start..end).ok_or_else(|| format!("has an incomplete header; it must have {length} bytes"))?;
    Ok((String::from_utf8_lossy(text).replace("()", "(1,)"), end as u64))
}

/// Parses the header of an array that begins with `bytes`. Also returns the offset of its values.
pub(crate) fn decode(bytes: &[u8], of: ArrayUse) -> std::result::Result<(Header, u64), String> {
    let (text, start) = literal(bytes)?;
    Ok((Header::parse(&text, of)?, start))
}

/// Returns the number of rows of an array that begins with `bytes`, if it holds floats, integers or complex numbers,
/// including unsupported ones.
pub(crate) fn rows_of_numbers(bytes: &[u8]) -> std::result::Result<Option<u64>, String> {
    let (text, _) = literal(bytes)?;
    let is_number = |name: &str| name.trim_start_matches(['<', '>', '=', '|']).starts_with(['f', 'i', 'u', 'c']);
    match quoted(value(&text, "descr")?).is_some_and(is_number) {
        true => Ok(sides(value(&text, "shape")?)?.first().copied()),
        false => Ok(None),
    }
}

/// The intended use of an array, which determines the shapes that are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ArrayUse {
    Points,
    /// Rows of any width, from which the columns of points are chosen.
    Chosen,
    /// Rows of any width.
    Fields,
}

/// The header of an array with a supported type and shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub big_endian: bool,
    /// The type of its values.
    pub number: Number,
    pub fortran: bool,
    pub points: u64,
    pub dim: usize,
    /// If `true`, the shape has two dimensions, even if the second has length 1.
    pub is_matrix: bool,
}

impl Header {
    /// Returns the bytes per value.
    pub(crate) fn bytes(&self) -> u64 {
        self.number.bytes()
    }

    /// Errors: the file is too short for the values, which begin at the position of `source`.
    pub(super) fn check_length(&self, source: &Source) -> Result<()> {
        let (points, dim, bytes) = (self.points, self.dim, self.bytes());
        let (promised, left) = (u128::from(points) * dim as u128 * u128::from(bytes), source.left());
        if promised > u128::from(left) {
            return Err(source.error(format!(
                "truncated: expected {promised} bytes for {points} rows of {dim} numbers, got {left}"
            )));
        }
        Ok(())
    }

    /// Returns the columns of the array in a file where its values begin at byte `at`: those in `axes`, or all if
    /// `axes` is empty. If rows are contiguous and read whole, they form a single column.
    pub(crate) fn columns<'a>(&self, path: &'a Path, at: u64, axes: &[usize]) -> Vec<Column<'a>> {
        let &Self { big_endian, number, fortran, points: rows, dim, is_matrix: _ } = self;
        let bytes = self.bytes();
        let column = |at, width, stride| Column { path, at, rows, width, stride, number, big_endian };
        if axes.is_empty() && !fortran {
            return vec![column(at, dim, dim as u64 * bytes)];
        }
        let all: Vec<usize> = (0..dim).collect();
        let axes = if axes.is_empty() { &all } else { axes };
        let of = |&axis: &usize| match fortran {
            true => column(at + axis as u64 * rows * bytes, 1, bytes),
            false => column(at + axis as u64 * bytes, 1, dim as u64 * bytes),
        };
        axes.iter().map(of).collect()
    }

    /// Parses a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (10, 3), }`.
    pub(super) fn parse(text: &str, of: ArrayUse) -> std::result::Result<Self, String> {
        let wanted = "it must hold floats of 16 to 64 bits or integers";
        let descr = value(text, "descr")?;
        let Some(type_name) = quoted(descr) else {
            return Err(format!("holds records of type {}; {wanted}", shorten(descr.as_bytes())));
        };
        let found = descr::scalar(type_name).and_then(|(number, big_endian, _)| Some((number.ok()?, big_endian)));
        let Some((number, big_endian)) = found else {
            return Err(format!("holds values of type '{}'; {wanted}", shorten(type_name.as_bytes())));
        };
        let order = value(text, "fortran_order")?;
        let fortran = match (order.starts_with("True"), order.starts_with("False")) {
            (false, false) => return Err(format!("its header has fortran_order {}", shorten(order.as_bytes()))),
            (fortran, _) => fortran,
        };
        let shape = value(text, "shape")?;
        let sides = sides(shape)?;
        let (points, dim) = match sides[..] {
            [points] => (points, 1),
            [points, dim @ 1..=10] => (points, dim as usize),
            [points, dim] if of != ArrayUse::Points && (1..=MAX_COLUMNS).contains(&dim) => (points, dim as usize),
            _ => {
                let shape = shape.split_inclusive(')').next().unwrap_or_default();
                let wanted = match of {
                    ArrayUse::Fields => "it must be (N,) for N values, or (N, F) for F fields",
                    _ => "it must be (N, 1) to (N, 10) or (N,) for N points",
                };
                return Err(format!("has shape {}; {wanted}", shorten(shape.as_bytes())));
            }
        };
        Ok(Self { big_endian, number, fortran, points, dim, is_matrix: sides.len() == 2 })
    }
}

/// Returns the text after `'key':` in the dictionary of the header. Texts in nested lists, such as names of fields,
/// are not keys.
pub(super) fn value<'a>(text: &'a str, key: &str) -> std::result::Result<&'a str, String> {
    let (mut depth, mut rest) = (0i64, text);
    while let Some(at) = rest.find(['\'', '"', '(', ')', '[', ']', '{', '}']) {
        let mark = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match mark {
            b'\'' | b'"' => {
                let Some(end) = end_of_text(rest, mark) else { break };
                let (word, after) = (&rest[..end], &rest[end + 1..]);
                rest = after;
                if let Some(value) = after.trim_start().strip_prefix(':').filter(|_| depth == 1 && word == key) {
                    return Ok(value.trim());
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            _ => depth -= 1,
        }
    }
    Err(format!("its header has no '{key}'"))
}

/// Returns the position of the quote that ends a text.
fn end_of_text(text: &str, quote: u8) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == quote && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Returns the quoted text with which a value begins.
fn quoted(value: &str) -> Option<&str> {
    value.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next())
}

/// Returns the numbers of a shape.
pub(super) fn sides(shape: &str) -> std::result::Result<Vec<u64>, String> {
    let inner = shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(inner, _)| inner);
    let sides = inner.and_then(|inner| {
        let sides = inner.split(',').map(|side| side.trim().trim_end_matches('L')).filter(|side| !side.is_empty());
        sides.map(|side| side.parse().ok()).collect()
    });
    sides.ok_or_else(|| format!("its header has shape {}", shorten(shape.as_bytes())))
}

/// Returns a note about data after the `bytes` of an array, since several arrays may be saved in one file.
pub(super) fn after(source: &Source, bytes: u64) -> Vec<String> {
    match source.left().saturating_sub(bytes) {
        0 => vec![],
        more => vec![format!("{more} bytes follow the array and are not read")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let header = |descr: &str, order: &str, shape: &str| {
            Header::parse(
                &format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}   \n"),
                ArrayUse::Points,
            )
        };
        let good = Header { big_endian: true, number: Number::F64, fortran: true, points: 7, dim: 3, is_matrix: true };
        assert_eq!(header("'>f8'", "True", "(7, 3)"), Ok(good));
        // Python 2 wrote long integers with an L, and dictionaries in any order.
        let text = "{'shape': (7L,), \"fortran_order\": False, 'descr': '<f4'}";
        let good =
            Header { big_endian: false, number: Number::F32, fortran: false, points: 7, dim: 1, is_matrix: false };
        assert_eq!(Header::parse(text, ArrayUse::Points), Ok(good));
        let good = Header { big_endian: false, number: Number::U8, fortran: false, points: 7, dim: 2, is_matrix: true };
        assert_eq!(header("'|u1'", "False", "(7, 2)"), Ok(good));

        let cases = [
            ("'<i16'", "False", "(7, 3)", "'<i16'"),
            ("'|b1'", "False", "(7, 3)", "'|b1'"),
            ("'<f16'", "False", "(7, 3)", "'<f16'"),
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
        assert!(Header::parse("", ArrayUse::Points).unwrap_err().contains("'descr'"));
    }
}
