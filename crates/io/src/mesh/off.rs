//! OFF: the numbers of vertices and faces, then a line for each.
//!
//! Cost: one pass.

use ropewalk::internals::memory::{append, grow};

use crate::Points;
use crate::mesh::data::{MeshData, channel, fan, of_all, vertices};
use crate::messages::shorten;
use crate::obj_lines::{Line, Lines, number};

/// Returns the letters before `OFF` in the first word, which say what each vertex has; `None` if the file is not OFF.
fn kind(bytes: &[u8]) -> Option<Vec<u8>> {
    let first = Lines::new(bytes).find(|line| !line.words().is_empty())?;
    let mut rest = first.words().first()?.strip_suffix(b"OFF")?;
    let kind = rest.to_vec();
    for letters in [&b"ST"[..], b"C", b"N", b"4", b"n"] {
        rest = rest.strip_prefix(letters).unwrap_or(rest);
    }
    rest.is_empty().then_some(kind)
}

pub(super) fn is_off(bytes: &[u8]) -> bool {
    kind(bytes).is_some()
}

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, String> {
    if kind(bytes).is_some_and(|kind| kind.contains(&b'4') || kind.contains(&b'n')) {
        return Err("is OFF of other than three dimensions".into());
    }
    let mut lines = Lines::new(bytes).filter(|line| !line.words().is_empty());
    let mut next = |what: &str| lines.next().ok_or_else(|| format!("is OFF, and ends before {what}"));
    let first = next("its first line")?;
    if first.words().get(1) == Some(&&b"BINARY"[..]) {
        return Err("is OFF in binary; write it as text, or as PLY or STL".into());
    }
    // The numbers are on the first line or on the next one. That of edges may be missing.
    let is_short = first.words().len() > 1;
    let counts = if is_short { first } else { next("the numbers of vertices and faces")? };
    let words = counts.words();
    let [n, m] = [0, 1].map(|i| words.get(i + usize::from(is_short)).and_then(|word| whole(word)));
    let (Some(n), Some(m)) = (n, m) else {
        return Err(counts.wrong("must be the numbers of vertices and faces"));
    };
    // In the first word, N stands for a normal of each vertex, and C for a colour after it.
    let kind = kind(bytes).unwrap_or_default();
    let color_at = kind.contains(&b'C').then_some(if kind.contains(&b'N') { 6 } else { 3 });
    let (mut coordinates, mut colors, mut faces, mut corners) = (vec![], vec![], vec![], vec![]);
    let mut has_points = false;
    for i in 0..n {
        let line = next(&format!("vertex {} of {n}", i + 1))?;
        let words = line.words();
        let place = words.get(..3).ok_or_else(|| line.wrong("needs three numbers"))?;
        grow(&mut coordinates, 3);
        for word in place {
            coordinates.push(number(word).map_err(|_| line.wrong("needs three numbers"))?);
        }
        if let Some(words) = color_at.and_then(|at| words.get(at..at + 3)) {
            has_points |= words.iter().any(|word| word.iter().any(|byte| b".eE".contains(byte)));
            append(&mut colors, color(words));
        }
    }
    for i in 0..m {
        let line = next(&format!("face {} of {m}", i + 1))?;
        corners_of(&line, n, &mut corners)?;
        append(&mut faces, fan(&corners));
    }
    let rest = lines.count();
    let notes = if rest > 0 { vec![format!("lines after the last face that are not read: {rest}")] } else { vec![] };
    // Integers from 0 to 255, or numbers from 0 to 1, for all vertices.
    let is_share = has_points || colors.iter().flatten().all(|&channel| channel <= 1.0);
    let unit = if is_share { 1.0 } else { 255.0 };
    let colors = colors.into_iter().map(|color: [f64; 3]| color.map(|own| channel(own / unit))).collect();
    let colors = of_all(colors, n as usize);
    Ok(MeshData { vertices: vertices(coordinates, Points::F64)?, faces, colors, notes })
}

fn color(words: &[&[u8]]) -> Option<[f64; 3]> {
    let mut color = [0.0; 3];
    for (own, word) in color.iter_mut().zip(words) {
        *own = number(word).ok()?;
    }
    Some(color)
}

/// Replaces `corners` with those of a face of `n` vertices. What follows them on the line is a colour.
fn corners_of(line: &Line<'_>, n: u32, corners: &mut Vec<u32>) -> Result<(), String> {
    corners.clear();
    let words = line.words();
    let count =
        words.first().and_then(|word| whole(word)).ok_or_else(|| line.wrong("must begin with a number of vertices"))?;
    let end = (count as usize).saturating_add(1);
    let words = words.get(1..end).ok_or_else(|| line.wrong(&format!("must have {count} vertices")))?;
    grow(corners, words.len());
    for word in words {
        let vertex = whole(word).filter(|&vertex| vertex < n);
        corners.push(vertex.ok_or_else(|| {
            line.wrong(&format!(
                "has the vertex {}; vertices must be integers from 0 to {}",
                shorten(word),
                i64::from(n) - 1
            ))
        })?);
    }
    Ok(())
}

fn whole(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
