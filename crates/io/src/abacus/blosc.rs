//! Containers of Blosc version 1: blocks that are shuffled and compressed independently.
//!
//! In: a container in a file, and a range of its decompressed content. Out: these bytes. Cost: decompression of the
//! blocks that overlap the range. Source: "Blosc chunk format" (README_CHUNK_FORMAT.rst of c-blosc). Masui et al.
//! 2015 for the bit shuffle. RFC 8878 for frames of Zstandard.

use std::io::Read;
use std::ops::Range;

use crate::source::Source;

/// Bytes of a container's header. The offsets of the blocks follow it.
pub(super) const HEADER: u64 = 16;
/// The maximum size of a block in bytes. Writers choose blocks that fit into a cache.
const LARGEST_BLOCK: u64 = 1 << 26;
/// The maximum compression ratio that is accepted. Real data hardly ever exceed it.
const MAX_RATIO: u64 = 256;

const SHUFFLE: u8 = 1;
const COPY: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const WHOLE: u8 = 16;

/// A container of compressed blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    /// The byte offset of the container in the file.
    at: u64,
    flags: u8,
    word: usize,
    pub bytes: u64,
    block: u64,
    pub compressed: u64,
}

type TextResult<T> = std::result::Result<T, String>;

fn error_text(error: ropewalk::Error) -> String {
    error.to_string()
}

impl Container {
    /// Reads the header of the container at the position of `source`. The container has at most `room` bytes.
    pub(super) fn read(source: &mut Source, room: u64) -> TextResult<Self> {
        let at = source.at();
        if room < HEADER {
            return Err(format!("expected a header of {HEADER} bytes at byte {at}, got {room}"));
        }
        let [version, _, flags, word, header @ ..]: [u8; HEADER as usize] = source.array().map_err(error_text)?;
        let number = |i: usize| u64::from(u32::from_le_bytes(std::array::from_fn(|k| header[4 * i + k])));
        let (bytes, block, compressed) = (number(0), number(1), number(2));
        if !(1..=2).contains(&version) {
            return Err(format!(
                "version {version} of Blosc's format at byte {at} is not supported; it must be 1 or 2"
            ));
        }
        if compressed < HEADER || compressed > room {
            return Err(format!("expected {compressed} bytes at byte {at}, got {room}"));
        }
        if bytes > compressed * MAX_RATIO || block > LARGEST_BLOCK || (block == 0 && bytes > 0) {
            return Err(format!(
                "{compressed} bytes at byte {at} cannot decompress to {bytes} bytes in blocks of {block}"
            ));
        }
        let own = Self { at, flags, word: usize::from(word.max(1)), bytes, block, compressed };
        let places = if flags & COPY != 0 { bytes } else { 4 * own.blocks() };
        if HEADER + places > compressed {
            return Err(format!("{compressed} bytes at byte {at} are too few for {bytes} bytes in blocks of {block}"));
        }
        Ok(own)
    }

    fn blocks(&self) -> u64 {
        self.bytes.div_ceil(self.block.max(1))
    }

    /// Reads the range `range` of the decompressed content into `out`.
    pub(super) fn fill(&self, source: &mut Source, range: Range<u64>, out: &mut [u8]) -> TextResult<()> {
        if self.flags & COPY != 0 {
            source.seek(self.at + HEADER + range.start).map_err(error_text)?;
            return source.fill(out).map_err(error_text);
        }
        let mut out = out;
        for block in range.start / self.block..range.end.div_ceil(self.block) {
            let (from, to) = (block * self.block, ((block + 1) * self.block).min(self.bytes));
            let bytes = self.block(source, block, (to - from) as usize)?;
            let own = range.start.max(from)..range.end.min(to);
            let (place, rest) = out.split_at_mut((own.end - own.start) as usize);
            place.copy_from_slice(&bytes[(own.start - from) as usize..(own.end - from) as usize]);
            out = rest;
        }
        Ok(())
    }

    /// Reads and decompresses a block of `bytes` decompressed bytes.
    fn block(&self, source: &mut Source, block: u64, bytes: usize) -> TextResult<Vec<u8>> {
        source.seek(self.at + HEADER + 4 * block).map_err(error_text)?;
        let start = u64::from(source.u32(false).map_err(error_text)?);
        if start > self.compressed {
            return Err(format!("block {block} at byte {} begins beyond its end", self.at));
        }
        source.seek(self.at + start).map_err(error_text)?;
        // The first bytes of all words are compressed together, then the second ones, and so on, except in a shorter
        // last block.
        let is_split = self.flags & WHOLE == 0 && self.word <= 16 && self.block as usize / self.word >= 128;
        let parts = if is_split && bytes as u64 == self.block { self.word } else { 1 };
        let part = bytes / parts;
        let mut shuffled = vec![0; bytes];
        for out in shuffled.chunks_exact_mut(part.max(1)).take(parts) {
            let size = u64::from(source.u32(false).map_err(error_text)?);
            if source.at() + size > self.at + self.compressed {
                return Err(format!("block {block} at byte {} goes beyond its end", self.at));
            }
            if size == part as u64 {
                source.fill(out).map_err(error_text)?;
                continue;
            }
            let mut packed = vec![0; size as usize];
            source.fill(&mut packed).map_err(error_text)?;
            self.unpack(&packed, out).map_err(|error| format!("block {block} at byte {}: {error}", self.at))?;
        }
        let is_shuffled = self.flags & SHUFFLE != 0 && self.word > 1;
        Ok(match (is_shuffled, self.flags & BIT_SHUFFLE != 0) {
            (true, _) => bytes_in_order(&shuffled, self.word),
            (_, true) => bits_in_order(shuffled, self.word),
            _ => shuffled,
        })
    }

    fn unpack(&self, packed: &[u8], out: &mut [u8]) -> TextResult<()> {
        let due = out.len();
        let n = match self.flags >> 5 {
            1 => lz4_flex::block::decompress_into(packed, out).map_err(|error| error.to_string())?,
            3 => {
                let mut inflated = flate2::read::ZlibDecoder::new(packed);
                inflated.read_exact(out).map_err(|error| error.to_string())?;
                due
            }
            4 => {
                let window = zstd_window(packed).ok_or("is not a frame of Zstandard")?;
                if window > (due as u64).max(1 << 23) {
                    return Err(format!("needs {window} bytes to decompress {due}"));
                }
                ruzstd::decoding::FrameDecoder::new().decode_all(packed, out).map_err(|error| error.to_string())?
            }
            other => {
                let name = ["BloscLZ", "", "Snappy"].get(usize::from(other)).copied().unwrap_or("an unknown code");
                return Err(format!("is compressed by {name}; it must be compressed by Zstandard, LZ4 or zlib"));
            }
        };
        if n == due { Ok(()) } else { Err(format!("must decompress to {due} bytes, got {n}")) }
    }
}

/// Returns the memory that decompressing a frame of Zstandard needs (its window size).
fn zstd_window(frame: &[u8]) -> Option<u64> {
    let rest = frame.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (&descriptor, rest) = rest.split_first()?;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    if descriptor & 0x20 == 0 {
        let window = u64::from(*rest.first()?);
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * (window & 7));
    }
    let size = match descriptor >> 6 {
        0 => 1,
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let content = rest.get(dictionary..dictionary + size)?;
    let value = content.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Some(if size == 2 { value + 256 } else { value })
}

/// Reverts a byte shuffle, which stores the first bytes of all words, then all second bytes, and so on.
fn bytes_in_order(shuffled: &[u8], word: usize) -> Vec<u8> {
    let words = shuffled.len() / word;
    let mut out = vec![0; shuffled.len()];
    for (place, bytes) in shuffled[..words * word].chunks_exact(words.max(1)).enumerate() {
        for (i, &byte) in bytes.iter().enumerate() {
            out[i * word + place] = byte;
        }
    }
    out[words * word..].copy_from_slice(&shuffled[words * word..]);
    out
}

/// Reverts a bit shuffle, which stores the first bits of all words, eight per byte, then all second bits, and so on.
/// Returns the input if the number of words is not a multiple of eight.
fn bits_in_order(shuffled: Vec<u8>, word: usize) -> Vec<u8> {
    let words = shuffled.len() / word;
    if !words.is_multiple_of(8) {
        return shuffled;
    }
    let mut out = vec![0; shuffled.len()];
    for (bit, bytes) in shuffled[..words * word].chunks_exact((words / 8).max(1)).enumerate() {
        let (place, bit) = (bit / 8, bit % 8);
        for (i, &byte) in bytes.iter().enumerate() {
            for k in 0..8 {
                out[(8 * i + k) * word + place] |= (byte >> k & 1) << bit;
            }
        }
    }
    out[words * word..].copy_from_slice(&shuffled[words * word..]);
    out
}
