//! The elements of text PLY: one line each, with numbers in the syntax that Rust parses.

use std::str::FromStr;

use ply_rs_bw::ply::{ElementDef, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType};

use ropewalk::internals::cancel::check_at;

use crate::messages::shorten;
use crate::source::line_end;

/// The lines after the header. Lines end with LF or CR LF, or with CR alone if there is no LF.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    end: u8,
    /// The number of lines with more values than their element has.
    longer: u64,
    /// The number of the next line.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Creates the lines in `rest`; `number` is the number of the first.
    pub(super) fn new(rest: &'a [u8], number: usize) -> Self {
        Self { rest, end: line_end(rest), longer: 0, number }
    }

    /// Returns the next line and its number.
    fn next(&mut self) -> Option<(&'a [u8], usize)> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == self.end).map_or(self.rest.len(), |end| end + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.number += 1;
        Some((line, self.number - 1))
    }

    /// Reads all items of an element. Blank lines are skipped.
    pub(super) fn elements<E: PropertyAccess>(
        &mut self,
        element: &ElementDef,
        mut each: impl FnMut(E),
    ) -> Result<(), String> {
        let mut done = 0;
        while done < element.count {
            check_at(done);
            let Some((line, number)) = self.next() else {
                let (name, count) = (&element.name, element.count);
                return Err(format!("ends after {done} of {count} lines of the element {name}"));
            };
            if line.trim_ascii().is_empty() && !element.properties.is_empty() {
                continue;
            }
            let (found, is_longer) = row(line, element).map_err(|message| format!("line {number}: {message}"))?;
            each(found);
            self.longer += u64::from(is_longer);
            done += 1;
        }
        Ok(())
    }

    /// Returns notes on values and lines that belong to no element.
    pub(super) fn notes(mut self) -> Vec<String> {
        let mut after = 0u64;
        while let Some((line, _)) = self.next() {
            after += u64::from(!line.trim_ascii().is_empty());
        }
        let mut notes = vec![];
        if self.longer > 0 {
            notes.push(format!("values without a property are not read; lines that have them: {}", self.longer));
        }
        if after > 0 {
            notes.push(format!("lines after the last element that are not read: {after}"));
        }
        notes
    }
}

/// Parses one item of an element. Also returns `true` if more values follow than the element has.
fn row<E: PropertyAccess>(line: &[u8], element: &ElementDef) -> Result<(E, bool), String> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let mut found = E::new();
    for (name, property) in &element.properties {
        let mut word = || words.next().ok_or_else(|| format!("ends before {name} of the element {}", element.name));
        let value = match &property.data_type {
            PropertyType::Scalar(kind) => scalar(kind, word()?)?,
            PropertyType::List(_, kind) => {
                let n: usize = number(word()?, WHOLE)?;
                list(kind, n, word)?
            }
        };
        if let PropertyAccessResult::UnsupportedType = found.set_property(name, value) {
            return Err(format!("{name} of the element {} has a type that is not allowed there", element.name));
        }
    }
    Ok((found, words.next().is_some()))
}

/// The requirement on integers, for error messages.
const WHOLE: &str = "a whole number that its type can hold";
/// The requirement on floats, for error messages.
const FLOAT: &str = "a number";

fn number<T: FromStr>(word: &str, what: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("'{}' is not {what}", shorten(word.as_bytes())))
}

fn scalar(kind: &ScalarType, word: &str) -> Result<Property, String> {
    Ok(match kind {
        ScalarType::Char => Property::Char(number(word, WHOLE)?),
        ScalarType::UChar => Property::UChar(number(word, WHOLE)?),
        ScalarType::Short => Property::Short(number(word, WHOLE)?),
        ScalarType::UShort => Property::UShort(number(word, WHOLE)?),
        ScalarType::Int => Property::Int(number(word, WHOLE)?),
        ScalarType::UInt => Property::UInt(number(word, WHOLE)?),
        ScalarType::Float => Property::Float(number(word, FLOAT)?),
        ScalarType::Double => Property::Double(number(word, FLOAT)?),
    })
}

fn list<'a>(
    kind: &ScalarType,
    n: usize,
    mut word: impl FnMut() -> Result<&'a str, String>,
) -> Result<Property, String> {
    /// Parses the next `n` words as numbers.
    fn all<'a, T: FromStr>(
        n: usize,
        word: &mut impl FnMut() -> Result<&'a str, String>,
        what: &str,
    ) -> Result<Vec<T>, String> {
        (0..n).map(|_| number(word()?, what)).collect()
    }
    let word = &mut word;
    Ok(match kind {
        ScalarType::Char => Property::ListChar(all(n, word, WHOLE)?),
        ScalarType::UChar => Property::ListUChar(all(n, word, WHOLE)?),
        ScalarType::Short => Property::ListShort(all(n, word, WHOLE)?),
        ScalarType::UShort => Property::ListUShort(all(n, word, WHOLE)?),
        ScalarType::Int => Property::ListInt(all(n, word, WHOLE)?),
        ScalarType::UInt => Property::ListUInt(all(n, word, WHOLE)?),
        ScalarType::Float => Property::ListFloat(all(n, word, FLOAT)?),
        ScalarType::Double => Property::ListDouble(all(n, word, FLOAT)?),
    })
}
