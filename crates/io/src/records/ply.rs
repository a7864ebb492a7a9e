//! The vertices of PLY files as points.
//!
//! - in: text, and binary in either byte order; the properties of the element `vertex` are columns
//! - noted: comments, other elements, properties that are not read, and data after the last value or element
//! - rejected: vertices without `x`, `y` and `z`; binary vertices with lists; points that are not finite

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::file_format::FileFormat;
use crate::text::Record;

use ropewalk::{Error, Result};

use crate::contents::Contents;
use crate::messages::shorten;
use crate::number_types::Number;
use crate::reading::Reading;
use crate::source::{Cancellable, Source, words};
use crate::{Format, Snapshot};

use super::rows::Mapping;
use super::text::{self, Lines, TextCloud};
use super::{Cloud, Field, Kind};
use crate::ply_header::{Element, Encoding, Header};

/// The maximum number of bytes of a header.
const LONGEST_HEADER: usize = 1 << 18;
/// The maximum number of comments in the notes.
const MAX_COMMENTS: usize = 5;

/// Returns `true` if `prefix` begins a PLY file.
fn recognises_prefix(prefix: &[u8]) -> bool {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let Some(rest) = text.strip_prefix(b"ply") else { return false };
    // A column of a text table may have the name ply.
    let rest = rest.trim_ascii_start();
    rest.len() < text.len() - 3
        && [&b"format"[..], b"comment", b"obj_info", b"element"].iter().any(|word| rest.starts_with(word))
}

fn header(source: &mut Source) -> Result<Header> {
    let bytes = source.prefix(LONGEST_HEADER)?;
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut header =
        Header::parse(&bytes[mark..]).map_err(|message| source.error(format!("is not a valid PLY file: {message}")))?;
    header.at += mark as u64;
    Ok(header)
}

/// Returns the index of the vertices among the elements.
fn vertices(header: &Header, source: &Source) -> Result<usize> {
    let place = header.elements.iter().position(|element| element.name == "vertex" && element.count > 0);
    let place =
        place.ok_or_else(|| source.error("has no points: its header must have an element vertex that is not empty"))?;
    let has =
        |axis: &str| header.elements[place].properties.iter().any(|property| property.name.eq_ignore_ascii_case(axis));
    match ["x", "y", "z"].iter().find(|axis| !has(axis)) {
        Some(axis) => Err(source.error(format!("its element vertex has no property {axis}"))),
        None => Ok(place),
    }
}

fn notes(header: &Header) -> Vec<String> {
    let mut notes: Vec<String> = header.comments.iter().take(MAX_COMMENTS).cloned().collect();
    if header.comments.len() > MAX_COMMENTS {
        notes.push(format!("{} more comments", header.comments.len() - MAX_COMMENTS));
    }
    let others = header.elements.iter().filter(|element| element.name != "vertex" && element.count > 0);
    let others: Vec<String> =
        others.map(|element| format!("{} ({})", shorten(element.name.as_bytes()), element.count)).collect();
    if !others.is_empty() {
        notes.push(format!("elements that are not read: {}", others.join(", ")));
    }
    notes
}

fn cloud<'a>(path: &'a Path, source: &Source, header: &Header, big_endian: bool) -> Result<Cloud<'a>> {
    let place = vertices(header, source)?;
    let vertex = &header.elements[place];
    let Some(stride) = vertex.bytes() else {
        let list = vertex.properties.iter().find(|property| property.length.is_some());
        let name = list.map_or("", |property| property.name.as_str());
        return Err(source.error(format!(
            "the property {} of its vertices is a list; it must be a number",
            shorten(name.as_bytes())
        )));
    };
    let mut at = header.at;
    for element in &header.elements[..place] {
        at = after(path, source, element, at, big_endian)?;
    }
    let first = at;
    let mut fields = vec![];
    for property in &vertex.properties {
        fields.push(Field::new(property.name.clone(), at, stride, Kind::Number(property.number, Mapping::Same)));
        at = at.saturating_add(property.number.bytes());
    }
    let mut notes = notes(header);
    notes.extend(note_after(path, source, &header.elements[place..], first, big_endian)?);
    let cloud = Cloud {
        format: Format::Ply,
        path,
        temp_file: None,
        rows: vertex.count,
        big_endian,
        fields,
        entries: vec![],
        code: None,
        notes,
    };
    cloud.check_length(source.len())?;
    Ok(cloud)
}

/// Returns a note on the bytes after the last of these elements, the first of which begins at `at`, or on a truncated
/// element.
fn note_after(
    path: &Path,
    source: &Source,
    elements: &[Element],
    mut at: u64,
    big_endian: bool,
) -> Result<Option<String>> {
    for element in elements {
        match after(path, source, element, at, big_endian) {
            Ok(end) => at = end,
            Err(_) => {
                let name = shorten(element.name.as_bytes());
                return Ok(Some(format!("truncated: the file ends within the element {name}")));
            }
        }
    }
    Ok(source.note_after(at, "element"))
}

/// Returns the byte offset after all data of an element that begins at `at`.
fn after(path: &Path, source: &Source, element: &Element, at: u64, big_endian: bool) -> Result<u64> {
    let truncated =
        || source.error(format!("truncated: it ends within the element {}", shorten(element.name.as_bytes())));
    if let Some(bytes) = element.bytes() {
        let end = bytes.checked_mul(element.count).and_then(|bytes| bytes.checked_add(at));
        return end.filter(|&end| end <= source.len()).ok_or_else(truncated);
    }
    let failed = |error| Error::io(path, "cannot be read", error);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    file.seek(SeekFrom::Start(at)).map_err(failed)?;
    let mut file = Seeker { file, at, len: source.len() };
    for _ in 0..element.count {
        for property in &element.properties {
            let mut count = 1;
            if let Some(length) = property.length {
                count = file.whole(length, big_endian).ok_or_else(truncated)?;
            }
            count.checked_mul(property.number.bytes()).and_then(|bytes| file.skip(bytes)).ok_or_else(truncated)?;
        }
    }
    Ok(file.at)
}

/// A file in which data are skipped.
struct Seeker {
    file: BufReader<File>,
    at: u64,
    len: u64,
}

impl Seeker {
    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(bytes).filter(|&at| at <= self.len)?;
        self.file.seek_relative(bytes.try_into().ok()?).ok()
    }

    /// Reads an integer of at least 0, such as the length of a list.
    fn whole(&mut self, number: Number, big_endian: bool) -> Option<u64> {
        let mut bytes = [0; 8];
        let n = number.bytes() as usize;
        self.at += n as u64;
        Cancellable(&mut self.file).read_exact(&mut bytes[..n]).ok()?;
        if big_endian {
            bytes[..n].reverse();
        }
        let value = u64::from_le_bytes(bytes);
        let is_signed = matches!(number, Number::I8 | Number::I16 | Number::I32 | Number::I64);
        let is_negative = is_signed && value >> (8 * n - 1) != 0;
        (!is_negative && !matches!(number, Number::F32 | Number::F64)).then_some(value)
    }
}

/// The format of vertices in PLY files.
pub(crate) struct Ply;

impl FileFormat for Ply {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        recognises_prefix(prefix)
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}

fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let mut source = reading.open(path)?;
    let header = header(&mut source)?;
    match header.encoding {
        Encoding::Text => read_text(path, reading, &source, &header),
        Encoding::Binary { big_endian } => cloud(path, &source, &header, big_endian)?.read(reading),
    }
}

fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let mut source = reading.open(path)?;
    let header = header(&mut source)?;
    match header.encoding {
        Encoding::Text => Ok(text::inspect(path, &read_text(path, reading, &source, &header)?)),
        Encoding::Binary { big_endian } => cloud(path, &source, &header, big_endian)?.inspect(reading),
    }
}

fn read_text(path: &Path, reading: &Reading<'_>, source: &Source, header: &Header) -> Result<Snapshot> {
    let place = vertices(header, source)?;
    let vertex = &header.elements[place];
    let (numbers, lists): (Vec<_>, Vec<_>) = vertex.properties.iter().partition(|property| property.length.is_none());
    let names = numbers.iter().map(|property| property.name.clone()).collect();
    let unread = lists.iter().map(|property| (property.name.clone(), "lists".to_string())).collect();
    // Each value takes at least one byte, and one byte after it.
    let most_rows = vertex.count.min(source.len() / (2 * vertex.properties.len() as u64).max(1) + 1);
    let cloud = TextCloud { format: Format::Ply, path, names, unread, most_rows, notes: notes(header) };
    let mut lines = Lines::open(path, header.at, header.lines)?;
    // Other elements have one line each.
    let lines_of = |elements: &[Element]| {
        let with_lines = elements.iter().filter(|element| !element.properties.is_empty());
        with_lines.fold(0, |sum: u64, element| sum.saturating_add(element.count))
    };
    let mut before = lines_of(&header.elements[..place]);
    let (mut left, mut longer) = (vertex.count, 0);
    let mut snapshot = cloud.read(reading, |record: &mut Record| {
        while left > 0 {
            let Some((line, number)) = lines.next()? else {
                let there = vertex.count - left;
                return Err(Error::file(
                    path,
                    format!("truncated: it has {there} of {} lines of the element vertex", vertex.count),
                ));
            };
            if line.is_empty() {
                continue;
            }
            if before > 0 {
                before -= 1;
                continue;
            }
            let is_longer = push(line, vertex, record);
            let is_longer = is_longer.map_err(|message| Error::file(path, format!("line {number}: {message}")))?;
            longer += u64::from(is_longer);
            left -= 1;
            return Ok(Some(format!("line {}", number)));
        }
        Ok(None)
    })?;
    if longer > 0 {
        snapshot.notes.push(format!("values without a property are not read; vertices that have them: {longer}"));
    }
    let (rest, due) = (lines.count_rest()?, lines_of(&header.elements[place + 1..]));
    if rest > due {
        snapshot.notes.push(format!("lines after the last element that are not read: {}", rest - due));
    } else if rest < due {
        snapshot.notes.push(format!("truncated: {rest} of {due} lines of the unread elements exist"));
    }
    text::finish(path, snapshot, reading, None)
}

/// Appends the values of a vertex to a record, except lists. Returns `true` if more values follow than the element
/// has properties.
fn push(line: &[u8], vertex: &Element, record: &mut Record) -> std::result::Result<bool, String> {
    let mut words = words(line);
    for property in &vertex.properties {
        let ends = || format!("ends before {} of the element vertex", shorten(property.name.as_bytes()));
        let word = words.next().ok_or_else(ends)?;
        if property.length.is_none() {
            record.push_field(word);
            continue;
        }
        let count = std::str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok());
        let count = count.ok_or_else(|| format!("'{}' is not the length of a list", shorten(word)))?;
        if count > 0 {
            words.nth(count - 1).ok_or_else(ends)?;
        }
    }
    Ok(words.next().is_some())
}
