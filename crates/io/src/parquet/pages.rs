//! The pages of a column chunk, and checks of their headers before memory is allocated.
//!
//! In: the location of a chunk in a file. Out: the maximum decompressed size of a page according to the headers. It
//! is an error if a page is truncated, states a decompressed size that its bytes cannot produce, or refers to a
//! dictionary that does not precede it. Cost: reading the headers of pages. Source: parquet.thrift, PageHeader;
//! "Thrift compact protocol".

use parquet::basic::Compression;

use ropewalk::Result;

use crate::source::Source;

/// The maximum number of bytes of a header, whose statistics may be long.
const LONGEST: u64 = 1 << 16;
/// The maximum compression ratio of Deflate. Those of Snappy and LZ4 are smaller.
const MAX_RATIO: u64 = 1032;
/// The maximum ratio of Zstandard: 128 KiB for a block of four bytes. The ratio of Brotli is unbounded, but the same
/// limit is applied.
const MAX_ZSTD_RATIO: u64 = 1 << 15;
/// The maximum depth of nested structures and lists.
const DEEPEST: u32 = 8;
/// The type of pages with a dictionary.
const DICTIONARY_PAGE: i64 = 2;
/// The encodings of values by their place in a dictionary.
const DICTIONARY_ENCODINGS: [i64; 2] = [2, 8];

/// Returns the maximum ratio of a compression.
pub(super) fn most_ratio(compression: Compression) -> u64 {
    match compression {
        Compression::ZSTD(_) | Compression::BROTLI(_) => MAX_ZSTD_RATIO,
        _ => MAX_RATIO,
    }
}

/// Checks the pages in the `length` bytes from `start` on. They may decompress to at most `ratio` times their size.
/// Returns the maximum decompressed size of a page according to its header.
pub(super) fn check(source: &mut Source, start: u64, length: u64, ratio: u64, column: &str) -> Result<u64> {
    let end = start.checked_add(length).filter(|&end| end <= source.len());
    let Some(end) = end else {
        let there = source.len();
        return Err(source.error(format!(
            "truncated: column {column} must have {length} bytes from byte {start} on, but the file has {there} bytes"
        )));
    };
    let (mut at, mut most, mut has_dictionary) = (start, 0, false);
    while at < end {
        source.seek(at)?;
        let mut bytes = vec![0; (end - at).min(LONGEST) as usize];
        source.fill(&mut bytes)?;
        let mut words = Compact { bytes: &bytes };
        let header = words.header().filter(|header| {
            let after = (end - at).saturating_sub((bytes.len() - words.bytes.len()) as u64);
            header.packed <= after && header.unpacked <= header.packed.saturating_mul(ratio).saturating_add(LONGEST)
        });
        let Some(header) = header else {
            return Err(source.error(format!(
                "the page of column {column} at byte {at} is truncated, or states an impossible size"
            )));
        };
        has_dictionary |= header.kind == Some(DICTIONARY_PAGE);
        if header.encoding.is_some_and(|encoding| DICTIONARY_ENCODINGS.contains(&encoding)) && !has_dictionary {
            return Err(source.error(format!(
                "damaged: the page of column {column} at byte {at} refers to a dictionary that does not precede it"
            )));
        }
        most = most.max(header.unpacked);
        at += (bytes.len() - words.bytes.len()) as u64 + header.packed;
    }
    Ok(most)
}

/// The header of a page.
#[derive(Debug, PartialEq)]
struct PageHeader {
    /// The type of the page, if it is stated.
    kind: Option<i64>,
    /// The sizes of the page after decompression and in the file, in bytes.
    unpacked: u64,
    packed: u64,
    /// The encoding of the values of a data page.
    encoding: Option<i64>,
}

/// Bytes in Thrift's compact protocol.
struct Compact<'a> {
    bytes: &'a [u8],
}

impl Compact<'_> {
    /// Parses the header of a page.
    fn header(&mut self) -> Option<PageHeader> {
        let (mut kind, mut sizes, mut encoding) = (None, [None; 2], None);
        self.fields(|this, field, of| {
            match (field, of) {
                (1, 5) => kind = Some(this.zigzag()?),
                // Sizes are integers of 32 bits, at least 0.
                (2 | 3, 5) => sizes[field as usize - 2] = Some(u64::from(u32::try_from(this.zigzag()?).ok()?)),
                // The headers of data pages of version 1 and 2 state the encoding in different fields.
                (5 | 8, 12) => {
                    let place = if field == 5 { 2 } else { 4 };
                    this.fields(|this, field, of| {
                        if (field, of) == (place, 5) {
                            encoding = Some(this.zigzag()?);
                            return Some(());
                        }
                        this.skip(of, DEEPEST)
                    })?;
                }
                (_, of) => this.skip(of, DEEPEST)?,
            }
            Some(())
        })?;
        Some(PageHeader { kind, unpacked: sizes[0]?, packed: sizes[1]?, encoding })
    }

    /// Passes the number and the kind of each field of a structure to `take`, which parses or skips its value.
    fn fields(&mut self, mut take: impl FnMut(&mut Self, u64, u8) -> Option<()>) -> Option<()> {
        let mut field = 0u64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => self.zigzag()?.try_into().ok()?,
                delta => field + u64::from(delta),
            };
            take(self, field, head & 15)?;
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn step(&mut self, n: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Skips a value of a kind.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The kind of a boolean includes its value.
            1 | 2 => Some(()),
            3 => self.step(1),
            4..=6 => self.varint().map(drop),
            7 => self.step(8),
            8 => {
                let n = self.varint()?;
                self.step(n)
            }
            9 | 10 => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // Every value takes at least one byte, including booleans in a list.
                let own = if head & 15 <= 2 { 3 } else { head & 15 };
                (0..n).try_for_each(|_| self.skip(own, depth))
            }
            12 => loop {
                let head = self.byte()?;
                if head == 0 {
                    return Some(());
                }
                if head >> 4 == 0 {
                    self.zigzag()?;
                }
                self.skip(head & 15, depth)?;
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_pages() {
        // A data page: type 0, 24 bytes decompressed, 20 compressed, and a structure with a list.
        let bytes = [0x15, 0, 0x15, 48, 0x15, 40, 0x2c, 0x15, 6, 0x19, 0x25, 2, 4, 0, 0, 99];
        let mut words = Compact { bytes: &bytes };
        let header = PageHeader { kind: Some(0), unpacked: 24, packed: 20, encoding: None };
        assert_eq!((words.header(), words.bytes), (Some(header), &[99][..]));
        // Three values of a data page of version 1, by their place in a dictionary; and of version 2.
        for (bytes, encoding) in [
            (&[0x15, 0, 0x15, 48, 0x15, 40, 0x2c, 0x15, 6, 0x15, 16, 0, 0][..], 8),
            (&[0x15, 6, 0x15, 48, 0x15, 40, 0x5c, 0x15, 6, 0x35, 4, 0, 0], 2),
        ] {
            assert_eq!(Compact { bytes }.header().unwrap().encoding, Some(encoding));
        }
        assert_eq!(Compact { bytes: &bytes[..12] }.header(), None);
        // Endlessly nested structures, and a negative size.
        assert_eq!(Compact { bytes: &[0x1c; 1000] }.header(), None);
        assert_eq!(Compact { bytes: &[0x25, 1, 0x15, 2, 0] }.header(), None);
    }
}
