//! The pages of a column chunk, and checks that their stated sizes are possible before memory is allocated.
//!
//! In: the location of a chunk in a file. Out: the maximum decompressed size of a page according to the headers. It
//! is an error if a page is truncated, or states a decompressed size that its bytes cannot produce. Cost: reading the
//! headers of pages. Source: parquet.thrift, PageHeader; "Thrift compact protocol".

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
    let (mut at, mut most) = (start, 0);
    while at < end {
        source.seek(at)?;
        let mut bytes = vec![0; (end - at).min(LONGEST) as usize];
        source.fill(&mut bytes)?;
        let mut words = Compact { bytes: &bytes };
        let header = words.header().filter(|&(unpacked, packed)| {
            let after = (end - at).saturating_sub((bytes.len() - words.bytes.len()) as u64);
            packed <= after && unpacked <= packed.saturating_mul(ratio).saturating_add(LONGEST)
        });
        let Some((unpacked, packed)) = header else {
            return Err(source.error(format!(
                "the page of column {column} at byte {at} is truncated, or states an impossible size"
            )));
        };
        most = most.max(unpacked);
        at += (bytes.len() - words.bytes.len()) as u64 + packed;
    }
    Ok(most)
}

/// Bytes in Thrift's compact protocol.
struct Compact<'a> {
    bytes: &'a [u8],
}

impl Compact<'_> {
    /// Parses the header of a page. Returns the decompressed size of the page, and its size in the file.
    fn header(&mut self) -> Option<(u64, u64)> {
        let (mut sizes, mut field) = ([None; 2], 0u64);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some((sizes[0]?, sizes[1]?));
            }
            field = match head >> 4 {
                0 => self.zigzag()?.try_into().ok()?,
                delta => field + u64::from(delta),
            };
            match (field, head & 15) {
                // Sizes are integers of 32 bits, at least 0.
                (2 | 3, 5) => sizes[field as usize - 2] = Some(u64::from(u32::try_from(self.zigzag()?).ok()?)),
                (_, kind) => self.skip(kind, DEEPEST)?,
            }
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
        assert_eq!((words.header(), words.bytes), (Some((24, 20)), &[99][..]));
        assert_eq!(Compact { bytes: &bytes[..12] }.header(), None);
        // Endlessly nested structures, and a negative size.
        assert_eq!(Compact { bytes: &[0x1c; 1000] }.header(), None);
        assert_eq!(Compact { bytes: &[0x25, 1, 0x15, 2, 0] }.header(), None);
    }
}
