//! Snapshots in the formats that programs read, whatever they were read from.
//!
//! In: a [`Snapshot`] and a format. Out: a file, or bytes. What a format has no place for is left out: arrays have points alone, CSV has no
//! units, and no binary format has those columns that were not read. Cost: one pass.

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

/// How to write a snapshot.
///
/// Its text is the ending of a name without the point: `hdf5`, `gadget1`, `gadget2`, `npz`, `npy`, `csv`, `ecsv`,
/// `tipsy`, and `parquet` with the feature `parquet`.
///
/// ```
/// use ropewalk_io::SnapshotFormat;
///
/// assert_eq!(SnapshotFormat::of("snap_005.hdf5")?, SnapshotFormat::GadgetHdf5);
/// assert_eq!("gadget2".parse::<SnapshotFormat>()?, SnapshotFormat::Gadget2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SnapshotFormat {
    /// HDF5 in Gadget's layout, one file, with units: `.hdf5`, `.h5`.
    GadgetHdf5,
    /// Gadget-2 binary, `SnapFormat` 1: `.gadget1`. It has masses, and velocities if it has ids.
    Gadget1,
    /// Gadget-2 binary, `SnapFormat` 2: `.gadget2`. It has masses.
    Gadget2,
    /// A NumPy archive of named arrays: `.npz`.
    Npz,
    /// The points alone, as a NumPy array: `.npy`.
    Npy,
    /// CSV with columns x, y, z, vx, vy, vz, id and mass; coordinates of a table keep their names: `.csv`.
    Csv,
    /// The same with a header that has units, box, redshift and cosmology: `.ecsv`.
    Ecsv,
    /// Tipsy, big-endian, with ids and units in files beside it: `.tipsy`. It has gas, dark matter and stars, and masses.
    Tipsy,
    /// Parquet with the columns of the text formats, and units: `.parquet`. All columns are in memory as 64-bit numbers.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl SnapshotFormat {
    /// All, with their endings.
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

    /// The format that a name's ending stands for.
    ///
    /// # Errors
    /// Another ending, or none.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::ended(&ending(path)).ok_or_else(|| {
            Error::file(path, format!("its ending says no format of snapshots; it may be {}", Self::known()))
        })
    }

    /// Why a file of this format will not have the units that the snapshot names; `None` if it will, or if the snapshot names none. Tipsy and
    /// the header of HDF5 need both of length and mass, and where these are without 1/h the Hubble constant; the data sets of HDF5 have
    /// those that are named. NumPy arrays, CSV and Gadget's binaries have no place for units.
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
                Some("the format has no place for them".into())
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
            Error::new(ErrorKind::Parameter, format!("`{text}` is no format; it may be {}", Self::known()))
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

/// Writes a snapshot. The file is written beside its place and renamed when it is complete.
///
/// Velocities are written as the format has them: Gadget's are over the root of the scale factor in runs in comoving coordinates. A
/// redshift that is not known is written as 0 where the format must have one, as a velocity unit that is not known is km/s there
/// ([`SnapshotFormat::changes`]). HDF5 names
/// the units that the snapshot names, or that fit the mean density of matter ([`Units::matching`](ropewalk::units::Units::matching)).
///
/// # Errors
/// If the file cannot be written; parts of the snapshot of other lengths than its points; what the format does not have: other than three
/// dimensions, for Gadget's binaries unknown masses, and what else [`write_gadget`] refuses.
///
/// ```
/// use ropewalk_io::{Points, ReadOptions, Snapshot, SnapshotFormat, Table};
///
/// let mut snapshot = Snapshot::new(Points::F64(Table::new(3, vec![0.1, 0.2, 0.3])?));
/// snapshot.ids = Some(vec![1 << 40]);
/// let path = std::env::temp_dir().join("ropewalk_write_snapshot.ecsv");
/// ropewalk_io::write_snapshot(&path, &snapshot, SnapshotFormat::of(&path)?)?;
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
            let gathered = Types::of(snapshot, path)?.gathered(snapshot, velocities.as_deref());
            let species: Vec<_> = gathered.iter().map(types::Gathered::species).collect();
            write_gadget(path, &species, &gadget_options(snapshot, format))
        }
        SnapshotFormat::GadgetHdf5 => stream(&|out| hdf5::write(out, path, snapshot)),
        SnapshotFormat::Npz => stream(&|out| npz::write(out, path, snapshot)),
        SnapshotFormat::Npy => stream(&|out| write_npy_to(out, &snapshot.points)),
        SnapshotFormat::Csv => stream(&|out| text::write(out, path, snapshot, false)),
        SnapshotFormat::Ecsv => stream(&|out| text::write(out, path, snapshot, true)),
        SnapshotFormat::Tipsy => {
            let gathered = Types::of(snapshot, path)?.gathered(snapshot, snapshot.velocities.as_ref());
            let species: Vec<_> = gathered.iter().map(types::Gathered::species).collect();
            write_tipsy(path, &species, &tipsy_options(snapshot))
        }
        #[cfg(feature = "parquet")]
        SnapshotFormat::Parquet => stream(&|out| parquet::write(out, path, snapshot)),
    }
}

/// Velocities in what those of Gadget are by custom, also where the snapshot has others; unknown ones are taken for these.
fn velocities_in_km_s(snapshot: &Snapshot) -> Option<Cow<'_, Points>> {
    let velocities = snapshot.velocities.as_ref()?;
    let factor = snapshot.units.velocity.map_or(1.0, |unit| unit.km_s);
    if factor == 1.0 {
        return Some(Cow::Borrowed(velocities));
    }
    Some(Cow::Owned(match velocities {
        Points::F32(table) => {
            let scaled = table.as_slice().iter().map(|&x| (f64::from(x) * factor) as f32);
            Points::F32(Table::of(table.dim(), scaled.collect()))
        }
        Points::F64(table) => {
            Points::F64(Table::of(table.dim(), table.as_slice().iter().map(|&x| x * factor).collect()))
        }
    }))
}

fn gadget_options(snapshot: &Snapshot, format: SnapshotFormat) -> GadgetOptions {
    let (epoch, background) = (Epoch::of(snapshot), snapshot.background);
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
    let mut options = TipsyOptions::default().time(Epoch::of(snapshot).time).background(snapshot.background);
    (options.units, options.box_size) = (tipsy_units(snapshot), snapshot.box_size);
    options
}

/// The units of a Tipsy file: none with 1/h where h is not known, for it has no such units.
fn tipsy_units(snapshot: &Snapshot) -> Option<Units> {
    let universe = snapshot.universe(&UniverseOptions::default(), snapshot.box_size);
    let units = universe.units().copied()?;
    (snapshot.background.h.is_some() || !(units.length.per_h || units.mass.per_h)).then_some(units)
}
