//! The header of a GenericIO file: its variables, the ranks that wrote it, and the locations of their blocks.
//!
//! In: an open file. Out: a header whose checksum and offsets have been checked. Cost: the header's bytes. Source:
//! the structures GlobalHeader, VariableHeader, RankHeader and BlockHeader of GenericIO (ANL-15-066).

use std::ops::Range;
use std::path::PathBuf;

use ropewalk::{Error, Result};

use crate::genericio::crc64::crc64;
use crate::number_types::Number;
use crate::reading::Reading;
use crate::source::Source;

/// The minimum size of the global header in all versions, and the sizes of a checksum and of a name.
const MIN_HEADER: u64 = 104;
const CRC: u64 = 8;
const NAME: u64 = 256;
/// Bits in the flags of a variable.
const IS_FLOAT: u64 = 1;
const IS_SIGNED: u64 = 2;
const IS_AXIS: [u64; 3] = [4, 8, 16];

/// Returns the byte order of a file that begins with `prefix`: `true` if the most significant byte comes first.
pub(super) fn byte_order(prefix: &[u8]) -> Option<bool> {
    match prefix {
        [b'H', b'A', b'C', b'C', b'0', b'1', b'B', 0, ..] => Some(true),
        [b'H', b'A', b'C', b'C', b'0', b'1', b'L', 0, ..] => Some(false),
        _ => None,
    }
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    pub name: String,
    /// `None` for a type that is not supported.
    pub number: Option<Number>,
    /// Bytes per row.
    pub size: u64,
    /// Values per row.
    pub width: u64,
    /// The axis, if the variable is a coordinate.
    pub axis: Option<usize>,
}

/// The rows that one process wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    pub rows: u64,
    start: u64,
}

/// The header of a file.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub path: PathBuf,
    pub big_endian: bool,
    pub variables: Vec<Variable>,
    pub ranks: Vec<Rank>,
    pub origin: [f64; 3],
    pub scale: [f64; 3],
    /// The length of the file in bytes.
    len: u64,
    /// The bytes of all block headers, and the size of one, if the file has block headers.
    blocks: Option<(Vec<u8>, u64)>,
}

/// The words of a header.
struct Words<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

/// The location of the structures of one kind in the header.
struct List {
    n: u64,
    /// Bytes per structure.
    size: u64,
    start: u64,
}

impl Words<'_> {
    /// Returns the word at a byte offset; 0 beyond the end, since headers of earlier versions are shorter.
    fn at(&self, at: u64) -> u64 {
        let Some(bytes) = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)?.first_chunk::<8>()) else {
            return 0;
        };
        if self.big_endian { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) }
    }

    fn floats(&self, at: u64) -> [f64; 3] {
        std::array::from_fn(|i| f64::from_bits(self.at(at + 8 * i as u64)))
    }

    /// Returns the byte range of the structures of `list`.
    ///
    /// Errors: they exceed the header, or are shorter than the `least` bytes that are read.
    fn list(&self, what: &str, list: &List, least: u64) -> std::result::Result<Range<u64>, String> {
        let &List { n, size, start } = list;
        let end = n.checked_mul(size).and_then(|bytes| bytes.checked_add(start));
        match end.filter(|&end| end <= self.bytes.len() as u64) {
            Some(end) if size >= least || n == 0 => Ok(start..end),
            Some(_) => Err(format!("its header has {what} of {size} bytes; they must have at least {least}")),
            None => Err(format!(
                "its header of {} bytes is too short for {n} {what} of {size} bytes from byte {start} on",
                self.bytes.len()
            )),
        }
    }
}

/// Returns the text before the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Header {
    pub(super) fn read(path: PathBuf, reading: &Reading<'_>) -> Result<Self> {
        let mut source = reading.open(&path)?;
        let (bytes, big_endian) = checked(&mut source)?;
        let len = source.len();
        let words = Words { bytes: &bytes, big_endian };
        Self::parse(path.clone(), &words, len).map_err(|message| Error::file(path, message))
    }

    fn parse(path: PathBuf, words: &Words<'_>, len: u64) -> std::result::Result<Self, String> {
        let list_at = |at: u64| List { n: words.at(at), size: words.at(at + 8), start: words.at(at + 16) };
        let global = words.at(96).min(words.bytes.len() as u64);
        let known = Words { bytes: &words.bytes[..global as usize], big_endian: words.big_endian };
        let (variable_list, rank_list) = (list_at(48), list_at(72));
        let variables = words.list("variables", &variable_list, NAME + 16)?;
        let ranks = words.list("ranks", &rank_list, 40)?;
        let at = |range: &Range<u64>, step: u64| range.clone().step_by(step.max(1) as usize);
        let variables: Vec<Variable> = at(&variables, variable_list.size)
            .map(|at| {
                let name = text(&words.bytes[at as usize..][..NAME as usize]);
                let (flags, size) = (words.at(at + NAME), words.at(at + NAME + 8));
                let element = if variable_list.size >= NAME + 24 { words.at(at + NAME + 16) } else { size };
                let number = match (flags & IS_FLOAT != 0, flags & IS_SIGNED != 0, element) {
                    (true, _, 4) => Some(Number::F32),
                    (true, _, 8) => Some(Number::F64),
                    (false, true, 1) => Some(Number::I8),
                    (false, true, 2) => Some(Number::I16),
                    (false, true, 4) => Some(Number::I32),
                    (false, true, 8) => Some(Number::I64),
                    (false, false, 1) => Some(Number::U8),
                    (false, false, 2) => Some(Number::U16),
                    (false, false, 4) => Some(Number::U32),
                    (false, false, 8) => Some(Number::U64),
                    _ => None,
                };
                let width = if element > 0 && size % element == 0 { size / element } else { 0 };
                Variable { name, number, size, width, axis: IS_AXIS.iter().position(|bit| flags & bit != 0) }
            })
            .collect();
        let ranks: Vec<Rank> =
            at(&ranks, rank_list.size).map(|at| Rank { rows: words.at(at + 24), start: words.at(at + 32) }).collect();
        let rows = ranks.iter().try_fold(0u64, |sum, rank| sum.checked_add(rank.rows));
        if rows != Some(words.at(16)) {
            return Err(format!(
                "its header declares {} particles in total, but the ranks sum to another number",
                words.at(16)
            ));
        }
        let (size, start) = (known.at(152), known.at(160));
        let blocks = if size > 0 {
            let n = (ranks.len() as u64).checked_mul(variables.len() as u64).ok_or("its header has too many blocks")?;
            let blocks = words.list("blocks", &List { n, size, start }, 48)?;
            Some((words.bytes[blocks.start as usize..blocks.end as usize].to_vec(), size))
        } else {
            None
        };
        let (origin, scale) = (known.floats(104), known.floats(128));
        Ok(Self { path, big_endian: words.big_endian, variables, ranks, origin, scale, len, blocks })
    }

    pub(super) fn rows(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.rows).sum()
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.name == name)
    }

    /// Returns the byte offset of a rank's rows of a variable. Their checksum follows them.
    ///
    /// Errors: an offset outside the file, or a compressed block.
    pub(super) fn block(&self, rank: usize, variable: usize) -> Result<u64> {
        let refuse = |message: String| Err(Error::file(&self.path, message));
        let (Some(own), Some(of)) = (self.variables.get(variable), self.ranks.get(rank)) else {
            return refuse(format!("has no variable {variable} of rank {rank}"));
        };
        let place = |start: u64, bytes: u64| start.checked_add(bytes)?.checked_add(CRC).filter(|&end| end <= self.len);
        let bytes = of.rows.checked_mul(own.size);
        let named = |start: u64| {
            let there = self.len.saturating_sub(start);
            format!(
                "truncated: variable {} of rank {rank} must have {} rows of {} bytes and a checksum from byte {start} on, got {there} bytes",
                own.name, of.rows, own.size
            )
        };
        let Some((blocks, size)) = &self.blocks else {
            let before = self.variables[..variable]
                .iter()
                .try_fold(of.start, |at, other| at.checked_add(of.rows.checked_mul(other.size)?)?.checked_add(CRC));
            return match (before, bytes) {
                (Some(start), Some(bytes)) if place(start, bytes).is_some() => Ok(start),
                (start, _) => refuse(named(start.unwrap_or(u64::MAX))),
            };
        };
        let at = (rank * self.variables.len() + variable) * *size as usize;
        let words = Words { bytes: &blocks[at..], big_endian: self.big_endian };
        let filter = text(&blocks[at..at + 8]);
        if !filter.is_empty() {
            let (name, filter) = (&own.name, filter.escape_debug());
            return refuse(format!(
                "variable {name} is compressed ({filter}), which is not supported; write it without compression"
            ));
        }
        let (start, stored) = (words.at(32), words.at(40));
        if Some(stored) != bytes {
            let wanted = u128::from(of.rows) * u128::from(own.size);
            return refuse(format!(
                "variable {} of rank {rank} has a block of {stored} bytes; its {} rows must have {wanted}",
                own.name, of.rows
            ));
        }
        if place(start, stored).is_some() { Ok(start) } else { refuse(named(start)) }
    }
}

/// Returns the bytes of a header whose checksum is correct, and the byte order (`true` for big-endian).
fn checked(source: &mut Source) -> Result<(Vec<u8>, bool)> {
    let prefix = source.prefix(MIN_HEADER as usize)?;
    let Some(big_endian) = byte_order(&prefix) else { return Err(source.error("is not a GenericIO file")) };
    let size = Words { bytes: &prefix, big_endian }.at(8);
    let end = size.checked_add(CRC).filter(|&end| size >= MIN_HEADER && end <= source.len());
    let Some(end) = end else {
        let there = source.len();
        return Err(
            source.error(format!("truncated: expected a header of {size} bytes and its checksum, got {there} bytes"))
        );
    };
    let mut bytes = source.prefix(end as usize)?;
    check(source, &format!("the header of {size} bytes"), crc64(&bytes[..size as usize]), &bytes[size as usize..])?;
    bytes.truncate(size as usize);
    Ok((bytes, big_endian))
}

/// Returns an error unless `stored` is the complement of the checksum `found`, least significant byte first in all
/// files. `what` names the bytes that were summed.
pub(super) fn check(source: &Source, what: &str, found: u64, stored: &[u8]) -> Result<()> {
    let stored = stored.first_chunk().map_or(0, |bytes| !u64::from_le_bytes(*bytes));
    if stored == found {
        return Ok(());
    }
    Err(source.error(format!("is damaged: {what} has the checksum {found:016x}, the file says {stored:016x}")))
}
