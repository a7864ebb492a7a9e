//! Reading of triangle meshes from files.
//!
//! - in: Wavefront OBJ, PLY (text, and binary in either byte order), STL (text or binary), OFF (text) or
//!   glTF 2.0 (text or binary). The format is detected from the content, not from the name
//! - out: vertices with colours, and three vertex indices per triangle. Polygons are divided into fans about their
//!   first corner
//! - cost: one pass over the file, which is read whole
//!
//! Normals, materials, lines and points are ignored, except the colours of materials in glTF. So is a UTF-8 byte order
//! mark before text. Notes name other content that is not read:
//! - up to 49 bytes after the triangles of binary STL
//! - other lines of OBJ, and lines after the last face of OFF
//! - data after the last element of PLY, or at the ends of its lines
//! - textures and other parts of glTF
//!
//! STL has no separate vertices, so corners with equal coordinates are merged into one vertex. The solids of an STL
//! file become one mesh, and so do the parts of an OBJ file. Vertices of OBJ and OFF keep the order of the file.

mod data;
mod gltf;
mod obj;
mod off;
mod ply;
mod ply_text;
mod stl;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

pub use data::MeshData;
use ropewalk::internals::cancel::guarded;
use ropewalk::{Error, Result};

/// Reads a triangle mesh from a file.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("square.obj");
/// std::fs::write(&path, "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")?;
/// let mesh = ropewalk_io::read_mesh(&path)?;
/// assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be read, has another format, is truncated or contradicts itself. If it is not empty but has no
/// triangles, refers to a vertex that does not exist, or has more than 2^32 - 1 vertices.
/// [`ErrorKind::Memory`](ropewalk::ErrorKind::Memory) if there is not enough memory.
pub fn read_mesh(path: impl AsRef<Path>) -> Result<MeshData> {
    let path = path.as_ref();
    guarded(|| {
        let mut file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).map_err(|error| Error::io(path, "cannot be read", error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        read_bytes(&bytes, folder).map_err(|message| Error::file(path, message))
    })
}

/// Returns the name of a format of scenes that is not read.
fn unsupported(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        _ if bytes.starts_with(b"Kaydara FBX Binary") => Some("a scene of FBX"),
        _ if bytes.starts_with(b"PK\x03\x04") => Some("an archive (ZIP or 3MF)"),
        _ => None,
    }
}

/// Reads a mesh from the content of a file; other files to which it refers are in `folder`.
fn read_bytes(bytes: &[u8], folder: &Path) -> std::result::Result<MeshData, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mesh = if text.is_empty() {
        return Err("is empty".into());
    } else if let Some(format) = unsupported(text) {
        return Err(format!("is {format}; write its mesh as PLY, OBJ, STL, OFF or glTF"));
    } else if gltf::is_gltf(text) {
        gltf::read(text, folder)?
    } else if text.starts_with(b"ply") && text[3..].first().is_some_and(u8::is_ascii_whitespace) {
        ply::read(text)?
    } else if off::is_off(text) {
        off::read(text)?
    } else if stl::is_binary(bytes) {
        stl::read_binary(bytes)?
    } else if text.contains(&0) {
        // Text does not contain this byte, and binary files contain many.
        return Err(stl::wrong_length(bytes));
    } else if stl::is_text(text) {
        stl::read_text(text)?
    } else {
        obj::read(text)?
    };
    let n = mesh.vertices.len();
    if mesh.faces.is_empty() && n > 0 {
        return Err(format!("has {n} {}, but no triangles", if n == 1 { "vertex" } else { "vertices" }));
    }
    let is_outside = |face: &[u32; 3]| face.iter().any(|&vertex| vertex as usize >= n);
    match mesh.faces.iter().position(is_outside) {
        Some(face) => Err(format!("triangle {face} has a vertex that is none of {n}")),
        None => Ok(mesh),
    }
}
