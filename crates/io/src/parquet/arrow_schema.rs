//! Decoding of the Arrow schema in a Parquet file.
//!
//! In: the value of `ARROW:schema`, see [`arrow`](super::arrow). Out: names, units and descriptions of columns, in
//! the form of an enhanced CSV header. Cost: the bytes of the schema. If it refers to itself, the numbers of columns
//! and entries are limited.

/// The maximum numbers of columns, and of entries per column, and the maximum length of a name in bytes.
const MAX_COLUMNS: usize = 10_000;
const MAX_ENTRIES: usize = 100;
const LONGEST: usize = 1000;

/// The number of the type `Duration` in Schema.fbs.
const DURATION: u8 = 18;
/// The key for the kind of values in a column, if the file's own schema does not state it.
pub(super) const KIND: &str = "kind";

/// Decodes scalars with the keys that lead to them: `datatype`, the number of the column, and `name`, `unit`,
/// `description` or [`KIND`].
pub(super) fn decode(text: &str) -> Option<Vec<(Vec<String>, String)>> {
    let bytes = base64(text)?;
    // Since version 0.15, a marker precedes the length.
    let message = match bytes.split_first_chunk::<8>()? {
        ([0xff, 0xff, 0xff, 0xff, ..], rest) => rest,
        _ => bytes.get(4..)?,
    };
    let buffer = Buffer(message);
    let schema = buffer.follow(buffer.field(buffer.follow(0)?, 2)?)?;
    let mut found = vec![];
    for (number, field) in buffer.list(buffer.field(schema, 1)?, MAX_COLUMNS)?.into_iter().enumerate() {
        let mut say =
            |key: &str, value: String| found.push((vec!["datatype".into(), number.to_string(), key.into()], value));
        let field = buffer.follow(field)?;
        say("name", buffer.text(buffer.field(field, 0)?)?);
        // The file's own schema describes durations as integers.
        if buffer.field(field, 2).and_then(|at| buffer.0.get(at)) == Some(&DURATION) {
            say(KIND, "duration".into());
        }
        let entries = buffer.field(field, 6).and_then(|at| buffer.list(at, MAX_ENTRIES)).unwrap_or_default();
        for entry in entries {
            let entry = buffer.follow(entry)?;
            let (key, value) = (buffer.text(buffer.field(entry, 0)?)?, buffer.text(buffer.field(entry, 1)?)?);
            match key.to_lowercase().as_str() {
                "unit" | "units" => say("unit", value),
                "description" => say("description", value),
                _ => {}
            }
        }
    }
    Some(found)
}

/// A FlatBuffers message. Positions are byte offsets in it.
struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn word(&self, at: usize) -> Option<usize> {
        self.0.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
    }

    fn half(&self, at: usize) -> Option<usize> {
        self.0.get(at..)?.first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes)))
    }

    /// Returns the position to which the offset at a position points.
    fn follow(&self, at: usize) -> Option<usize> {
        at.checked_add(self.word(at)?)
    }

    /// Returns the position of a table's field, if the table has it.
    fn field(&self, table: usize, slot: usize) -> Option<usize> {
        let list = (table as i64).checked_sub(i64::from(self.word(table)? as u32 as i32))?;
        let list = usize::try_from(list).ok()?;
        let place = 4 + 2 * slot;
        let offset = if place < self.half(list)? { self.half(list + place)? } else { 0 };
        (offset > 0).then_some(table + offset)
    }

    /// Returns the positions of the entries of the list to which the offset at a position points.
    fn list(&self, at: usize, most: usize) -> Option<Vec<usize>> {
        let start = self.follow(at)?;
        Some((0..self.word(start)?.min(most)).map(|i| start + 4 + 4 * i).collect())
    }

    fn text(&self, at: usize) -> Option<String> {
        let start = self.follow(at)?;
        let bytes = self.0.get(start + 4..)?.get(..self.word(start)?.min(LONGEST))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Decodes base64 (RFC 4648), with or without padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::arrow::{Field, Kind, encode};

    #[test]
    fn what_is_encoded_is_decoded() {
        let metadata = vec![("unit", "Mpc / littleh".to_string()), ("other", "é".to_string())];
        let fields = [
            Field { name: "x", kind: Kind::Float64, metadata },
            Field { name: "id", kind: Kind::Unsigned64, metadata: vec![] },
        ];
        let text = encode(&fields, &[("redshift".into(), "0.5".into())]);
        let key = |words: [&str; 3]| words.map(String::from).to_vec();
        let wanted = vec![
            (key(["datatype", "0", "name"]), "x".to_string()),
            (key(["datatype", "0", "unit"]), "Mpc / littleh".into()),
            (key(["datatype", "1", "name"]), "id".into()),
        ];
        assert_eq!(decode(&text), Some(wanted));
        for cut in 0..text.len() {
            drop(decode(&text[..cut]));
        }
        let mut bytes = text.into_bytes();
        for at in 0..bytes.len() {
            let before = std::mem::replace(&mut bytes[at], b'/');
            drop(decode(std::str::from_utf8(&bytes).unwrap()));
            bytes[at] = before;
        }
    }
}
