//! STL: the corners of each triangle, by 32-bit numbers.

use std::io::Cursor;

use crate::io::Points;
use crate::io::mesh::{MeshData, vertices};

/// Bytes before the triangles of a binary file, and of each triangle.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

/// Whether these are text that begins as STL, or as many bytes as a binary file's count of triangles makes.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    is_binary(bytes) || bytes.trim_ascii_start().starts_with(b"solid")
}

fn is_binary(bytes: &[u8]) -> bool {
    let count = bytes.get(HEADER - 4..HEADER).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
    count.is_some_and(|count| bytes.len() as u64 == HEADER as u64 + u64::from(count) * TRIANGLE as u64)
}

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let mut copy;
    let mut bytes = bytes;
    // By its first word the reader would take it for text.
    if is_binary(bytes) && bytes.starts_with(b"solid") {
        copy = bytes.to_vec();
        copy[..5].fill(b' ');
        bytes = &copy;
    }
    let mesh = stl_io::read_stl(&mut Cursor::new(bytes)).map_err(|error| format!("is no whole STL file: {error}"))?;
    if u32::try_from(mesh.vertices.len()).is_err() {
        return Err("has more than 2^32 - 1 vertices".into());
    }
    let coordinates = mesh.vertices.iter().flat_map(|vertex| vertex.0).collect();
    let faces = mesh.faces.iter().map(|face| face.vertices.map(|at| at as u32)).collect();
    Ok(MeshData { vertices: vertices(coordinates, Points::F32)?, faces })
}
