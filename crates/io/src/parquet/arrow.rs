//! The Arrow schema that Arrow libraries store beside a Parquet file's own schema. It contains metadata of columns,
//! such as units.
//!
//! In: names, kinds and metadata of columns. Out: the value of the key `ARROW:schema`: a message in Arrow's streaming
//! format, encoded in base64. Source: "Arrow columnar format", serialization and interprocess communication, and its
//! Schema.fbs and Message.fbs; "FlatBuffers internals".

/// The key in the metadata of a file.
pub(super) const KEY: &str = "ARROW:schema";

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Unsigned64,
    Signed64,
    Float64,
}

/// A column that is never null.
pub(super) struct Field<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub metadata: Vec<(&'static str, String)>,
}

/// A field of a FlatBuffers table.
enum Slot {
    Absent,
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    /// An offset to an object that is written later; the offset is set then.
    Later,
}

impl Slot {
    fn bytes(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Byte(_) => 1,
            Self::Short(_) => 2,
            Self::Int(_) | Self::Later => 4,
            Self::Long(_) => 8,
        }
    }
}

/// A buffer in writing order: an object that refers to another one precedes it.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    /// Sets the offset at `from` so that it points to the end of the buffer.
    fn here(&mut self, from: usize) {
        let distance = (self.0.len() - from) as u32;
        self.0[from..from + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Writes a table, to which the offset at `from` points. Returns the positions of the offsets that are set later.
    fn table(&mut self, from: usize, slots: &[Slot]) -> Vec<usize> {
        // Fields in decreasing order of size need no padding. They follow the offset to the list of their positions
        // and four bytes of padding.
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|&slot| std::cmp::Reverse(slots[slot].bytes()));
        let mut places = vec![0u16; slots.len()];
        let mut size = 8;
        for &slot in order.iter().filter(|&&slot| slots[slot].bytes() > 0) {
            places[slot] = size;
            size += slots[slot].bytes() as u16;
        }
        self.align(8);
        let list = self.0.len();
        for word in [4 + 2 * places.len() as u16, size].into_iter().chain(places.iter().copied()) {
            self.0.extend(word.to_le_bytes());
        }
        self.align(8);
        let start = self.0.len();
        self.here(from);
        self.0.extend(((start - list) as i32).to_le_bytes());
        self.0.resize(start + usize::from(size), 0);
        let mut later = vec![];
        for (slot, place) in slots.iter().zip(places) {
            let at = start + usize::from(place);
            let mut put = |bytes: &[u8]| self.0[at..at + bytes.len()].copy_from_slice(bytes);
            match slot {
                Slot::Absent => {}
                Slot::Byte(value) => put(&[*value]),
                Slot::Short(value) => put(&value.to_le_bytes()),
                Slot::Int(value) => put(&value.to_le_bytes()),
                Slot::Long(value) => put(&value.to_le_bytes()),
                Slot::Later => later.push(at),
            }
        }
        later
    }

    fn string(&mut self, from: usize, text: &str) {
        self.align(4);
        self.here(from);
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// Writes a list of `n` offsets, to which the offset at `from` points. Returns their positions.
    fn list(&mut self, from: usize, n: usize) -> std::ops::Range<usize> {
        self.align(4);
        self.here(from);
        self.0.extend((n as u32).to_le_bytes());
        let start = self.0.len();
        self.0.resize(start + 4 * n, 0);
        start..self.0.len()
    }

    fn field(&mut self, from: usize, field: &Field<'_>) {
        use Slot::{Absent, Byte, Int, Later, Short};
        let (union, of): (u8, &[Slot]) = match field.kind {
            Kind::Unsigned64 => (2, &[Int(64), Byte(0)]),
            Kind::Signed64 => (2, &[Int(64), Byte(1)]),
            Kind::Float64 => (3, &[Short(2)]),
        };
        let later = self.table(from, &[Later, Byte(0), Byte(union), Later, Absent, Later, Later]);
        if let [name, kind, children, metadata] = later[..] {
            self.string(name, field.name);
            self.table(kind, of);
            self.list(children, 0);
            self.pairs(metadata, &field.metadata);
        }
    }

    /// Writes a list of keys and values.
    fn pairs<K: AsRef<str>>(&mut self, from: usize, pairs: &[(K, String)]) {
        let entries = self.list(from, pairs.len());
        for (entry, (key, value)) in entries.step_by(4).zip(pairs) {
            let later = self.table(entry, &[Slot::Later, Slot::Later]);
            for (place, text) in later.into_iter().zip([key.as_ref(), value.as_str()]) {
                self.string(place, text);
            }
        }
    }
}

/// Returns the value of [`KEY`]: the schema of these columns, with metadata of the whole table.
pub(super) fn encode(fields: &[Field<'_>], metadata: &[(String, String)]) -> String {
    use Slot::{Absent, Byte, Later, Long, Short};
    let mut buffer = Buffer(vec![0; 4]);
    // Version 5 of the format, with a message that is a schema and has no body.
    for schema in buffer.table(0, &[Short(4), Byte(1), Later, Long(0), Absent]) {
        // Little-endian.
        if let [list, pairs] = buffer.table(schema, &[Short(0), Later, Later])[..] {
            let places = buffer.list(list, fields.len());
            for (place, field) in places.step_by(4).zip(fields) {
                buffer.field(place, field);
            }
            buffer.pairs(pairs, metadata);
        }
    }
    buffer.align(8);
    let length = (buffer.0.len() as u32).to_le_bytes();
    base64(&[&[0xff; 4], &length[..], &buffer.0].concat())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes in base64 (RFC 4648), with padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let at = word >> (18 - 6 * digit) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[at as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4648() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }
}
