//! Reading and description of files of any format.
//!
//! In: a path, or bytes that are not in a file. Out: a [`Snapshot`], [`Contents`], or the header of a Gadget
//! snapshot. Steps: find the file that the path names (`locate`), detect its format (`registry`), copy a compressed
//! file (`temp_file`), and call the format's reader. Cost: the first 4096 bytes are read once more than by the format
//! itself. A compressed file is copied, unless it is text.

use std::io::Read;
use std::path::Path;

use ropewalk::internals::cancel::guarded;
use ropewalk::{Error, Result};

use crate::file_format::FileFormat;
use crate::gadget_header::Header;
use crate::locate::{existing, located};
use crate::missing_rows::without_missing;
use crate::reading::{OnProgress, Reading};
use crate::registry::{Detected, detect, owner};
use crate::source::Source;
use crate::temp_file::TempFile;
#[cfg(feature = "parquet")]
use crate::unreadable::is_marked;
use crate::{Background, Contents, ReadOptions, Role, Snapshot};

/// Reads a snapshot or table of points.
///
/// The format is detected from the content. A snapshot split over several files is named by any of them, or by the
/// common part of their names: `snap_005.0` and `snap_005` both read `snap_005.0`, `snap_005.1`, and so on. In HDF5,
/// where the files are `snap_099.0.hdf5`, `snap_099.1.hdf5`, and so on, `snap_099.hdf5` and `snap_099.*.hdf5` name
/// them, too. A folder is read if it holds the files of one snapshot; [`Snapshot::notes`] counts the other files in
/// it. [`ReadOptions::single_part`] reads one file alone.
///
/// # Errors
/// If the file cannot be read, is truncated, contradicts itself, or lacks a requested particle type. Blocks missing
/// after the positions are not an error: `velocities` and `ids` are `None` then, and `masses` is
/// [`Masses::Unknown`](crate::Masses::Unknown).
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Snapshot> {
    read_with(path, options, None)
}

/// Reads a file as [`read`] does, and reports its progress.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions, progress: Option<OnProgress<'_>>) -> Result<Snapshot> {
    let reading = Reading::new(options, progress)?;
    read_all(path.as_ref(), reading)
}

/// Reads the file that `path` names.
pub(super) fn read_all(path: &Path, reading: Reading<'_>) -> Result<Snapshot> {
    let (path, note) = located(path)?;
    let mut snapshot = guarded(|| uncompressed(&path, &reading, |format, at| read_as(format, at, &reading)))?;
    snapshot.notes.extend(reading.note_on_types());
    snapshot.notes.extend(note);
    check_epoch(&path, snapshot.redshift, &snapshot.background)?;
    let (slice, file_types) = (reading.slice(), reading.file_types());
    let subsample = reading.options.subsample.filter(|&fraction| fraction < 1.0);
    let one_of_files = reading.one_of_files();
    reading.finish()?;
    Ok(Snapshot { slice, file_types, subsample, one_of_files, ..snapshot })
}

/// Reads points from a stream, such as standard input, as [`read`] reads a file. Error messages name the stream
/// `name`. The stream is first copied into a temporary file, since most formats are not read sequentially.
///
/// ```
/// use ropewalk_io::{ReadOptions, read_from};
///
/// let snapshot = read_from(&b"x,y\n1,2\n3,4\n"[..], "standard input", &ReadOptions::default(), None)?;
/// assert_eq!((snapshot.points.len(), snapshot.points.dim()), (2, 2));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`read`]; also if the temporary folder is full.
pub fn read_from(
    reader: impl Read,
    name: impl AsRef<Path>,
    options: &ReadOptions,
    progress: Option<OnProgress<'_>>,
) -> Result<Snapshot> {
    let temp_file = TempFile::from_reader(reader, name.as_ref())?;
    let reading = Reading::new(options, progress)?;
    reading.mark_copy();
    read_all(temp_file.path(), reading).map_err(|error| error.renamed(temp_file.path(), name.as_ref()))
}

/// Describes a file without reading its particles: its types and fields, units, cosmology, and the files it is split
/// over. All types are described, whichever the options select. Particles are read only if nothing else shows their
/// number, as in text.
///
/// # Errors
/// As [`read`], except errors that only the particles themselves reveal.
pub fn inspect(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Contents> {
    let (path, note) = located(path.as_ref())?;
    // Describes also types that are not requested, and files that lack the requested types.
    let every = ReadOptions { part: None, ..options.clone().types([]) };
    let reading = Reading::new(&every, None)?;
    let work = |format: &dyn FileFormat, at: &Path| {
        let mut contents = format.inspect(at, &reading)?;
        // Report the compressed file instead of its copy.
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
    check_epoch(&path, contents.redshift, &contents.background)?;
    Ok(contents)
}

/// Errors: a redshift without a scale factor (not above -1, or not finite); an invalid Hubble constant.
fn check_epoch(path: &Path, redshift: Option<f64>, background: &Background) -> Result<()> {
    if let Some(redshift) = redshift.filter(|&redshift| !(redshift > -1.0 && redshift < f64::INFINITY)) {
        return Err(Error::file(path, format!("has redshift {redshift}; it must be above -1")));
    }
    background.check().map_err(|error| Error::file(path, format!("names a Hubble constant: {error}")))
}

/// Runs `work` on a file. A compressed file is uncompressed first.
fn uncompressed<T>(
    path: &Path,
    reading: &Reading<'_>,
    work: impl Fn(&dyn FileFormat, &Path) -> Result<T>,
) -> Result<T> {
    // A folder, or a file whose format is shown by its name and the files beside it, not by its own content.
    if let Some(format) = owner(path) {
        return work(format, path);
    }
    let found = detect(&reading.open(path)?.prefix(4096)?);
    if !matches!(found, Detected::Gzip) {
        return work(found.format(path)?, path);
    }
    // Text is uncompressed while it is read, without a temporary file.
    if let Detected::Known(format) = detect(&uncompressed_prefix(path, 4096)?)
        && format.is_text_table()
    {
        reading.mark_copy();
        return work(format, path);
    }
    let temp_file = TempFile::uncompressed(path)?;
    reading.mark_copy();
    let renamed = |error: Error| error.renamed(temp_file.path(), path);
    let found = detect(&reading.open(temp_file.path())?.prefix(4096)?);
    let done = found.format(temp_file.path()).and_then(|format| work(format, temp_file.path())).map_err(renamed)?;
    reading.forget(temp_file.path());
    Ok(done)
}

/// Returns up to `n` bytes from the start of the uncompressed content of a gzip file.
fn uncompressed_prefix(path: &Path, n: u64) -> Result<Vec<u8>> {
    let file = std::fs::File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
    let mut bytes = vec![];
    let read = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file)).take(n).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(path, "cannot be read", error))?;
    Ok(bytes)
}

/// A kind of table, as far as all of its columns can be kept.
pub(super) enum TableKind {
    Text,
    #[cfg(feature = "parquet")]
    Parquet,
    Other,
}

/// Finds the kind of table in a file.
pub(super) fn kind_of_table(path: &Path) -> Result<TableKind> {
    if owner(path).is_some() || !path.is_file() {
        return Ok(TableKind::Other);
    }
    let prefix = Source::open(path)?.prefix(4096)?;
    #[cfg(feature = "parquet")]
    if is_marked(&prefix, b"PAR1") {
        return Ok(TableKind::Parquet);
    }
    // Text is uncompressed while it is read.
    let prefix = if matches!(detect(&prefix), Detected::Gzip) { uncompressed_prefix(path, 4096)? } else { prefix };
    Ok(match detect(&prefix) {
        Detected::Known(format) if format.is_text_table() => TableKind::Text,
        _ => TableKind::Other,
    })
}

/// Reads a file of the given format.
///
/// Errors: options that the format does not support; those of [`read`].
fn read_as(format: &dyn FileFormat, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    if reading.options.skip_missing && format.is_of_simulations() {
        return Err(Error::file(
            path,
            "is a snapshot of a simulation; rows with missing values can be skipped only in tables",
        ));
    }
    if format.is_of_simulations() && reading.reads_fields {
        return Err(Error::file(path, "is a snapshot of a simulation, not a table of fields"));
    }
    if format.is_of_simulations() && !reading.options.columns.is_empty() {
        return Err(Error::file(path, "is a snapshot of a simulation, whose columns cannot be chosen"));
    }
    let snapshot = format.read(path, reading)?;
    // Text tables, which have several words for missing values, leave out the rows themselves.
    let is_left = reading.options.skip_missing && !format.is_text_table();
    Ok(if is_left { without_missing(snapshot) } else { snapshot })
}

/// Reads the header of a Gadget snapshot, without its particles. Checks all its files as [`read`] does.
///
/// # Errors
/// If the file is not a Gadget snapshot, or is truncated or contradicts itself.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header> {
    let path = existing(path.as_ref());
    let options = ReadOptions::default();
    let reading = Reading::new(&options, None)?;
    let prefix = reading.open(&path)?.prefix(4096)?;
    match detect(&prefix) {
        Detected::Known(format) => format.header(&path, &reading),
        _ => Err(Error::file(&path, "is not a Gadget snapshot, and has no header")),
    }
}
