//! Writing of snapshots, whatever their original format, in the formats that other programs read.
//!
//! In: a [`Snapshot`] and a format. Out: a file, or bytes. Quantities that a format cannot store are omitted: arrays
//! store only points, CSV stores no units, and no binary format stores columns that were not read. Cost: one pass.

mod epoch;
mod hdf5;
mod losses;
mod names;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod text;
mod types;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use epoch::Epoch;
use ropewalk::halo::UniverseOptions;
use ropewalk::units::Units;
use ropewalk::{Error, ErrorKind, Result};
use types::Types;

use crate::atomic::AtomicFile;
use crate::tables::ending;
use crate::{GadgetOptions, Points, Snapshot, Table, TipsyOptions, write_gadget, write_npy_to, write_tipsy};

/// The format of a snapshot to be written.
///
/// Its text form is the extension of a file name without the dot: `hdf5`, `gadget1`, `gadget2`, `npz`, `npy`, `csv`,
/// `ecsv`, `tipsy`, and `parquet` with the feature `parquet`.
///
/// ```
/// use ropewalk_io::SnapshotFormat;
///
/// assert_eq!(SnapshotFormat::from_path("snap_005.hdf5")?, SnapshotFormat::GadgetHdf5);
/// assert_eq!("gadget2".parse::<SnapshotFormat>()?, SnapshotFormat::Gadget2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SnapshotFormat {
    /// HDF5 in Gadget's layout, one file, with units: `.hdf5`, `.h5`.
    GadgetHdf5,
    /// Gadget-2 binary, `SnapFormat` 1: `.gadget1`. Masses are required, and if the snapshot has ids, velocities are,
    /// too.
    Gadget1,
    /// Gadget-2 binary, `SnapFormat` 2: `.gadget2`. Masses are required.
    Gadget2,
    /// A NumPy archive of named arrays: `.npz`.
    Npz,
    /// Only the points, as a NumPy array: `.npy`.
    Npy,
    /// CSV with columns x, y, z, vx, vy, vz, id and mass: `.csv`. Coordinates read from a table keep their names.
    Csv,
    /// CSV as above, with a header that contains units, box, redshift and cosmology: `.ecsv`.
    Ecsv,
    /// Tipsy, big-endian, with ids and units in files beside it: `.tipsy`. It stores gas, dark matter and stars, and
    /// requires masses.
    Tipsy,
    /// Parquet with the columns of the text formats, and units: `.parquet`. All columns are held in memory as 64-bit
    /// numbers.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl SnapshotFormat {
    /// All formats with their extensions.
    const ENDINGS: &[(&str, Self)] = &[
        ("hdf5", Self::GadgetHdf5),
        ("h5", Self::GadgetHdf5),
        ("gadget1", Self::Gadget1),
        ("gadget2", Self::Gadget2),
        ("npz", Self::Npz),
        ("npy", Self::Npy),
        ("csv", Self::Csv),
        ("ecsv", Self::Ecsv),
        ("tipsy", Self::Tipsy),
        #[cfg(feature = "parquet")]
        ("parquet", Self::Parquet),
    ];

    /// Returns the format for the extension of a file name.
    ///
    /// # Errors
    /// Another extension, or none.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::ended(&ending(path)).ok_or_else(|| Error::file(path, format!("unknown extension; use {}", Self::known())))
    }

    /// Returns the reason why a file of this format will not contain the units of the snapshot. `None` if it will, or
    /// if the snapshot has no units.
    ///
    /// Tipsy and the header of HDF5 need the units of both length and mass. If these are without 1/h, the Hubble
    /// constant is required, too. The data sets of HDF5 store the units that are known. NumPy arrays, CSV and
    /// Gadget's binaries cannot store units.
    ///
    /// ```
    /// use ropewalk_io::{Points, Snapshot, SnapshotFormat, Table};
    ///
    /// let mut snapshot = Snapshot::new(Points::F64(Table::new(3, vec![0.1, 0.2, 0.3])?));
    /// snapshot.units.length = Some("Mpc".parse()?);
    /// snapshot.units.mass = Some("Msun".parse()?);
    /// let why = SnapshotFormat::GadgetHdf5.lacks_units(&snapshot).unwrap();
    /// assert!(why.contains("h"), "{why}");
    /// snapshot.background.h = Some(0.7);
    /// assert_eq!(SnapshotFormat::GadgetHdf5.lacks_units(&snapshot), None);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn lacks_units(self, snapshot: &Snapshot) -> Option<String> {
        let known = snapshot.units;
        if known.length.is_none() && known.mass.is_none() {
            return None;
        }
        match self {
            Self::Ecsv => None,
            #[cfg(feature = "parquet")]
            Self::Parquet => None,
            Self::Csv | Self::Gadget1 | Self::Gadget2 | Self::Npy | Self::Npz => {
                Some("the format cannot store them".into())
            }
            Self::Tipsy if tipsy_units(snapshot).is_some() => None,
            Self::Tipsy if snapshot.background.h.is_none() => {
                Some("it has no units of 1/h, and the Hubble constant h is not known".into())
            }
            _ => {
                let lacking = snapshot.universe(&UniverseOptions::default(), snapshot.box_size).lacking()?;
                let kept = if self == Self::GadgetHdf5 { "; the data sets have those that are named" } else { "" };
                Some(lacking + kept)
            }
        }
    }

    fn known() -> String {
        Self::ENDINGS.iter().map(|(ending, _)| *ending).collect::<Vec<_>>().join(", ")
    }

    fn ended(ending: &str) -> Option<Self> {
        Self::ENDINGS.iter().find(|(own, _)| *own == ending).map(|(_, format)| *format)
    }
}

impl FromStr for SnapshotFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ended(text).ok_or_else(|| {
            Error::new(ErrorKind::Parameter, format!("`{text}` is not a format; use one of {}", Self::known()))
        })
    }
}

impl fmt::Display for SnapshotFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GadgetHdf5 => "HDF5 in Gadget's layout",
            Self::Gadget1 => "Gadget-2 binary, format 1",
            Self::Gadget2 => "Gadget-2 binary, format 2",
            Self::Npz => "NumPy archive",
            Self::Npy => "NumPy array",
            Self::Csv => "CSV",
            Self::Ecsv => "enhanced CSV",
            Self::Tipsy => "Tipsy",
            #[cfg(feature = "parquet")]
            Self::Parquet => "Parquet",
        })
    }
}

/// Writes a snapshot. The file is written under a temporary name, and renamed when it is complete.
///
/// Velocities are written in the convention of the format. Gadget's formats divide them by the square root of the
/// scale factor, in runs in comoving coordinates. If the redshift is not known and the format requires one, it is
/// written as 0. Similarly, an unknown unit of velocities is taken to be km/s ([`SnapshotFormat::changes`]). HDF5
/// stores the units that the snapshot names, or units that fit the mean matter density
/// ([`Units::matching`](ropewalk::units::Units::matching)).
///
/// # Errors
/// If the file cannot be written, or if arrays of the snapshot differ in length from its points. If the format cannot
/// store the snapshot: other than three dimensions, unknown masses in Gadget's binaries, and other cases in which
/// [`write_gadget`] fails.
///
/// ```
/// use ropewalk_io::{Points, ReadOptions, Snapshot, SnapshotFormat, Table};
///
/// let mut snapshot = Snapshot::new(Points::F64(Table::new(3, vec![0.1, 0.2, 0.3])?));
/// snapshot.ids = Some(vec![1 << 40]);
/// let path = std::env::temp_dir().join("ropewalk_write_snapshot.ecsv");
/// ropewalk_io::write_snapshot(&path, &snapshot, SnapshotFormat::from_path(&path)?)?;
/// let back = ropewalk_io::read(&path, &ReadOptions::default())?;
/// assert_eq!((back.points, back.ids), (snapshot.points, snapshot.ids));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_snapshot(path: impl AsRef<Path>, snapshot: &Snapshot, format: SnapshotFormat) -> Result<()> {
    let path = path.as_ref();
    let stream = |write: &dyn Fn(&mut AtomicFile) -> Result<()>| {
        let mut file = AtomicFile::create(path)?;
        write(&mut file)?;
        file.commit()
    };
    match format {
        SnapshotFormat::Gadget1 | SnapshotFormat::Gadget2 => {
            let velocities = velocities_in_km_s(snapshot);
            let gathered = Types::new(snapshot, path)?.gathered(snapshot, velocities.as_deref());
            let species: Vec<_> = gathered.iter().map(types::Gathered::species).collect();
            write_gadget(path, &species, &gadget_options(snapshot, format))
        }
        SnapshotFormat::GadgetHdf5 => stream(&|out| hdf5::write(out, path, snapshot)),
        SnapshotFormat::Npz => stream(&|out| npz::write(out, path, snapshot)),
        SnapshotFormat::Npy => stream(&|out| write_npy_to(out, &snapshot.points)),
        SnapshotFormat::Csv => stream(&|out| text::write(out, path, snapshot, false)),
        SnapshotFormat::Ecsv => stream(&|out| text::write(out, path, snapshot, true)),
        SnapshotFormat::Tipsy => {
            let gathered = Types::new(snapshot, path)?.gathered(snapshot, snapshot.velocities.as_ref());
            let species: Vec<_> = gathered.iter().map(types::Gathered::species).collect();
            write_tipsy(path, &species, &tipsy_options(snapshot))
        }
        #[cfg(feature = "parquet")]
        SnapshotFormat::Parquet => stream(&|out| parquet::write(out, path, snapshot)),
    }
}

/// Returns the velocities in km/s, the conventional unit of Gadget. An unknown unit is taken to be km/s.
fn velocities_in_km_s(snapshot: &Snapshot) -> Option<Cow<'_, Points>> {
    let velocities = snapshot.velocities.as_ref()?;
    let factor = snapshot.units.velocity.map_or(1.0, |unit| unit.km_s);
    if factor == 1.0 {
        return Some(Cow::Borrowed(velocities));
    }
    Some(Cow::Owned(match velocities {
        Points::F32(table) => {
            let scaled = table.as_slice().iter().map(|&x| (f64::from(x) * factor) as f32);
            Points::F32(Table::from_valid(table.dim(), scaled.collect()))
        }
        Points::F64(table) => {
            Points::F64(Table::from_valid(table.dim(), table.as_slice().iter().map(|&x| x * factor).collect()))
        }
    }))
}

fn gadget_options(snapshot: &Snapshot, format: SnapshotFormat) -> GadgetOptions {
    let (epoch, background) = (Epoch::new(snapshot), snapshot.background);
    let mut options = GadgetOptions::default()
        .labels(format == SnapshotFormat::Gadget2)
        .wide_ids(snapshot.ids.iter().flatten().any(|&id| id > u64::from(u32::MAX)))
        .time(epoch.time)
        .redshift(epoch.redshift)
        .omega_m(background.omega_m.unwrap_or(0.0))
        .omega_lambda(background.omega_lambda.unwrap_or(0.0))
        .hubble(background.h.unwrap_or(0.0));
    options.box_size = snapshot.box_size;
    options
}

fn tipsy_options(snapshot: &Snapshot) -> TipsyOptions {
    let mut options = TipsyOptions::default().time(Epoch::new(snapshot).time).background(snapshot.background);
    (options.units, options.box_size) = (tipsy_units(snapshot), snapshot.box_size);
    options
}

/// Returns the units of a Tipsy file. Since Tipsy has no units with 1/h, such units require that h is known.
fn tipsy_units(snapshot: &Snapshot) -> Option<Units> {
    let universe = snapshot.universe(&UniverseOptions::default(), snapshot.box_size);
    let units = universe.units().copied()?;
    (snapshot.background.h.is_some() || !(units.length.per_h || units.mass.per_h)).then_some(units)
}
