//! A binary file of known length, against which stated lengths are checked before memory is allocated.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ropewalk::internals::cancel::check;
use ropewalk::internals::memory::try_with_capacity;
use ropewalk::{Error, Result};

use crate::memory_limit;
use crate::number_types::{Word, foreign};

/// Bytes read at a time: enough for efficient disk access, and few enough to remain in the cache for the conversion.
const CHUNK: usize = 1 << 18;

/// Returns the byte that ends the lines of a text with the given start: CR if it contains CR and no LF.
pub(super) fn line_end(start: &[u8]) -> u8 {
    if start.contains(&b'\r') && !start.contains(&b'\n') { b'\r' } else { b'\n' }
}

/// Returns the words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A file open for reading, its position, and its length when it was opened.
pub(super) struct Source {
    path: PathBuf,
    file: File,
    len: u64,
    at: u64,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, "cannot be opened", error);
        let meta = fs::metadata(path).map_err(failed)?;
        if !meta.is_file() {
            return Err(Error::file(path, "is not a regular file"));
        }
        let file = File::open(path).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), file, len: meta.len(), at: 0 })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the metadata of the open file.
    pub(super) fn metadata(&self) -> Result<fs::Metadata> {
        self.file.metadata().map_err(|error| Error::io(&self.path, "cannot read metadata", error))
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number of bytes between the position and the end.
    pub(super) fn left(&self) -> u64 {
        self.len.saturating_sub(self.at)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::file(&self.path, message)
    }

    pub(super) fn seek(&mut self, at: u64) -> Result<()> {
        self.file
            .seek(SeekFrom::Start(at))
            .map_err(|error| Error::io(&self.path, format!("cannot seek to byte {at}"), error))?;
        self.at = at;
        Ok(())
    }

    /// Reads exactly as many bytes as `into` holds.
    pub(super) fn fill(&mut self, into: &mut [u8]) -> Result<()> {
        check();
        let n = into.len() as u64;
        if n > self.left() {
            let (at, left) = (self.at, self.left());
            return Err(self.error(format!("truncated: expected {n} bytes at byte {at}, got {left}")));
        }
        let at = self.at;
        self.file
            .read_exact(into)
            .map_err(|error| Error::io(&self.path, format!("cannot read {n} bytes at byte {at}"), error))?;
        self.at += n;
        Ok(())
    }

    /// Returns a note on the bytes from `end` on, which follow the last `what`; `None` if there are none.
    pub(super) fn note_after(&self, end: u64, what: &str) -> Option<String> {
        let left = self.len.saturating_sub(end);
        (left > 0).then(|| format!("{left} bytes after the last {what} are not read"))
    }

    /// Returns up to `n` bytes from the start of the file, and seeks back to the start.
    pub(super) fn prefix(&mut self, n: usize) -> Result<Vec<u8>> {
        let n = self.len.min(n as u64);
        let mut bytes = room(&self.path, n)?;
        bytes.resize(n as usize, 0);
        self.seek(0)?;
        self.fill(&mut bytes)?;
        self.seek(0)?;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self, big_endian: bool) -> Result<u32> {
        let bytes = self.array()?;
        Ok(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Reads the next `n` words and passes them to `each` in chunks.
    pub(super) fn words<T: Word>(&mut self, n: u64, big_endian: bool, mut each: impl FnMut(&[T])) -> Result<()> {
        let room = (CHUNK / size_of::<T>()) as u64;
        let mut buffer = vec![T::zeroed(); n.min(room) as usize];
        let mut left = n;
        while left > 0 {
            buffer.truncate(left.min(room) as usize);
            self.fill(bytemuck::cast_slice_mut(&mut buffer))?;
            if foreign(big_endian) {
                for word in &mut buffer {
                    *word = word.swapped();
                }
            }
            each(&buffer);
            left -= buffer.len() as u64;
        }
        Ok(())
    }
}

/// A reader that ends when the call is cancelled.
pub(super) struct Cancellable<R>(pub R);

impl<R: Read> Read for Cancellable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        check();
        self.0.read(buffer)
    }
}

/// Returns an empty vector with capacity for `n` values. The caller has checked `n` against the size of the file
/// `path`.
///
/// Errors: the allocation fails, or less memory is available.
pub(super) fn room<T>(path: &Path, n: u64) -> Result<Vec<T>> {
    memory_limit::check(path, n.saturating_mul(size_of::<T>() as u64))?;
    usize::try_from(n).ok().and_then(try_with_capacity).ok_or_else(|| no_room::<T>(path, n))
}

/// Returns the error for `n` values of the file `path` that do not fit into memory.
pub(super) fn no_room<T>(path: &Path, n: u64) -> Error {
    let failed = format!("{n} values of {} bytes", size_of::<T>());
    Error::io(path, failed, std::io::ErrorKind::OutOfMemory.into())
}
