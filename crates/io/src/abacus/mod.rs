//! Particles of Abacus, in ASDF files.
//!
//! - in: a file with `rvint` (20 bits of position and 12 of velocity per coordinate) or `pack9` (12 bits each,
//!   relative to cells). Its blocks are plain or compressed with Blosc. Ids come from the file beside it,
//!   `halo_pid_A_000.asdf` for `halo_rv_A_000.asdf`, if it exists
//! - out: a [`Snapshot`] in comoving Mpc/h and peculiar km/s, with the particle mass of the header
//! - cost: bytes are decoded once for positions and once for velocities; those of `pack9` twice each
//! - source: the ASDF standard for the file layout; abacusutils for the meaning of the bits
//!
//! Files often hold only a fraction of the particles (subsamples A and B). Masses are still those of single
//! particles.

mod asdf;
mod blosc;
mod pack9;
mod unpack;

use std::path::{Path, PathBuf};

use asdf::{Array, Asdf, Block};
use ropewalk::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};
use unpack::{Unpacked, pid, rvint_position, rvint_velocity};

use crate::contents::{Contents, Field, Role, TypeContents};
use crate::expansion::Expansion;
use crate::file_format::FileFormat;
use crate::read_columns::{RowSource, fill};
use crate::reading::Reading;
use crate::{Background, Format, Masses, Points, Snapshot, Table};

/// Entries of the header that are used; [`inspect`] names the others in a note.
const USED: [&str; 10] = [
    "BoxSize",
    "Redshift",
    "ParticleMassHMsun",
    "Omega_M",
    "Omega_DE",
    "H0",
    "VelZSpace_to_kms",
    "SubsampleFraction",
    "w0",
    "wa",
];
/// Bytes per row of `rvint`, and per id.
const ROW: u64 = 12;
const ID: u64 = 8;

/// The format of Abacus particles in ASDF files.
pub(crate) struct Abacus;

impl FileFormat for Abacus {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(asdf::MAGIC)
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
        ids_beside(path).into_iter().collect()
    }
}

/// The encoding of positions and velocities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    Rvint,
    /// The factor from velocities in units of the box to km/s.
    Pack9(f64),
}

/// The description of a file of positions and velocities.
struct Scan {
    asdf: Asdf,
    array: Array,
    packing: Packing,
    box_size: f64,
    redshift: Option<f64>,
    background: Background,
    expansion: Expansion,
    mass: Option<f64>,
    /// The fraction of the particles that the file holds.
    fraction: Option<f64>,
}

impl Scan {
    fn new(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let asdf = Asdf::read(path.to_path_buf(), reading)?;
        let found = ["rvint", "pack9"].into_iter().find_map(|name| Some((name, asdf.array(name)?)));
        let Some((name, array)) = found else {
            let names: Vec<String> =
                asdf.names("data").iter().take(20).map(|name| name.escape_debug().to_string()).collect();
            let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            let message =
                format!("is an ASDF file without the particle array rvint or pack9 of Abacus; its arrays: {names}");
            return Err(Error::file(path, message));
        };
        let (datatype, width) = if name == "rvint" { ("int32", 3) } else { ("uint8", 9) };
        let is_big = array.big_endian && name == "rvint";
        // Packed bits have no sign, and writers use both signed and unsigned types.
        let is_type = array.datatype == datatype || name == "pack9" && array.datatype == "int8";
        if !is_type || array.shape.len() != 2 || array.shape.get(1) != Some(&width) || is_big {
            let (found, shape) = (array.datatype.escape_debug(), &array.shape);
            let message = format!(
                "has {name} of type {found} and shape {shape:?}; it must be little-endian {datatype} of shape [N, {width}]"
            );
            return Err(Error::file(path, message));
        }
        let mut numbers = [None; USED.len()];
        for (slot, key) in numbers.iter_mut().zip(USED) {
            *slot = asdf.named_number(&["header", key])?;
        }
        let header = |key: &str| USED.iter().zip(numbers).find(|(own, _)| **own == key).and_then(|(_, number)| number);
        let Some(box_size) = header("BoxSize").filter(|&side| side > 0.0) else {
            return Err(Error::file(
                path,
                "must have BoxSize above 0 in its header, because positions are fractions of the box",
            ));
        };
        let (redshift, mass) = (header("Redshift"), header("ParticleMassHMsun").filter(|&mass| mass > 0.0));
        let background = Background {
            omega_m: header("Omega_M"),
            omega_lambda: header("Omega_DE"),
            h: header("H0").filter(|&h| h > 0.0).map(|h| h / 100.0),
        };
        let expansion = Expansion::new(|names| Ok(names.iter().find_map(|name| header(name))))?;
        let packing = match (name, header("VelZSpace_to_kms")) {
            ("rvint", _) => Packing::Rvint,
            (_, Some(velocity)) => Packing::Pack9(velocity),
            (_, None) => return Err(Error::file(path, "has no VelZSpace_to_kms in its header, which pack9 needs")),
        };
        let fraction = header("SubsampleFraction");
        Ok(Self { asdf, array, packing, box_size, redshift, background, expansion, mass, fraction })
    }

    fn rows(&self) -> u64 {
        self.array.shape.first().copied().unwrap_or(0)
    }

    /// Returns the block of packed cells with the scale of its numbers; `None` for other packings.
    fn pack9(&self, path: &Path, reading: &Reading<'_>) -> Result<Option<(Block, pack9::Scale)>> {
        let Packing::Pack9(velocity) = self.packing else { return Ok(None) };
        let block = self.asdf.block("pack9", &self.array, pack9::ROW, reading)?;
        if velocity <= 0.0 {
            return Err(Error::file(path, format!("has VelZSpace_to_kms {velocity}; it must be above 0")));
        }
        Ok(Some((block, pack9::Scale { box_size: self.box_size, velocity })))
    }

    /// Returns notes about the fraction of the particles that the file holds, and about dark energy that is not used.
    fn warnings(&self) -> impl Iterator<Item = String> {
        let part = self.fraction.filter(|&fraction| fraction != 1.0).map(|fraction| {
            format!(
                "its header says that it holds the fraction {fraction} of the particles; masses are those of single particles"
            )
        });
        part.into_iter().chain(self.expansion.note(&self.background, self.redshift))
    }

    /// Returns the notes of [`Scan::warnings`], and a note about entries of the header that are not used.
    fn notes(&self) -> Vec<String> {
        let names = self.asdf.names("header").into_iter().filter(|name| !USED.contains(name));
        let names: Vec<String> = names.map(|name| name.escape_debug().to_string()).collect();
        let unused = format!("entries of its header that are not used: {}", names.join(", "));
        self.warnings().chain((!names.is_empty()).then_some(unused)).collect()
    }

    fn units(&self) -> KnownUnits {
        KnownUnits {
            length: Some(LengthUnit::MPC_H),
            mass: self.mass.map(|_| MassUnit::MSUN_H),
            velocity: Some(VelocityUnit::KM_S),
        }
    }
}

/// Returns the file beside `path` with the ids of the same particles, found by its name.
fn ids_beside(path: &Path) -> Option<PathBuf> {
    let renamed = |name: &std::ffi::OsStr| name.to_str().map(|name| name.replacen("_rv_", "_pid_", 1));
    let (own, folder) = (path.file_name()?, path.parent()?);
    let name = renamed(own).filter(|name| name.as_str() != own)?;
    let other = folder.file_name().and_then(renamed).map(|folder_name| folder.with_file_name(folder_name).join(&name));
    [Some(folder.join(&name)), other].into_iter().flatten().find(|path| path.is_file())
}

/// Describes the file.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let name = if scan.packing == Packing::Rvint { "rvint" } else { "pack9" };
    let mut fields = vec![
        Field::new(format!("{name}: position"), "f32", 3, Role::Position),
        Field::new(format!("{name}: velocity"), "f32", 3, Role::Velocity),
    ];
    let ids = ids_beside(path).filter(|_| reading.has_companions());
    if ids.is_some() {
        fields.push(Field::new("packedpid", "u64", 1, Role::Id));
    }
    let count = match scan.pack9(path, reading)? {
        None => scan.rows(),
        Some((block, scale)) => {
            let rows = pack9::File { reading, path, block: &block, rows: scan.rows(), scale };
            rows.bands(pack9::Quantity::Positions)?.iter().map(RowSource::len).sum()
        }
    };
    let (name, mass) = ("particles".into(), scan.mass);
    Ok(Contents {
        format: Format::Abacus,
        code: Some("Abacus".into()),
        files: vec![path.to_path_buf()],
        types: vec![TypeContents { particle_type: None, name, count, mass, fields }],
        box_size: Some(scan.box_size),
        redshift: scan.redshift,
        background: scan.background,
        units: scan.units(),
        notes: scan.notes(),
    })
}

/// Reads the particles of the file.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let (options, rows) = (reading.options, scan.rows());
    let unit = options.velocity_unit.unwrap_or(VelocityUnit::KM_S);
    let factor = options.velocity_factor(unit, scan.redshift, None).map_err(|error| Error::file(path, error))?;
    let vectors = |pieces: Vec<Box<dyn RowSource<f32> + '_>>| -> Result<Points> {
        Ok(Points::F32(Table::from_valid(3, fill(reading, path, 3, &pieces)?)))
    };
    let (positions, velocities, rows) = match scan.pack9(path, reading)? {
        None => {
            let block = &scan.asdf.block("rvint", &scan.array, ROW, reading)?;
            fn piece<'a, F: Fn(&[u8], &mut [f32]) + Sync + 'a>(
                reading: &'a Reading<'a>,
                path: &'a Path,
                block: &'a Block,
                rows: u64,
                convert: F,
            ) -> Vec<Box<dyn RowSource<f32> + 'a>> {
                vec![Box::new(Unpacked { reading, path, block, rows, row: ROW, width: 3, convert })]
            }
            let of = |velocity: Option<f64>| match velocity {
                Some(factor) => piece(reading, path, block, rows, rvint_velocity(factor)),
                None => piece(reading, path, block, rows, rvint_position(scan.box_size)),
            };
            let velocities = options.velocities.then(|| vectors(of(Some(factor)))).transpose()?;
            (vectors(of(None))?, velocities, rows)
        }
        Some((block, scale)) => {
            let file = pack9::File { reading, path, block: &block, rows, scale };
            fn boxed<'a>(bands: Vec<pack9::Band<'a>>) -> Vec<Box<dyn RowSource<f32> + 'a>> {
                bands.into_iter().map(|band| Box::new(band) as Box<dyn RowSource<f32>>).collect()
            }
            let bands = file.bands(pack9::Quantity::Positions)?;
            let particles = bands.iter().map(RowSource::len).sum();
            let velocities = match options.velocities {
                true => Some(vectors(boxed(file.bands(pack9::Quantity::Velocities(factor))?))?),
                false => None,
            };
            (vectors(boxed(bands))?, velocities, particles)
        }
    };
    let beside = ids_beside(path).filter(|_| options.ids && reading.has_companions());
    let mass = scan.mass.filter(|_| options.masses);
    Ok(Snapshot {
        velocities,
        ids: beside.map(|beside| ids(&beside, rows, reading)).transpose()?,
        masses: mass.map_or(Masses::Unknown, |mass| Masses::Equal(mass / reading.keep.fraction)),
        units: KnownUnits { velocity: Some(VelocityUnit { is_internal: false, ..unit }), ..scan.units() },
        redshift: scan.redshift,
        box_size: Some(scan.box_size),
        background: scan.background,
        notes: scan.warnings().collect(),
        format: Format::Abacus,
        ..Snapshot::new(positions)
    })
}

/// Reads the ids of `rows` particles from the file `path`.
fn ids(path: &Path, rows: u64, reading: &Reading<'_>) -> Result<Vec<u64>> {
    let asdf = Asdf::read(path.to_path_buf(), reading)?;
    let found = ["packedpid", "pid"].into_iter().find_map(|name| Some((name, asdf.array(name)?)));
    let Some((name, array)) = found else { return Err(Error::file(path, "has no array packedpid or pid")) };
    if !matches!(array.datatype.as_str(), "uint64" | "int64") || array.shape != [rows] || array.big_endian {
        let (datatype, shape) = (array.datatype.escape_debug(), &array.shape);
        let message = format!(
            "has {name} of type {datatype} and shape {shape:?}; it must be little-endian uint64 of shape [{rows}]"
        );
        return Err(Error::file(path, message));
    }
    let block = &asdf.block(name, &array, ID, reading)?;
    let piece: Box<dyn RowSource<u64> + '_> =
        Box::new(Unpacked { reading, path, block, rows, row: ID, width: 1, convert: pid });
    fill(reading, path, 1, &[piece])
}
