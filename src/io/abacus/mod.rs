//! Particles of Abacus, in ASDF.
//!
//! - in: a file with `rvint` (20 bits of position and 12 of velocity a coordinate), its blocks plain or compressed by Blosc; ids of the
//!   file beside it, `halo_pid_A_000.asdf` for `halo_rv_A_000.asdf`, if it is there
//! - out: a [`Snapshot`], in comoving Mpc/h and peculiar km/s, with the mass that the header gives a particle
//! - cost: bytes are unpacked once for positions and once for velocities
//! - layout: the ASDF standard; abacusutils for what bits mean
//!
//! Files hold a part of the particles often (subsamples A and B): masses are those of a particle all the same.

mod asdf;
mod blosc;
mod unpack;

use std::path::{Path, PathBuf};

use crate::io::contents::{Contents, Field, Role, TypeContents};
use crate::io::fill::{Rows, fill};
use crate::io::reading::Reading;
use crate::io::{Background, Error, Format, Masses, Points, Result, Snapshot, Table};
use crate::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use asdf::{Array, Asdf, Block};
use unpack::{Unpacked, pid, rvint_position, rvint_velocity};

/// Bytes of a row of `rvint`, and of an id.
const ROW: u64 = 12;
const ID: u64 = 8;

/// Whether a file that begins with `prefix` is an ASDF file.
pub(super) fn sniff(prefix: &[u8]) -> bool {
    prefix.starts_with(asdf::MAGIC)
}

/// A file of positions and velocities.
struct Scan {
    asdf: Asdf,
    array: Array,
    box_size: f64,
    redshift: Option<f64>,
    background: Background,
    mass: Option<f64>,
}

impl Scan {
    fn new(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let asdf = Asdf::read(path.to_path_buf(), reading)?;
        let Some(array) = asdf.array("rvint") else {
            let names: Vec<String> =
                asdf.names("data").iter().take(20).map(|name| name.escape_debug().to_string()).collect();
            let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            return Err(Error::file(
                path,
                format!("is an ASDF file without an array rvint, the particles of Abacus; its data: {names}"),
            ));
        };
        if array.datatype != "int32" || array.shape.len() != 2 || array.shape.get(1) != Some(&3) || array.big_endian {
            let (datatype, shape) = (array.datatype.escape_debug(), &array.shape);
            let message = format!(
                "has rvint of type {datatype} and shape {shape:?}; it must be little-endian int32 of shape [N, 3]"
            );
            return Err(Error::file(path, message));
        }
        let header = |key: &str| asdf.number(&["header", key]);
        let Some(box_size) = header("BoxSize").filter(|&side| side > 0.0) else {
            return Err(Error::file(path, "has no BoxSize above 0 in its header, of which positions are parts"));
        };
        let (redshift, mass) = (header("Redshift"), header("ParticleMassHMsun").filter(|&mass| mass > 0.0));
        let background = Background {
            omega_m: header("Omega_M"),
            omega_lambda: header("Omega_DE"),
            h: header("H0").filter(|&h| h > 0.0).map(|h| h / 100.0),
        };
        Ok(Self { asdf, array, box_size, redshift, background, mass })
    }

    fn rows(&self) -> u64 {
        self.array.shape.first().copied().unwrap_or(0)
    }

    fn units(&self) -> KnownUnits {
        KnownUnits {
            length: Some(LengthUnit::MPC_H),
            mass: self.mass.map(|_| MassUnit::MSUN_H),
            velocity: Some(VelocityUnit::KM_S),
        }
    }
}

/// The file of ids of the same particles, by its name.
fn ids_beside(path: &Path) -> Option<PathBuf> {
    let renamed = |name: &std::ffi::OsStr| name.to_str().map(|name| name.replacen("_rv_", "_pid_", 1));
    let (own, folder) = (path.file_name()?, path.parent()?);
    let name = renamed(own).filter(|name| name.as_str() != own)?;
    let other = folder.file_name().and_then(renamed).map(|folder_name| folder.with_file_name(folder_name).join(&name));
    [Some(folder.join(&name)), other].into_iter().flatten().find(|path| path.is_file())
}

/// What the file says about itself.
pub(super) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let mut fields = vec![
        Field::new("rvint: position", "f32", 3, Role::Position),
        Field::new("rvint: velocity", "f32", 3, Role::Velocity),
    ];
    let ids = ids_beside(path);
    if ids.is_some() {
        fields.push(Field::new("packedpid", "u64", 1, Role::Id));
    }
    let (name, count, mass) = ("particles".into(), scan.rows(), scan.mass);
    Ok(Contents {
        format: Format::Abacus,
        code: Some("Abacus".into()),
        files: vec![path.to_path_buf()],
        types: vec![TypeContents { particle_type: None, name, count, mass, fields }],
        box_size: Some(scan.box_size),
        redshift: scan.redshift,
        background: scan.background,
        units: scan.units(),
    })
}

/// The particles of the file.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let (options, rows) = (reading.options, scan.rows());
    let block = scan.asdf.block("rvint", &scan.array, ROW, reading)?;
    let unit = options.velocity_unit.unwrap_or(VelocityUnit::KM_S);
    let factor = options.velocity_factor(unit, scan.redshift, None).map_err(|error| Error::file(path, error))?;
    fn vectors<F: Fn(&[u8], &mut [f32]) + Sync>(
        reading: &Reading<'_>,
        (path, block, rows): (&Path, &Block, u64),
        convert: F,
    ) -> Result<Points> {
        let piece: Box<dyn Rows<f32> + '_> =
            Box::new(Unpacked { reading, path, block, rows, row: ROW, width: 3, convert });
        Ok(Points::F32(Table { dim: 3, data: fill(reading, path, 3, &[piece])? }))
    }
    let of = (path, &block, rows);
    let positions = vectors(reading, of, rvint_position(scan.box_size))?;
    let velocities = options.velocities.then(|| vectors(reading, of, rvint_velocity(factor))).transpose()?;
    let beside = ids_beside(path).filter(|_| options.ids);
    let mass = scan.mass.filter(|_| options.masses);
    Ok(Snapshot {
        velocities,
        ids: beside.map(|beside| ids(&beside, rows, reading)).transpose()?,
        masses: mass.map_or(Masses::Unknown, |mass| Masses::Equal(mass / reading.keep.fraction)),
        units: KnownUnits { velocity: Some(VelocityUnit { is_internal: false, ..unit }), ..scan.units() },
        redshift: scan.redshift,
        box_size: Some(scan.box_size),
        background: scan.background,
        format: Format::Abacus,
        ..Snapshot::new(positions)
    })
}

/// The ids in the file `path`, of as many particles.
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
    let piece: Box<dyn Rows<u64> + '_> =
        Box::new(Unpacked { reading, path, block, rows, row: ID, width: 1, convert: pid });
    fill(reading, path, 1, &[piece])
}
