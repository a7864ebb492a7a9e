//! The numbers in an element of a dataset: of a compound its fields, otherwise the element itself.
//!
//! In: the bytes of a datatype message. Out: for each field its name and the place and kind of its numbers.
//! Source: HDF5 File Format Specification 3.0, section IV.A.2.d, "The Datatype Message", classes 6 (compound) and 10 (array).

use hdf5_reader::Datatype;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::datatype::parse_datatype_description;

use crate::io::hdf5::number::{Number, class_name};

const TEXT: u8 = 3;
const COMPOUND: u8 = 6;
const ARRAY: u8 = 10;
/// Numbers of an array in a field.
const MOST_NUMBERS: u64 = 1 << 16;

/// A number in an element: the byte at which it starts, and its kind.
pub(super) type Spot = (usize, Number);

/// A field of an element; the element itself has no name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub name: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Numbers(Vec<Spot>),
    Text,
    /// A phrase for anything else.
    Other(String),
}

/// The bytes of an element, and its fields.
pub(super) fn fields(message: &[u8]) -> Result<(u64, Vec<Field>), String> {
    let head: [u8; 8] =
        message.get(..8).and_then(|head| head.try_into().ok()).ok_or("has a datatype that is cut off")?;
    let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    if head[0] & 15 != COMPOUND {
        let content = content(message, 0)?;
        return Ok((u64::from(size), vec![Field { name: String::new(), content }]));
    }
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
        // Before version 3 names are padded to eight bytes.
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
        // Version 1 has the shape of an array here; one without dimensions is one number.
        let is_old_array = version == 1 && cursor.read_bytes(28).map_err(broken)?.first() != Some(&0);
        let start = cursor.position() as usize;
        parse_datatype_description(&mut cursor).map_err(broken)?;
        let own = message.get(start..cursor.position() as usize).unwrap_or_default();
        let content = if is_old_array { Content::Other("arrays".into()) } else { content(own, place)? };
        fields.push(Field { name, content });
    }
    let is_inside = |(at, number): &Spot| at.checked_add(number.size).is_some_and(|end| end <= size as usize);
    let spots = |field: &Field| if let Content::Numbers(spots) = &field.content { spots.clone() } else { vec![] };
    match fields.iter().find(|field| !spots(field).iter().all(is_inside)) {
        Some(field) => Err(format!("has a field {} that reaches beyond its record", field.name)),
        None => Ok((u64::from(size), fields)),
    }
}

/// The numbers of a datatype that starts at byte `place` of an element.
fn content(message: &[u8], place: usize) -> Result<Content, String> {
    let class = message.first().map_or(0, |first| first & 15);
    match class {
        TEXT => Ok(Content::Text),
        ARRAY => array(message, place),
        _ => Ok(match Number::parse(message) {
            Ok(number) => Content::Numbers(vec![(place, number)]),
            Err(what) if class < 2 => Content::Other(what.trim_start_matches("has ").to_string()),
            Err(_) => Content::Other(class_name(class).into()),
        }),
    }
}

fn array(message: &[u8], place: usize) -> Result<Content, String> {
    let broken = |error: hdf5_reader::error::Error| format!("has a damaged datatype: {error}");
    let (datatype, _) = parse_datatype_description(&mut Cursor::new(message)).map_err(broken)?;
    let Datatype::Array { dims, .. } = datatype else { return Ok(Content::Other("arrays".into())) };
    // Version 2 has reserved bytes and a permutation.
    let base = if message[0] >> 4 < 3 { 12 + 8 * dims.len() } else { 9 + 4 * dims.len() };
    let n = dims.iter().fold(1u64, |n, &dim| n.saturating_mul(dim));
    Ok(match Number::parse(message.get(base..).unwrap_or_default()) {
        Ok(number) if n <= MOST_NUMBERS => {
            Content::Numbers((0..n as usize).map(|k| (place + k * number.size, number)).collect())
        }
        _ => Content::Other("arrays".into()),
    })
}
