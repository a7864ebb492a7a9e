//! Wavefront OBJ: lines of vertices, and of polygons that name them.

use std::io::{self, BufRead, Read};

use tobj::{LoadError, LoadOptions};

use crate::io::mesh::{MeshData, vertices};
use crate::io::{Points, shorten};

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let options = LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    let materials = |_: &std::path::Path| Ok(Default::default());
    let mut lines = Lines { rest: bytes, number: 0, ready: [&[]; 2] };
    let (parts, _) = tobj::load_obj_buf(&mut lines, &options, materials).map_err(|error| {
        format!("is no mesh in the OBJ, PLY or STL format: {}", message(error, bytes, lines.number))
    })?;
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
    let what = match error {
        LoadError::FaceVertexOutOfBounds => return "a face has a vertex that is not there".into(),
        LoadError::InvalidPolygon => return "a face has no vertices".into(),
        LoadError::ReadError => "is no text in UTF-8".into(),
        LoadError::PositionParseError => "has no three numbers".into(),
        LoadError::FaceParseError => "is no list of vertices, each as 1, 1/2, 1//3 or 1/2/3".into(),
        other => format!("cannot be read: {other}"),
    };
    let line = bytes.split(|&byte| byte == b'\n').nth(number.saturating_sub(1)).unwrap_or_default().trim_ascii();
    format!("line {number}: '{}' {what}", shorten(line))
}

/// What of a line is handed out; nothing if it is passed over. The reader looks up the normals and texture coordinates of faces without
/// care for large numbers, wants colours on all vertices or on none, and takes a line of three vertices for a triangle: it sees none of these.
fn prepared(line: &[u8]) -> Option<&[u8]> {
    let text = std::str::from_utf8(line).or_else(|error| std::str::from_utf8(&line[..error.valid_up_to()])).ok()?;
    let mut words = text.split_whitespace();
    match words.next()? {
        // A fourth number divides the coordinates; three more are a colour.
        "v" if words.count() == 6 => {
            let is_of_word = |letter: char| !letter.is_whitespace();
            Some((0..3).fold(text, |rest, _| rest.trim_end().trim_end_matches(is_of_word)).as_bytes())
        }
        "v" | "f" => Some(line),
        // A part begins, whatever its name.
        "o" | "g" => Some(b"o"),
        _ => None,
    }
}

/// The lines that make a mesh, one at a time, so that an error is in the line that was handed out last.
struct Lines<'a> {
    /// What is not yet read.
    rest: &'a [u8],
    /// The number of the last line.
    number: usize,
    /// What of a line is not yet handed out, and its end.
    ready: [&'a [u8]; 2],
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Lines<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.ready.iter().all(|part| part.is_empty()) && !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == b'\n').map_or(self.rest.len(), |end| end + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.number += 1;
            if let Some(line) = prepared(line.trim_ascii_end()) {
                self.ready = [line, b"\n"];
            }
        }
        Ok(self.ready.into_iter().find(|part| !part.is_empty()).unwrap_or_default())
    }

    /// At most what was handed out.
    fn consume(&mut self, n: usize) {
        if let Some(part) = self.ready.iter_mut().find(|part| !part.is_empty()) {
            *part = part.get(n..).unwrap_or_default();
        }
    }
}
