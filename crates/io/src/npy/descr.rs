//! The record type of a structured `.npy` array: its fields, and their locations in a record.
//!
//! In: the Python literal in `descr` of the header. Out: the fields with their offsets, including those of nested
//! records. Cost: the literal is read once, and to a limited depth. Source: NumPy enhancement proposal 1; NumPy's
//! "The array interface protocol", `descr`.

use npyz::{Endianness, TypeChar, TypeStr};

use crate::number_types::Number;

/// The maximum depth of nested records.
const DEEPEST: usize = 4;
/// The maximum number of fields of a record.
const MAX_FIELDS: usize = 10_000;

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// Its name, preceded by the names of the records that contain it, separated by dots.
    pub name: String,
    /// The byte offset in the record.
    pub at: u64,
    /// The type of its values; for values that are not numbers, a description.
    pub number: Result<Number, &'static str>,
    pub big_endian: bool,
    /// The number of values per record.
    pub width: u64,
    /// The number of bytes per value.
    pub bytes: u64,
}

/// Parses the type of the values of an array: their number type, `true` for big-endian byte order, and the bytes per
/// value.
pub(super) fn scalar(name: &str) -> Option<(Result<Number, &'static str>, bool, u64)> {
    use Number::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let parsed: TypeStr = name.parse().ok().filter(|parsed: &TypeStr| !parsed.uses_pickled_array())?;
    let size = parsed.size_field();
    let number = match (parsed.type_char(), size) {
        (TypeChar::Float, 2) => Ok(F16),
        (TypeChar::Float, 4) => Ok(F32),
        (TypeChar::Float, 8) => Ok(F64),
        (TypeChar::Int, 1) => Ok(I8),
        (TypeChar::Int, 2) => Ok(I16),
        (TypeChar::Int, 4) => Ok(I32),
        (TypeChar::Int, 8) => Ok(I64),
        (TypeChar::Uint, 1) => Ok(U8),
        (TypeChar::Uint, 2) => Ok(U16),
        (TypeChar::Uint, 4) => Ok(U32),
        (TypeChar::Uint, 8) => Ok(U64),
        (TypeChar::Bool, _) => Err("true and false"),
        (TypeChar::Float, _) => Err("floats of more than 64 bits"),
        (TypeChar::Complex, _) => Err("complex numbers"),
        (TypeChar::TimeDelta | TypeChar::DateTime, _) => Err("dates or times"),
        (TypeChar::ByteStr | TypeChar::UnicodeStr, _) => Err("text"),
        _ => Err("bytes"),
    };
    let bytes = parsed.num_bytes().and_then(|bytes| u64::try_from(bytes).ok())?;
    Some((number, parsed.endianness() == Endianness::Big, bytes))
}

/// Returns the fields of records with this type, and the bytes per record.
pub(super) fn fields(descr: &str) -> Result<(Vec<Field>, u64), String> {
    let mut parser = Parser { rest: descr, fields: vec![] };
    let bytes = parser.record("", 0, DEEPEST)?;
    Ok((parser.fields, bytes))
}

struct Parser<'a> {
    rest: &'a str,
    fields: Vec<Field>,
}

impl Parser<'_> {
    fn refuse<T>(&self) -> Result<T, String> {
        Err(format!("its header has an invalid record type, at {}", crate::messages::shorten(self.rest.as_bytes())))
    }

    /// Skips this mark if it comes next, and returns `true` if it did.
    fn mark(&mut self, mark: char) -> bool {
        match self.rest.trim_start().strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.mark(mark) { Ok(()) } else { self.refuse() }
    }

    fn text(&mut self) -> Result<String, String> {
        let rest = self.rest.trim_start();
        let Some(quote) = rest.chars().next().filter(|quote| ['\'', '"'].contains(quote)) else {
            return self.refuse();
        };
        let Some((text, rest)) = rest[1..].split_once(quote) else { return self.refuse() };
        if text.contains('\\') {
            return self.refuse();
        }
        self.rest = rest;
        Ok(text.to_string())
    }

    /// Parses a shape such as `(3,)`, and returns the product of its numbers.
    fn shape(&mut self) -> Result<u64, String> {
        let mut product = 1u64;
        self.expect('(')?;
        while !self.mark(')') {
            let rest = self.rest.trim_start();
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let Some(side) = rest[..end].parse::<u64>().ok().and_then(|side| product.checked_mul(side)) else {
                return self.refuse();
            };
            product = side;
            self.rest = &rest[end..];
            self.mark(',');
        }
        Ok(product)
    }

    /// Parses a record type such as `[('x', '<f4'), ..]` at byte `start` of the outer record. Returns its bytes.
    fn record(&mut self, before: &str, start: u64, depth: usize) -> Result<u64, String> {
        let Some(depth) = depth.checked_sub(1) else { return self.refuse() };
        let mut at = 0u64;
        self.expect('[')?;
        while !self.mark(']') {
            self.expect('(')?;
            // A pair of a title and a name.
            let own = if self.mark('(') {
                self.text()?;
                self.expect(',')?;
                let name = self.text()?;
                self.expect(')')?;
                name
            } else {
                self.text()?
            };
            self.expect(',')?;
            let name = if before.is_empty() { own.clone() } else { format!("{before}.{own}") };
            let first = self.fields.len();
            let Some(place) = start.checked_add(at) else { return self.refuse() };
            let is_nested = self.rest.trim_start().starts_with('[');
            let bytes = if is_nested {
                self.record(&name, place, depth)?
            } else {
                let text = self.text()?;
                let Some((number, big_endian, bytes)) = scalar(&text) else {
                    return Err(format!("its field {} has the unknown type '{text}'", name.escape_debug()));
                };
                // Fields without a name are padding.
                if !own.is_empty() {
                    self.fields.push(Field { name, at: place, number, big_endian, width: 1, bytes });
                }
                bytes
            };
            let mut width = 1;
            if self.mark(',') && self.rest.trim_start().starts_with('(') {
                width = self.shape()?;
            }
            self.expect(')')?;
            self.mark(',');
            for field in self.fields.iter_mut().skip(first) {
                match is_nested {
                    true if width != 1 => field.number = Err("lists of records"),
                    true => {}
                    false => field.width = width,
                }
            }
            let Some(end) = bytes.checked_mul(width).and_then(|bytes| bytes.checked_add(at)) else {
                return self.refuse();
            };
            at = end;
            if self.fields.len() > MAX_FIELDS {
                return self.refuse();
            }
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_records() {
        let text = "[('x', '<f4'), (('a title', 'y'), '>f8'), ('pos', '<f2', (3,)), ('name', '<U5'), ('', '|V4'), \
                    ('in', [('a', '|u1'), ('b', '<i8')]), ('list', [('c', '<i4')], (2,))]";
        let (fields, bytes) = fields(text).unwrap();
        let said: Vec<_> =
            fields.iter().map(|field| (field.name.as_str(), field.at, field.width, field.number.is_ok())).collect();
        assert_eq!(
            said,
            [
                ("x", 0, 1, true),
                ("y", 4, 1, true),
                ("pos", 12, 3, true),
                ("name", 18, 1, false),
                ("in.a", 42, 1, true),
                ("in.b", 43, 1, true),
                ("list.c", 51, 1, false)
            ]
        );
        assert_eq!((bytes, fields[1].big_endian, fields[2].number), (59, true, Ok(Number::F16)));
    }

    #[test]
    fn types_that_are_no_records() {
        let deep = format!("{}('x', '<f4'){}", "[('a', ".repeat(9), ")]".repeat(9));
        for text in
            ["[", "[('x', '<f4')", "[('x')]", "[('x', '<q9')]", "[('x', '<f4', (99999999999, 99999999999))]", &deep]
        {
            assert!(fields(text).is_err(), "{text}");
        }
    }
}
