//! Text tables: numbers separated by commas, semicolons, tabs or spaces, with or without a line of names.
//!
//! - in: a row per point; empty lines and those that begin with `#` are skipped; the first line shows the separator
//! - out: a [`Snapshot`] in f64
//! - names: if no field of the first line is or begins like a number, it names the columns

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Chain, Read};
use std::ops::Range;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

use crate::io::csv_columns::{Columns, Rows, is_name};
use crate::io::reading::Reading;
use crate::io::source::Cancellable;
use crate::io::{Error, Points, ReadOptions, Result, Snapshot, ecsv};
use crate::units::{KnownUnits, VelocityUnit};

/// Bytes in the longest line that is read of points; ten numbers need far fewer.
const LONGEST_LINE: usize = 1 << 16;
/// The same of fields, of which there may be any number.
const LONGEST_LINE_OF_FIELDS: usize = 1 << 24;

/// Reads the rows of the text file `path` whose types are wanted.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    // Reading it twice, by lines and for its header, must find the same file.
    drop(reading.open(path)?);
    let options = reading.options;
    let (mut snapshot, rows) = read_rows(path, reading)?;
    if reading.is_of_fields {
        return Ok(snapshot);
    }
    let ecsv::Header { units, redshift, box_size, background, particle_mass } =
        ecsv::Header::read(path, &snapshot.columns)?;
    let options = ReadOptions { redshift: options.redshift.or(redshift), ..options.clone() };
    let velocity_unit = options.velocity_unit.or(units.velocity);
    if let (Some(unit), Some(Points::F64(table))) = (velocity_unit, &mut snapshot.velocities) {
        let factor = options.velocity_factor(unit, options.redshift, None).map_err(|error| Error::file(path, error))?;
        table.values_mut().iter_mut().for_each(|value| *value *= factor);
    }
    snapshot.redshift = redshift;
    (snapshot.box_size, snapshot.background) = (box_size, background);
    let velocity = velocity_unit.map(|unit| VelocityUnit { is_internal: false, ..unit });
    snapshot.units = KnownUnits { velocity, ..units };
    Ok(snapshot.with_equal_masses(particle_mass, 1.0, rows))
}

/// The rows, and how many there are of all types.
fn read_rows(path: &Path, reading: &Reading<'_>) -> Result<(Snapshot, u64)> {
    let options = reading.options;
    let chosen = &options.columns;
    let refuse = |message: String| Error::file(path, message);
    let longest = if reading.is_of_fields { LONGEST_LINE_OF_FIELDS } else { LONGEST_LINE };
    let open =
        |delimiter| Lines::open(path, delimiter, longest).map_err(|error| refuse(format!("cannot be read: {error}")));
    // A line that nothing separates is a line as it stands.
    let mut whole = open(b'\0')?;
    whole.next().map_err(refuse)?;
    let mut lines = open(find_delimiter(whole.row.as_slice().trim_ascii()))?;
    let mut rows = None;
    while lines.next().map_err(refuse)? {
        let fields = &lines.fields;
        let rows = match &mut rows {
            Some(rows) => rows,
            None => {
                let names = fields.iter().all(is_name);
                let called = if names { texts(fields) } else { vec![] };
                let columns = match names {
                    _ if reading.is_of_fields => Columns::fields(called, fields.len(), chosen),
                    true => Columns::named(called, chosen),
                    false => Columns::plain(fields.len(), chosen),
                };
                let empty = rows.insert(Rows::new(columns.map_err(refuse)?, &options.types));
                if names {
                    continue;
                }
                empty
            }
        };
        rows.push(fields).map_err(|message| refuse(format!("line {}: {message}", lines.number())))?;
    }
    let none = || refuse("has no rows of numbers".to_string());
    let rows = rows.filter(|rows| rows.len() > 0).ok_or_else(none)?;
    if let Some(counts) = rows.counts() {
        reading.wanted_types(path, &counts)?;
    }
    let all = rows.len();
    Ok((rows.finish(), all))
}

fn texts(fields: &ByteRecord) -> Vec<String> {
    fields.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The lines that hold something, one at a time.
struct Lines {
    reader: Reader<Chain<Bounded, &'static [u8]>>,
    delimiter: u8,
    /// What stands between delimiters.
    row: ByteRecord,
    /// The same, cleaned.
    fields: ByteRecord,
}

impl Lines {
    fn open(path: &Path, delimiter: u8, longest: usize) -> io::Result<Self> {
        // The end of the last line is put there if it lacks one. Quotes do not join lines: else a stray one would.
        let text = Bounded { file: Cancellable(File::open(path)?), line: 0, longest }.chain(b"\n".as_slice());
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .comment(Some(b'#'))
            .terminator(Terminator::Any(b'\n'))
            .delimiter(delimiter)
            .from_reader(text);
        Ok(Self { reader, delimiter, row: ByteRecord::new(), fields: ByteRecord::new() })
    }

    /// Reads the next line that is neither blank nor a comment; false if there is none.
    fn next(&mut self) -> std::result::Result<bool, String> {
        let Self { reader, delimiter, row, fields } = self;
        let blank = |field: &&[u8]| field.trim_ascii().is_empty();
        loop {
            let found = reader.read_byte_record(row);
            if !found.map_err(|error| format!("line {} {error}", reader.position().line()))? {
                return Ok(false);
            }
            // Blanks around a line separate nothing.
            let (mut start, mut end) = (0, row.len());
            if delimiter.is_ascii_whitespace() || end == 1 {
                start = row.iter().take_while(blank).count();
                end -= row.iter().rev().take_while(blank).count();
            }
            if start >= end || row[start].trim_ascii().starts_with(b"#") {
                continue;
            }
            // Nor do blanks next to each other separate more than once.
            fields.clear();
            while start < end {
                let joined = quoted(row, start..end, *delimiter);
                let (field, pieces) = joined.as_ref().map_or((&row[start], 1), |(field, pieces)| (field, *pieces));
                let field = clean(field);
                if *delimiter != b' ' || !field.is_empty() {
                    fields.push_field(&field);
                }
                start += pieces;
            }
            return Ok(true);
        }
    }

    /// The number of the line read last; it has its end, so that the reader is in the next.
    fn number(&self) -> u64 {
        self.reader.position().line() - 1
    }
}

/// A file whose lines must be short enough to hold one.
struct Bounded {
    file: Cancellable<File>,
    /// Bytes since the last end of a line.
    line: usize,
    /// Lines must have fewer.
    longest: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n =
            self.file.read(buffer).map_err(|error| io::Error::new(error.kind(), format!("cannot be read: {error}")))?;
        let end = buffer[..n].iter().rposition(|&byte| byte == b'\n');
        self.line = end.map_or(self.line + n, |end| n - end - 1);
        if self.line >= self.longest {
            return Err(io::Error::other(format!("has {} bytes or more; no line of a table is so long", self.longest)));
        }
        Ok(n)
    }
}

/// A field whose quotes hold delimiters, put together again, and how many of the pieces `of` a row it is. `None` for a field that is
/// whole, also if its quote has no end in this line: a stray one is for the error that it makes.
fn quoted(row: &ByteRecord, of: Range<usize>, delimiter: u8) -> Option<(Vec<u8>, usize)> {
    let open = |field: &[u8]| field.iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
    if !row[of.start].trim_ascii_start().starts_with(b"\"") || !open(&row[of.start]) {
        return None;
    }
    // The next odd number of quotes makes them even.
    let last = (of.start + 1..of.end).find(|&piece| open(&row[piece]))?;
    let pieces: Vec<&[u8]> = (of.start..=last).map(|piece| &row[piece]).collect();
    Some((pieces.join(&delimiter), last + 1 - of.start))
}

/// What separates the fields of `line`, but for what is in quotes; a comma, if it has but one field.
fn find_delimiter(line: &[u8]) -> u8 {
    let quotes = line.iter().filter(|&&byte| byte == b'"').count();
    let outside: Vec<u8> = match quotes % 2 {
        0 => line.split(|&byte| byte == b'"').step_by(2).flatten().copied().collect(),
        _ => line.to_vec(),
    };
    b";,\t ".iter().copied().find(|byte| outside.contains(byte)).unwrap_or(b',')
}

/// A field without blanks and quotes around it; in quotes two of them stand for one.
fn clean(field: &[u8]) -> Cow<'_, [u8]> {
    let field = field.trim_ascii();
    match field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inner) if inner.contains(&b'"') => {
            let mut is_first = false;
            let keep = |byte: &u8| {
                is_first = *byte == b'"' && !is_first;
                *byte != b'"' || is_first
            };
            inner.trim_ascii().iter().copied().filter(keep).collect()
        }
        Some(inner) => inner.trim_ascii().into(),
        None => field.into(),
    }
}
