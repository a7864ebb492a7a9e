//! Point clouds as text: rows of words, whose columns are named in the header of the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ropewalk::units::VelocityUnit;
use ropewalk::{Error, Result};

use crate::messages::shorten;
use crate::reading::Reading;
use crate::reduce::reduced;
use crate::source::{Cancellable, line_end};
use crate::text::{Record, TableBuilder, with_velocities};
use crate::{Contents, Format, Snapshot};

use super::roles::{UnreadableColumn, left_out, named};

/// The maximum number of bytes of a line.
const LONGEST_LINE: u64 = 1 << 16;

/// A file whose rows are text.
pub(super) struct TextCloud<'a> {
    pub format: Format,
    pub path: &'a Path,
    /// The names of the columns of numbers.
    pub names: Vec<String>,
    /// The columns without numbers, which the rows passed to `read` do not contain.
    pub unread: Vec<UnreadableColumn>,
    /// The maximum number of rows, for which memory is reserved at once.
    pub most_rows: u64,
    pub notes: Vec<String>,
}

impl TextCloud<'_> {
    /// Reads all rows. `next` fills a record with the next row and returns its location for messages, or `None` after
    /// the last row.
    pub(super) fn read(
        &self,
        reading: &Reading<'_>,
        mut next: impl FnMut(&mut Record) -> Result<Option<String>>,
    ) -> Result<Snapshot> {
        let options = reading.options;
        let refuse = |message: String| Error::file(self.path, message);
        let columns = named(self.names.clone(), &self.unread, &options.columns, reading).map_err(refuse)?;
        let coordinates = if reading.reads_fields { vec![] } else { columns.coordinates.clone() };
        let (used, has_types) = (columns.places().copied().collect::<Vec<usize>>(), columns.type_column.is_some());
        let others =
            (0..self.names.len()).filter(|place| !used.contains(place)).map(|place| self.names[place].as_str());
        let mut notes = self.notes.clone();
        notes.extend(left_out(&others.collect::<Vec<_>>()));
        let mut rows = TableBuilder::new(self.path, columns, self.most_rows, options)?;
        let mut record = Record::default();
        loop {
            record.clear();
            let Some(place) = next(&mut record)? else { break };
            if let Some(&column) = used.iter().find(|&&column| record.get(column).is_empty()) {
                let name = shorten(self.names[column].as_bytes());
                return Err(refuse(format!("{place}, column {name}: has no value")));
            }
            let is_finite = |word: &[u8]| {
                let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
                number.is_none_or(f64::is_finite)
            };
            let wrong = coordinates.iter().find(|&&column| !is_finite(record.get(column)));
            if let Some(&column) = wrong {
                let word = shorten(record.get(column));
                let name = shorten(self.names[column].as_bytes());
                return Err(refuse(format!("{place}, column {name}: {word} is not a coordinate")));
            }
            rows.push(&record).map_err(|message| refuse(format!("{place}: {message}")))?;
        }
        if rows.len() == 0 {
            return Err(refuse("has no points".into()));
        }
        match rows.counts() {
            Some(counts) => _ = reading.wanted_types(self.path, &counts)?,
            None if has_types => reading.note_unread_types("a value of column type"),
            None => {}
        }
        Ok(Snapshot { format: self.format, notes, ..rows.finish() })
    }
}

/// Converts the velocities to peculiar ones, from the unit that the options or the file state, and keeps the rows of
/// the subsample.
pub(super) fn finish(
    path: &Path,
    snapshot: Snapshot,
    reading: &Reading<'_>,
    unit: Option<VelocityUnit>,
) -> Result<Snapshot> {
    Ok(reduced(with_velocities(path, snapshot, reading.options, unit)?, reading))
}

/// Describes a file from the points that were read from it.
pub(super) fn inspect(path: &Path, snapshot: &Snapshot) -> Contents {
    Contents { notes: snapshot.notes.clone(), ..Contents::from_table(path, snapshot) }
}

/// The lines of a file, read one at a time. Lines end with LF or CR LF, or with CR alone if the file has no LF.
pub(super) struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<Cancellable<File>>,
    end: u8,
    line: Vec<u8>,
    /// The number of the last line that was read.
    number: u64,
}

impl<'a> Lines<'a> {
    /// Opens a file to read lines from byte `at` on, which `number` lines precede.
    pub(super) fn open(path: &'a Path, at: u64, number: u64) -> Result<Self> {
        let failed = |error| Error::io(path, "cannot be read", error);
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        let mut reader = BufReader::with_capacity(1 << 18, Cancellable(file));
        let end = line_end(reader.fill_buf().map_err(failed)?);
        Ok(Self { path, reader, end, line: vec![], number })
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(self.path, "cannot be read", error)
    }

    /// Reads the next line. Returns it without its end, and its number.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        self.line.clear();
        let mut bounded = Read::take(&mut self.reader, LONGEST_LINE);
        let read = bounded.read_until(self.end, &mut self.line);
        let n = read.map_err(|error| self.failed(error))?;
        if n == 0 {
            return Ok(None);
        }
        self.number += 1;
        if n as u64 == LONGEST_LINE {
            let message = format!("line {} has {LONGEST_LINE} bytes or more", self.number);
            return Err(Error::file(self.path, message));
        }
        Ok(Some((self.line.trim_ascii(), self.number)))
    }

    /// Reads the remaining lines, of any length, and returns the number of those that are not blank.
    pub(super) fn count_rest(&mut self) -> Result<u64> {
        let (mut count, mut is_blank) = (0, true);
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.failed(error)),
            };
            if bytes.is_empty() {
                return Ok(count + u64::from(!is_blank));
            }
            for &byte in bytes {
                if byte == self.end {
                    count += u64::from(!is_blank);
                    is_blank = true;
                } else if !byte.is_ascii_whitespace() {
                    is_blank = false;
                }
            }
            let n = bytes.len();
            self.reader.consume(n);
        }
    }
}
