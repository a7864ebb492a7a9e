//! Wavefront OBJ: lines of vertices, and of polygons that name them.

use std::io::{self, BufRead, Read};

use tobj::{LoadError, LoadOptions};

use crate::io::mesh::{MeshData, vertices};
use crate::io::{Points, shorten};

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let options = LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    let materials = |_: &std::path::Path| Ok(Default::default());
    let mut lines = Counted { rest: bytes, lines: 0 };
    let (parts, _) = tobj::load_obj_buf(&mut lines, &options, materials)
        .map_err(|error| format!("is no mesh in the OBJ, PLY or STL format: {}", message(error, bytes, lines.lines)))?;
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

/// What is wrong in this line, the last that was read. What faces name is looked up when a part ends, after its lines.
fn message(error: LoadError, bytes: &[u8], number: usize) -> String {
    if let LoadError::FaceVertexOutOfBounds = error {
        return "a face has a vertex that is not there".into();
    }
    let line = bytes.split(|&byte| byte == b'\n').nth(number.saturating_sub(1)).unwrap_or_default().trim_ascii();
    let what = match error {
        LoadError::ReadError => "is no text in UTF-8".into(),
        LoadError::PositionParseError => "has no three numbers".into(),
        LoadError::FaceParseError => "is no list of vertices, each as 1, 1/2, 1//3 or 1/2/3".into(),
        other => format!("cannot be read: {other}"),
    };
    format!("line {number}: '{}' {what}", shorten(line))
}

/// Bytes, and how many lines of them are read, also in part.
struct Counted<'a> {
    rest: &'a [u8],
    lines: usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.rest[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Counted<'_> {
    /// No more than a line.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        Ok(end.map_or(self.rest, |end| &self.rest[..=end]))
    }

    fn consume(&mut self, n: usize) {
        let (read, rest) = self.rest.split_at(n);
        self.rest = rest;
        let ends = read.iter().filter(|&&byte| byte == b'\n').count();
        self.lines += ends + usize::from(rest.is_empty() && !read.is_empty() && !read.ends_with(b"\n"));
    }
}
