//! The header of PLY files: elements, and the types of their properties.

use crate::messages::shorten;
use crate::number_types::Number;
use crate::source::words;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Text,
    Binary { big_endian: bool },
}

#[derive(Debug, PartialEq)]
pub(super) struct Property {
    pub name: String,
    pub number: Number,
    /// The type of the length of a list; `None` for a single value.
    pub length: Option<Number>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
}

impl Element {
    /// Returns the bytes per element in a binary file; `None` if the element has lists.
    pub(super) fn bytes(&self) -> Option<u64> {
        let of = |property: &Property| property.length.is_none().then(|| property.number.bytes());
        self.properties.iter().map(of).sum()
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Comments and `obj_info` lines.
    pub comments: Vec<String>,
    /// The byte offset of the first element; `lines` counts the lines before it.
    pub at: u64,
    pub lines: u64,
}

fn number(name: &[u8]) -> Option<Number> {
    Some(match name {
        b"char" | b"int8" => Number::I8,
        b"uchar" | b"uint8" => Number::U8,
        b"short" | b"int16" => Number::I16,
        b"ushort" | b"uint16" => Number::U16,
        b"int" | b"int32" => Number::I32,
        b"uint" | b"uint32" => Number::U32,
        b"int64" | b"long" => Number::I64,
        b"uint64" | b"ulong" => Number::U64,
        b"float" | b"float32" => Number::F32,
        b"double" | b"float64" => Number::F64,
        _ => return None,
    })
}

impl Header {
    /// Parses the header at the beginning of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut header = Self { encoding: Encoding::Text, elements: vec![], comments: vec![], at: 0, lines: 0 };
        let mut has_format = false;
        loop {
            let rest = bytes.get(header.at as usize..).unwrap_or_default();
            let Some(end) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                return Err("its header has no line end_header".into());
            };
            let line = &rest[..end];
            let end = if rest[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
            (header.at, header.lines) = (header.at + end as u64, header.lines + 1);
            let parts: Vec<&[u8]> = words(line).collect();
            let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
            match parts[..] {
                [] if header.lines > 1 => {}
                [b"ply"] if header.lines == 1 => {}
                [b"end_header"] if has_format => return Ok(header),
                [b"end_header"] => return Err("its header has no line format".into()),
                [b"comment" | b"obj_info", ..] => header.comments.push(shorten(line)),
                [b"format", name, b"1.0"] if !has_format => {
                    header.encoding = match name {
                        b"ascii" => Encoding::Text,
                        b"binary_little_endian" => Encoding::Binary { big_endian: false },
                        b"binary_big_endian" => Encoding::Binary { big_endian: true },
                        _ => return Err(header.wrong(line)),
                    };
                    has_format = true;
                }
                [b"element", name, count] => {
                    let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
                    let name = text(name);
                    if header.elements.iter().any(|element| element.name == name) {
                        return Err(header.wrong(line));
                    }
                    let count = count.ok_or_else(|| header.wrong(line))?;
                    header.elements.push(Element { name, count, properties: vec![] });
                }
                [b"property", ref kind @ .., name] => {
                    let property = match kind {
                        [one] => number(one).map(|number| (number, None)),
                        [b"list", length, one] => {
                            number(length).zip(number(one)).map(|(length, number)| (number, Some(length)))
                        }
                        _ => None,
                    };
                    let wrong = header.wrong(line);
                    let (Some((number, length)), Some(element)) = (property, header.elements.last_mut()) else {
                        return Err(wrong);
                    };
                    let name = text(name);
                    if element.properties.iter().any(|property| property.name == name) {
                        return Err(wrong);
                    }
                    element.properties.push(Property { name, number, length });
                }
                _ => return Err(header.wrong(line)),
            }
        }
    }

    fn wrong(&self, line: &[u8]) -> String {
        format!("line {}: '{}' cannot be read as a line of the header", self.lines, shorten(line.trim_ascii()))
    }
}
