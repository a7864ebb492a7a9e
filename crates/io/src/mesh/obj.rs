//! Wavefront OBJ: lines of vertices, and of polygons that refer to them.
//!
//! - used: `v`, whose fourth number of four divides the other three; of six or seven numbers, the fourth to sixth are a
//!   colour from 0 to 1
//! - used: `f`, with indices from 1, or from -1 backwards
//! - ignored: normals, texture coordinates, names of parts and materials, lines and points
//! - noted: lines of other kinds, such as curves and surfaces

use std::collections::BTreeMap;

use ropewalk::internals::memory::{append, grow};

use crate::Points;
use crate::mesh::data::{MeshData, channel, fan, of_all, vertices};
use crate::messages::shorten;
use crate::obj_lines::{Line, Lines, number};

/// First words of lines that are ignored.
const PASSED: [&[u8]; 10] = [b"vn", b"vt", b"vp", b"o", b"g", b"s", b"l", b"p", b"mtllib", b"usemtl"];

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    let (mut coordinates, mut colors, mut faces) = (vec![], vec![], vec![]);
    let mut others = BTreeMap::<String, u64>::new();
    let mut corners = vec![];
    let mut highest = 0;
    // A file with vertices is OBJ, though faulty.
    let wrong = |has_vertices: bool| {
        let format = if has_vertices { "" } else { "is not a mesh in the OBJ, PLY, STL, OFF or glTF format: " };
        move |message: String| format!("{format}{message}")
    };
    for line in Lines::new(bytes) {
        let words = line.words();
        match words.first() {
            Some(&b"v") => {
                vertex(&line, &words, &mut coordinates).map_err(wrong(!coordinates.is_empty()))?;
                append(&mut colors, color(&words));
            }
            Some(&b"f") => {
                let n = coordinates.len() / 3;
                corners_of(&line, &words, n, &mut corners).map_err(wrong(n > 0))?;
                highest = corners.iter().copied().fold(highest, u32::max);
                append(&mut faces, fan(&corners));
            }
            Some(word) if !PASSED.contains(word) => *others.entry(shorten(word)).or_default() += 1,
            _ => {}
        }
    }
    if faces.is_empty() && Lines::new(bytes).any(|line| !line.words().is_empty()) {
        return Err("has no triangles in the OBJ, PLY, STL, OFF or glTF format".into());
    }
    let n = coordinates.len() / 3;
    if u32::try_from(n).is_err() {
        return Err("has more than 2^32 - 1 vertices".into());
    }
    if highest as usize >= n && !faces.is_empty() {
        return Err(wrong(n > 0)(missing(bytes, n)));
    }
    let others: Vec<String> = others.into_iter().map(|(word, n)| format!("{word} ({n})")).collect();
    let notes =
        if others.is_empty() { vec![] } else { vec![format!("lines that are not read: {}", others.join(", "))] };
    Ok(MeshData { vertices: vertices(coordinates, Points::F64)?, faces, colors: of_all(colors, n), notes })
}

/// Returns the colour of a vertex: the three or four numbers after its coordinates, of which the last of four is not
/// used. `None` if the line has no colour from 0 to 1.
fn color(words: &[&[u8]]) -> Option<[u8; 3]> {
    let (7 | 8) = words.len() else { return None };
    let mut color = [0; 3];
    for (own, word) in color.iter_mut().zip(&words[4..]) {
        *own = channel(number(word).ok().filter(|share| (0.0..=1.0).contains(share))?);
    }
    Some(color)
}

/// Appends the coordinates of a vertex.
fn vertex(line: &Line<'_>, words: &[&[u8]], coordinates: &mut Vec<f64>) -> Result<(), String> {
    let weight = match words.len() {
        4 | 7 | 8 => Ok(1.0),
        5 => number(words[4]),
        _ => return Err(line.wrong("must have 3, 4, 6 or 7 numbers")),
    };
    let weight = weight.map_err(|_| line.wrong("has a fourth number that cannot be read"))?;
    grow(coordinates, 3);
    for word in &words[1..4] {
        coordinates.push(number(word).map_err(|_| line.wrong("needs three numbers"))? / weight);
    }
    Ok(())
}

/// Returns `true` for an integer of any size.
fn is_whole(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Replaces `corners` with the corners of a face, as indices from 0. `n` is the number of vertices before the face.
fn corners_of(line: &Line<'_>, words: &[&[u8]], n: usize, corners: &mut Vec<u32>) -> Result<(), String> {
    corners.clear();
    if words.len() == 1 {
        return Err(format!("line {}: a face has no vertices", line.number));
    }
    grow(corners, words.len());
    for word in &words[1..] {
        let mut parts = word.split(|&byte| byte == b'/');
        let index = parts.next().unwrap_or_default();
        let others: Vec<&[u8]> = parts.collect();
        if !is_whole(index) || others.len() > 2 || !others.iter().all(|other| other.is_empty() || is_whole(other)) {
            return Err(line.wrong("is not a list of vertices, each as 1, 1/2, 1//3 or 1/2/3"));
        }
        let index = std::str::from_utf8(index).ok().and_then(|index| index.parse::<i64>().ok());
        let place = match index {
            Some(index) if index > 0 => Some(index - 1),
            // The last vertex before the face has the index -1.
            Some(index) if index < 0 => (n as i64).checked_add(index).filter(|&place| place >= 0),
            _ => None,
        };
        let place = place.and_then(|place| u32::try_from(place).ok());
        corners.push(place.ok_or_else(|| line.wrong("has a vertex that does not exist"))?);
    }
    Ok(())
}

/// Returns an error message for the first face with a vertex beyond the `n` vertices of the file.
fn missing(bytes: &[u8], n: usize) -> String {
    let (mut before, mut corners) = (0, vec![]);
    for line in Lines::new(bytes) {
        let words = line.words();
        match words.first() {
            Some(&b"v") => before += 1,
            Some(&b"f") => {
                let found = corners_of(&line, &words, before, &mut corners);
                if found.is_err() || corners.iter().any(|&corner| corner as usize >= n) {
                    return line.wrong(&format!("has a vertex that does not exist; the file has {n}"));
                }
            }
            _ => {}
        }
    }
    "a face has a vertex that does not exist".into()
}
