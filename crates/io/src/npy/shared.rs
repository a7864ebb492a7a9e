//! One NumPy array that several processes write together.
//!
//! - in: the shape of the whole, and from each process its rows
//! - out: the file under its name when all have written, byte by byte what one process would write; nothing before that
//! - how: one process makes a temporary file with the header and the length of the whole; each opens it by its name and writes where its
//!   rows go. What they tell each other is theirs: the name of the temporary file, and that all have succeeded.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use npyz::{AutoSerialize, WriterBuilder};

use ropewalk::internals::cancel::check;
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

/// An array whose rows several processes write, each its own, with [`SharedNpyRows`]. The process that makes it keeps this until all have
/// written, and then gives the file its name; dropped before that, it removes what was written.
///
/// ```
/// use ropewalk_io::{SharedNpy, SharedNpyRows, read_npy_u64, write_npy_i32};
///
/// let path = std::env::temp_dir().join("ropewalk_shared_npy.npy");
/// let whole = SharedNpy::create::<i32>(&path, 5, None)?;
/// // Each process, with the name that the first one tells it, and where its rows begin.
/// for (first, rows) in [(2, &[12, 13, 14][..]), (0, &[10, 11])] {
///     let mut file = SharedNpyRows::open(whole.temporary())?;
///     file.write_rows(first, rows)?;
///     file.finish()?;
/// }
/// assert!(!path.exists());
/// // When all have said that they succeeded.
/// whole.commit()?;
/// assert_eq!(read_npy_u64(&path)?, [10, 11, 12, 13, 14]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedNpy {
    file: AtomicFile,
    temporary: PathBuf,
    /// Bytes of the whole file.
    len: u64,
}

impl SharedNpy {
    /// An array of `rows` rows that will be `path`: of `width` numbers each, or one-dimensional without one. Rows that are not written are 0.
    /// Where the file system keeps no space for what is not written, that it is full is told by [`SharedNpyRows::write_rows`] or
    /// [`SharedNpyRows::finish`].
    ///
    /// # Errors
    /// As [`AtomicFile::create`]; if `path` is there and is no file, as `/dev/stdout`; if the array is longer than files may be, or has rows of none or of more than 65536 numbers.
    pub fn create<T: NpyNumber>(path: impl AsRef<Path>, rows: u64, width: Option<usize>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error| Error::io(path, "cannot be written", error);
        if let Some(width) = width.filter(|&width| width == 0 || width as u64 > MOST_COLUMNS) {
            return Err(Error::parameter_must("width", width as f64, "from 1 to 65536"));
        }
        let mut file = AtomicFile::create_named(path)?;
        let Some(temporary) = file.temporary().map(Path::to_path_buf) else {
            return Err(Error::file(path, "is no file, into which alone several processes can write together"));
        };
        let shape: Vec<u64> = [rows].into_iter().chain(width.map(|width| width as u64)).collect();
        let bytes = shape.iter().try_fold(size_of::<T>() as u64, |bytes, &side| bytes.checked_mul(side));
        let too_long = || {
            let width = width.unwrap_or(1);
            Error::file(path, format!("cannot be written: {rows} rows of {width} are more than files have"))
        };
        let bytes = bytes.ok_or_else(too_long)?;
        let mut header = vec![];
        npyz::WriteOptions::<T>::new()
            .default_dtype()
            .shape(&shape)
            .writer(&mut header)
            .write_header_only()
            .map_err(failed)?;
        let len = bytes.checked_add(header.len() as u64).ok_or_else(too_long)?;
        file.write_all(&header).and_then(|()| file.set_len(len)).map_err(failed)?;
        Ok(Self { file, temporary, len })
    }

    /// The file that all processes write into, in the folder of the one it will be.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The path that the complete array takes.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The number of bytes of the complete file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Gives the file its name, when all processes have said that their rows are there ([`SharedNpyRows::finish`]).
    ///
    /// # Errors
    /// If the temporary file is gone or has another length, or cannot be renamed; what was there is then unchanged.
    pub fn commit(self) -> Result<()> {
        let path = self.file.path();
        let found = std::fs::metadata(&self.temporary)
            .map_err(|error| Error::io(path, "cannot be written: its temporary file cannot be looked at", error))?
            .len();
        if found != self.len {
            let (temporary, len) = (self.temporary.display(), self.len);
            let message = format!("cannot be written: its temporary file {temporary} has {found} bytes, not {len}");
            return Err(Error::file(path, message));
        }
        self.file.commit()
    }
}

/// A [`SharedNpy`] as one of the processes has it open.
#[derive(Debug)]
pub struct SharedNpyRows<T> {
    path: PathBuf,
    file: File,
    /// The byte where the first row begins.
    start: u64,
    rows: u64,
    width: usize,
    number: PhantomData<T>,
}

impl<T: NpyNumber> SharedNpyRows<T> {
    /// Opens the file that [`SharedNpy::temporary`] names.
    ///
    /// # Errors
    /// If it is not there or may not be written, or is not an array of these numbers.
    pub fn open(temporary: impl AsRef<Path>) -> Result<Self> {
        let path = temporary.as_ref();
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
        let file = OpenOptions::new().write(true).open(path);
        let file = file.map_err(|error| Error::io(path, "cannot be written", error))?;
        let (start, rows, width) = (source.at(), header.points, header.dim);
        Ok(Self { path: path.to_path_buf(), file, start, rows, width, number: PhantomData })
    }

    /// Writes rows from `first` on, one after the other. Others may write other rows at the same time.
    ///
    /// # Errors
    /// If the rows are not whole or go beyond the array; if they cannot be written, as where no space is left.
    pub fn write_rows(&mut self, first: u64, values: &[T]) -> Result<()> {
        let n = (values.len() / self.width) as u64;
        if !values.len().is_multiple_of(self.width) {
            let must = "a multiple of the width of rows";
            return Err(Error::parameter_must("values.len()", values.len() as f64, must));
        }
        if first.checked_add(n).is_none_or(|end| end > self.rows) {
            let message = format!("has {} rows; {n} rows from row {first} on are not among them", self.rows);
            return Err(Error::file(&self.path, message));
        }
        // The whole array has fewer bytes than the file.
        let at = self.start + first * (self.width * size_of::<T>()) as u64;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let file = &mut self.file;
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| {
            bytes.chunks(LOOK).try_for_each(|part| {
                check();
                file.write_all(part)
            })
        });
        written.map_err(|error| Error::io(&self.path, format!("cannot be written at byte {at}"), error))
    }

    /// Ends writing: what was written is on the disk, or there is an error.
    ///
    /// # Errors
    /// If the system could not keep what was written, as where no space is left.
    pub fn finish(self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::io(&self.path, "cannot be written", error))
    }
}
