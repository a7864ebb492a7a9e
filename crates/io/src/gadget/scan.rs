//! The blocks of Gadget-2 binary files: their locations, and checks that they are complete and that the files of a
//! snapshot agree.

use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::gadget::header::Layout;
use crate::gadget_header::Header;
use crate::reading::Reading;
use crate::source::Source;
use crate::split_files::{absent, missing, present};

/// The blocks that are read, in their order in the file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    Pos,
    Vel,
    Id,
    Mass,
}

impl Field {
    const ALL: [Self; 4] = [Self::Pos, Self::Vel, Self::Id, Self::Mass];

    fn name(self) -> &'static str {
        match self {
            Self::Pos => "POS",
            Self::Vel => "VEL",
            Self::Id => "ID",
            Self::Mass => "MASS",
        }
    }

    /// Values per particle.
    pub(super) fn width(self) -> u64 {
        match self {
            Self::Pos | Self::Vel => 3,
            Self::Id | Self::Mass => 1,
        }
    }
}

/// The location of a block's data in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub at: u64,
    /// Bytes per value: 4 or 8.
    pub bytes: u64,
}

/// One scanned file.
pub(super) struct SnapshotFile {
    pub path: PathBuf,
    pub layout: Layout,
    pub header: Header,
    /// The number of particles of each type in this file.
    pub here: [u64; 6],
    /// Indexed by `Field`.
    blocks: [Option<Block>; 4],
    /// The note on entries of the header that are not used.
    pub flags: Option<String>,
    unread: UnreadData,
}

/// The data between and after the blocks that are read.
#[derive(Default)]
struct UnreadData {
    /// The labels of the blocks.
    labels: Vec<String>,
    /// The number of blocks without labels.
    nameless: usize,
    /// The number of bytes that are not complete blocks.
    bytes: u64,
}

impl SnapshotFile {
    pub(super) fn block(&self, field: Field) -> Option<Block> {
        self.blocks[field as usize]
    }

    /// Returns the number of values of type `t` in the block of `field`.
    pub(super) fn values(&self, field: Field, t: usize) -> u64 {
        match field {
            Field::Mass if self.header.mass_table[t] != 0.0 => 0,
            _ => self.here[t] * field.width(),
        }
    }

    /// Returns the number of values in the block of `field`.
    fn all_values(&self, field: Field) -> u64 {
        (0..6).map(|t| self.values(field, t)).sum()
    }
}

/// The maximum number of blocks without labels that are counted.
const MAX_BLOCKS: usize = 1000;

/// Returns notes on the data that no reader uses, of all parts.
pub(super) fn unread(parts: &[SnapshotFile]) -> Vec<String> {
    let mut labels: Vec<&str> = vec![];
    for label in parts.iter().flat_map(|part| &part.unread.labels) {
        if !labels.contains(&label.as_str()) {
            labels.push(label);
        }
    }
    let mut notes = vec![];
    if !labels.is_empty() {
        notes.push(format!("blocks that are not read: {}", labels.join(", ")));
    }
    let nameless = parts.iter().map(|part| part.unread.nameless).max().unwrap_or(0);
    if nameless > 0 {
        notes.push(format!("{nameless} blocks without names are not read"));
    }
    if let Some(part) = parts.iter().find(|part| part.unread.bytes > 0) {
        let (bytes, path) = (part.unread.bytes, part.path.display());
        notes.push(format!("{bytes} bytes at the end of {path} are not a complete block and are not read"));
    }
    notes
}

/// Returns the name of part `k` of the split snapshot `base`.
pub(super) fn part(base: &Path, k: u32) -> PathBuf {
    let mut name = base.as_os_str().to_os_string();
    name.push(format!(".{k}"));
    PathBuf::from(name)
}

/// Returns the bytes per value of `field`, if all parts with such values agree; `None` if no part has the block.
pub(super) fn bytes_per_value(parts: &[SnapshotFile], field: Field) -> Result<Option<u64>> {
    let mut owners = parts.iter().filter(|part| part.all_values(field) > 0);
    let Some(first) = owners.next() else { return Ok(None) };
    let expected = first.block(field).map(|block| block.bytes);
    for part in owners {
        let found = part.block(field).map(|block| block.bytes);
        if found != expected {
            let say = |bytes: Option<u64>| bytes.map_or("missing".to_string(), |b| format!("{} bits wide", 8 * b));
            let (name, here, there) = (field.name(), say(found), say(expected));
            let message = format!("block {name} is {here} in this file, but {there} in {}", first.path.display());
            return Err(Error::file(&part.path, message));
        }
    }
    Ok(expected)
}

/// Scans all files of the snapshot that `path` names or belongs to, and checks that they agree. Returns the first
/// file, and the others.
pub(super) fn scan_all(path: &Path, reading: &Reading<'_>) -> Result<(SnapshotFile, Vec<SnapshotFile>)> {
    let mut given = scan(path, reading)?;
    let files = given.header.files;
    if reading.options.single_part && files > 1 {
        reading.mark_single_file(files);
        given.header.counts = given.here;
        return Ok((given, Vec::new()));
    }
    if files == 1 {
        check_counts(&given, &[])?;
        return Ok((given, Vec::new()));
    }
    let number: Option<u32> = path.extension().and_then(|e| e.to_str()?.parse().ok());
    if number.is_none_or(|k| k >= files) {
        let message =
            format!("is one of {files} files of a snapshot, but its name does not end in .0 to .{}", files - 1);
        return Err(Error::file(path, message));
    }
    let base = path.with_extension("");
    let first = scan(&part(&base, 0), reading)?;
    let mut others = Vec::new();
    for k in 1..files {
        let name = part(&base, k);
        if !name.exists() {
            return Err(Error::file(name, missing(files)));
        }
        let other = scan(&name, reading)?;
        first.header.check_same(&other.header, &name)?;
        others.push(other);
    }
    check_counts(&first, &others)?;
    Ok((first, others))
}

/// Scans the files of a snapshot that exist. If none is missing, returns the files of [`scan_all`]; otherwise only
/// the file `path`, and a note about the missing ones.
pub(super) fn scan_present(
    path: &Path,
    reading: &Reading<'_>,
) -> Result<(SnapshotFile, Vec<SnapshotFile>, Option<String>)> {
    let given = scan(path, reading)?;
    let (files, base) = (given.header.files, path.with_extension(""));
    let name = |k: u32| part(&base, k);
    match absent(files, &present(files, &name), &name) {
        Some(note) if files > 1 => Ok((given, Vec::new(), Some(note))),
        _ => scan_all(path, reading).map(|(first, others)| (first, others, None)),
    }
}

/// Returns an error if the files do not hold the total numbers of particles in their headers.
fn check_counts(first: &SnapshotFile, others: &[SnapshotFile]) -> Result<()> {
    for (t, &promised) in first.header.counts.iter().enumerate() {
        let found: u64 = first.here[t] + others.iter().map(|part| part.here[t]).sum::<u64>();
        if found != promised {
            let files = others.len() + 1;
            let message = format!(
                "its header declares {promised} particles of type {t} in total, but its {files} file(s) hold {found}"
            );
            return Err(Error::file(&first.path, message));
        }
    }
    Ok(())
}

/// Locates the blocks of one file, and checks that they are complete and have the lengths that follow from the
/// header.
fn scan(path: &Path, reading: &Reading<'_>) -> Result<SnapshotFile> {
    let mut source = reading.open(path)?;
    let Some(layout) = Layout::recognises_prefix(&source.prefix(4096)?) else {
        return Err(source.error("is not a Gadget snapshot: it must begin with the length of a header or with HEAD"));
    };
    if layout.labels {
        label(&mut source, layout)?;
    }
    let (at, bytes) = record(&mut source, "HEAD", layout)?;
    if !Layout::is_header(bytes) {
        let message =
            format!("block HEAD has {bytes} bytes; it must have 256 (Gadget-2), or 48 and 24 per type (GADGET-4)");
        return Err(source.error(message));
    }
    source.seek(at)?;
    let mut flags = None;
    let (header, here) = if bytes == 256 {
        let raw = source.array()?;
        flags = Header::unused(raw, layout.big_endian);
        Header::decode(raw, layout.big_endian)
    } else {
        let mut raw = vec![0; bytes as usize];
        source.fill(&mut raw)?;
        Header::decode_long(&raw, layout.big_endian, source.len()).map_err(|message| source.error(message))?
    };
    header.check(path)?;
    source.seek(at + bytes + 4)?;

    let mut part = SnapshotFile {
        path: path.to_path_buf(),
        layout,
        header,
        here,
        blocks: [None; 4],
        flags,
        unread: UnreadData::default(),
    };
    if layout.labels {
        while source.left() > 0 {
            let name = label(&mut source, layout)?;
            let (at, bytes) = record(&mut source, &name, layout)?;
            if let Some(field) = Field::ALL.into_iter().find(|field| field.name() == name) {
                place(&mut part, &source, field, at, bytes)?;
            } else {
                part.unread.labels.push(name);
            }
        }
    } else {
        // Blocks without values are not written.
        for field in Field::ALL.into_iter().filter(|&field| part.all_values(field) > 0).collect::<Vec<_>>() {
            if source.left() == 0 {
                break;
            }
            let (at, bytes) = record(&mut source, field.name(), layout)?;
            place(&mut part, &source, field, at, bytes)?;
        }
        let mut after = source.at();
        while source.left() > 0 && part.unread.nameless < MAX_BLOCKS && record(&mut source, "", layout).is_ok() {
            part.unread.nameless += 1;
            after = source.at();
        }
        part.unread.bytes = source.len() - after;
    }
    let particles = part.all_values(Field::Id);
    if particles > 0 && part.block(Field::Pos).is_none() {
        let len = source.len();
        let message =
            format!("its header declares {particles} particles, but the file of {len} bytes has no block POS");
        return Err(source.error(message));
    }
    Ok(part)
}

/// Records the location of the block of `field`, if its length is valid.
fn place(part: &mut SnapshotFile, source: &Source, field: Field, at: u64, bytes: u64) -> Result<()> {
    let (name, n) = (field.name(), part.all_values(field));
    if part.block(field).is_some() {
        return Err(source.error(format!("block {name} occurs twice, again at byte {at}")));
    }
    let wide = match bytes {
        // This case includes a block without values, which is not read again.
        bytes if bytes == 4 * n => 4,
        bytes if bytes == 8 * n => 8,
        _ => {
            let particles = n / field.width();
            return Err(source.error(format!(
                "block {name} at byte {at} has {bytes} bytes; for the header's {particles} particles it must have {} (32 bits) or {} (64 bits)",
                4 * n,
                8 * n
            )));
        }
    };
    part.blocks[field as usize] = Some(Block { at, bytes: wide });
    Ok(())
}

/// Skips a label record, and returns the label without the blanks that pad it to four letters.
fn label(source: &mut Source, layout: Layout) -> Result<String> {
    let (at, bytes) = record(source, "label", layout)?;
    if bytes != 8 {
        return Err(source.error(format!("the block label at byte {at} must have 8 bytes, got {bytes}")));
    }
    let after = source.at();
    source.seek(at)?;
    let letters: [u8; 4] = source.array()?;
    source.seek(after)?;
    Ok(letters.escape_ascii().to_string().trim_end().to_string())
}

/// Skips a record, and returns the byte offset and the length of its data.
fn record(source: &mut Source, name: &str, layout: Layout) -> Result<(u64, u64)> {
    let (start, left) = (source.at(), source.left());
    if left < 4 {
        let message = format!("truncated: expected 4 bytes for the marker of block {name} at byte {start}, got {left}");
        return Err(source.error(message));
    }
    let bytes = source.u32(layout.big_endian)?;
    let (at, left) = (source.at(), source.left());
    let wanted = u64::from(bytes) + 4;
    if left < wanted {
        return Err(source.error(format!(
            "truncated: expected {bytes} bytes and a marker of 4 in block {name} at byte {start}, got {left}"
        )));
    }
    source.seek(at + u64::from(bytes))?;
    let closing = source.u32(layout.big_endian)?;
    if closing != bytes {
        return Err(source.error(format!(
            "the markers of block {name} at byte {start} disagree: {bytes} bytes before it, {closing} after it"
        )));
    }
    Ok((at, u64::from(bytes)))
}
