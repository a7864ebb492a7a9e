//! Wavefront OBJ: lines of vertices, and of polygons that name them.

use std::io::Cursor;

use tobj::LoadOptions;

use crate::io::Points;
use crate::io::mesh::{MeshData, vertices};

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let options = LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    let materials = |_: &std::path::Path| Ok(Default::default());
    let (parts, _) = tobj::load_obj_buf(&mut Cursor::new(bytes), &options, materials)
        .map_err(|error| format!("is no mesh in the OBJ, PLY or STL format: {error}"))?;
    let (mut coordinates, mut faces) = (vec![], vec![]);
    for part in parts {
        let first = u32::try_from(coordinates.len() / 3);
        let end = u32::try_from((coordinates.len() + part.mesh.positions.len()) / 3);
        let (Ok(first), Ok(_)) = (first, end) else { return Err("has more than 2^32 - 1 vertices".into()) };
        coordinates.extend(part.mesh.positions);
        faces.extend(part.mesh.indices.as_chunks::<3>().0.iter().map(|face| face.map(|at| first + at)));
    }
    // Lines that it does not know are passed over.
    let is_content = |line: &[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
    if faces.is_empty() && bytes.split(|&byte| byte == b'\n').any(is_content) {
        return Err("has no triangles in the OBJ, PLY or STL format".into());
    }
    Ok(MeshData { vertices: vertices(coordinates, Points::F64)?, faces })
}
