//! STL: the corners of each triangle, as 32-bit floats.

use std::collections::HashMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use ropewalk::internals::cancel::check_at;
use ropewalk::internals::memory::{append, copy_of, out_of_memory};

use crate::Points;
use crate::mesh::data::{MeshData, vertices};
use crate::source::line_end;

/// Bytes before the triangles of a binary file, and bytes per triangle.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

/// Returns the number of triangles that a binary file states, if it is long enough.
fn promised(bytes: &[u8]) -> Option<u32> {
    let count = bytes.get(HEADER - 4..HEADER)?;
    count.try_into().ok().map(u32::from_le_bytes)
}

/// Returns the length in bytes of a binary file with this number of triangles.
fn length(triangles: u32) -> u64 {
    HEADER as u64 + u64::from(triangles) * TRIANGLE as u64
}

/// Returns `true` if the length of the file matches its stated number of triangles. After them, fewer bytes may
/// follow than a triangle has.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    let after = |triangles| (bytes.len() as u64).checked_sub(length(triangles));
    // Text does not contain the byte 0, and its length matches only by chance, so it must match exactly.
    let most = if bytes.contains(&0) { TRIANGLE as u64 - 1 } else { 0 };
    promised(bytes).and_then(after).is_some_and(|after| after <= most)
}

/// Returns `true` if the bytes are text that begins as STL.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    begins(bytes.trim_ascii_start(), b"solid")
}

/// Returns an error message for bytes that are neither text nor of the length of a binary file. If they are much too
/// short for the number of triangles, that number is probably something else.
pub(super) fn wrong_length(bytes: &[u8]) -> String {
    let there = bytes.len();
    match promised(bytes) {
        Some(triangles) if length(triangles) / 1000 > there as u64 => {
            "is in a binary format other than PLY and STL".into()
        }
        Some(triangles) => {
            let due = length(triangles);
            format!("is neither PLY nor text; binary STL of {triangles} triangles must have {due} bytes, got {there}")
        }
        None => format!("is neither PLY nor text; binary STL must have at least {HEADER} bytes, got {there}"),
    }
}

pub(super) fn read_binary(bytes: &[u8]) -> Result<MeshData, String> {
    let mut copy;
    let mut bytes = bytes;
    // With its first word, the reader would detect text.
    if bytes.starts_with(b"solid") {
        copy = copy_of(bytes);
        copy[..5].fill(b' ');
        bytes = &copy;
    }
    let end = promised(bytes).map_or(0, length) as usize;
    let corners = Corners::read(&mut Cursor::new(&bytes[..end.min(bytes.len())]));
    let mut mesh = corners.map_err(|error| format!("is not a valid STL file: {error}"))?.mesh()?;
    if let Some(after) = bytes.len().checked_sub(end).filter(|&after| after > 0) {
        mesh.notes.push(format!("{after} bytes after the last triangle are not read"));
    }
    Ok(mesh)
}

pub(super) fn read_text(bytes: &[u8]) -> Result<MeshData, String> {
    let mut solids = Solids::new(bytes);
    let corners = Corners::read(&mut solids);
    corners.map_err(|error| format!("is not a valid STL file: line {}: {error}", solids.line))?.mesh()
}

/// The corners of triangles. Corners with equal coordinates are merged.
#[derive(Default)]
struct Corners {
    coordinates: Vec<f32>,
    /// The index of each vertex, by the bits of its coordinates.
    places: HashMap<[u32; 3], u32>,
    faces: Vec<[u32; 3]>,
}

impl Corners {
    fn read(file: &mut (impl Read + Seek)) -> io::Result<Self> {
        let mut all = Self::default();
        for triangle in stl_io::create_stl_reader(file)? {
            let vertices = triangle?.vertices;
            check_at(all.faces.len());
            let mut face = [0; 3];
            for (corner, vertex) in face.iter_mut().zip(vertices) {
                *corner = all.place(vertex.0)?;
            }
            append(&mut all.faces, [face]);
        }
        Ok(all)
    }

    /// Returns the index of the vertex with these coordinates, and adds the vertex if it is new.
    fn place(&mut self, vertex: [f32; 3]) -> io::Result<u32> {
        if self.places.try_reserve(1).is_err() {
            out_of_memory::<[u32; 4]>(2 * self.places.len());
        }
        let next = u32::try_from(self.places.len());
        let next = next.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "has more than 2^32 - 1 vertices"))?;
        let place = *self.places.entry(vertex.map(f32::to_bits)).or_insert(next);
        if place == next {
            append(&mut self.coordinates, vertex);
        }
        Ok(place)
    }

    fn mesh(self) -> Result<MeshData, String> {
        Ok(MeshData {
            vertices: vertices(self.coordinates, Points::F32)?,
            faces: self.faces,
            colors: None,
            notes: vec![],
        })
    }
}

/// Returns `true` if a line begins with this word, ignoring case.
fn begins(line: &[u8], word: &[u8]) -> bool {
    line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Returns `true` for the line of a normal. Normals are not used, and may be NaN, which the reader rejects.
fn is_normal(line: &[u8]) -> bool {
    if !begins(line, b"facet") {
        return false;
    }
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &[u8]| {
        let word = String::from_utf8_lossy(word).to_lowercase();
        word.contains("nan") || word.parse::<f64>().is_ok()
    };
    match words[..] {
        [facet, normal, x, y, z] => {
            facet.eq_ignore_ascii_case(b"facet")
                && normal.eq_ignore_ascii_case(b"normal")
                && [x, y, z].into_iter().all(is_number)
        }
        _ => false,
    }
}

/// The text of one or more solids, converted to the text of a single solid, since the reader accepts only one. Names
/// are removed, words are in lower case, and the lines between solids are skipped. The text is returned line by line,
/// so that an error belongs to the line returned last.
struct Solids<'a> {
    text: &'a [u8],
    /// The byte that ends lines.
    end: u8,
    /// The part of the text that is not yet processed.
    rest: &'a [u8],
    /// The part of the current line that is not yet returned.
    ready: Cursor<Vec<u8>>,
    /// The number of the last line that was processed.
    line: usize,
}

impl<'a> Solids<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, end: line_end(text), rest: text, ready: Cursor::default(), line: 0 }
    }

    /// Returns the next line that is not blank, trimmed.
    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == self.end).map_or(self.rest.len(), |end| end + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                return Some(line.trim_ascii());
            }
        }
        None
    }

    /// Returns the next line of the single solid; empty after the last.
    fn prepare(&mut self) -> io::Result<Vec<u8>> {
        let mut line = self.next();
        while line.is_some_and(|line| begins(line, b"endsolid")) {
            match self.next() {
                None => return Ok(b"endsolid\n".to_vec()),
                Some(other) if begins(other, b"solid") => line = self.next(),
                Some(_) => {
                    let message = "expected another solid after endsolid";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
            }
        }
        Ok(match line {
            None => vec![],
            Some(line) if begins(line, b"solid") => b"solid \n".to_vec(),
            Some(line) if is_normal(line) => b"facet normal 0 0 0\n".to_vec(),
            Some(line) => [&line.to_ascii_lowercase()[..], b"\n"].concat(),
        })
    }
}

impl Read for Solids<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.ready.read(buffer)?;
        if n > 0 || buffer.is_empty() {
            return Ok(n);
        }
        self.ready = Cursor::new(self.prepare()?);
        self.ready.read(buffer)
    }
}

impl Seek for Solids<'_> {
    /// Supports only a return to the start, which the reader needs after it examined the first line.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Start(0) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        *self = Self::new(self.text);
        Ok(0)
    }
}
