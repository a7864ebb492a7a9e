//! Gadget-2 binary snapshots: finding the blocks, then reading them.
//!
//! - in: one file or the parts of a split snapshot; `SnapFormat` 1 or 2, either byte order, any widths
//! - out: a [`Snapshot`](crate::io::Snapshot) of all particles, or of one type
//! - cost: every file is scanned first, headers and markers only, so that what is read is known to be there
//! - layout: Springel, Users guide for GADGET-2, section 6

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::io::gadget_header::{Header, Layout};
use crate::io::source::{self, Source, Word};
use crate::io::{Error, Masses, Points, ReadOptions, Result, Snapshot, Table};
use crate::units::{KnownUnits, VelocityUnit};

/// The blocks that are read, in the order of the file.
#[derive(Debug, Clone, Copy)]
enum Field {
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
    fn width(self) -> u64 {
        match self {
            Self::Pos | Self::Vel => 3,
            Self::Id | Self::Mass => 1,
        }
    }
}

/// A block's data within its file.
#[derive(Debug, Clone, Copy)]
struct Block {
    at: u64,
    /// Bytes per value: 4 or 8.
    bytes: u64,
}

/// One scanned file.
struct Part {
    path: PathBuf,
    layout: Layout,
    header: Header,
    /// Particles of each type in this file.
    here: [u64; 6],
    /// By `Field`.
    blocks: [Option<Block>; 4],
}

impl Part {
    fn block(&self, field: Field) -> Option<Block> {
        self.blocks[field as usize]
    }

    /// Values in the block of `field` that belong to the types `types`.
    fn values(&self, field: Field, types: Range<usize>) -> u64 {
        let stored = |&(t, _): &(usize, u64)| match field {
            Field::Mass => types.contains(&t) && self.header.mass_table[t] == 0.0,
            _ => types.contains(&t),
        };
        self.here.into_iter().enumerate().filter(stored).map(|(_, n)| n * field.width()).sum()
    }

    /// The file, at the first value of `field` for the types `types`.
    fn open(&self, block: Block, field: Field, types: &Range<usize>) -> Result<Source> {
        let mut source = Source::open(&self.path)?;
        source.seek(block.at + self.values(field, 0..types.start) * block.bytes)?;
        Ok(source)
    }
}

/// The name of part `k` of the split snapshot `base`.
pub(super) fn part(base: &Path, k: u32) -> PathBuf {
    let mut name = base.as_os_str().to_os_string();
    name.push(format!(".{k}"));
    PathBuf::from(name)
}

/// The header of the snapshot that `path` is, or is part of.
pub(super) fn read_header(path: &Path) -> Result<Header> {
    Ok(scan_all(path)?.0.header)
}

/// The particles of the snapshot that `path` is, or is part of.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Snapshot> {
    let (first, others) = scan_all(path)?;
    let (header, format) = (first.header.clone(), first.layout.format());
    let types = match options.particle_type {
        None => 0..6,
        Some(t) if header.counts.get(usize::from(t)).is_some_and(|&n| n > 0) => usize::from(t)..usize::from(t) + 1,
        Some(t) => {
            let present = header.types_present();
            return Err(Error::file(path, format!("has no particles of type {t}; types present: {present}")));
        }
    };
    let parts: Vec<Part> = std::iter::once(first).chain(others).collect();

    let velocity_unit = options.velocity_unit.unwrap_or(header.velocity_unit());
    let factor = options.velocity_factor(velocity_unit, Some(&header)).map_err(|error| Error::file(path, error))?;
    let velocity = Some(VelocityUnit { is_internal: false, ..velocity_unit });
    let header_redshift = header.redshift;
    // A block of masses that is broken is told where it is needed.
    let matter = total_mass(&parts).ok().flatten();
    let none = Points::F32(Table { dim: 3, data: Vec::new() });
    Ok(Snapshot {
        points: vectors(&parts, Field::Pos, &types, 1.0)?.unwrap_or(none),
        velocities: vectors(&parts, Field::Vel, &types, factor)?,
        ids: ids(&parts, &types)?,
        masses: masses(&parts, &header, &types)?,
        matter,
        units: KnownUnits { velocity, ..KnownUnits::default() },
        box_size: (header.box_size > 0.0).then_some(header.box_size),
        header: Some(header),
        format,
        redshift: Some(header_redshift),
        columns: Vec::new(),
    })
}

/// The mass of all particles of all types, read in chunks; `None` where some have none.
fn total_mass(parts: &[Part]) -> Result<Option<f64>> {
    let mut total = 0.0;
    for part in parts {
        for t in (0..6).filter(|&t| part.here[t] > 0) {
            let (n, each, this) = (part.here[t], part.header.mass_table[t], t..t + 1);
            if each != 0.0 {
                total += each * n as f64;
                continue;
            }
            let Some(block) = part.block(Field::Mass) else { return Ok(None) };
            let mut source = part.open(block, Field::Mass, &this)?;
            let big_endian = part.layout.big_endian;
            if block.bytes == 4 {
                source
                    .words(n, big_endian, |chunk: &[f32]| total += chunk.iter().map(|&m| f64::from(m)).sum::<f64>())?;
            } else {
                source.words(n, big_endian, |chunk: &[f64]| total += chunk.iter().sum::<f64>())?;
            }
        }
    }
    Ok((total > 0.0).then_some(total))
}

/// Positions or velocities, times `unit`; `None` if there is no such block.
fn vectors(parts: &[Part], field: Field, types: &Range<usize>, unit: f64) -> Result<Option<Points>> {
    Ok(match bytes_per_value(parts, field)? {
        None => None,
        Some(4) => {
            let data = gather(parts, field, types, |x: f32| (f64::from(x) * unit) as f32)?;
            Some(Points::F32(Table { dim: 3, data }))
        }
        Some(_) => {
            let data = gather(parts, field, types, |x: f64| x * unit)?;
            Some(Points::F64(Table { dim: 3, data }))
        }
    })
}

fn ids(parts: &[Part], types: &Range<usize>) -> Result<Option<Vec<u64>>> {
    Ok(match bytes_per_value(parts, Field::Id)? {
        None => None,
        Some(4) => Some(gather(parts, Field::Id, types, |id: u32| u64::from(id))?),
        Some(_) => Some(gather(parts, Field::Id, types, |id: u64| id)?),
    })
}

fn masses(parts: &[Part], header: &Header, types: &Range<usize>) -> Result<Masses> {
    let present: Vec<f64> = types.clone().filter(|&t| header.counts[t] > 0).map(|t| header.mass_table[t]).collect();
    let Some(&one) = present.first() else { return Ok(Masses::Unknown) };
    if one != 0.0 && present.iter().all(|&mass| mass == one) {
        return Ok(Masses::Equal(one));
    }
    let bytes = bytes_per_value(parts, Field::Mass)?;
    if bytes.is_none() && present.contains(&0.0) {
        return Ok(Masses::Unknown);
    }
    // As many as there are ids, stored or not; the positions have shown that there are so many particles.
    let mut all = room(parts, Field::Id, types)?;
    for part in parts {
        for t in types.clone() {
            let (n, each, this) = (part.here[t], header.mass_table[t], t..t + 1);
            if each != 0.0 {
                all.extend(std::iter::repeat_n(each, n as usize));
            } else if bytes == Some(4) {
                append(&mut all, part, Field::Mass, &this, |mass: f32| f64::from(mass))?;
            } else {
                append(&mut all, part, Field::Mass, &this, |mass: f64| mass)?;
            }
        }
    }
    Ok(Masses::Each(all))
}

/// Bytes per value of `field`, the same in all parts that have such values; `None` if none has the block.
fn bytes_per_value(parts: &[Part], field: Field) -> Result<Option<u64>> {
    let mut owners = parts.iter().filter(|part| part.values(field, 0..6) > 0);
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

/// The values of `field` for the types `types`, from all parts in turn.
fn gather<T: Word, S>(parts: &[Part], field: Field, types: &Range<usize>, map: impl Fn(T) -> S) -> Result<Vec<S>> {
    let mut values = room(parts, field, types)?;
    for part in parts {
        append(&mut values, part, field, types, &map)?;
    }
    Ok(values)
}

/// Room for the values of `field` for the types `types`; the scan has found the blocks of that length.
fn room<S>(parts: &[Part], field: Field, types: &Range<usize>) -> Result<Vec<S>> {
    let total = parts.iter().map(|part| part.values(field, types.clone())).sum();
    let path = parts.first().map_or(Path::new(""), |part| &part.path);
    source::room(path, total)
}

/// Adds the values of `field` for the types `types` of one part.
fn append<T: Word, S>(
    values: &mut Vec<S>,
    part: &Part,
    field: Field,
    types: &Range<usize>,
    map: impl Fn(T) -> S,
) -> Result<()> {
    let Some(block) = part.block(field) else { return Ok(()) };
    let mut source = part.open(block, field, types)?;
    let n = part.values(field, types.clone());
    source.words(n, part.layout.big_endian, |chunk| values.extend(chunk.iter().map(|&x| map(x))))
}

/// All files of the snapshot that `path` is, or is part of, scanned and found to agree: the first, and the others.
fn scan_all(path: &Path) -> Result<(Part, Vec<Part>)> {
    let given = scan(path)?;
    let files = given.header.files;
    if files == 1 {
        check_counts(&given, &[])?;
        return Ok((given, Vec::new()));
    }
    let number: Option<u32> = path.extension().and_then(|e| e.to_str()?.parse().ok());
    if number.is_none_or(|k| k >= files) {
        let message =
            format!("is one of {files} files of a snapshot, but its name ends in none of .0 to .{}", files - 1);
        return Err(Error::file(path, message));
    }
    let base = path.with_extension("");
    let first = scan(&part(&base, 0))?;
    let mut others = Vec::new();
    for k in 1..files {
        let name = part(&base, k);
        if !name.exists() {
            return Err(Error::file(name, format!("is missing: the snapshot is split over {files} files")));
        }
        let other = scan(&name)?;
        first.header.check_same(&other.header, &name)?;
        others.push(other);
    }
    check_counts(&first, &others)?;
    Ok((first, others))
}

/// An error if the files do not hold the particles that their headers count in all.
fn check_counts(first: &Part, others: &[Part]) -> Result<()> {
    for (t, &promised) in first.header.counts.iter().enumerate() {
        let found: u64 = first.here[t] + others.iter().map(|part| part.here[t]).sum::<u64>();
        if found != promised {
            let files = others.len() + 1;
            let message = format!(
                "its header promises {promised} particles of type {t} in all, but its {files} file(s) hold {found}"
            );
            return Err(Error::file(&first.path, message));
        }
    }
    Ok(())
}

/// Finds the blocks of one file, and checks that they are whole and as long as the header has it.
fn scan(path: &Path) -> Result<Part> {
    let mut source = Source::open(path)?;
    let Some(layout) = Layout::sniff(&source.prefix(8)?) else {
        return Err(source.error("is not a Gadget-2 snapshot: it begins neither with 256 nor with HEAD"));
    };
    if layout.labels {
        label(&mut source, layout)?;
    }
    let (at, bytes) = record(&mut source, "HEAD", layout)?;
    if bytes != 256 {
        return Err(source.error(format!("block HEAD has {bytes} bytes; a Gadget-2 header has 256")));
    }
    source.seek(at)?;
    let (header, here) = Header::decode(source.array()?, layout.big_endian);
    header.check(path)?;
    source.seek(at + bytes + 4)?;

    let mut part = Part { path: path.to_path_buf(), layout, header, here, blocks: [None; 4] };
    if layout.labels {
        while source.left() > 0 {
            let name = label(&mut source, layout)?;
            let found = record(&mut source, &name, layout)?;
            if let Some(field) = Field::ALL.into_iter().find(|field| field.name() == name) {
                place(&mut part, &source, field, found)?;
            }
        }
    } else {
        // Blocks without values are not written at all.
        for field in Field::ALL.into_iter().filter(|&field| part.values(field, 0..6) > 0).collect::<Vec<_>>() {
            if source.left() == 0 {
                break;
            }
            let found = record(&mut source, field.name(), layout)?;
            place(&mut part, &source, field, found)?;
        }
    }
    let particles = part.values(Field::Id, 0..6);
    if particles > 0 && part.block(Field::Pos).is_none() {
        let len = source.len();
        let message =
            format!("its header promises {particles} particles, but the file of {len} bytes has no block POS");
        return Err(source.error(message));
    }
    Ok(part)
}

/// Notes where the block of `field` is, if its length is right.
fn place(part: &mut Part, source: &Source, field: Field, (at, bytes): (u64, u64)) -> Result<()> {
    let (name, n) = (field.name(), part.values(field, 0..6));
    if part.block(field).is_some() {
        return Err(source.error(format!("block {name} comes twice, again at byte {at}")));
    }
    let wide = match bytes {
        // Also the block of no values, which is not looked at again.
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

/// Steps over a label record; the label, without the blanks that fill it up to four letters.
fn label(source: &mut Source, layout: Layout) -> Result<String> {
    let (at, bytes) = record(source, "label", layout)?;
    if bytes != 8 {
        return Err(source.error(format!("a block's label is due at byte {at}: it has 8 bytes, here are {bytes}")));
    }
    let after = source.at();
    source.seek(at)?;
    let letters: [u8; 4] = source.array()?;
    source.seek(after)?;
    Ok(letters.escape_ascii().to_string().trim_end().to_string())
}

/// Steps over a record: where its data begin, and how many bytes they are.
fn record(source: &mut Source, name: &str, layout: Layout) -> Result<(u64, u64)> {
    let (start, left) = (source.at(), source.left());
    if left < 4 {
        let message = format!("truncated: the marker of block {name} at byte {start} needs 4 bytes, {left} are there");
        return Err(source.error(message));
    }
    let bytes = source.u32(layout.big_endian)?;
    let (at, left) = (source.at(), source.left());
    let wanted = u64::from(bytes) + 4;
    if left < wanted {
        return Err(source.error(format!(
            "truncated: block {name} at byte {start} promises {bytes} bytes and a marker of 4, {left} are there"
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
