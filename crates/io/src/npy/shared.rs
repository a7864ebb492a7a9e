//! One NumPy array that all ranks write together.
//!
//! - in: from each rank its rows
//! - out: the file under its name when all have written, byte by byte what one process would write; nothing before that
//! - how: rank 0 makes a temporary file with the header and the length of the whole, and sends its name to all; each opens it and writes
//!   where its rows go

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
use crate::npy::header::{Header, MAGIC, MOST_COLUMNS, Of, header_text};
use crate::number_types::{Number, foreign};
use crate::source::Source;

/// Bytes written between looks whether the call is cancelled.
const LOOK: usize = 1 << 22;

/// Numbers that a [`SharedNpy`] holds.
pub trait NpyNumber: sealed::Sealed {}

mod sealed {
    /// What only this crate knows of a number.
    pub trait Sealed: super::AutoSerialize + bytemuck::Pod {
        /// As a header names it.
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

/// An array whose rows all ranks write, each its own: those of rank 0 come first, then those of rank 1, and so on. Dropped before
/// [`SharedNpy::commit`], it removes what was written.
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
    /// The file that all ranks write into, in the folder of the one that it will be.
    temporary: PathBuf,
    /// The same file, open on rank 0.
    file: Option<AtomicFile>,
    /// Rows of lower ranks, and of this one.
    first: u64,
    rows: u64,
    width: usize,
    /// Bytes of the whole file.
    len: u64,
}

impl<'a> SharedNpy<'a> {
    /// An array that will be `path` on rank 0, of which this rank has `rows` rows: of `width` numbers each, or one-dimensional without one.
    /// Rows that are not written are 0. Where the file system keeps no space for what is not written, [`SharedNpy::write`] finds that it is
    /// full. Collective.
    ///
    /// # Errors
    /// On all ranks: as [`AtomicFile::create`]; if `path` is there and is no file, as `/dev/stdout`; if the array is longer than files may
    /// be, or has rows of none or of more than 65536 numbers. If a rank has ended.
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

    /// The path that the complete array takes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes of the complete file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Writes all rows of this rank, one after the other. Collective.
    ///
    /// # Errors
    /// On all ranks: if one has more or fewer values than its rows, or other numbers than those of the array; if rows cannot be written, as
    /// where no space is left. If a rank has ended.
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

    /// Gives the file its name, on rank 0; on the others nothing happens. Not collective, so that rank 0 can name several files together.
    ///
    /// # Errors
    /// If the temporary file is gone or has another length, or cannot be renamed; what was there is then unchanged.
    pub fn commit(self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        let path = file.path();
        let found = std::fs::metadata(&self.temporary)
            .map_err(|error| Error::io(path, "cannot be written: its temporary file cannot be looked at", error))?
            .len();
        if found != self.len {
            let (temporary, len) = (self.temporary.display(), self.len);
            let message = format!("cannot be written: its temporary file {temporary} has {found} bytes, not {len}");
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

/// The header of an array of so many rows, and the bytes of its file.
fn header_of<T: NpyNumber>(path: &Path, rows: u64, width: Option<usize>) -> Result<(Vec<u8>, u64)> {
    if let Some(width) = width.filter(|&width| width == 0 || width as u64 > MOST_COLUMNS) {
        return Err(Error::parameter_must("width", width as f64, "from 1 to 65536"));
    }
    let shape: Vec<u64> = [rows].into_iter().chain(width.map(|width| width as u64)).collect();
    let too_long = || {
        let width = width.unwrap_or(1);
        Error::file(path, format!("cannot be written: {rows} rows of {width} are more than files have"))
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

/// A file with the header and the length of the whole, and its temporary name.
fn named(path: &Path, header: &[u8], len: u64) -> Result<(AtomicFile, PathBuf)> {
    let mut file = AtomicFile::create_named(path)?;
    let Some(temporary) = file.temporary().map(Path::to_path_buf) else {
        return Err(Error::file(path, "is no file, into which alone several processes can write together"));
    };
    let written = file.write_all(header).and_then(|()| file.set_len(len));
    written.map_err(|error| Error::io(path, "cannot be written", error))?;
    Ok((file, temporary))
}

/// The bytes of a path, for another rank's [`path_of`].
#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    name.into()
}

/// The bytes of a path, for another rank's [`path_of`]: elsewhere names are text.
#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Writes rows from `first` on into an array that is there, one after the other. Others may write other rows at the same time.
///
/// Errors: if the file is not there or may not be written, or is not an array of such numbers that has these rows; if they cannot be written,
/// as where no space is left.
fn write_rows<T: NpyNumber>(path: &Path, first: u64, values: &[T]) -> Result<()> {
    let mut source = Source::open(path)?;
    if source.prefix(MAGIC.len())? != MAGIC {
        return Err(source.error("is not a NumPy array"));
    }
    let text = header_text(&mut source)?;
    let header = Header::parse(&text, Of::Chosen).map_err(|message| source.error(message))?;
    if header.number.name() != T::NUMBER || header.fortran || foreign(header.big_endian) {
        let (found, wanted) = (header.number.name(), T::NUMBER);
        return Err(source.error(format!("holds {found}, and {wanted} are to be written, row by row")));
    }
    header.check_length(&source)?;
    let n = (values.len() / header.dim) as u64;
    if first.checked_add(n).is_none_or(|end| end > header.points) {
        let rows = header.points;
        return Err(source.error(format!("has {rows} rows; {n} rows from row {first} on are not among them")));
    }
    let failed = |error| Error::io(path, "cannot be written", error);
    let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    // The whole array has fewer bytes than the file.
    let at = source.at() + first * (header.dim * size_of::<T>()) as u64;
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let written = file.seek(SeekFrom::Start(at)).and_then(|_| {
        bytes.chunks(LOOK).try_for_each(|part| {
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

    /// A process that can write no more, as on a full disk, gets an error.
    #[test]
    fn no_space_is_left() {
        const NAME: &str = "ROPEWALK_TEST_SHARED_NPY";
        if let Some(path) = std::env::var_os(NAME) {
            // The process below.
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
