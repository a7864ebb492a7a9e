//! PLY: elements with properties, of which vertices and faces are read.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{Cursor, ErrorKind};

use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{ElementDef, Encoding, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType};

use ropewalk::internals::cancel::check_at;
use ropewalk::internals::memory::{append, collected, copy_of};

use crate::mesh::data::{self, MeshData, fan, of_all, vertices};
use crate::mesh::ply_text::Lines;
use crate::messages::shorten;
use crate::{Points, ply_header};

/// Names of the property with the corners of a face.
const CORNERS: [&str; 2] = ["vertex_indices", "vertex_index"];
/// Names of the properties with the colour of a vertex.
const CHANNELS: [&str; 3] = ["red", "green", "blue"];

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let bytes = plain_header(bytes);
    read_elements(&bytes).map_err(|error| format!("is not a valid PLY file: {error}"))
}

/// Returns the file with a header that the parser accepts. Comments may be in any encoding, and lines may end with CR
/// alone.
fn plain_header(bytes: &[u8]) -> Cow<'_, [u8]> {
    const END: &[u8] = b"end_header";
    let end = bytes.windows(END.len()).position(|text| text == END).unwrap_or(bytes.len());
    // Includes the byte that ends the last line.
    let header = &bytes[..(end + END.len() + 1).min(bytes.len())];
    let first = header.iter().position(|&byte| byte == b'\r' || byte == b'\n').unwrap_or_default();
    let has_cr = header.get(first) == Some(&b'\r') && header.get(first + 1) != Some(&b'\n');
    if bytes[..end].is_ascii() && !has_cr {
        return bytes.into();
    }
    let header = header.len();
    let mut copy = copy_of(bytes);
    copy[..end].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    if has_cr {
        copy[..header].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
    }
    copy.into()
}

fn read_elements(bytes: &[u8]) -> Result<MeshData, String> {
    let mut reader = Reader::new(Cursor::new(bytes));
    let header = Parser::<Corner>::new().read_header(&mut reader).map_err(|error| in_header(&error, bytes))?;
    // The parser ignores duplicate names of properties or elements, so they are detected here.
    ply_header::Header::parse(bytes)?;
    let mut payload = match header.encoding {
        Encoding::Ascii => {
            let place = reader.get_ref().position() as usize;
            Payload::Text(Lines::new(bytes.get(place..).unwrap_or_default(), reader.line()))
        }
        Encoding::BinaryBigEndian => Payload::Binary { cursor: reader.into_inner(), is_big_endian: true },
        Encoding::BinaryLittleEndian => Payload::Binary { cursor: reader.into_inner(), is_big_endian: false },
    };
    let (mut coordinates, mut colors, mut faces, mut is_wide) = (vec![], vec![], vec![], false);
    let (mut highest, mut n_faces) = (None, 0);
    for (name, element) in &header.elements {
        match name.as_str() {
            "vertex" => {
                is_wide = has_doubles(element)?;
                let has_colors = CHANNELS.iter().all(|name| is_intensity(element, name));
                payload.elements(element, |corner: Corner| {
                    append(&mut coordinates, corner.place);
                    append(&mut colors, has_colors.then_some(corner.color));
                })?;
            }
            "face" => {
                let names: Vec<&str> = element.properties.iter().map(|(name, _)| name.as_str()).collect();
                if element.count > 0 && !names.iter().any(|name| CORNERS.contains(name)) {
                    let (names, known) = (names.join(", "), CORNERS.join(" or "));
                    return Err(format!("faces have {names}, but need the list {known}"));
                }
                let mut place = 0;
                payload.elements(element, |Face(corners)| {
                    append(&mut faces, fan(&corners));
                    highest = highest.max(corners.into_iter().max().map(|corner| (corner, Reverse(place))));
                    place += 1;
                })?;
                n_faces = element.count;
            }
            _ => payload.elements(element, |_: Other| ())?,
        }
    }
    if u32::try_from(coordinates.len() / 3).is_err() {
        return Err("has more than 2^32 - 1 vertices".into());
    }
    let n = coordinates.len() / 3;
    if let Some((corner, Reverse(place))) = highest.filter(|&(corner, _)| corner as usize >= n) {
        let corner = if corner == u32::MAX { "a vertex below 0".into() } else { format!("vertex {corner}") };
        let last = n.saturating_sub(1);
        return Err(format!("face {} of {n_faces} has {corner}; vertices must be 0 to {last}", place + 1));
    }
    let mut notes = vec![];
    match payload {
        Payload::Text(lines) => notes.extend(lines.notes()),
        Payload::Binary { cursor, .. } => {
            let after = (bytes.len() as u64).saturating_sub(cursor.position());
            if after > 0 {
                notes.push(format!("{after} bytes after the last element are not read"));
            }
        }
    }
    let vertices = match is_wide {
        true => vertices(coordinates, Points::F64)?,
        false => vertices(collected(coordinates.into_iter().map(|x: f64| x as f32)), Points::F32)?,
    };
    Ok(MeshData { vertices, faces, colors: of_all(colors, n), notes })
}

/// The data after the header.
enum Payload<'a> {
    Text(Lines<'a>),
    Binary { cursor: Cursor<&'a [u8]>, is_big_endian: bool },
}

impl Payload<'_> {
    /// Passes each item of an element to `each`.
    fn elements<E: PropertyAccess>(&mut self, element: &ElementDef, mut each: impl FnMut(E)) -> Result<(), String> {
        let (cursor, is_big_endian) = match self {
            Self::Text(lines) => return lines.elements(element, each),
            Self::Binary { cursor, is_big_endian } => (cursor, *is_big_endian),
        };
        // Elements without properties take no bytes, so a huge count in the header must not cost time.
        if element.properties.is_empty() {
            return Ok(());
        }
        let parser = Parser::<E>::new();
        for done in 0..element.count {
            check_at(done);
            let read = match is_big_endian {
                true => parser.read_big_endian_element(cursor, element),
                false => parser.read_little_endian_element(cursor, element),
            };
            each(read.map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => {
                    format!("ends within the element {}, which must have {} rows", element.name, element.count)
                }
                _ => error.to_string(),
            })?);
        }
        Ok(())
    }
}

/// Returns an error message for a header, with the faulty line if the parser names one.
fn in_header(error: &ParseError, bytes: &[u8]) -> String {
    let line = error.line().and_then(|number| {
        let line = bytes.split(|&byte| byte == b'\n').nth(number.checked_sub(1)?)?.trim_ascii();
        Some((number, shorten(line)))
    });
    match line {
        _ if error.kind() == ErrorKind::UnexpectedEof => "its header has no line end_header".into(),
        Some((number, line)) => format!("line {number}: '{line}' cannot be read as a line of the header"),
        None => error.to_string(),
    }
}

/// Returns `true` if a coordinate of the vertices needs 64 bits.
fn has_doubles(vertex: &ElementDef) -> Result<bool, String> {
    let mut is_wide = false;
    for axis in ["x", "y", "z"] {
        match vertex.properties.get(axis).map(|property| &property.data_type) {
            Some(PropertyType::Scalar(ScalarType::Double | ScalarType::Int | ScalarType::UInt)) => is_wide = true,
            Some(PropertyType::Scalar(_)) => (),
            _ => return Err(format!("vertices have no {axis}")),
        }
    }
    Ok(is_wide)
}

/// Returns `true` if a property has a type in which colours are stored.
fn is_intensity(element: &ElementDef, name: &str) -> bool {
    let kind = element.properties.get(name).map(|property| &property.data_type);
    let known = [ScalarType::UChar, ScalarType::UShort, ScalarType::Float, ScalarType::Double];
    matches!(kind, Some(PropertyType::Scalar(kind)) if known.contains(kind))
}

/// A vertex, and its colour if it has one.
struct Corner {
    place: [f64; 3],
    color: [u8; 3],
}

impl PropertyAccess for Corner {
    fn new() -> Self {
        Self { place: [0.0; 3], color: [0; 3] }
    }

    fn set_property(&mut self, name: &str, value: Property) -> PropertyAccessResult {
        if let Some(channel) = CHANNELS.iter().position(|channel| *channel == name) {
            // The largest integer of a type, or the float 1, is full intensity.
            let share = match value {
                Property::UChar(x) => f64::from(x) / 255.0,
                Property::UShort(x) => f64::from(x) / f64::from(u16::MAX),
                Property::Float(x) => x.into(),
                Property::Double(x) => x,
                _ => return PropertyAccessResult::Ignored,
            };
            self.color[channel] = data::channel(share);
            return PropertyAccessResult::Set;
        }
        let Some(axis) = ["x", "y", "z"].iter().position(|axis| *axis == name) else {
            return PropertyAccessResult::Ignored;
        };
        self.place[axis] = match value {
            Property::Char(x) => x.into(),
            Property::UChar(x) => x.into(),
            Property::Short(x) => x.into(),
            Property::UShort(x) => x.into(),
            Property::Int(x) => x.into(),
            Property::UInt(x) => x.into(),
            Property::Float(x) => x.into(),
            Property::Double(x) => x,
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

/// The corners of a polygon. A negative index becomes `u32::MAX`, which is never a valid vertex.
struct Face(Vec<u32>);

impl PropertyAccess for Face {
    fn new() -> Self {
        Self(vec![])
    }

    fn set_property(&mut self, name: &str, value: Property) -> PropertyAccessResult {
        if !CORNERS.contains(&name) {
            return PropertyAccessResult::Ignored;
        }
        fn corners<T: TryInto<u32>>(list: Vec<T>) -> Vec<u32> {
            list.into_iter().map(|corner| corner.try_into().unwrap_or(u32::MAX)).collect()
        }
        self.0 = match value {
            Property::ListChar(list) => corners(list),
            Property::ListUChar(list) => corners(list),
            Property::ListShort(list) => corners(list),
            Property::ListUShort(list) => corners(list),
            Property::ListInt(list) => corners(list),
            Property::ListUInt(list) => list,
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

/// An item of another element, which is ignored.
struct Other;

impl PropertyAccess for Other {
    fn new() -> Self {
        Self
    }
}
