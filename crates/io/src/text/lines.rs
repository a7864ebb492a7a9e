//! The lines of a text file, compressed with gzip or not, and their fields.
//!
//! In: a path. Out: one line at a time, without its end, and with its number. Lines end with LF or CR LF, or with CR
//! alone if the file has no LF. Cost: one pass, and memory for the longest line.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use ropewalk::{Error, Result};

use crate::source::{Cancellable, line_end};
use crate::temp_file::GZIP;
use crate::text::values::MISSING_AFTER_HASH;

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;
/// The bytes of a line must be fewer than this. Rows of a wide table can have thousands of fields.
const LONGEST_LINE: usize = 1 << 24;

/// A reader that counts the bytes that it has read.
struct Counted<R> {
    reader: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.bytes.set(self.bytes.get() + n as u64);
        Ok(n)
    }
}

/// The lines of a file, read one at a time.
pub(super) struct Lines {
    reader: Box<dyn BufRead>,
    /// The number of bytes of the file that were read, compressed or not.
    bytes: Rc<Cell<u64>>,
    end: u8,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, "cannot be read", error);
        let bytes = Rc::new(Cell::new(0));
        let file = Counted { reader: File::open(path).map_err(failed)?, bytes: bytes.clone() };
        let mut file = BufReader::with_capacity(CHUNK, Cancellable(file));
        let is_compressed = file.fill_buf().map_err(failed)?.starts_with(GZIP);
        let mut reader: Box<dyn BufRead> = match is_compressed {
            true => Box::new(BufReader::with_capacity(CHUNK, MultiGzDecoder::new(file))),
            false => Box::new(file),
        };
        let start = reader.fill_buf().map_err(failed)?;
        let end = line_end(start);
        Ok(Self { reader, bytes, end, line: vec![], number: 0 })
    }

    /// Reads the next line, whatever it contains. Returns `false` at the end of the file.
    pub(super) fn advance(&mut self) -> std::result::Result<bool, String> {
        self.line.clear();
        self.number += 1;
        let mut part = (&mut self.reader).take(LONGEST_LINE as u64);
        let n = part.read_until(self.end, &mut self.line);
        let n = n.map_err(|error| format!("line {} cannot be read: {error}", self.number))?;
        if n >= LONGEST_LINE && self.line.last() != Some(&self.end) {
            let number = self.number;
            return Err(format!("line {number} has {LONGEST_LINE} bytes or more; lines of tables must be shorter"));
        }
        while self.line.last().is_some_and(|byte| b"\r\n".contains(byte)) {
            self.line.pop();
        }
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        Ok(n > 0)
    }

    /// Returns the number of bytes of the file that were read.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// A line and its number.
pub(super) type Line = (u64, Vec<u8>);

/// The syntax of lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Syntax {
    /// The delimiter between fields. A blank means any number of blanks and tabs.
    pub delimiter: u8,
    /// The first character of comments.
    pub comment: u8,
    /// If `true`, single quotes also enclose fields.
    pub single_quotes: bool,
    /// If `true`, empty fields at both ends of a line are ignored.
    pub trims: bool,
    /// If `true`, each row ends with a delimiter, and the empty field after it is ignored.
    pub ends_rows: bool,
}

impl Syntax {
    pub(super) const fn new(delimiter: u8) -> Self {
        Self { delimiter, comment: b'#', single_quotes: false, trims: false, ends_rows: false }
    }

    /// Returns `true` if the line is neither blank nor a comment.
    pub(super) fn is_row(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        line.first().is_some_and(|&byte| byte != self.comment) || self.begins_with_missing(line)
    }

    /// Returns `true` if the first field is a word for a missing value that begins with the comment character, as
    /// `#N/A`.
    fn begins_with_missing(&self, line: &[u8]) -> bool {
        let is_first = |word: &&[u8]| {
            let Some(rest) = line.strip_prefix(*word) else { return false };
            let next = rest.trim_ascii_start();
            [rest, next].iter().any(|rest| rest.first().is_none_or(|&byte| self.separates(byte)))
        };
        MISSING_AFTER_HASH.iter().any(is_first)
    }

    fn separates(&self, byte: u8) -> bool {
        byte == self.delimiter || (self.delimiter == b' ' && byte == b'\t')
    }

    fn quotes(&self, byte: u8) -> bool {
        byte == b'"' || (self.single_quotes && byte == b'\'')
    }

    /// Returns the end of the field that begins at byte `start`: the next delimiter outside quotes. A quote that is
    /// not closed in this line is an ordinary character.
    fn field_end(&self, line: &[u8], start: usize) -> usize {
        let rest = &line[start..];
        let plain = || rest.iter().position(|&byte| self.separates(byte)).map_or(line.len(), |at| start + at);
        let Some(first) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) else { return plain() };
        if !self.quotes(rest[first]) || rest[..first].iter().any(|&byte| self.separates(byte)) {
            return plain();
        }
        let quote = rest[first];
        let mut is_open = false;
        for (at, &byte) in rest.iter().enumerate().skip(first) {
            if byte == quote {
                is_open = !is_open;
            } else if !is_open && self.separates(byte) {
                return start + at;
            }
        }
        if is_open { plain() } else { line.len() }
    }

    /// Splits a line into its fields, and removes blanks and quotes around them.
    pub(super) fn split(&self, line: &[u8], fields: &mut Record) {
        fields.clear();
        let line = if self.delimiter == b' ' { line.trim_ascii() } else { line };
        let line = match line.trim_ascii() {
            [b'|', inner @ .., b'|'] if self.delimiter == b'|' => inner,
            _ => line,
        };
        let mut start = 0;
        while start <= line.len() {
            let end = self.field_end(line, start);
            let field = &line[start..end];
            if self.delimiter != b' ' || !field.is_empty() {
                self.clean(field, fields);
            }
            start = end + 1;
        }
        if self.trims {
            fields.trim();
        }
        if self.ends_rows {
            fields.drop_empty_end();
        }
    }

    /// Adds a field without the blanks and quotes around it. Inside quotes, a doubled quote represents one quote.
    fn clean(&self, field: &[u8], fields: &mut Record) {
        let field = field.trim_ascii();
        match field {
            [quote, inner @ .., end] if self.quotes(*quote) && end == quote => {
                let mut is_first = false;
                let keep = |byte: &u8| {
                    is_first = byte == quote && !is_first;
                    byte != quote || is_first
                };
                fields.push(inner.trim_ascii().iter().copied().filter(keep));
            }
            _ => fields.push_field(field),
        }
    }
}

/// The fields of a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
    /// The index of the first field that is not ignored.
    first: usize,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len() - self.first
    }

    /// Returns a field; empty beyond the last.
    pub(crate) fn get(&self, field: usize) -> &[u8] {
        let field = field + self.first;
        let start = if field == 0 { 0 } else { self.ends.get(field - 1).copied().unwrap_or(self.bytes.len()) };
        let end = self.ends.get(field).copied().unwrap_or(self.bytes.len());
        &self.bytes[start..end]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|field| self.get(field))
    }

    /// Returns the fields as text.
    pub(super) fn texts(&self) -> Vec<String> {
        self.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.first = 0;
    }

    /// Adds a field, byte by byte. Slices are added faster by [`Record::push_field`].
    fn push(&mut self, field: impl Iterator<Item = u8>) {
        self.bytes.extend(field);
        self.ends.push(self.bytes.len());
    }

    /// Removes empty fields at both ends.
    fn trim(&mut self) {
        while self.len() > 0 && self.get(self.len() - 1).is_empty() {
            self.ends.pop();
        }
        while self.len() > 0 && self.get(0).is_empty() {
            self.first += 1;
        }
    }

    /// Removes an empty field at the end.
    fn drop_empty_end(&mut self) {
        if self.len() > 1 && self.get(self.len() - 1).is_empty() {
            self.ends.pop();
        }
    }

    /// Adds a field.
    pub(crate) fn push_field(&mut self, field: &[u8]) {
        self.bytes.extend_from_slice(field);
        self.ends.push(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_comments() {
        for (delimiter, line, is_row) in [
            (b',', "#N/A,3", true),
            (b',', " #N/A , 3", true),
            (b',', "#NA", true),
            (b';', "#N/A N/A;3", true),
            (b'\t', "#NA\t3", true),
            (b' ', "#N/A 3", true),
            (b',', "#N/A N/A 3", false),
            (b',', "#NAME,3", false),
            (b',', "#NA values", false),
            (b',', "# N/A,3", false),
            (b',', "#1,3", false),
            (b',', "1,3", true),
            (b',', " ", false),
        ] {
            assert_eq!(Syntax::new(delimiter).is_row(line.as_bytes()), is_row, "{line}");
        }
    }

    #[test]
    fn lines_are_split() {
        let split = |delimiter, line: &str| {
            let mut fields = Record::default();
            Syntax::new(delimiter).split(line.as_bytes(), &mut fields);
            fields.texts()
        };
        assert_eq!(split(b',', "1, \"a, b\" ,\"c \"\"d\"\"\",,"), ["1", "a, b", "c \"d\"", "", ""]);
        assert_eq!(split(b',', "\"3,4"), ["\"3", "4"]);
        assert_eq!(split(b' ', "  1 \t 2\t"), ["1", "2"]);
        assert_eq!(split(b'\t', "\t1\t"), ["", "1", ""]);
        assert_eq!(split(b'|', "| a | b |"), ["a", "b"]);
        assert_eq!(split(b'|', "a|b|"), ["a", "b", ""]);
        assert_eq!(split(b',', ""), [""]);
        let mut fields = Record::default();
        Syntax { trims: true, ..Syntax::new(b'\t') }.split(b"\t1\t\t2\t\t", &mut fields);
        assert_eq!(fields.texts(), ["1", "", "2"]);
        Syntax { trims: true, ..Syntax::new(b'\t') }.split(b"\t\t", &mut fields);
        assert_eq!(fields.len(), 0);
        for (line, texts) in [("1,2,", vec!["1", "2"]), ("1,,", vec!["1", ""]), ("1,2", vec!["1", "2"])] {
            Syntax { ends_rows: true, ..Syntax::new(b',') }.split(line.as_bytes(), &mut fields);
            assert_eq!(fields.texts(), texts);
        }
    }
}
