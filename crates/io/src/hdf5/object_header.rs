//! The flag of a data layout message that hdf5-reader does not expose: chunks at the edge are stored without filters.
//!
//! In: the address of an object header. Out: the flag. Cost: the header is read a second time. Source: HDF5 File
//! Format Specification 3.0, sections IV.A.1 (object headers) and IV.A.2.i (the data layout message, version 4).

use hdf5_reader::Hdf5File;

/// The type numbers of messages.
const LAYOUT: u16 = 0x08;
const CONTINUATION: u16 = 0x10;
/// A limit above the number of continuation blocks that any writer creates.
const MAX_BLOCKS: usize = 1024;
/// The layout class of chunked data.
const CHUNKED: u8 = 2;
/// The first version of the layout message with flags.
const WITH_FLAGS: u8 = 4;

/// The form of an object header: the location and the layout of its messages.
struct Form {
    /// Bytes of the header of a message, including its type.
    head: usize,
    /// If `true`, type and size take one and two bytes; otherwise two bytes each.
    is_short: bool,
    /// Bytes before and after the messages of a continuation block.
    around: (usize, usize),
}

/// Returns `true` if filters are not applied to the chunks at the edge of the dataset whose object header is at
/// `address`.
///
/// # Errors
/// If the object header cannot be read, or has no layout message.
pub(super) fn has_plain_edges(hdf5: &Hdf5File, address: u64) -> Result<bool, String> {
    let storage = hdf5.storage();
    let read = |at: u64, len: usize| -> Result<Vec<u8>, String> {
        storage.read_range(at, len).map(|bytes| bytes.as_ref().to_vec()).map_err(|error| error.to_string())
    };
    let rest = usize::try_from(storage.len().saturating_sub(address)).unwrap_or(usize::MAX);
    let prefix = read(address, rest.min(48))?;
    let (form, start, len) = first_block(&prefix)?;
    let superblock = hdf5.superblock();
    let (offset, length) = (usize::from(superblock.offset_size), usize::from(superblock.length_size));
    let mut blocks = vec![(address.saturating_add(start), len, (0, 0))];
    for _ in 0..MAX_BLOCKS {
        let Some((at, len, (before, after))) = blocks.pop() else { break };
        let len = usize::try_from(len).ok().filter(|&len| len <= rest.max(1 << 24)).ok_or("its header is too long")?;
        let block = read(at, len)?;
        let messages = block.get(before..len.saturating_sub(after)).unwrap_or_default();
        for (kind, body) in (Messages { bytes: messages, form: &form }) {
            match (kind, body) {
                (LAYOUT, &[version, class, flags, ..]) => {
                    return Ok(version >= WITH_FLAGS && class == CHUNKED && flags & 1 != 0);
                }
                (CONTINUATION, body) => {
                    let (Some(at), Some(len)) = (number(body.get(..offset)), number(body.get(offset..offset + length)))
                    else {
                        return Err("its header has a continuation that is cut off".into());
                    };
                    blocks.push((at, len, form.around));
                }
                _ => {}
            }
        }
    }
    Err("it has no layout".into())
}

/// Returns the form of an object header from its prefix, the offset of its messages, and their length in bytes.
fn first_block(prefix: &[u8]) -> Result<(Form, u64, u64), String> {
    let cut = || "its header is cut off".to_string();
    if !prefix.starts_with(b"OHDR") {
        let len = number(prefix.get(8..12)).ok_or_else(cut)?;
        return Ok((Form { head: 8, is_short: false, around: (0, 0) }, 16, len));
    }
    let flags = *prefix.get(5).ok_or_else(cut)?;
    let times = if flags & 0x20 != 0 { 16 } else { 0 };
    let phases = if flags & 0x10 != 0 { 4 } else { 0 };
    let (at, width) = (6 + times + phases, 1 << (flags & 3));
    let len = number(prefix.get(at..at + width)).ok_or_else(cut)?;
    // Messages with tracked creation order store it in their header.
    let head = if flags & 4 != 0 { 6 } else { 4 };
    Ok((Form { head, is_short: true, around: (4, 4) }, (at + width) as u64, len))
}

/// Returns an integer of at most eight bytes, least significant byte first.
fn number(bytes: Option<&[u8]>) -> Option<u64> {
    let bytes = bytes.filter(|bytes| (1..=8).contains(&bytes.len()))?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Iterator over the messages of a block, with their types and bytes.
struct Messages<'a> {
    bytes: &'a [u8],
    form: &'a Form,
}

impl<'a> Iterator for Messages<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, size) = match *self.bytes {
            [kind, low, high, _, ..] if self.form.is_short => (u16::from(kind), u16::from_le_bytes([low, high])),
            [low, high, size, size_high, ..] if !self.form.is_short => {
                (u16::from_le_bytes([low, high]), u16::from_le_bytes([size, size_high]))
            }
            _ => return None,
        };
        let end = self.form.head + usize::from(size);
        let body = self.bytes.get(self.form.head..end)?;
        self.bytes = &self.bytes[end..];
        Some((kind, body))
    }
}
