//! Tipsy files, as written by PKDGRAV, Gasoline and ChaNGa.
//!
//! - in: one file, in either byte order ("standard" is big-endian), with positions and velocities of 32 or 64 bits
//! - beside it: ids in `FILE.iord`, units and cosmology in the run's `.param` file
//! - out: a [`Snapshot`] of gas, dark matter and stars (types 0, 1 and 4), or of some of them
//! - cost: one pass over the file each for positions, velocities and masses, which are interleaved in records
//! - source: Katz and Quinn, "TIPSY code"; counts of 40 bits as in PKDGRAV3
//!
//! A comoving run stores velocities as v / a, in units in which the gravitational constant is 1. The snapshot has v
//! in these units.

mod header;
mod iord;
mod param;
mod write;

use std::path::{Path, PathBuf};

pub use write::{TipsyOptions, write_tipsy};

use header::{Family, Header, Layout};
use param::Param;
use ropewalk::halo::MassSum;
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};

use crate::box_sides::side_or_note;
use crate::columns::{Column, gather, points, sum};
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::number_types::Number;
use crate::reading::Reading;
use crate::total_mass::TotalMass;
use crate::{Format, Masses, Snapshot};

/// The format of Tipsy files.
pub(crate) struct Tipsy;

impl FileFormat for Tipsy {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        Header::recognises_prefix(prefix).is_some()
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

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        iord::find(path).into_iter().chain(param::find(path)).collect()
    }
}

/// The metadata of a file, read before its particles.
struct Scan<'a> {
    path: &'a Path,
    header: Header,
    layout: Layout,
    param: Param,
}

impl<'a> Scan<'a> {
    fn new(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let mut source = reading.open(path)?;
        let prefix = source.prefix(64)?;
        let header = Header::recognises_prefix(&prefix).ok_or_else(|| Error::file(path, "is not a Tipsy file"))?;
        let param = if reading.has_companions() { Param::read(path)? } else { Param::default() };
        let layout = header.layout(path, source.len(), param.is_wide_velocity)?;
        Ok(Self { path, header, layout, param })
    }

    /// Returns the scale factor of a comoving run; `None` for other runs.
    fn scale_factor(&self) -> Result<Option<f64>> {
        let time = self.header.time;
        match self.param.is_comoving {
            true if time > 0.0 => Ok(Some(time)),
            true => {
                let message =
                    format!("has time {time}, which must be a scale factor: the run's .param file says bComove");
                Err(Error::file(self.path, message))
            }
            false => Ok(None),
        }
    }

    /// Returns notes about the parameter file, and about terms of the cosmology that are not used.
    fn notes(&self) -> Result<Vec<String>> {
        let note = self.param.expansion.note(&self.param.background, self.redshift()?);
        Ok(self.param.notes.iter().cloned().chain(note).collect())
    }

    fn redshift(&self) -> Result<Option<f64>> {
        Ok(self.scale_factor()?.map(|a| 1.0 / a - 1.0))
    }

    fn counts(&self) -> impl Iterator<Item = (Family, u64)> + '_ {
        Family::ALL.into_iter().zip(self.header.counts)
    }

    /// Returns the column of the values that begin at byte `at` of a family's records.
    fn column(&self, family: Family, rows: u64, at: u64, width: usize, number: Number) -> Column<'_> {
        let (at, stride) = (self.header.start(&self.layout, family) + at, self.layout.record(family));
        Column { path: self.path, at, rows, width, stride, number, big_endian: self.header.big_endian }
    }

    fn mass(&self, family: Family, rows: u64) -> Column<'_> {
        self.column(family, rows, 0, 1, Number::F32)
    }
}

fn float(is_wide: bool) -> Number {
    if is_wide { Number::F64 } else { Number::F32 }
}

/// Describes the file.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let has_ids = reading.has_companions() && iord::find(path).is_some();
    let types = scan.counts().filter(|(_, count)| *count > 0).map(|(family, count)| {
        let mut fields = vec![
            Field::new("mass", "f32", 1, Role::Mass),
            Field::new("pos", float(scan.layout.positions).name(), 3, Role::Position),
            Field::new("vel", float(scan.layout.velocities).name(), 3, Role::Velocity),
        ];
        fields.extend(family.others().iter().map(|name| Field::new(*name, "f32", 1, Role::Other)));
        if has_ids {
            fields.push(Field::new("iord", "u64", 1, Role::Id));
        }
        TypeContents {
            particle_type: Some(family.particle_type()),
            name: family.name().into(),
            count,
            mass: None,
            fields,
        }
    });
    let (box_size, mut notes) = side_or_note(&scan.param.sides);
    notes.extend(scan.notes()?);
    Ok(Contents {
        format: Format::Tipsy,
        code: None,
        files: vec![path.to_path_buf()],
        types: types.collect(),
        box_size,
        redshift: scan.redshift()?,
        background: scan.param.background,
        units: scan.param.units,
        notes,
    })
}

/// Reads the particles of the file.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let options = reading.options;
    let counts: Vec<(u8, u64)> = scan.counts().map(|(family, n)| (family.particle_type(), n)).collect();
    let types = reading.wanted_types(path, &counts)?;
    let wanted: Vec<(Family, u64)> =
        scan.counts().filter(|(family, _)| types.contains(&family.particle_type())).collect();
    let columns = |at: u64, width: usize, number: Number| -> Vec<Vec<Column<'_>>> {
        wanted.iter().map(|&(family, rows)| vec![scan.column(family, rows, at, width, number)]).collect()
    };

    let mut notes = scan.notes()?;
    let box_size = options.side(path, &scan.param.sides, &mut notes)?;
    let (scale_factor, redshift) = (scan.scale_factor()?, scan.redshift()?);
    let factor = match (options.velocity_unit, options.redshift) {
        (Some(unit), _) => options.velocity_factor(unit, redshift, scale_factor),
        (None, Some(redshift)) if scale_factor.is_some() => {
            ropewalk::units::Units::GADGET.conversion(redshift, None).map(|conversion| conversion.scale_factor)
        }
        (None, _) => Ok(scale_factor.unwrap_or(1.0)),
    };
    let factor = factor.map_err(|error| Error::file(path, error))?;
    let velocity_unit = options.velocity_unit.or(scan.param.units.velocity);
    let velocity = velocity_unit.map(|unit| VelocityUnit { is_internal: false, ..unit });

    let positions = points(reading, path, &columns(4, 3, float(scan.layout.positions)), 1.0)?;
    let velocities = columns(scan.layout.velocity_at(), 3, float(scan.layout.velocities));
    let velocities = options.velocities.then(|| points(reading, path, &velocities, factor)).transpose()?;
    let iord = iord::find(path).filter(|_| options.ids && reading.has_companions());
    let ids = iord.map(|iord| {
        let first = |family| scan.counts().take_while(|(other, _)| *other != family).map(|(_, n)| n).sum();
        let stretches: Vec<(u64, u64)> = wanted.iter().map(|&(family, n)| (first(family), n)).collect();
        iord::read(reading, &iord, scan.header.total(), scan.header.big_endian, &stretches)
    });
    let (masses, matter) = if options.masses {
        let each = gather(reading, path, &columns(0, 1, Number::F32), 1.0 / reading.keep.fraction)?;
        let share = if wanted.len() == Family::ALL.len() && reading.keep.is_all() {
            MassSum::from_values(&each)
        } else {
            sum(reading, &scan.counts().map(|(family, rows)| scan.mass(family, rows)).collect::<Vec<_>>())?
        };
        (Masses::Each(each), reading.matter(TotalMass { share: Some(share), ..TotalMass::default() }))
    } else {
        (Masses::Unknown, None)
    };
    Ok(Snapshot {
        points: positions,
        velocities,
        ids: ids.transpose()?,
        masses,
        matter,
        types: reading.runs(wanted.iter().map(|&(family, n)| (family.particle_type(), n))),
        units: KnownUnits { velocity, ..scan.param.units },
        coordinate_unit: None,
        redshift,
        box_size,
        background: scan.param.background,
        header: None,
        format: Format::Tipsy,
        columns: vec![],
        skipped: vec![],
        notes,
        slice: None,
        subsample: None,
        types_without_ids: vec![],
        file_types: vec![],
        one_of_files: None,
    })
}
