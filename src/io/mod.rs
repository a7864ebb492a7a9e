//! Snapshots and tables of points from files, and back.
//!
//! - in: a path to a Gadget-2 binary snapshot, a NumPy `.npy` array, or a text table; the content decides, not the name
//! - out: a [`Snapshot`]: points as the file holds them, with velocities, ids, masses, units and header as far as it has them
//! - cost: one pass over the file; memory is that of the data plus a quarter of a megabyte
//!
//! Nothing is converted but velocities (see [`Snapshot::velocities`]); coordinates that are not finite are passed on,
//! and refused where they are used. Every promise a file makes is checked against its length before memory is reserved.

mod atomic;
mod csv;
mod csv_columns;
mod ecsv;
mod extent;
mod gadget;
mod gadget_header;
mod gadget_write;
mod npy;
mod npz;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};

pub use atomic::AtomicFile;
pub use gadget_header::Header;
pub use gadget_write::{GadgetOptions, Species, write_gadget};
pub use npy::{
    write_npy, write_npy_f64, write_npy_f64_to, write_npy_i32, write_npy_i32_to, write_npy_to, write_npy_u32_to,
};
pub use npz::{write_npz, write_npz_to};

pub use crate::table::{Points, Table};

use crate::units::{KnownUnits, Units, VelocityUnit};
use crate::{Error, Result};
use source::Source;

/// The masses of the particles, in the file's unit (Gadget: usually 1e10 Msun/h).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Masses {
    /// All the same.
    Equal(f64),
    /// One per point, in the order of the points.
    Each(Vec<f64>),
    /// The file does not say.
    Unknown,
}

/// A file format that [`read`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Format {
    /// Gadget-2 binary with `SnapFormat` 1: blocks in a fixed order.
    Gadget1,
    /// Gadget-2 binary with `SnapFormat` 2: a label before each block.
    Gadget2,
    /// An array written by `numpy.save`.
    Npy,
    /// Numbers as text, separated by commas, semicolons, tabs or spaces.
    Csv,
    /// None: the points come from memory.
    Memory,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gadget1 => "Gadget-2 binary, format 1",
            Self::Gadget2 => "Gadget-2 binary, format 2",
            Self::Npy => "NumPy array",
            Self::Csv => "text table",
            Self::Memory => "memory",
        })
    }
}

/// What to read of a file. Start from [`ReadOptions::default`].
///
/// ```
/// let options = ropewalk::io::ReadOptions::default().particle_type(1).redshift(0.5);
/// assert_eq!((options.particle_type, options.redshift), (Some(1), Some(0.5)));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ReadOptions {
    /// Gadget: the particle type to read, 0 to 5; `None` reads all. Other formats have no types and ignore this.
    pub particle_type: Option<u8>,
    /// Tables: the columns that are coordinates, in this order, by name or by number from 1; NumPy arrays have numbers alone. Empty
    /// leaves it to the table: all columns if it has no names; else those named x, y (and z, if there is one) if it has both, and
    /// otherwise all but id, mass, vx, vy and vz. A Gadget snapshot has no columns, and refuses to have them chosen.
    pub columns: Vec<String>,
    /// The unit of the file's velocities, if the user knows better than the file. Gadget: `None` stands for km/s, as
    /// [`Snapshot::velocities`] says.
    pub velocity_unit: Option<VelocityUnit>,
    /// The redshift, if the user knows better than the header.
    pub redshift: Option<f64>,
}

impl Snapshot {
    /// Points alone, which are not from a file: nothing else is known of them. Set the fields that are.
    pub fn new(points: Points) -> Self {
        Self {
            points,
            velocities: None,
            ids: None,
            masses: Masses::Unknown,
            matter: None,
            units: KnownUnits::default(),
            redshift: None,
            box_size: None,
            header: None,
            format: Format::Memory,
            columns: vec![],
        }
    }
}

impl ReadOptions {
    /// Sets [`ReadOptions::particle_type`].
    #[must_use]
    pub fn particle_type(mut self, particle_type: u8) -> Self {
        self.particle_type = Some(particle_type);
        self
    }

    /// Sets [`ReadOptions::columns`].
    #[must_use]
    pub fn columns<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`ReadOptions::velocity_unit`].
    #[must_use]
    pub fn velocity_unit(mut self, unit: VelocityUnit) -> Self {
        self.velocity_unit = Some(unit);
        self
    }

    /// Sets [`ReadOptions::redshift`].
    #[must_use]
    pub fn redshift(mut self, redshift: f64) -> Self {
        self.redshift = Some(redshift);
        self
    }

    /// What to multiply the file's velocities with to be peculiar, if they are in `unit`.
    fn velocity_factor(&self, unit: VelocityUnit, header: Option<&Header>) -> Result<f64> {
        if !unit.is_internal {
            return Ok(1.0);
        }
        match (self.redshift, header) {
            // The time of a comoving run has more digits than its redshift, at times.
            (None, Some(header)) if header.is_comoving() => Ok(header.time.sqrt()),
            (redshift, header) => {
                let redshift = redshift.or(header.map(|header| header.redshift)).unwrap_or(0.0);
                Ok(Units::GADGET.conversion(redshift, None)?.scale_factor.sqrt())
            }
        }
    }
}

/// The contents of a file. All per-point parts have the length and the order of `points`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The points, as read, in the file's unit. With several Gadget files: file by file, in each type by type.
    pub points: Points,
    /// Peculiar velocities, if the file has them, in the file's unit.
    ///
    /// Gadget stores u = v / sqrt(a) for a comoving run; these are peculiar velocities v = u sqrt(a), with
    /// a = 1 / (1 + redshift). A run is taken for comoving if time (1 + redshift) is 1 to one part in 10^4, as its headers have
    /// it; in others the file's numbers are velocities already. At a = 1 both are the same.
    /// [`ReadOptions::velocity_unit`] overrules this.
    pub velocities: Option<Points>,
    /// Particle ids, if the file has them.
    pub ids: Option<Vec<u64>>,
    /// Particle masses.
    pub masses: Masses,
    /// The mass of all particles in the file, of all types, also of those that were not read; `None` where masses are unknown.
    pub matter: Option<f64>,
    /// The units that the file names, which Gadget's and arrays do not; those of Gadget's velocities are km/s by custom.
    pub units: KnownUnits,
    /// The redshift, if the file names one.
    pub redshift: Option<f64>,
    /// Side of the periodic box, if the file names one.
    pub box_size: Option<f64>,
    /// Gadget's header.
    pub header: Option<Header>,
    /// The format found.
    pub format: Format,
    /// The columns of a table that coordinates were read from, as it names them or as they were chosen; empty if neither did.
    pub columns: Vec<String>,
}

/// Reads a snapshot or table of points.
///
/// The format is told by the content. A Gadget snapshot split over several files is named by any of them, or by
/// what they have in common: `snap_005.0` and `snap_005` both read `snap_005.0`, `snap_005.1`, and so on.
///
/// # Errors
/// If the file cannot be read, is truncated or contradicts itself, or lacks the wanted particle type. Blocks missing
/// after the positions are no error: `velocities` and `ids` are `None` then, `masses` is [`Masses::Unknown`].
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Snapshot> {
    let path = existing(path.as_ref());
    let mut source = Source::open(&path)?;
    let prefix = source.prefix(4096)?;
    match sniff(&prefix) {
        Found::Gadget if !options.columns.is_empty() => {
            Err(Error::file(&path, "is a Gadget snapshot, and has no columns to choose"))
        }
        Found::Gadget => gadget::read(&path, options),
        Found::Npy => npy::read(source, &options.columns),
        Found::Text => csv::read(&path, options),
        Found::Other(what) => Err(Error::file(&path, what)),
    }
}

/// The header of a Gadget snapshot, without its particles. All its files are checked as [`read`] would.
///
/// # Errors
/// If the file is not a Gadget snapshot, or is truncated or contradicts itself.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header> {
    let path = existing(path.as_ref());
    let prefix = Source::open(&path)?.prefix(4096)?;
    match sniff(&prefix) {
        Found::Gadget => gadget::read_header(&path),
        _ => Err(Error::file(&path, "is not a Gadget snapshot, and has no header")),
    }
}

/// The files that [`read`] takes `path` for: itself, or the parts of the split snapshot that it names or is one of. By their
/// names alone: nothing is opened.
///
/// ```
/// assert_eq!(ropewalk::io::parts("points.npy"), [std::path::PathBuf::from("points.npy")]);
/// ```
pub fn parts(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let path = existing(path.as_ref());
    let mut parts = vec![path.clone()];
    let number = path.extension().filter(|number| number.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    if number.is_some() {
        // As many as there are: the first missing number ends it.
        let others =
            (0..=u32::MAX).map(|k| gadget::part(&path.with_extension(""), k)).take_while(|part| part.is_file());
        parts.extend(others.filter(|part| *part != path));
    }
    parts
}

/// `path` itself, or the first part of the split snapshot it names.
fn existing(path: &Path) -> PathBuf {
    let first = gadget::part(path, 0);
    if !path.exists() && first.is_file() { first } else { path.to_path_buf() }
}

enum Found {
    Gadget,
    Npy,
    Text,
    Other(&'static str),
}

/// The kind of file that begins with `prefix`.
fn sniff(prefix: &[u8]) -> Found {
    if gadget_header::Layout::sniff(prefix).is_some() {
        Found::Gadget
    } else if prefix.starts_with(npy::MAGIC) {
        Found::Npy
    } else if prefix.starts_with(b"\x89HDF") {
        Found::Other("is an HDF5 file; convert it to Gadget binary, npy or text")
    } else if prefix.starts_with(b"PK\x03\x04") {
        Found::Other("is a zip archive (npz?); extract the array you want and pass the npy file")
    } else if prefix.contains(&0) {
        Found::Other("is binary, but neither a Gadget-2 snapshot nor a NumPy array")
    } else {
        Found::Text
    }
}
