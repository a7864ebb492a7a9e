//! One NumPy array that all ranks write together.
//!
//! - in: the rows of each rank
//! - out: the file under its name when all ranks have written, with the same bytes that one process would write; no
//!   file before that
//! - how: rank 0 creates a temporary file with the header and the final length, and broadcasts its name. Each rank
//!   opens it and writes its rows at their position

use std::fmt;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use npyz::{AutoSerialize, WriterBuilder};

use ropewalk::distributed::{Communicator, agree};
use ropewalk::internals::cancel::check;
use ropewalk::internals::distributed::{all_gather, broadcast};
use ropewalk::{Error, Result};

use crate::atomic::AtomicFile;
use crate::npy::header::{ArrayUse, Header, MAGIC, MAX_COLUMNS, header_text};
use crate::number_types::{Number, foreign};
use crate::source::Source;

/// Bytes written between two checks for cancellation.
const CANCEL_CHECK_BYTES: usize = 1 << 22;

/// Number types that a [`SharedNpy`] can hold.
pub trait NpyNumber: sealed::Sealed {}

mod sealed {
    /// Properties of a number type that are private to this crate.
    pub trait Sealed: super::AutoSerialize + bytemuck::Pod {
        /// The name of the type, as returned by `Number::name`.
        #[doc(hidden)]
        const NUMBER: &'static str;
    }
}

macro_rules! numbers {
    ($($number:ty: $kind:ident),*) => {
        $(impl sealed::Sealed for $number {
            const NUMBER: &'static str = Number::$kind.name();
        }
        impl NpyNumber for $number {})*
    };
}

numbers!(i32: I32, i64: I64, u32: U32, u64: U64, f32: F32, f64: F64);

/// An array that all ranks write together, each its own rows. The rows of rank 0 come first, then those of rank 1,
/// and so on. If the value is dropped before [`SharedNpy::commit`], the temporary file is removed.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_io::{SharedNpy, read_npy_u64};
///
/// let path = std::env::temp_dir().join("ropewalk_shared_npy.npy");
/// on_threads(2, |ranks| {
///     let rows = if ranks.rank() == 0 { &[10, 11][..] } else { &[12, 13, 14] };
///     let array = SharedNpy::create::<i32>(ranks, &path, rows.len() as u64, None)?;
///     array.write(rows)?;
///     array.commit()
/// })?;
/// assert_eq!(read_npy_u64(&path)?, [10, 11, 12, 13, 14]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub struct SharedNpy<'a> {
    ranks: &'a dyn Communicator,
    path: PathBuf,
    /// The file into which all ranks write, in the folder of the final file.
    temporary: PathBuf,
    /// The same file, opened by rank 0.
    file: Option<AtomicFile>,
    /// The number of rows of lower ranks, and of this rank.
    first: u64,
    rows: u64,
    width: usize,
    /// The length of the complete file in bytes.
    len: u64,
}

impl<'a> SharedNpy<'a> {
    /// Creates an array that rank 0 will name `path`. This rank has `rows` rows of `width` numbers each; without a
    /// width, the array is one-dimensional. Rows that are not written are 0. If the file system does not reserve
    /// space for unwritten rows, [`SharedNpy::write`] may fail because the disk is full. Collective.
    ///
    /// # Errors
    /// On all ranks:
    /// - as [`AtomicFile::create`]
    /// - if `path` exists and is not a file, as `/dev/stdout`
    /// - if the array exceeds the maximum length of files, or its width is 0 or above 65536
    ///
    /// If a rank has ended.
    pub fn create<T: NpyNumber>(
        ranks: &'a dyn Communicator,
        path: impl AsRef<Path>,
        rows: u64,
        width: Option<usize>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let of_ranks = all_gather(ranks, rows)?;
        let sum = |rows: &[u64]| rows.iter().fold(0, |sum: u64, &rows| sum.saturating_add(rows));
        let (first, all) = (sum(&of_ranks[..ranks.rank()]), sum(&of_ranks));
        let (header, len) = agree(ranks, header_of::<T>(path, all, width))?;
        let file = if ranks.rank() == 0 { named(path, &header, len).map(Some) } else { Ok(None) };
        let (file, temporary) = agree(ranks, file)?.unzip();
        let name = temporary.as_deref().map(bytes_of).unwrap_or_default();
        let temporary = path_of(broadcast(ranks, &name, 0)?);
        Ok(Self { ranks, path: path.to_path_buf(), temporary, file, first, rows, width: width.unwrap_or(1), len })
    }

    /// Returns the final path of the array.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the complete file in bytes.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Writes all rows of this rank, in row-major order. Collective.
    ///
    /// # Errors
    /// On all ranks:
    /// - if a rank passes a number of values that does not match its rows, or values of another type than the array
    /// - if rows cannot be written, for example because the disk is full
    ///
    /// If a rank has ended.
    pub fn write<T: NpyNumber>(&self, values: &[T]) -> Result<()> {
        let wanted = self.rows * self.width as u64;
        let written = if values.len() as u64 == wanted {
            write_rows(&self.temporary, self.first, values)
        } else {
            let must = format!("{wanted}, as the array has {} rows of this rank", self.rows);
            Err(Error::parameter_must("values.len()", values.len() as f64, &must))
        };
        agree(self.ranks, written)
    }

    /// Renames the file to its final name on rank 0, and does nothing on other ranks. Not collective, so that rank 0
    /// can commit several files together.
    ///
    /// # Errors
    /// If the temporary file is missing, has another length, or cannot be renamed. An existing file is then
    /// unchanged.
    pub fn commit(self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let path = file.path();
        let found = std::fs::metadata(&self.temporary)
            .map_err(|error| Error::io(path, "cannot be written: cannot read metadata of its temporary file", error))?
            .len();
        if found != self.len {
            let (temporary, len) = (self.temporary.display(), self.len);
            let message =
                format!("cannot be written: its temporary file {temporary} must have {len} bytes, got {found}");
            return Err(Error::file(path, message));
        }
        file.commit()
    }
}

impl fmt::Debug for SharedNpy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, first, rows, len, .. } = self;
        let mut array = f.debug_struct("SharedNpy");
        array.field("path", path).field("first", first).field("rows", rows).field("bytes", len).finish_non_exhaustive()
    }
}

/// Returns the header of an array with this number of rows, and the length of its file in bytes.
fn header_of<T: NpyNumber>(path: &Path, rows: u64, width: Option<usize>) -> Result<(Vec<u8>, u64)> {
    if let Some(width) = width.filter(|&width| width == 0 || width as u64 > MAX_COLUMNS) {
        return Err(Error::parameter_must("width", width as f64, "from 1 to 65536"));
    }
    let shape: Vec<u64> = [rows].into_iter().chain(width.map(|width| width as u64)).collect();
    let too_long = || {
        let width = width.unwrap_or(1);
        Error::file(path, format!("cannot be written: {rows} rows of {width} values exceed the maximum size of a file"))
    };
    let bytes = shape.iter().try_fold(size_of::<T>() as u64, |bytes, &side| bytes.checked_mul(side));
    let bytes = bytes.ok_or_else(too_long)?;
    let mut header = vec![];
    npyz::WriteOptions::<T>::new()
        .default_dtype()
        .shape(&shape)
        .writer(&mut header)
        .write_header_only()
        .map_err(|error| Error::io(path, "cannot be written", error))?;
    let len = bytes.checked_add(header.len() as u64).ok_or_else(too_long)?;
    Ok((header, len))
}

/// Creates a file with the header and the final length, and returns it with its temporary name.
fn named(path: &Path, header: &[u8], len: u64) -> Result<(AtomicFile, PathBuf)> {
    let mut file = AtomicFile::create_named(path)?;
    let Some(temporary) = file.temporary().map(Path::to_path_buf) else {
        return Err(Error::file(path, "is not a regular file, which writing by several processes requires"));
    };
    let written = file.write_all(header).and_then(|()| file.set_len(len));
    written.map_err(|error| Error::io(path, "cannot be written", error))?;
    Ok((file, temporary))
}

/// Returns the bytes of a path, which [`path_of`] decodes on another rank.
#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    name.into()
}

/// Returns the bytes of a path, which [`path_of`] decodes on another rank. On these systems, paths are sent as text.
#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Writes rows into an existing array, from row `first` on. Other ranks may write other rows at the same time.
///
/// Errors: the file does not exist or is not writable. It is not an array of this number type with these rows. The rows
/// cannot be written, for example because the disk is full.
fn write_rows<T: NpyNumber>(path: &Path, first: u64, values: &[T]) -> Result<()> {
    let mut source = Source::open(path)?;
    if source.prefix(MAGIC.len())? != MAGIC {
        return Err(source.error("is not a NumPy array"));
    }
    let text = header_text(&mut source)?;
    let header = Header::parse(&text, ArrayUse::Chosen).map_err(|message| source.error(message))?;
    if header.number.name() != T::NUMBER || header.fortran || foreign(header.big_endian) {
        let (found, wanted) = (header.number.name(), T::NUMBER);
        return Err(source.error(format!("holds {found}; it must hold {wanted} in native byte order, row by row")));
    }
    header.check_length(&source)?;
    let n = (values.len() / header.dim) as u64;
    if first.checked_add(n).is_none_or(|end| end > header.points) {
        let rows = header.points;
        return Err(source.error(format!("has {rows} rows, which do not include {n} rows from row {first} on")));
    }
    let failed = |error| Error::io(path, "cannot be written", error);
    let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    // Cannot overflow, since the array fits into the file.
    let at = source.at() + first * (header.dim * size_of::<T>()) as u64;
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let written = file.seek(SeekFrom::Start(at)).and_then(|_| {
        bytes.chunks(CANCEL_CHECK_BYTES).try_for_each(|part| {
            check();
            file.write_all(part)
        })
    });
    written.map_err(|error| Error::io(path, format!("cannot be written at byte {at}"), error))?;
    file.sync_data().map_err(failed)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use ropewalk::distributed::Alone;

    use super::*;

    /// A process that reaches its limit of file size, as on a full disk, gets an error.
    #[test]
    fn no_space_is_left() {
        const NAME: &str = "ROPEWALK_TEST_SHARED_NPY";
        if let Some(path) = std::env::var_os(NAME) {
            // This is the process that is started below.
            let path = Path::new(&path);
            write_rows(path, 0, &[1; 1000]).unwrap();
            let message = write_rows(path, 20_000, &[1; 1000]).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{}: cannot be written at byte 80128", path.display())), "{message}");
            return;
        }
        let path = std::env::temp_dir().join(format!("ropewalk-shared-full-{}.npy", std::process::id()));
        let whole = SharedNpy::create::<i32>(&Alone, &path, 100_000, None).unwrap();
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "npy::shared::tests::no_space_is_left"])
            .env(NAME, &whole.temporary)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        let temporary = whole.temporary.clone();
        drop(whole);
        assert!(!temporary.exists() && !path.exists());
    }
}
