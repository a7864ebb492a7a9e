//! ASDF files: a tree in YAML, and blocks of bytes.
//!
//! In: a file. Out: the scalars of its tree, and its blocks, either plain or compressed with Blosc as Abacus does.
//! Cost: reading the tree, and the headers of blocks and of their containers. Source: the ASDF standard, "File
//! layout"; `BloscCompressor` of abacusutils: a compressed block is a sequence of containers, each preceded by its
//! length as a big-endian 32-bit number. MD5 sums of blocks are not checked.

use std::ops::Range;
use std::path::PathBuf;

use ropewalk::{Error, Result};

use crate::abacus::blosc::{Container, HEADER};
use crate::ecsv::values;
use crate::messages::shorten;
use crate::reading::Reading;
use crate::source::Source;

/// The first bytes of files and of blocks.
pub(super) const MAGIC: &[u8] = b"#ASDF";
const BLOCK: [u8; 4] = [0xd3, b'B', b'L', b'K'];
/// The number of bytes in which the end of the tree is searched.
const LONGEST_TREE: usize = 1 << 20;
/// The minimum size of a block's header in bytes, excluding its first six.
const MIN_HEADER: u16 = 48;

/// The tree and the blocks of a file.
pub(super) struct Asdf {
    pub path: PathBuf,
    /// The scalars of the tree, each preceded by the keys and list indices that lead to it.
    tree: Vec<(Vec<String>, String)>,
    blocks: Vec<Block>,
}

/// A block of bytes after the tree.
pub(super) struct Block {
    at: u64,
    /// Bytes in the file, and after decompression.
    used: u64,
    pub bytes: u64,
    code: [u8; 4],
    /// For a compressed block: each container, with the offset of its content in the decompressed block.
    containers: Vec<(u64, Container)>,
}

/// An array of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub datatype: String,
    pub big_endian: bool,
    pub shape: Vec<u64>,
    source: usize,
}

impl Asdf {
    pub(super) fn read(path: PathBuf, reading: &Reading<'_>) -> Result<Self> {
        let mut source = reading.open(&path)?;
        let start = source.prefix(LONGEST_TREE)?;
        let end = start.windows(5).position(|five| five == b"\n...\n");
        let Some(end) = end else {
            return Err(source.error("has no end of its tree (a line `...`) in the first megabyte"));
        };
        // YAML treats the lines before its first directive as comments.
        let text = String::from_utf8_lossy(&start[..end + 5]);
        let Some(tree) = values(&text) else {
            return Err(source.error("has a tree that is not YAML, is nested too deeply, or has too many entries"));
        };
        source.seek(end as u64 + 5)?;
        let mut blocks = vec![];
        while source.left() >= 6 {
            let at = source.at();
            let [a, b, c, d, high, low] = source.array()?;
            if [a, b, c, d] != BLOCK {
                break;
            }
            blocks.push(Block::read(&mut source, at, u16::from_be_bytes([high, low]))?);
        }
        Ok(Self { path, tree, blocks })
    }

    /// Returns the scalar at this path of keys.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        let is = |(path, _): &&(Vec<String>, String)| path.iter().map(String::as_str).eq(keys.iter().copied());
        self.tree.iter().find(is).map(|(_, value)| value.as_str())
    }

    /// Returns the number at this path of keys, if there is such an entry.
    ///
    /// Errors: the entry is not a finite number.
    pub(super) fn named_number(&self, keys: &[&str]) -> Result<Option<f64>> {
        let Some(text) = self.text(keys) else { return Ok(None) };
        match text.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => {
                let (name, text) = (keys.join("."), shorten(text.as_bytes()));
                Err(Error::file(&self.path, format!("has {name} '{text}', which is not a finite number")))
            }
        }
    }

    /// Returns the names of the entries under a key.
    pub(super) fn names(&self, key: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .tree
            .iter()
            .filter(|(path, _)| path.len() > 1 && path[0] == key)
            .map(|(path, _)| path[1].as_str())
            .collect();
        names.dedup();
        names
    }

    /// Returns the array with this name in the tree's `data`.
    pub(super) fn array(&self, name: &str) -> Option<Array> {
        let value = |key: &str| self.text(&["data", name, key]);
        let shape = (0..4).map_while(|at| self.text(&["data", name, "shape", &at.to_string()])?.parse().ok()).collect();
        let (source, datatype) = (value("source")?.parse().ok()?, value("datatype")?.to_string());
        Some(Array { datatype, big_endian: value("byteorder") == Some("big"), shape, source })
    }

    /// Returns the block of an array with `row` bytes per row.
    pub(super) fn block(&self, name: &str, array: &Array, row: u64, reading: &Reading<'_>) -> Result<Block> {
        let refuse = |message: String| Error::file(&self.path, format!("array {name} {message}"));
        let Some(block) = self.blocks.get(array.source) else {
            return Err(refuse(format!("is in block {}, but the file has {} blocks", array.source, self.blocks.len())));
        };
        let rows = array.shape.first().copied().unwrap_or(0);
        let bytes = u128::from(rows) * u128::from(row);
        if bytes > u128::from(block.bytes) {
            return Err(refuse(format!("has {rows} rows of {row} bytes, but its block has {} bytes", block.bytes)));
        }
        match &block.code {
            [0, 0, 0, 0] if block.bytes > block.used => {
                Err(refuse(format!("has a block that must have {} bytes, got {}", block.bytes, block.used)))
            }
            [0, 0, 0, 0] => Ok(Block { containers: vec![], ..*block }),
            b"blsc" => block
                .unpacked(&mut reading.open(&self.path)?)
                .map_err(|message| refuse(format!("cannot be decompressed: {message}"))),
            code => Err(refuse(format!(
                "is compressed by {}; it must be uncompressed or compressed by Blosc (blsc)",
                code.escape_ascii()
            ))),
        }
    }
}

impl Block {
    fn read(source: &mut Source, at: u64, header: u16) -> Result<Self> {
        if header < MIN_HEADER {
            return Err(source.error(format!(
                "the block at byte {at} has a header of {header} bytes; it must have at least {MIN_HEADER}"
            )));
        }
        let after = source.at() + u64::from(header);
        let flags: [u8; 4] = source.array()?;
        let code = source.array()?;
        let [allocated, used, bytes] = [source.array()?, source.array()?, source.array()?].map(u64::from_be_bytes);
        if flags[3] & 1 != 0 {
            return Err(source.error(format!("the block at byte {at} is a streamed block, which is not supported")));
        }
        let there = source.len().saturating_sub(after);
        if allocated > there || used > allocated {
            return Err(source.error(format!(
                "truncated: expected {used} of {allocated} bytes in the block at byte {at}, got {there}"
            )));
        }
        source.seek(after + allocated)?;
        Ok(Self { at: after, used, bytes, code, containers: vec![] })
    }

    /// Returns the same block with its list of containers.
    fn unpacked(&self, source: &mut Source) -> std::result::Result<Self, String> {
        let error_text = |error: Error| error.to_string();
        let (mut at, end, mut start) = (self.at, self.at + self.used, 0);
        let mut containers = vec![];
        while at < end {
            if end - at < 4 + HEADER {
                return Err(format!("expected a container at byte {at}, got {} bytes", end - at));
            }
            source.seek(at).map_err(error_text)?;
            let size = u64::from(source.u32(true).map_err(error_text)?);
            if size > end - at - 4 {
                return Err(format!("expected a container of {size} bytes at byte {at}, got {}", end - at - 4));
            }
            let container = Container::read(source, size)?;
            containers.push((start, container));
            start += container.bytes;
            at += 4 + size;
        }
        if start != self.bytes {
            return Err(format!("expected containers of {} bytes in total, got {start}", self.bytes));
        }
        Ok(Self { containers, ..*self })
    }

    /// Reads a range of the decompressed content.
    pub(super) fn fill(&self, source: &mut Source, range: Range<u64>, out: &mut [u8]) -> Result<()> {
        if self.containers.is_empty() {
            source.seek(self.at + range.start)?;
            return source.fill(out);
        }
        let first = self.containers.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        let mut out = out;
        for (start, container) in &self.containers[first..] {
            let own = range.start.max(*start)..range.end.min(start + container.bytes);
            if own.is_empty() {
                if *start >= range.end {
                    break;
                }
                continue;
            }
            let (place, rest) = out.split_at_mut((own.end - own.start) as usize);
            let within = own.start - start..own.end - start;
            let filled = container.fill(source, within, place);
            filled.map_err(|message| source.error(format!("cannot be decompressed: {message}")))?;
            out = rest;
        }
        Ok(())
    }
}
