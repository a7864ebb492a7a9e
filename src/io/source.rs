//! A binary file with its length at hand, so that a promise is checked before memory is given to it,
//! and its counterpart: a file that appears under its name only when it is complete.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Bytes read at a time: enough for the disk, and still in the cache when they are converted.
const CHUNK: usize = 1 << 18;

/// A number as it lies in a file.
pub(super) trait Word: bytemuck::Pod {
    fn swapped(self) -> Self;
}

impl Word for u32 {
    fn swapped(self) -> Self {
        self.swap_bytes()
    }
}

impl Word for u64 {
    fn swapped(self) -> Self {
        self.swap_bytes()
    }
}

impl Word for f32 {
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
}

impl Word for f64 {
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }
}

/// True if words of this byte order must be swapped on this machine.
pub(super) fn foreign(big_endian: bool) -> bool {
    big_endian != cfg!(target_endian = "big")
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

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes between here and the end.
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

    /// The next bytes, exactly as many as `into` holds.
    pub(super) fn fill(&mut self, into: &mut [u8]) -> Result<()> {
        let n = into.len() as u64;
        if n > self.left() {
            let (at, left) = (self.at, self.left());
            return Err(self.error(format!("truncated: {n} bytes are due at byte {at}, {left} are there")));
        }
        let at = self.at;
        self.file
            .read_exact(into)
            .map_err(|error| Error::io(&self.path, format!("cannot read {n} bytes at byte {at}"), error))?;
        self.at += n;
        Ok(())
    }

    /// Up to `n` bytes from the start of the file, and back to the start.
    pub(super) fn prefix(&mut self, n: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.len.min(n as u64) as usize];
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

    /// Hands the next `n` words to `each`, a chunk at a time.
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

/// An empty vector with room for `n` values; the caller has checked `n` against the file `path`.
pub(super) fn room<T>(path: &Path, n: u64) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let reserved = usize::try_from(n).ok().and_then(|n| values.try_reserve_exact(n).ok());
    match reserved {
        Some(()) => Ok(values),
        None => {
            let failed = format!("{n} values of {} bytes", size_of::<T>());
            Err(Error::io(path, failed, std::io::ErrorKind::OutOfMemory.into()))
        }
    }
}

/// Writes `path` through a temporary file beside it, renamed when `write` has succeeded.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Some(name) = path.file_name() else {
        return Err(Error::file(path, "is not the name of a file"));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let temporary = path.with_file_name(hidden);

    let written = File::create_new(&temporary).and_then(|file| {
        let mut out = BufWriter::with_capacity(CHUNK, file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        // The first error is the one to report; a file that was never made cannot be removed.
        let _ = fs::remove_file(&temporary);
        Error::io(path, "cannot be written", error)
    })
}
