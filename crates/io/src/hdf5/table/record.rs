//! The numbers in an element of a dataset: the fields of a compound, or the element itself.
//!
//! In: the bytes of a datatype message. Out: the name of each field, and the location and type of its numbers.
//! Source: HDF5 File Format Specification 3.0, section IV.A.2.d, "The Datatype Message", classes 6 (compound), 9
//! (variable length) and 10 (array).

use hdf5_reader::Datatype;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::datatype::parse_datatype_description;

use crate::hdf5::number::{Number, class_name};

/// Classes of datatypes.
pub(super) const TEXT: u8 = 3;
const COMPOUND: u8 = 6;
pub(super) const VARIABLE: u8 = 9;
const ARRAY: u8 = 10;

/// A number in a row: its byte offset, and its format.
pub(super) type NumberLocation = (usize, Number);

/// Contiguous numbers of one format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Numbers {
    /// The byte offset of the first number.
    pub at: usize,
    pub number: Number,
    pub count: u64,
}

impl Numbers {
    /// Returns the location of number `k`.
    pub(super) fn spot(&self, k: usize) -> NumberLocation {
        (self.at + k * self.number.size, self.number)
    }

    /// Returns the byte offset after the last number; `None` if it overflows.
    fn end(&self) -> Option<u64> {
        self.count.checked_mul(self.number.size as u64)?.checked_add(self.at as u64)
    }
}

/// The reason why a column cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnreadableColumn {
    /// A phrase for messages, as `text` or `numbers of 16 bytes`.
    pub what: String,
    /// If `false`, the column certainly holds no numbers.
    pub may_be_numbers: bool,
}

impl UnreadableColumn {
    pub(super) fn numbers(what: impl Into<String>) -> Self {
        Self { what: what.into(), may_be_numbers: true }
    }

    pub(super) fn other(what: impl Into<String>) -> Self {
        Self { what: what.into(), may_be_numbers: false }
    }
}

/// The content of a field: numbers, or the reason why they cannot be read.
pub(super) type Content = Result<Numbers, UnreadableColumn>;

/// A field of an element. The element itself has an empty name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub name: String,
    pub content: Content,
}

/// Returns the bytes per element, and its fields.
pub(super) fn fields(message: &[u8]) -> Result<(u64, Vec<Field>), String> {
    let head: [u8; 8] =
        message.get(..8).and_then(|head| head.try_into().ok()).ok_or("has a datatype that is cut off")?;
    let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let fields = match head[0] & 15 {
        COMPOUND => members(message, head, size)?,
        _ => vec![Field { name: String::new(), content: content(message, 0)? }],
    };
    let is_inside = |field: &&Field| match &field.content {
        Ok(numbers) => numbers.end().is_some_and(|end| end <= u64::from(size)),
        Err(_) => true,
    };
    match fields.iter().find(|field| !is_inside(field)) {
        Some(field) => Err(format!("has a field {} that reaches beyond its record", field.name.escape_debug())),
        None => Ok((u64::from(size), fields)),
    }
}

/// Returns the fields of a compound of `size` bytes.
fn members(message: &[u8], head: [u8; 8], size: u32) -> Result<Vec<Field>, String> {
    let (version, n) = (head[0] >> 4, u16::from_le_bytes([head[1], head[2]]));
    let broken = |error: hdf5_reader::error::Error| format!("has a damaged datatype: {error}");
    let mut cursor = Cursor::new(message);
    cursor.set_position(8);
    let mut fields = vec![];
    for _ in 0..n {
        let start = cursor.position() as usize;
        let rest = message.get(start..).unwrap_or_default();
        let len = rest.iter().position(|&byte| byte == 0).ok_or("has a field without a name")?;
        let name = String::from_utf8_lossy(&rest[..len]).into_owned();
        // Before version 3, names are padded to a multiple of eight bytes.
        let padded = if version < 3 { (len + 8) & !7 } else { len + 1 };
        cursor.skip(padded).map_err(broken)?;
        let width = match size {
            _ if version < 3 => 4,
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xff_ffff => 3,
            _ => 4,
        };
        let place = cursor.read_bytes(width).map_err(broken)?;
        let place = place.iter().rev().fold(0, |place, &byte| place << 8 | usize::from(byte));
        // In version 1, the shape of an array follows here. Without dimensions it is a single number.
        let is_old_array = version == 1 && cursor.read_bytes(28).map_err(broken)?.first() != Some(&0);
        let start = cursor.position() as usize;
        parse_datatype_description(&mut cursor).map_err(broken)?;
        let own = message.get(start..cursor.position() as usize).unwrap_or_default();
        let content = if is_old_array { Err(UnreadableColumn::numbers("arrays")) } else { content(own, place)? };
        fields.push(Field { name, content });
    }
    Ok(fields)
}

/// Returns the numbers of a datatype that starts at byte `place` of an element.
fn content(message: &[u8], place: usize) -> Result<Content, String> {
    let class = message.first().map_or(0, |first| first & 15);
    match class {
        TEXT => Ok(Err(UnreadableColumn::other("text"))),
        // A datatype of variable length with type 1 is a string.
        VARIABLE if message.get(1).is_some_and(|flags| flags & 15 == 1) => Ok(Err(UnreadableColumn::other("text"))),
        ARRAY => array(message, place),
        _ => Ok(match Number::parse(message) {
            Ok(number) => Ok(Numbers { at: place, number, count: 1 }),
            Err(what) if class < 2 => Err(UnreadableColumn::numbers(what.to_string().trim_start_matches("has "))),
            Err(_) if class == COMPOUND => Err(UnreadableColumn::numbers(class_name(class))),
            Err(_) => Err(UnreadableColumn::other(class_name(class))),
        }),
    }
}

fn array(message: &[u8], place: usize) -> Result<Content, String> {
    let broken = |error: hdf5_reader::error::Error| format!("has a damaged datatype: {error}");
    let (datatype, _) = parse_datatype_description(&mut Cursor::new(message)).map_err(broken)?;
    let Datatype::Array { dims, .. } = datatype else { return Ok(Err(UnreadableColumn::numbers("arrays"))) };
    // Version 2 has reserved bytes and a permutation.
    let base = if message[0] >> 4 < 3 { 12 + 8 * dims.len() } else { 9 + 4 * dims.len() };
    let base = message.get(base..).unwrap_or_default();
    let count = dims.iter().fold(1u64, |n, &dim| n.saturating_mul(dim));
    let size = message.get(4..8).map_or(0, |size| size.iter().rev().fold(0, |size, &byte| size << 8 | u64::from(byte)));
    let may_be_numbers = base.first().is_none_or(|first| first & 15 < 2);
    Ok(match Number::parse(base) {
        Ok(number) if count.checked_mul(number.size as u64) != Some(size) => {
            return Err(format!("has arrays of {size} bytes for {count} numbers of {} bytes", number.size));
        }
        Ok(number) => Ok(Numbers { at: place, number, count }),
        Err(_) if base.first().is_some_and(|first| first & 15 == TEXT) => Err(UnreadableColumn::other("text")),
        Err(_) => Err(UnreadableColumn { what: "arrays".into(), may_be_numbers }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the datatype message of an array of `count` doubles in elements of `size` bytes.
    fn array_of_doubles(size: u32, count: u32) -> Vec<u8> {
        let mut message = vec![0x3a, 0, 0, 0];
        message.extend(size.to_le_bytes());
        message.push(1);
        message.extend(count.to_le_bytes());
        message.extend([0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52]);
        message.extend(1023u32.to_le_bytes());
        message
    }

    #[test]
    fn arrays_that_do_not_fit_their_element() {
        let (element, found) = fields(&array_of_doubles(24, 3)).unwrap();
        let numbers = found[0].content.as_ref().unwrap();
        assert_eq!((element, numbers.count, numbers.spot(2).0), (24, 3, 16));
        for size in [0, 8, 16, 23, 25] {
            let message = fields(&array_of_doubles(size, 3)).unwrap_err();
            assert_eq!(message, format!("has arrays of {size} bytes for 3 numbers of 8 bytes"));
        }
        assert!(fields(&array_of_doubles(u32::MAX, u32::MAX)).is_err());
        assert!(fields(&array_of_doubles(0, 0)).is_err());
    }
}
