//! Gadget-2 binary snapshots.
//!
//! - in: one file or the parts of a split snapshot; `SnapFormat` 1 or 2, either byte order, any widths of values; the
//!   header of Gadget-2 or of GADGET-4
//! - out: a [`Snapshot`] of all particles, or of some types
//! - cost: the headers and block markers of every file are scanned first, so that all data to be read are known to
//!   exist
//! - source: Springel, Users guide for GADGET-2, section 6

mod header;
mod scan;
mod write;

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

pub use write::{GadgetOptions, write_gadget};

use header::Layout;
use ropewalk::halo::MassSum;
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
use scan::{Block, Field, SnapshotFile, bytes_per_value, part, scan_all, scan_present, unread};

use crate::columns::{Column, sum};
use crate::contents::{Contents, Field as Stored, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::gadget_header::Header;
use crate::number_types::{Number, Word};
use crate::read_columns::{ConstantRows, ContiguousRows, RowSource, fill};
use crate::reading::Reading;
use crate::snapshot::TypeRun;
use crate::split_files::ends_with_number;
use crate::total_mass::TotalMass;
use crate::{Masses, Points, Snapshot, Table};

/// The format of Gadget-2 and GADGET-4 binary snapshots.
pub(crate) struct Gadget;

impl FileFormat for Gadget {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        Layout::recognises_prefix(prefix).is_some()
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }

    fn is_of_simulations(&self) -> bool {
        true
    }

    fn header(&self, path: &Path, reading: &Reading<'_>) -> Result<Header> {
        Ok(scan_all(path, reading)?.0.header)
    }

    fn is_snapshot_in_folder(&self, _: &Path) -> bool {
        true
    }

    fn first_part(&self, path: &Path) -> Option<PathBuf> {
        Some(part(path, 0)).filter(|first| !path.exists() && first.is_file())
    }

    fn parts(&self, path: &Path) -> Vec<PathBuf> {
        let number = path.extension().filter(|number| number.as_encoded_bytes().iter().all(u8::is_ascii_digit));
        let base = path.with_extension("");
        // The first missing number ends the list.
        let named = (0..=u32::MAX).map(|k| part(&base, k)).take_while(|part| part.is_file());
        if number.is_some() { named.collect() } else { vec![] }
    }

    fn without_part_number(&self, path: &Path) -> Option<PathBuf> {
        ends_with_number(path).then(|| path.with_extension(""))
    }
}

/// Describes the snapshot that `path` names or belongs to.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let (first, others, missing) = scan_present(path, reading)?;
    let (header, format) = (first.header.clone(), first.layout.format());
    let parts: Vec<SnapshotFile> = std::iter::once(first).chain(others).collect();
    let mut types = vec![];
    for (t, &count) in header.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let mut fields = vec![];
        for (field, name, role) in [
            (Field::Pos, "POS", Role::Position),
            (Field::Vel, "VEL", Role::Velocity),
            (Field::Id, "ID", Role::Id),
            (Field::Mass, "MASS", Role::Mass),
        ] {
            let is_stored = parts.iter().any(|part| part.values(field, t) > 0);
            if let Some(bytes) = bytes_per_value(&parts, field)?.filter(|_| is_stored) {
                let letter = if matches!(field, Field::Id) { 'u' } else { 'f' };
                fields.push(Stored::new(name, format!("{letter}{}", 8 * bytes), field.width(), role));
            }
        }
        let mass = Some(header.mass_table[t]).filter(|&mass| mass != 0.0);
        types.push(TypeContents { particle_type: Some(t as u8), name: TYPES[t].into(), count, mass, fields });
    }
    let mut notes: Vec<String> = vec![];
    notes.extend(reading.options.in_doubt(header.epoch().doubt.as_ref(), true).map(str::to_string));
    notes.extend(parts.first().and_then(|part| part.flags.clone()));
    notes.extend(unread(&parts));
    notes.extend(missing);
    Ok(Contents {
        format,
        code: None,
        files: parts.iter().map(|part| part.path.clone()).collect(),
        types,
        box_size: (header.box_size > 0.0).then_some(header.box_size),
        redshift: Some(header.redshift),
        background: header.background(),
        units: KnownUnits { velocity: Some(header.velocity_unit()), ..KnownUnits::default() },
        notes,
    })
}

/// Gadget's names of the particle types.
const TYPES: [&str; 6] = ["gas", "halo", "disk", "bulge", "stars", "boundary"];

/// Reads the particles of the snapshot that `path` names or belongs to.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let (first, others) = scan_all(path, reading)?;
    let (header, format, options) = (first.header.clone(), first.layout.format(), reading.options);
    let counts: Vec<(u8, u64)> = (0..).zip(header.counts).collect();
    let types = reading.wanted_types(path, &counts)?;
    let parts: Vec<SnapshotFile> = std::iter::once(first).chain(others).collect();

    let velocity_unit = options.velocity_unit.unwrap_or(header.velocity_unit());
    let epoch = header.epoch();
    let mut notes = options.settled(path, epoch.doubt.as_ref(), options.velocities)?;
    let is_alone = options.single_part && header.files > 1;
    if is_alone {
        let files = header.files;
        notes.push(format!("{} is one of {files} files of a snapshot, read without the others", path.display()));
    }
    notes.extend(unread(&parts));
    let factor = options.velocity_factor(velocity_unit, Some(header.redshift), epoch.scale_factor);
    let factor = factor.map_err(|error| Error::file(path, error))?;
    let velocity = Some(VelocityUnit { is_internal: false, ..velocity_unit });
    let columns = Columns { path, reading, parts: &parts, types: &types };
    let none = Points::F32(Table::from_valid(3, Vec::new()));
    let masses = if options.masses { columns.masses(&header)? } else { Masses::Unknown };
    // A corrupt block of masses is reported only where the mass is used.
    let matter = columns.matter(&masses, counts.len() == types.len()).unwrap_or_else(|_| Some(TotalMass::broken()));
    // The mass in one part does not determine the mass of the whole.
    let matter = matter.filter(|_| !is_alone).and_then(|matter| reading.matter(matter));
    Ok(Snapshot {
        points: columns.vectors(Field::Pos, 1.0)?.unwrap_or(none),
        velocities: if options.velocities { columns.vectors(Field::Vel, factor)? } else { None },
        ids: if options.ids { columns.ids()? } else { None },
        masses,
        matter,
        types: columns.runs(),
        units: KnownUnits { velocity, ..KnownUnits::default() },
        coordinate_unit: None,
        box_size: (header.box_size > 0.0).then_some(header.box_size),
        redshift: Some(header.redshift),
        background: header.background(),
        header: Some(header),
        format,
        columns: Vec::new(),
        skipped: vec![],
        notes,
        slice: None,
        subsample: None,
        types_without_ids: vec![],
        file_types: vec![],
        one_of_files: None,
    })
}

/// The data to read from the parts of a snapshot.
struct Columns<'a> {
    path: &'a Path,
    reading: &'a Reading<'a>,
    parts: &'a [SnapshotFile],
    types: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Returns pairs of part and type, in the order of the particles.
    fn pieces(&self) -> impl Iterator<Item = (&'a SnapshotFile, usize)> {
        let types = self.types;
        self.parts.iter().flat_map(move |part| types.iter().map(move |&t| (part, usize::from(t))))
    }

    /// Returns the rows of a type in a part, with values converted by `convert`.
    fn plain<W: Word + Sync, T, F: Fn(W) -> T + Sync + 'a>(
        &self,
        part: &'a SnapshotFile,
        t: usize,
        block: Block,
        field: Field,
        convert: F,
    ) -> ContiguousRows<'a, W, F> {
        let width = field.width();
        let before: u64 = (0..t).map(|t| part.values(field, t)).sum();
        ContiguousRows {
            reading: self.reading,
            path: &part.path,
            at: block.at + before * block.bytes,
            rows: part.values(field, t) / width,
            width: width as usize,
            big_endian: part.layout.big_endian,
            convert,
            word: PhantomData,
        }
    }

    /// Returns the values of `field`, converted by `convert`.
    fn gather<W, T, F>(&self, field: Field, convert: F) -> Result<Vec<T>>
    where
        W: Word + Sync,
        T: bytemuck::Pod + Send + Sync,
        F: Fn(W) -> T + Sync + Copy + 'a,
    {
        let pieces = self.pieces().filter_map(|(part, t)| Some((part, t, part.block(field)?)));
        let rows: Vec<Box<dyn RowSource<T> + '_>> = pieces
            .map(|(part, t, block)| {
                Box::new(self.plain::<W, T, F>(part, t, block, field, convert)) as Box<dyn RowSource<T>>
            })
            .collect();
        fill(self.reading, self.path, field.width() as usize, &rows)
    }

    /// Returns positions or velocities, multiplied by `factor`; `None` if there is no such block.
    fn vectors(&self, field: Field, factor: f64) -> Result<Option<Points>> {
        Ok(match bytes_per_value(self.parts, field)? {
            None => None,
            Some(4) => {
                let data = self.gather(field, move |x: f32| (f64::from(x) * factor) as f32)?;
                Some(Points::F32(Table::from_valid(3, data)))
            }
            Some(_) => {
                let data = self.gather(field, move |x: f64| x * factor)?;
                Some(Points::F64(Table::from_valid(3, data)))
            }
        })
    }

    fn ids(&self) -> Result<Option<Vec<u64>>> {
        Ok(match bytes_per_value(self.parts, Field::Id)? {
            None => None,
            Some(4) => Some(self.gather(Field::Id, |id: u32| u64::from(id))?),
            Some(_) => Some(self.gather(Field::Id, |id: u64| id)?),
        })
    }

    fn masses(&self, header: &Header) -> Result<Masses> {
        let each = 1.0 / self.reading.keep.fraction;
        let table = |t: u8| header.mass_table[usize::from(t)];
        let present: Vec<f64> =
            self.types.iter().filter(|&&t| header.counts[usize::from(t)] > 0).map(|&t| table(t)).collect();
        let Some(&one) = present.first() else { return Ok(Masses::Unknown) };
        if one != 0.0 && present.iter().all(|&mass| mass == one) {
            return Ok(Masses::Equal(one * each));
        }
        let bytes = bytes_per_value(self.parts, Field::Mass)?;
        if bytes.is_none() && present.contains(&0.0) {
            return Ok(Masses::Unknown);
        }
        let pieces = self.pieces().map(|(part, t)| -> Box<dyn RowSource<f64> + '_> {
            let mass = header.mass_table[t];
            match part.block(Field::Mass).filter(|_| mass == 0.0) {
                Some(block) if bytes == Some(4) => {
                    Box::new(self.plain(part, t, block, Field::Mass, move |m: f32| f64::from(m) * each))
                }
                Some(block) => Box::new(self.plain(part, t, block, Field::Mass, move |m: f64| m * each)),
                // The type has one mass, or the part has no particles with masses, and so no block.
                None => Box::new(ConstantRows { rows: part.here[t], value: mass * each }),
            }
        });
        Ok(Masses::Each(fill(self.reading, self.path, 1, &pieces.collect::<Vec<_>>())?))
    }

    /// Returns the mass of all particles of all types; `None` if some have no mass. If masses of all types were read,
    /// they are in `read`. Otherwise they are read here in chunks: those of all files, or this part's share.
    fn matter(&self, read: &Masses, is_all_types: bool) -> Result<Option<TotalMass>> {
        if let Masses::Each(own) = read
            && is_all_types
            && self.reading.keep.is_all()
        {
            return Ok(Some(TotalMass { share: Some(MassSum::from_values(own)), ..TotalMass::default() }));
        }
        let mut matter = TotalMass::default();
        for part in self.parts {
            for t in (0..6).filter(|&t| part.here[t] > 0) {
                let (n, each) = (part.here[t], part.header.mass_table[t]);
                if each != 0.0 {
                    matter.known.add_times(each, n);
                    continue;
                }
                let Some(block) = part.block(Field::Mass) else { return Ok(None) };
                let before: u64 = (0..t).map(|t| part.values(Field::Mass, t)).sum();
                let column = Column {
                    path: &part.path,
                    at: block.at + before * block.bytes,
                    rows: n,
                    width: 1,
                    stride: block.bytes,
                    number: if block.bytes == 4 { Number::F32 } else { Number::F64 },
                    big_endian: part.layout.big_endian,
                };
                matter.share(&sum(self.reading, &[column])?);
            }
        }
        Ok(Some(matter))
    }

    /// Returns the types of the particles that are kept.
    fn runs(&self) -> Vec<TypeRun> {
        self.reading.runs(self.pieces().map(|(part, t)| (t as u8, part.here[t])))
    }
}
