//! What cannot be read twice, as a file that can: standard input, a pipe, a compressed file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::io::atomic::{Temporary, scratch};
use crate::io::source::Cancellable;
use crate::{Error, Result};

/// How gzip files begin.
pub(super) const GZIP: &[u8] = b"\x1f\x8b\x08";

/// A temporary file, gone when it is dropped or the process ends.
pub(super) struct Spool {
    path: PathBuf,
    /// The file without a name, by which it stays: on Linux, where such a file can be opened again.
    _unnamed: Option<File>,
    _named: Option<Temporary>,
}

/// The folder of the open files of a process on Linux.
const OPEN_FILES: &str = "/proc/self/fd";

/// Returns `true` if `path` leads to a file without a name.
pub(super) fn is_unnamed(path: &Path) -> bool {
    cfg!(target_os = "linux") && path.starts_with(OPEN_FILES)
}

/// A file without a name, and a path by which it can be opened again.
#[cfg(target_os = "linux")]
fn unnamed() -> Option<(File, PathBuf)> {
    let file = tempfile::tempfile().ok()?;
    let path = Path::new(OPEN_FILES).join(std::os::fd::AsRawFd::as_raw_fd(&file).to_string());
    // Not where /proc is not there.
    path.is_file().then_some((file, path))
}

#[cfg(not(target_os = "linux"))]
fn unnamed() -> Option<(File, PathBuf)> {
    None
}

impl Spool {
    /// All that `reader` has, which errors call `name`.
    pub(super) fn of(reader: impl Read, name: &Path) -> Result<Self> {
        let (mut file, path, named) = match unnamed() {
            Some((file, path)) => (file, path, None),
            None => {
                let (file, temporary) = scratch(name)?;
                (file, temporary.name().clone(), Some(temporary))
            }
        };
        let (mut reader, mut buffer) = (Cancellable(reader), vec![0; 1 << 18]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => file
                    .write_all(&buffer[..n])
                    .map_err(|error| Error::io(name, "cannot be copied into the temporary folder", error))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(name, "cannot be read", error)),
            }
        }
        file.flush().map_err(|error| Error::io(name, "cannot be copied into the temporary folder", error))?;
        let _unnamed = named.is_none().then_some(file);
        Ok(Self { path, _unnamed, _named: named })
    }

    /// A gzip file, uncompressed.
    pub(super) fn uncompressed(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        Self::of(MultiGzDecoder::new(io::BufReader::new(file)), path)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }
}
