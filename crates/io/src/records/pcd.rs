//! PCD, the point clouds of the Point Cloud Library.
//!
//! - in: versions 0.5 to 0.7, as text, binary, or binary compressed with LZF, which stores each field as one array
//! - used: `FIELDS`, `SIZE`, `TYPE`, `COUNT`, `WIDTH`, `HEIGHT`, `POINTS`, `DATA`
//! - noted: `VIEWPOINT`, if it is not the identity; fields that are not read. Fields named `_` are padding.
//! - rejected: other lines, contradictory headers, points that are not finite

use std::io::Cursor;
use std::path::Path;

use ropewalk::{Error, Result};

use crate::contents::Contents;
use crate::file_format::FileFormat;
use crate::messages::shorten;
use crate::number_types::Number;
use crate::reading::Reading;
use crate::source::{Source, room, words};
use crate::temp_file::TempFile;
use crate::text::Record;
use crate::{Format, Snapshot, lzf};

use super::rows::Mapping;
use super::text::{self, Lines, TextCloud};
use super::{Cloud, Field, Kind};

/// The maximum number of bytes of a header.
const LONGEST_HEADER: usize = 1 << 16;
/// Bytes of the largest page to which files are padded.
const MAX_PADDING: u64 = 1 << 16;
/// The maximum decompressed bytes per compressed byte: a reference of three bytes copies 264.
const MAX_BYTES: u64 = 88;

/// Returns `true` if `prefix` begins a PCD file.
fn recognises_prefix(prefix: &[u8]) -> bool {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let line_end = header_line_end(text);
    let mut lines = text.split(|&byte| byte == line_end).map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && (!line.starts_with(b"#") || line.starts_with(b"# .PCD")));
    let Some(first) = first else { return false };
    let is_version = |word: &[u8]| word.starts_with(b".") || word.starts_with(b"0.");
    let mut words = words(first);
    first.starts_with(b"# .PCD v") || (words.next() == Some(b"VERSION") && words.next().is_some_and(is_version))
}

/// Returns the byte that ends the lines of a header: CR if the first CR precedes any LF and is not followed by one.
fn header_line_end(bytes: &[u8]) -> u8 {
    let first = bytes.iter().position(|&byte| byte == b'\r' || byte == b'\n');
    match first.map(|at| (bytes[at], bytes.get(at + 1))) {
        Some((b'\r', next)) if next != Some(&b'\n') => b'\r',
        _ => b'\n',
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    Binary,
    Compressed,
}

/// The header of a file.
struct Header {
    names: Vec<String>,
    /// The bytes per value, the type and the number of values of each field.
    sizes: Vec<u64>,
    kinds: Vec<char>,
    counts: Vec<u64>,
    points: u64,
    encoding: Encoding,
    /// The byte offset of the data; `lines` counts the lines before them.
    at: u64,
    lines: u64,
    notes: Vec<String>,
}

impl Header {
    fn read(source: &mut Source) -> Result<Self> {
        let bytes = source.prefix(LONGEST_HEADER)?;
        Self::parse(&bytes).map_err(|message| source.error(message))
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let (mut at, mut lines) = (0, 0);
        let line_end = header_line_end(bytes);
        let mut found: Vec<(String, Vec<String>)> = vec![];
        let encoding = loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(end) = rest.iter().position(|&byte| byte == line_end) else {
                return Err("is not a valid PCD file: its header has no line DATA".into());
            };
            at += end + 1;
            lines += 1;
            let line = rest[..end].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&rest[..end]).trim_ascii();
            let mut words = words(line).map(|word| String::from_utf8_lossy(word).into_owned());
            let Some(key) = words.next().filter(|_| !line.starts_with(b"#")) else { continue };
            let values: Vec<String> = words.collect();
            if found.iter().any(|(other, _)| *other == key) {
                return Err(format!("line {lines}: its header has a second line {}", shorten(key.as_bytes())));
            }
            match key.as_str() {
                "DATA" => {
                    break match values.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                        ["ascii"] => Encoding::Text,
                        ["binary"] => Encoding::Binary,
                        ["binary_compressed"] => Encoding::Compressed,
                        _ => {
                            return Err(format!(
                                "line {lines}: '{}' has an unknown encoding; it must be ascii, binary or binary_compressed",
                                shorten(line)
                            ));
                        }
                    };
                }
                "VERSION" | "FIELDS" | "COLUMNS" | "SIZE" | "TYPE" | "COUNT" | "WIDTH" | "HEIGHT" | "VIEWPOINT"
                | "POINTS" => {
                    found.push((key, values));
                }
                _ => return Err(format!("line {lines}: '{}' is not a line of a PCD header", shorten(line))),
            }
        };
        let of = |key: &str| found.iter().find(|(own, _)| own == key).map(|(_, values)| &values[..]);
        let names = of("FIELDS").or_else(|| of("COLUMNS")).unwrap_or_default().to_vec();
        let n = names.len();
        let numbers = |key: &str| -> std::result::Result<Option<Vec<u64>>, String> {
            let parse = |value: &String| {
                value.parse().map_err(|_| format!("{key} '{}' is not a whole number", shorten(value.as_bytes())))
            };
            of(key).map(|values| values.iter().map(parse).collect()).transpose()
        };
        let scalar = |key: &str| match numbers(key)?.as_deref() {
            Some(&[value]) => Ok(Some(value)),
            None => Ok(None),
            _ => Err(format!("{key} must be one number")),
        };
        let sizes = numbers("SIZE")?.unwrap_or_default();
        let counts = numbers("COUNT")?.unwrap_or_else(|| vec![1; n]);
        let kinds: Vec<char> = of("TYPE").unwrap_or_default().iter().filter_map(|kind| kind.chars().next()).collect();
        if n == 0 || [sizes.len(), counts.len(), kinds.len()].iter().any(|&len| len != n) {
            return Err("its header must have FIELDS, and the same number of values in SIZE, TYPE and COUNT".into());
        }
        let (width, height) = (scalar("WIDTH")?, scalar("HEIGHT")?.unwrap_or(1));
        let product =
            width.map(|width| width.checked_mul(height).ok_or("has WIDTH x HEIGHT above 2^64")).transpose()?;
        let points = match (scalar("POINTS")?, product) {
            (Some(points), Some(product)) if points != product => {
                return Err(format!("has {points} POINTS, but WIDTH x HEIGHT is {product}"));
            }
            (Some(points), _) | (None, Some(points)) => points,
            (None, None) => return Err("its header has neither POINTS nor WIDTH".into()),
        };
        let mut notes = vec![];
        if let Some(pose) = of("VIEWPOINT") {
            let numbers: Vec<Option<f64>> = pose.iter().map(|value| value.parse().ok()).collect();
            if numbers != [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0].map(Some) {
                notes.push(format!("VIEWPOINT {} is not applied", shorten(pose.join(" ").as_bytes())));
            }
        }
        Ok(Self { names, sizes, kinds, counts, points, encoding, at: at as u64, lines, notes })
    }

    /// The number type of a field.
    fn number(&self, field: usize) -> std::result::Result<Number, String> {
        Ok(match (self.kinds[field], self.sizes[field]) {
            ('F', 4) => Number::F32,
            ('F', 8) => Number::F64,
            ('I', 1) => Number::I8,
            ('I', 2) => Number::I16,
            ('I', 4) => Number::I32,
            ('I', 8) => Number::I64,
            ('U', 1) => Number::U8,
            ('U', 2) => Number::U16,
            ('U', 4) => Number::U32,
            ('U', 8) => Number::U64,
            (kind, size) => {
                let name = shorten(self.names[field].as_bytes());
                return Err(format!("field {name} has TYPE {kind} and SIZE {size}, which is not a number type"));
            }
        })
    }

    /// Returns the bytes per point.
    fn record(&self) -> Option<u64> {
        self.sizes
            .iter()
            .zip(&self.counts)
            .try_fold(0u64, |sum, (size, count)| sum.checked_add(size.checked_mul(*count)?))
    }
}

/// Returns `true` if fields with this name are padding.
fn is_padding(name: &str) -> bool {
    name == "_"
}

fn cloud<'a>(path: &'a Path, mut source: Source, header: &Header) -> Result<Cloud<'a>> {
    let record = header.record().filter(|&record| record > 0);
    let record = record.ok_or_else(|| source.error("its header declares points of 0 bytes"))?;
    let is_compressed = header.encoding == Encoding::Compressed;
    let temp_file = if is_compressed { Some(uncompressed(path, &mut source, header, record)?) } else { None };
    let first = if is_compressed { 0 } else { header.at };
    let (mut fields, mut before) = (vec![], 0);
    for (place, name) in header.names.iter().enumerate() {
        let (size, width) = (header.sizes[place], header.counts[place]);
        if !is_padding(name) && width > 0 {
            let number = header.number(place).map_err(|message| source.error(message))?;
            let kind = Kind::Number(number, Mapping::Same);
            // In compressed data, each field is a separate array.
            let (at, stride) =
                if is_compressed { (before * header.points, size * width) } else { (first + before, record) };
            fields.push(Field { width, ..Field::new(name.clone(), at, stride, kind) });
        }
        before += size * width;
    }
    let len = if is_compressed { record * header.points } else { source.len() };
    let mut notes = header.notes.clone();
    if !is_compressed {
        notes.extend(source.note_after(header.at.saturating_add(record.saturating_mul(header.points)), "point"));
    } else if !is_padding_left(&mut source)? {
        notes.extend(source.note_after(source.at(), "point"));
    }
    let cloud = Cloud {
        format: Format::Pcd,
        path,
        temp_file,
        rows: header.points,
        big_endian: false,
        fields,
        entries: vec![],
        code: None,
        notes,
    };
    cloud.check_length(len)?;
    if header.points == 0 {
        return Err(cloud.error("has no points"));
    }
    Ok(cloud)
}

/// Returns `true` if only zeros remain in a compressed file, fewer than a page. The Point Cloud Library pads files to
/// whole pages.
fn is_padding_left(source: &mut Source) -> Result<bool> {
    let (at, left) = (source.at(), source.left());
    if left >= MAX_PADDING {
        return Ok(false);
    }
    let mut bytes = vec![0; left as usize];
    source.fill(&mut bytes)?;
    source.seek(at)?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}

/// Decompresses the data of a file into a temporary file.
fn uncompressed(path: &Path, source: &mut Source, header: &Header, record: u64) -> Result<TempFile> {
    source.seek(header.at)?;
    let (packed, whole) = (u64::from(source.u32(false)?), u64::from(source.u32(false)?));
    let due = record.checked_mul(header.points);
    if due != Some(whole) {
        let (points, whole) = (header.points, whole);
        return Err(source
            .error(format!("has {whole} bytes of data, but its header declares {points} points of {record} bytes")));
    }
    if packed > source.left() || whole > packed.saturating_mul(MAX_BYTES) {
        let message = format!("truncated: expected {packed} compressed bytes, got {}", source.left());
        return Err(source.error(message));
    }
    let mut bytes = room(path, packed)?;
    bytes.resize(packed as usize, 0);
    source.fill(&mut bytes)?;
    let mut data = room(path, whole)?;
    lzf::decode(&bytes, &mut data, whole as usize).map_err(|message| source.error(message))?;
    if data.len() as u64 != whole {
        return Err(source.error(format!("has compressed data of {} bytes; it must have {whole}", data.len())));
    }
    TempFile::from_reader(Cursor::new(data), path)
}

/// The format of PCD point clouds.
pub(crate) struct Pcd;

impl FileFormat for Pcd {
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
    let header = Header::read(&mut source)?;
    match header.encoding {
        Encoding::Text => read_text(path, reading, &source, &header),
        _ => cloud(path, source, &header)?.read(reading),
    }
}

fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let mut source = reading.open(path)?;
    let header = Header::read(&mut source)?;
    match header.encoding {
        Encoding::Text => Ok(text::inspect(path, &read_text(path, reading, &source, &header)?)),
        _ => cloud(path, source, &header)?.inspect(reading),
    }
}

fn read_text(path: &Path, reading: &Reading<'_>, source: &Source, header: &Header) -> Result<Snapshot> {
    let (mut names, mut places, mut place) = (vec![], vec![], 0usize);
    for (field, name) in header.names.iter().enumerate() {
        // Each value of a field is a word, and a line cannot have more words than bytes.
        let count = header.counts[field].min(1 << 16) as usize;
        for k in 0..count {
            if !is_padding(name) {
                names.push(if count == 1 { name.clone() } else { format!("{name}[{}]", k + 1) });
                places.push(place);
            }
            place += 1;
        }
        if place > 1 << 16 {
            return Err(Error::file(path, "its header has more than 65,536 values in a line"));
        }
    }
    // Each value takes at least one byte, and one byte after it.
    let most_rows = header.points.min(source.len() / (2 * place).max(1) as u64 + 1);
    let cloud = TextCloud { format: Format::Pcd, path, names, unread: vec![], most_rows, notes: header.notes.clone() };
    let mut lines = Lines::open(path, header.at, header.lines)?;
    let mut left = header.points;
    let mut snapshot = cloud.read(reading, |record: &mut Record| {
        while left > 0 {
            let Some((line, number)) = lines.next()? else {
                let there = header.points - left;
                return Err(Error::file(path, format!("truncated: it has {there} of {} points", header.points)));
            };
            let line: Vec<&[u8]> = words(line).collect();
            if line.is_empty() {
                continue;
            }
            if line.len() != place {
                let message = format!("line {}: {} values, but its header declares {place}", number, line.len());
                return Err(Error::file(path, message));
            }
            places.iter().for_each(|&place| record.push_field(line[place]));
            left -= 1;
            return Ok(Some(format!("line {}", number)));
        }
        Ok(None)
    })?;
    let rest = lines.count_rest()?;
    if rest > 0 {
        snapshot.notes.push(format!("lines after the last point that are not read: {rest}"));
    }
    text::finish(path, snapshot, reading, None)
}
