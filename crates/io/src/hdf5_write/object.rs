//! Object headers: messages that describe an object, in the order in which they are added.

use std::io;

use bytemuck::Pod;

/// The undefined address.
pub(super) const UNDEFINED: u64 = u64::MAX;

const DATASPACE: u8 = 1;
const LINK_INFO: u8 = 2;
const DATATYPE: u8 = 3;
const FILL_VALUE: u8 = 5;
const LINK: u8 = 6;
const LAYOUT: u8 = 8;
const GROUP_INFO: u8 = 10;
const ATTRIBUTE: u8 = 12;

/// The type of the values of a data set or an attribute, in the byte order of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    /// UTF-8 text with this number of bytes, padded with zeros.
    Text(u32),
}

impl Type {
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::Text(bytes) => bytes,
        }
    }

    /// Returns the datatype message: class and version, a bit field, the size, and the properties of the class.
    fn encode(self) -> Vec<u8> {
        let order = u8::from(cfg!(target_endian = "big"));
        let bits: u8 = if self.bytes() == 4 { 32 } else { 64 };
        let precision = [[0, 0], [bits, 0]].concat();
        let (class, field, properties): (u8, [u8; 3], Vec<u8>) = match self {
            Self::I32 | Self::I64 | Self::U32 | Self::U64 => {
                let signed = u8::from(matches!(self, Self::I32 | Self::I64));
                (0, [order | signed << 3, 0, 0], precision)
            }
            Self::F32 | Self::F64 => {
                // The first bit of the mantissa is implied.
                let (exponent, mantissa, bias) = if self == Self::F32 { (8u8, 23u8, 127u32) } else { (11, 52, 1023) };
                let mut properties = precision;
                properties.extend([mantissa, exponent, 0, mantissa]);
                properties.extend(bias.to_le_bytes());
                (1, [order | 2 << 4, bits - 1, 0], properties)
            }
            Self::Text(_) => (3, [1 | 1 << 4, 0, 0], vec![]),
        };
        let mut out = vec![1 << 4 | class];
        out.extend(field);
        out.extend(self.bytes().to_le_bytes());
        out.extend(properties);
        out
    }
}

/// A number with an HDF5 type.
pub trait Number: Pod + Send + Sync {
    const TYPE: Type;
}

macro_rules! numbers {
    ($($number:ty, $of:ident;)*) => {$(
        impl Number for $number {
            const TYPE: Type = Type::$of;
        }

        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self { of: Type::$of, len: None, bytes: bytemuck::bytes_of(&number).to_vec() }
            }
        }

        impl From<&[$number]> for Value {
            fn from(numbers: &[$number]) -> Self {
                Self { of: Type::$of, len: Some(numbers.len() as u64), bytes: bytemuck::cast_slice(numbers).to_vec() }
            }
        }
    )*};
}

numbers! { f32, F32; f64, F64; i32, I32; i64, I64; u32, U32; u64, U64; }

/// The value of an attribute: a number, a text, or a list of either.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    of: Type,
    /// `None` for a scalar.
    len: Option<u64>,
    bytes: Vec<u8>,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self { len: None, ..Self::texts(&[text]) }
    }
}

impl Value {
    /// Creates a list of texts.
    pub fn texts(texts: &[impl AsRef<str>]) -> Self {
        // HDF5 has no types of zero bytes.
        let longest = texts.iter().map(|text| text.as_ref().len()).max().unwrap_or(0).max(1);
        let mut bytes = Vec::with_capacity(longest * texts.len());
        for (i, text) in texts.iter().enumerate() {
            bytes.extend(text.as_ref().as_bytes());
            bytes.resize((i + 1) * longest, 0);
        }
        // A longer text is rejected when the attribute is added.
        Self { of: Type::Text(u32::try_from(longest).unwrap_or(u32::MAX)), len: Some(texts.len() as u64), bytes }
    }
}

/// The header of an object, version 2.
#[derive(Default)]
pub(super) struct Header {
    messages: Vec<u8>,
}

impl Header {
    /// Adds a message, whose size must fit in 16 bits.
    fn message(&mut self, kind: u8, body: &[u8], what: &str) -> io::Result<()> {
        let Ok(size) = u16::try_from(body.len()) else {
            return Err(io::Error::other(format!("{what} takes {} bytes; HDF5 allows at most 65535", body.len())));
        };
        self.messages.push(kind);
        self.messages.extend(size.to_le_bytes());
        self.messages.push(0);
        self.messages.extend(body);
        Ok(())
    }

    /// Adds the messages that mark a group whose links are stored in this header.
    pub(super) fn group(&mut self) -> io::Result<()> {
        let mut info = vec![0, 0];
        info.extend(UNDEFINED.to_le_bytes());
        info.extend(UNDEFINED.to_le_bytes());
        self.message(LINK_INFO, &info, "a group")?;
        self.message(GROUP_INFO, &[0, 0], "a group")
    }

    /// Adds a hard link to the object whose header is at `address`.
    pub(super) fn link(&mut self, name: &str, address: u64) -> io::Result<()> {
        let refuse = |why| Err(io::Error::other(format!("the name {name:?} {why}")));
        if name.is_empty() || name == "." || name.contains(['/', '\0']) {
            return refuse("is not allowed in HDF5");
        }
        let Ok(length) = u16::try_from(name.len()) else { return refuse("is too long for HDF5") };
        // Flags: the length of the name has two bytes, and the character set, UTF-8, is stated.
        let mut body = vec![1, 1 | 1 << 4, 1];
        body.extend(length.to_le_bytes());
        body.extend(name.as_bytes());
        body.extend(address.to_le_bytes());
        self.message(LINK, &body, name)
    }

    /// Adds the messages of a data set with contiguous values at `address`.
    pub(super) fn dataset(&mut self, of: Type, shape: &[u64], address: u64, bytes: u64) -> io::Result<()> {
        self.message(DATASPACE, &dataspace(Some(shape)), "a shape")?;
        self.message(DATATYPE, &of.encode(), "a type")?;
        // Space is allocated late and filled only if a fill value is defined, which it is not. Libraries write the
        // same message.
        self.message(FILL_VALUE, &[3, 2 | 2 << 2], "a fill value")?;
        let mut layout = vec![3, 1];
        layout.extend((if bytes == 0 { UNDEFINED } else { address }).to_le_bytes());
        layout.extend(bytes.to_le_bytes());
        self.message(LAYOUT, &layout, "a layout")
    }

    pub(super) fn attribute(&mut self, name: &str, value: &Value) -> io::Result<()> {
        let (of, space) = (value.of.encode(), dataspace(value.len.as_ref().map(std::slice::from_ref)));
        let Ok(length) = u16::try_from(name.len() + 1) else {
            return Err(io::Error::other(format!("the name {name:?} is too long for HDF5")));
        };
        let mut body = vec![3, 0];
        body.extend(length.to_le_bytes());
        body.extend((of.len() as u16).to_le_bytes());
        body.extend((space.len() as u16).to_le_bytes());
        body.push(1);
        body.extend(name.as_bytes());
        body.push(0);
        body.extend(of);
        body.extend(space);
        body.extend(&value.bytes);
        self.message(ATTRIBUTE, &body, &format!("the attribute {name}"))
    }

    /// Returns the bytes of the header.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        let size = u32::try_from(self.messages.len()).map_err(|_| io::Error::other("a header is too long for HDF5"))?;
        // The size of the messages takes four bytes. Times are omitted, so that equal contents give equal bytes.
        let mut out = b"OHDR\x02\x02".to_vec();
        out.extend(size.to_le_bytes());
        out.extend(self.messages);
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        Ok(out)
    }
}

/// Returns the dataspace message, version 2, of a scalar or of values with this shape.
fn dataspace(shape: Option<&[u64]>) -> Vec<u8> {
    let dimensions = shape.unwrap_or_default();
    let mut out = vec![2, dimensions.len() as u8, 0, u8::from(shape.is_some())];
    out.extend(dimensions.iter().flat_map(|n| n.to_le_bytes()));
    out
}

/// The hash "lookup3" of Jenkins (2006), which the specification prescribes for headers.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut s = [0xdead_beef_u32.wrapping_add(bytes.len() as u32); 3];
    let blocks = bytes.len().saturating_sub(1) / 12;
    for (at, block) in bytes.chunks(12).enumerate() {
        let mut padded = [0; 12];
        padded[..block.len()].copy_from_slice(block);
        for (word, four) in s.iter_mut().zip(padded.as_chunks::<4>().0) {
            *word = word.wrapping_add(u32::from_le_bytes(*four));
        }
        let [mut a, mut b, mut c] = s;
        if at < blocks {
            for (x, y, z) in [(4, 6, 8), (16, 19, 4)] {
                a = a.wrapping_sub(c) ^ c.rotate_left(x);
                c = c.wrapping_add(b);
                b = b.wrapping_sub(a) ^ a.rotate_left(y);
                a = a.wrapping_add(c);
                c = c.wrapping_sub(b) ^ b.rotate_left(z);
                b = b.wrapping_add(a);
            }
        } else {
            for (x, y, z) in [(14, 11, 25), (16, 4, 14)] {
                c = (c ^ b).wrapping_sub(b.rotate_left(x));
                a = (a ^ c).wrapping_sub(c.rotate_left(y));
                b = (b ^ a).wrapping_sub(a.rotate_left(z));
            }
            c = (c ^ b).wrapping_sub(b.rotate_left(24));
        }
        s = [a, b, c];
    }
    s[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_paper() {
        assert_eq!(checksum(b""), 0xdead_beef);
        assert_eq!(checksum(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn names_and_sizes_that_hdf5_has_not() {
        let message = |error: io::Result<()>| error.unwrap_err().to_string();
        let mut header = Header::default();
        assert_eq!(message(header.link("a/b", 0)), "the name \"a/b\" is not allowed in HDF5");
        let long = "x".repeat(70_000);
        assert!(message(header.attribute("notes", &long.as_str().into())).contains("attribute notes takes 70"));
        assert!(message(header.link(&long, 0)).contains("too long"));
    }
}
