//! The bytes of glTF: chunks of a binary file, base64 in JSON, or files beside it.
//!
//! In: the file. Out: its JSON, and the bytes of each buffer. Cost: one pass over them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Component, Path};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::json::{items, whole};
use crate::messages::shorten;
use ropewalk::internals::cancel::check_at;

/// The types of the chunks of a binary file.
const JSON: u32 = u32::from_le_bytes(*b"JSON");
const BIN: u32 = u32::from_le_bytes(*b"BIN\0");

/// The type of a chunk, and its bytes.
type Chunk<'a> = (u32, &'a [u8]);

/// Returns the JSON, and the buffer of a binary file if it has one.
pub(super) fn split(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), String> {
    let Some(rest) = bytes.strip_prefix(b"glTF") else { return Ok((bytes, None)) };
    let (version, rest) = number(rest)?;
    if version != 2 {
        return Err(format!("of version {version}; only version 2 is read"));
    }
    let (length, rest) = number(rest)?;
    if length as usize != bytes.len() {
        return Err(format!("has {} bytes, where its header says {length}", bytes.len()));
    }
    let (json, rest) = chunk(rest)?;
    if json.0 != JSON {
        return Err("does not begin with JSON".into());
    }
    let buffer = if rest.is_empty() { None } else { Some(chunk(rest)?.0).filter(|found| found.0 == BIN) };
    Ok((json.1, buffer.map(|found| found.1)))
}

/// Returns a chunk, and what follows it.
fn chunk(bytes: &[u8]) -> Result<(Chunk<'_>, &[u8]), String> {
    let (length, rest) = number(bytes)?;
    let (kind, rest) = number(rest)?;
    let (chunk, rest) = rest.split_at_checked(length as usize).ok_or("ends within a chunk")?;
    Ok(((kind, chunk), rest))
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), String> {
    let (number, rest) = bytes.split_first_chunk().ok_or("ends within its header")?;
    Ok((u32::from_le_bytes(*number), rest))
}

/// Returns the bytes of each buffer. `chunk` is that of a binary file; other files are in `folder`, and each is read
/// once.
pub(super) fn read<'a, 'r>(
    root: &'r Value,
    chunk: Option<&'a [u8]>,
    folder: &Path,
) -> Result<Vec<Rc<Cow<'a, [u8]>>>, String> {
    let mut known: HashMap<&str, Rc<Cow<'a, [u8]>>> = HashMap::new();
    let mut read = |(i, buffer): (usize, &'r Value)| {
        check_at(i);
        let bytes = match (buffer["uri"].as_str(), chunk) {
            (Some(uri), _) => match known.get(uri) {
                Some(bytes) => Ok(Rc::clone(bytes)),
                None => of_uri(uri, folder).map(|bytes| Rc::clone(known.entry(uri).or_insert(Rc::new(bytes.into())))),
            },
            (None, Some(chunk)) if i == 0 => Ok(Rc::new(chunk.into())),
            (None, _) => Err("has no uri".into()),
        };
        let bytes = bytes.map_err(|message: String| format!("buffer {i} {message}"))?;
        match whole(buffer, "byteLength")? {
            Some(length) if length <= bytes.len() => Ok(bytes),
            Some(length) => Err(format!("buffer {i} has {} bytes, fewer than its byteLength {length}", bytes.len())),
            None => Err(format!("buffer {i} has no byteLength")),
        }
    };
    items(root, "buffers")?.iter().enumerate().map(&mut read).collect()
}

/// Returns the bytes of a buffer in base64, or of a file below `folder`.
fn of_uri(uri: &str, folder: &Path) -> Result<Vec<u8>, String> {
    if let Some(data) = uri.strip_prefix("data:") {
        let (_, text) = data.split_once(";base64,").ok_or("has a data uri that is not in base64")?;
        return STANDARD.decode(text).map_err(|error| format!("is not valid base64: {error}"));
    }
    let name = unescaped(uri).ok_or_else(|| format!("has the uri '{}', which is no name", shorten(uri.as_bytes())))?;
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(&name).components().all(is_below) || name.contains("://") {
        return Err(format!("is in '{}'; only files below the folder of this one are read", shorten(uri.as_bytes())));
    }
    let mut bytes = vec![];
    let read = std::fs::File::open(folder.join(&name)).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| format!("is in {}, which cannot be read: {error}", shorten(name.as_bytes())))
}

/// Returns a name with the bytes that `%20` and other escapes mean; `None` if it is not UTF-8 then.
fn unescaped(uri: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = uri.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
