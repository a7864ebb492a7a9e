//! The pages of a column chunk: whether what they promise can be true, before memory is given to it.
//!
//! In: where a chunk lies in a file. Out: the largest size of an unpacked page by the headers, or an error if a page is cut, or promises
//! to unpack to more than its bytes can.
//! Cost: the headers of pages.
//! Source: parquet.thrift, PageHeader; "Thrift compact protocol".

use parquet::basic::Compression;

use ropewalk::Result;

use crate::source::Source;

/// Bytes of a header that are looked at; its statistics may be long.
const LONGEST: u64 = 1 << 16;
/// The largest ratio of Deflate; that of Snappy and LZ4 is smaller.
const MOST_RATIO: u64 = 1032;
/// The largest ratio of Zstandard: 128 KiB for a block of four bytes. Brotli has no bound, and the same limit.
const MOST_ZSTD_RATIO: u64 = 1 << 15;
/// Structures and lists within each other.
const DEEPEST: u32 = 8;

/// The largest ratio of a compression.
pub(super) fn most_ratio(compression: Compression) -> u64 {
    match compression {
        Compression::ZSTD(_) | Compression::BROTLI(_) => MOST_ZSTD_RATIO,
        _ => MOST_RATIO,
    }
}

/// Looks at the pages in `length` bytes from `start` on, which unpack to at most `ratio` times as many bytes. Returns the most bytes that
/// one of them unpacks to by its header.
pub(super) fn check(source: &mut Source, start: u64, length: u64, ratio: u64, column: &str) -> Result<u64> {
    let end = start.checked_add(length).filter(|&end| end <= source.len());
    let Some(end) = end else {
        let there = source.len();
        return Err(source.error(format!(
            "truncated: column {column} has {length} bytes from byte {start} on, the file has {there} in all"
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
            return Err(source
                .error(format!("the page of column {column} at byte {at} is cut, or promises what it cannot hold")));
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
    /// Bytes of a page when it is unpacked, and as it is in the file, after its header has been stepped over.
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
                // Sizes are whole numbers of 32 bits from 0.
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

    /// Steps over a value of a kind.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // Truth is in the kind.
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
                // Values of a byte at least, which truth in a list has, too.
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
        // A data page: type 0, 24 bytes unpacked, 20 packed, and a structure with a list.
        let bytes = [0x15, 0, 0x15, 48, 0x15, 40, 0x2c, 0x15, 6, 0x19, 0x25, 2, 4, 0, 0, 99];
        let mut words = Compact { bytes: &bytes };
        assert_eq!((words.header(), words.bytes), (Some((24, 20)), &[99][..]));
        assert_eq!(Compact { bytes: &bytes[..12] }.header(), None);
        // Structures within structures without end, and a size below 0.
        assert_eq!(Compact { bytes: &[0x1c; 1000] }.header(), None);
        assert_eq!(Compact { bytes: &[0x25, 1, 0x15, 2, 0] }.header(), None);
    }
}
