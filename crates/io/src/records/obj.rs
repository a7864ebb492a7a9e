//! The vertices of Wavefront OBJ files as points: lines `v x y z`.
//!
//! - used: `v`; a fourth number divides the other three, as in meshes
//! - noted: the number of lines of other kinds, and of vertices with colours
//! - rejected: vertices that do not have 3, 4, 6 or 7 numbers, points that are not finite

use std::collections::BTreeMap;
use std::path::Path;

use crate::file_format::FileFormat;
use crate::text::Record;

use ropewalk::{Error, Result};

use crate::contents::Contents;
use crate::messages::shorten;
use crate::obj_lines::{Lines, number};
use crate::reading::Reading;
use crate::reduce::reduced;
use crate::{Format, Snapshot};

use super::text::{self, TextCloud};

/// First words of the lines of OBJ files.
const KEYWORDS: [&[u8]; 13] =
    [b"v", b"vn", b"vt", b"vp", b"f", b"l", b"p", b"o", b"g", b"s", b"mtllib", b"usemtl", b"cstype"];

/// Returns `true` if `prefix` begins an OBJ file: its first line begins with a keyword, and one of its lines is a
/// vertex.
fn recognises_prefix(prefix: &[u8]) -> bool {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let is_vertex =
        |line: &[&[u8]]| line.len() >= 4 && line[0] == b"v" && line[1..4].iter().all(|word| number(word).is_ok());
    let mut has_begun = false;
    for line in Lines::new(text) {
        let words = line.words();
        match words.first() {
            Some(first) if !has_begun && !KEYWORDS.contains(first) => return false,
            Some(_) if is_vertex(&words) => return true,
            Some(_) => has_begun = true,
            None => {}
        }
    }
    false
}

/// The format of vertices in Wavefront OBJ files.
pub(crate) struct Obj;

impl FileFormat for Obj {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        recognises_prefix(prefix)
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}

fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let mut source = reading.open(path)?;
    let bytes = source.prefix(usize::MAX)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let names = ["x", "y", "z"].map(String::from).to_vec();
    let most_rows = Lines::new(text).filter(|line| line.begins_with(b"v")).count() as u64;
    let cloud = TextCloud { format: Format::Obj, path, names, unread: vec![], most_rows, notes: vec![] };
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    let mut lines = Lines::new(text);
    let snapshot = cloud.read(reading, |record: &mut Record| {
        for line in lines.by_ref() {
            let words = line.words();
            match words.first().copied() {
                Some(b"v") => {
                    let place = format!("line {}", line.number);
                    let has_color = push(&words[1..], record)
                        .map_err(|message| Error::file(path, format!("{place}: {message}")))?;
                    if has_color {
                        *others.entry("colours of vertices".into()).or_default() += 1;
                    }
                    return Ok(Some(place));
                }
                Some(other) if KEYWORDS.contains(&other) => {
                    *others.entry(format!("lines {}", shorten(other))).or_default() += 1;
                }
                Some(_) => *others.entry("other lines".into()).or_default() += 1,
                None => {}
            }
        }
        Ok(None)
    })?;
    let others: Vec<String> = others.into_iter().map(|(what, n)| format!("{what} ({n})")).collect();
    let mut snapshot = reduced(snapshot, reading);
    if !others.is_empty() {
        snapshot.notes.push(format!("not read: {}", others.join(", ")));
    }
    Ok(snapshot)
}

fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    Ok(text::inspect(path, &read(path, reading)?))
}

/// Appends the coordinates of a vertex to a record. Returns `true` if a colour follows.
fn push(words: &[&[u8]], record: &mut Record) -> std::result::Result<bool, String> {
    let weight = match words.len() {
        3 | 6 | 7 => None,
        4 => Some(number(words[3])?),
        n => return Err(format!("a vertex has {n} numbers; it must have 3, 4, 6 or 7")),
    };
    for word in &words[..3] {
        match weight.filter(|&weight| weight != 1.0) {
            None => record.push_field(word),
            Some(weight) => {
                let value = number(word)? / weight;
                record.push_field(format!("{value:?}").as_bytes());
            }
        }
    }
    Ok(words.len() > 4)
}
