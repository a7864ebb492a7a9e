//! Snapshots and tables of points from files, and back.
//!
//! - in: a path to what a simulation or a program wrote; the content decides, not the name. A snapshot in several files is named by one of
//!   them, by what their names have in common, or by its folder; files may be compressed by gzip
//! - out: a [`Snapshot`]: points as the file holds them, with velocities, ids, masses, types, units and cosmology as far as it has them;
//!   [`inspect`] tells what is in a file without reading it
//! - cost: one pass over the columns that are wanted, in parallel over files and parts of them; memory is that of the arrays, and a few
//!   megabytes for each thread
//!
//! | code | format | what is read | what is converted |
//! |---|---|---|---|
//! | Gadget-2 and its like, GADGET-4 | binary, `SnapFormat` 1 and 2 | `POS`, `VEL`, `ID`, `MASS`, the header of either | velocities: `v = u sqrt(a)` in comoving runs |
//! | Gadget-2 to 4, AREPO and IllustrisTNG, GIZMO, EAGLE | HDF5 | `PartTypeN/{Coordinates, Velocities, ParticleIDs, Masses}`, `MassTable`, units of attributes and of the header | velocities, by the power of `a` that the file names |
//! | SWIFT | HDF5 | the same, cosmology and units of its groups; a view of several files by its parts | velocities, by the power of `a` that the file names |
//! | h5py, PyTables, pandas | HDF5 | datasets or fields of records of one length, by name, or chosen ones by path | |
//! | PKDGRAV, Gasoline, ChaNGa | Tipsy | positions, velocities, masses; ids of `.iord`, units of `.param` | velocities: `v = u a` |
//! | HACC | GenericIO | `x`, `y`, `z`, `vx`, `vy`, `vz`, `id`, `mass`; checksums | |
//! | RAMSES | `output_N` | particles with their families, the info file | |
//! | Abacus | ASDF | `rvint` or `pack9`, ids of the file beside it; one file, which is a slab or a subsample: say the linking length | from bits to Mpc/h and km/s |
//! | FITS | binary and text tables, the first of a file | columns by name, or chosen ones; units and `TNULL` | numbers, by `TSCAL` and `TZERO` |
//! | point clouds | LAS 1.0 to 1.4, PCD, PLY, vertices of OBJ | `x`, `y`, `z`, or chosen columns | LAS: integers, by scale and offset |
//! | tables | CSV, enhanced CSV, `.npy` (also records), `.npz`, Parquet (feature `parquet`) | columns by name, or chosen ones; units, redshift and box as far as they say them | |
//!
//! What a file says and no reader uses is named in [`Snapshot::notes`] or [`Contents::notes`]; a named coordinate, box, redshift or cosmology
//! that cannot be read is an error.
//!
//! The processes of one run read a part each ([`ReadOptions::part`]), and write one array together ([`SharedNpy`]).
//!
//! Nothing else is converted: coordinates and masses stay in the file's unit, which [`Snapshot::units`] names, and velocities are peculiar
//! (see [`Snapshot::velocities`]). Coordinates that are not finite are passed on, and refused where they are used. Every promise a file makes
//! is checked against its length before memory is reserved.

mod abacus;
mod array_names;
mod atomic;
pub(crate) mod cgs;
mod cloud;
mod column_names;
mod columns;
mod companions;
mod contents;
mod csv_columns;
mod ecsv;
mod epoch;
pub(crate) mod extent;
mod fields;
mod fill;
mod folder;
mod format;
mod gadget;
mod gadget_header;
pub(crate) mod hdf5_write;
mod genericio;
mod hdf5;
mod lzf;
mod matter;
mod memory_limit;
#[cfg(feature = "mesh")]
mod mesh;
mod npy;
mod npz;
mod number_types;
mod obj_lines;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod part;
mod particle_type;
mod ramses;
mod reading;
mod reduce;
mod shorten;
mod snapshot;
mod snapshot_write;
mod sides;
mod source;
mod split_files;
mod spool;
mod subsample;
mod tables;
mod text;
mod tipsy;
mod type_column;
mod typed_columns;
mod unreadable;
mod yaml;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use crate::mass_sum::MassSum;
pub use atomic::AtomicFile;
pub use companions::companions;
pub use contents::{Contents, Field, Role, TypeContents};
pub use fields::{Fields, read_fields};
pub use format::Format;
pub use gadget::{GadgetOptions, Species, write_gadget};
pub use gadget_header::Header;
#[cfg(feature = "mesh")]
pub use mesh::{MeshData, read_mesh};
pub use npy::{
    NpyNumber, SharedNpy, SharedNpyRows, read_npy_u64, write_npy, write_npy_f64, write_npy_f64_rows_to,
    write_npy_f64_to, write_npy_i32, write_npy_i32_to, write_npy_to, write_npy_u32_to, write_npy_u64_to,
};
pub use npz::{write_npz, write_npz_to};
pub use options::ReadOptions;
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use part::{Part, Slice};
pub use particle_type::particle_type;
pub use reading::{OnProgress, Progress};
pub use snapshot::{Background, Masses, Snapshot, TypeRun};
pub use snapshot_write::{SnapshotFormat, write_snapshot};
pub use tables::{TableFormat, TableWriter};
pub use tipsy::{TipsyOptions, write_tipsy};

pub use crate::table::{Points, Table};

use crate::cancel::guarded;
use crate::{Error, Result};
use format::{Found, sniff};
use reading::Reading;
use reduce::reduced;
use spool::Spool;

/// Reads a snapshot or table of points.
///
/// The format is told by the content. A snapshot split over several files is named by any of them, or by what they have in
/// common: `snap_005.0` and `snap_005` both read `snap_005.0`, `snap_005.1`, and so on. In HDF5, where they are `snap_099.0.hdf5`,
/// `snap_099.1.hdf5`, and so on, also by `snap_099.hdf5` and by `snap_099.*.hdf5`. A folder is read if it holds the files of one
/// snapshot; [`Snapshot::notes`] counts the other files in it. [`ReadOptions::single_part`] reads one file alone.
///
/// # Errors
/// If the file cannot be read, is truncated or contradicts itself, or lacks the wanted particle type. Blocks missing
/// after the positions are no error: `velocities` and `ids` are `None` then, `masses` is [`Masses::Unknown`].
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Snapshot> {
    read_with(path, options, None)
}

/// [`read`], which tells how far it has come.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions, progress: Option<OnProgress<'_>>) -> Result<Snapshot> {
    let reading = Reading::new(options, progress)?;
    read_all(path.as_ref(), reading)
}

fn read_all(path: &Path, reading: Reading<'_>) -> Result<Snapshot> {
    let (path, note) = located(path)?;
    let mut snapshot = guarded(|| uncompressed(&path, &reading, read_format))?;
    snapshot.notes.extend(reading.note_on_types());
    snapshot.notes.extend(note);
    check_redshift(&path, snapshot.redshift)?;
    let (slice, file_types) = (reading.slice(), reading.file_types());
    let subsample = reading.options.subsample.filter(|&fraction| fraction < 1.0);
    reading.finish()?;
    Ok(Snapshot { slice, file_types, subsample, ..snapshot })
}

/// [`read`] of what is in no file, as standard input; errors call it `name`. It is copied into a temporary file first, for most formats
/// are not read from their beginning to their end.
///
/// ```
/// use ropewalk::io::{ReadOptions, read_from};
///
/// let snapshot = read_from(&b"x,y\n1,2\n3,4\n"[..], "standard input", &ReadOptions::default(), None)?;
/// assert_eq!((snapshot.points.len(), snapshot.points.dim()), (2, 2));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`read`]; if the temporary folder is full.
pub fn read_from(
    reader: impl Read,
    name: impl AsRef<Path>,
    options: &ReadOptions,
    progress: Option<OnProgress<'_>>,
) -> Result<Snapshot> {
    let spool = Spool::of(reader, name.as_ref())?;
    let reading = Reading::new(options, progress)?;
    reading.of_copy();
    read_all(spool.path(), reading).map_err(|error| error.renamed(spool.path(), name.as_ref()))
}

/// What a file says about itself: its types and fields, units, cosmology, and the files it is split over; of all types, whichever the
/// options choose. Particles are read only where nothing else tells how many there are, as in text.
///
/// # Errors
/// As [`read`], but for what only the particles themselves can show.
pub fn inspect(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Contents> {
    let (path, note) = located(path.as_ref())?;
    // Also types that are not wanted, and where those that are wanted are none.
    let every = ReadOptions { part: None, ..options.clone().types([]) };
    let reading = Reading::new(&every, None)?;
    let work = |at: &Path, reading: &Reading<'_>, found| {
        let mut contents = inspect_format(at, reading, found)?;
        // The file that was compressed, not its copy.
        contents.files.iter_mut().filter(|file| *file == at).for_each(|file| file.clone_from(&path));
        Ok(contents)
    };
    let mut contents = guarded(|| uncompressed(&path, &reading, work))?;
    if let Some(note) = reading.note_on_types() {
        contents.notes.push(note);
        let fields = contents.types.iter_mut().flat_map(|kind| &mut kind.fields);
        fields.filter(|field| field.role == Role::Type).for_each(|field| field.role = Role::Other);
    }
    contents.notes.extend(note);
    check_redshift(&path, contents.redshift)?;
    Ok(contents)
}

/// Errors: a redshift for which there is no scale factor.
fn check_redshift(path: &Path, redshift: Option<f64>) -> Result<()> {
    match redshift.filter(|&redshift| !(redshift > -1.0 && redshift < f64::INFINITY)) {
        Some(redshift) => Err(Error::file(path, format!("has redshift {redshift}; it must be above -1"))),
        None => Ok(()),
    }
}

/// What `work` makes of a file, and of a compressed one when it is uncompressed.
fn uncompressed<T>(
    path: &Path,
    reading: &Reading<'_>,
    work: impl Fn(&Path, &Reading<'_>, Found) -> Result<T>,
) -> Result<T> {
    // A folder, or a file whose name and neighbours tell more than its own content.
    if ramses::is_output(path) {
        return work(path, reading, Found::Ramses);
    }
    match sniff(&reading.open(path)?.prefix(4096)?) {
        // Text is uncompressed as it is read: nothing of it needs a place of its own.
        Found::Gzip if matches!(sniff(&uncompressed_prefix(path, 4096)?), Found::Text) => {
            reading.of_copy();
            work(path, reading, Found::Text)
        }
        Found::Gzip => {
            let spool = Spool::uncompressed(path)?;
            reading.of_copy();
            let renamed = |error: Error| error.renamed(spool.path(), path);
            let prefix = reading.open(spool.path())?.prefix(4096)?;
            let snapshot = work(spool.path(), reading, sniff(&prefix)).map_err(renamed)?;
            reading.forget(spool.path());
            Ok(snapshot)
        }
        found => work(path, reading, found),
    }
}

/// Up to `n` bytes from the start of what a gzip file holds.
fn uncompressed_prefix(path: &Path, n: u64) -> Result<Vec<u8>> {
    let file = std::fs::File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
    let mut bytes = vec![];
    let read = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file)).take(n).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(path, "cannot be read", error))?;
    Ok(bytes)
}

fn read_format(path: &Path, reading: &Reading<'_>, found: Found) -> Result<Snapshot> {
    if reading.options.skip_missing && !matches!(found, Found::Text | Found::Gzip | Found::Other(_)) {
        return Err(Error::file(path, "is no text table; rows with missing values are skipped in those alone"));
    }
    match found {
        Found::Gadget | Found::Tipsy | Found::Ramses | Found::Asdf if reading.is_of_fields => {
            Err(Error::file(path, "is a snapshot of a simulation, and no table of fields"))
        }
        Found::Gadget | Found::Tipsy | Found::Ramses | Found::Asdf if !reading.options.columns.is_empty() => {
            Err(Error::file(path, "is a snapshot of a simulation, and has no columns to choose"))
        }
        Found::Gadget => gadget::read(path, reading),
        Found::Tipsy => tipsy::read(path, reading),
        Found::Ramses => ramses::read(path, reading),
        #[cfg(feature = "parquet")]
        Found::Parquet => parquet::read(path, reading),
        Found::Asdf => abacus::read(path, reading),
        Found::GenericIo => genericio::read(path, reading),
        Found::Zip => npz::read(path, reading),
        Found::Hdf5 => hdf5::read(path, reading),
        Found::Npy => npy::read(path, reading),
        Found::Fits => cloud::fits::read(path, reading),
        Found::Las => cloud::las::read(path, reading),
        Found::Pcd => cloud::pcd::read(path, reading),
        Found::Ply => cloud::ply::read(path, reading),
        Found::Obj => cloud::obj::read(path, reading),
        Found::Text => text::read(path, reading).map(|snapshot| reduced(snapshot, reading)),
        Found::Gzip => Err(Error::file(path, "is compressed twice; uncompress it once")),
        Found::Other(what) => Err(Error::file(path, what)),
    }
}

fn inspect_format(path: &Path, reading: &Reading<'_>, found: Found) -> Result<Contents> {
    match found {
        Found::Gadget => gadget::inspect(path, reading),
        Found::Tipsy => tipsy::inspect(path, reading),
        Found::Ramses => ramses::inspect(path, reading),
        #[cfg(feature = "parquet")]
        Found::Parquet => parquet::inspect(path, reading),
        Found::Asdf => abacus::inspect(path, reading),
        Found::GenericIo => genericio::inspect(path, reading),
        Found::Zip => npz::inspect(path, reading),
        Found::Hdf5 => hdf5::inspect(path, reading),
        Found::Npy => Ok(Contents::of_table(path, &npy::read(path, reading)?)),
        Found::Fits => cloud::fits::inspect(path, reading),
        Found::Las => cloud::las::inspect(path, reading),
        Found::Pcd => cloud::pcd::inspect(path, reading),
        Found::Ply => cloud::ply::inspect(path, reading),
        Found::Obj => cloud::obj::inspect(path, reading),
        Found::Text => text::inspect(path, reading),
        Found::Gzip => Err(Error::file(path, "is compressed twice; uncompress it once")),
        Found::Other(what) => Err(Error::file(path, what)),
    }
}

/// The header of a Gadget snapshot, without its particles. All its files are checked as [`read`] would.
///
/// # Errors
/// If the file is not a Gadget snapshot, or is truncated or contradicts itself.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header> {
    let path = existing(path.as_ref());
    let options = ReadOptions::default();
    let reading = Reading::new(&options, None)?;
    let prefix = reading.open(&path)?.prefix(4096)?;
    match sniff(&prefix) {
        Found::Gadget => gadget::read_header(&path, &reading),
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
    parts.extend(hdf5::named(&path).into_iter().filter(|part| *part != path));
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
    if !path.exists() && first.is_file() {
        return first;
    }
    let whole = path.to_path_buf();
    if path.is_file() {
        return whole;
    }
    if path.is_dir() && !ramses::is_output(path) {
        return folder::only_snapshot(path).map_or(whole, |(first, _)| first);
    }
    hdf5::first(path).unwrap_or(whole)
}

/// The file that `path` names, and a sentence about other files in a folder.
fn located(path: &Path) -> Result<(PathBuf, Option<String>)> {
    if path.is_dir() && !ramses::is_output(path) {
        return folder::only_snapshot(path);
    }
    Ok((existing(path), None))
}
