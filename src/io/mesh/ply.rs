//! PLY: elements with properties, of which vertices and faces are read.

use std::io::{BufRead, Cursor};

use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{ElementDef, Header, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType};

use crate::io::Points;
use crate::io::mesh::{MeshData, fan, vertices};

/// What faces call their corners.
const CORNERS: [&str; 2] = ["vertex_indices", "vertex_index"];

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    read_elements(bytes).map_err(|error| format!("is no whole PLY file: {error}"))
}

fn read_elements(bytes: &[u8]) -> Result<MeshData, String> {
    let text = |error: ParseError| error.to_string();
    let mut reader = Reader::new(Cursor::new(bytes));
    let header = Parser::<Corner>::new().read_header(&mut reader).map_err(text)?;
    let (mut coordinates, mut faces, mut is_wide) = (vec![], vec![], false);
    for (name, element) in &header.elements {
        match name.as_str() {
            "vertex" => {
                is_wide = has_doubles(element)?;
                let corners: Vec<Corner> = elements(&mut reader, element, &header)?;
                coordinates = corners.iter().flat_map(|corner| corner.0).collect();
            }
            "face" => {
                let names: Vec<&str> = element.properties.iter().map(|(name, _)| name.as_str()).collect();
                if element.count > 0 && !names.iter().any(|name| CORNERS.contains(name)) {
                    let (names, known) = (names.join(", "), CORNERS.join(" or "));
                    return Err(format!("faces have {names}, of which none is the list {known}"));
                }
                for Face(corners) in elements(&mut reader, element, &header)? {
                    faces.extend(fan(&corners));
                }
            }
            _ => drop(elements::<Other>(&mut reader, element, &header)?),
        }
    }
    if u32::try_from(coordinates.len() / 3).is_err() {
        return Err("more than 2^32 - 1 vertices".into());
    }
    let vertices = match is_wide {
        true => vertices(coordinates, Points::F64)?,
        false => vertices(coordinates.into_iter().map(|x: f64| x as f32).collect(), Points::F32)?,
    };
    Ok(MeshData { vertices, faces })
}

fn elements<E: PropertyAccess>(
    reader: &mut Reader<impl BufRead>,
    element: &ElementDef,
    header: &Header,
) -> Result<Vec<E>, String> {
    Parser::<E>::new().read_payload_for_element(reader, element, header).map_err(|error| error.to_string())
}

/// Whether a coordinate of the vertices needs 64 bits.
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

/// A vertex.
struct Corner([f64; 3]);

impl PropertyAccess for Corner {
    fn new() -> Self {
        Self([0.0; 3])
    }

    fn set_property(&mut self, name: &str, value: Property) -> PropertyAccessResult {
        let Some(axis) = ["x", "y", "z"].iter().position(|axis| *axis == name) else {
            return PropertyAccessResult::Ignored;
        };
        self.0[axis] = match value {
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

/// The corners of a polygon; one below 0 becomes one that no mesh has.
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

/// Anything else, which is passed over.
struct Other;

impl PropertyAccess for Other {
    fn new() -> Self {
        Self
    }
}
