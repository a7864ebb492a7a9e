//! What cannot be read twice, as a file that can: standard input, a pipe, a compressed file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::io::atomic::Temporary;
use crate::io::source::Cancellable;
use crate::{Error, Result};

/// How gzip files begin.
pub(super) const GZIP: &[u8] = b"\x1f\x8b\x08";

/// A copy in the folder for temporary files. On Linux it has no name, so that it is gone when the process has ended, however it ends.
pub(super) struct Spool {
    path: PathBuf,
    /// The file that `path` leads to, which is gone when this is closed or dropped.
    _held: Held,
}

enum Held {
    #[cfg(target_os = "linux")]
    Unnamed {
        _file: File,
    },
    Named {
        _file: Temporary,
    },
}

/// A new file, and a path by which this process opens it.
fn scratch(name: &Path) -> Result<(File, Spool)> {
    let failed = |error| Error::io(name, "cannot be copied into the temporary folder", error);
    #[cfg(target_os = "linux")]
    {
        let file = tempfile::tempfile().map_err(failed)?;
        let held = file.try_clone().map_err(failed)?;
        let path = crate::io::atomic::descriptor(&held);
        // Without /proc it needs a name.
        if path.is_file() {
            return Ok((file, Spool { path, _held: Held::Unnamed { _file: held } }));
        }
    }
    let (file, temporary) = Temporary::scratch(name)?;
    let path = temporary.name().map(Path::to_path_buf).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    Ok((file, Spool { path, _held: Held::Named { _file: temporary } }))
}

impl Spool {
    /// All that `reader` has, which errors call `name`.
    pub(super) fn of(reader: impl Read, name: &Path) -> Result<Self> {
        let (mut file, spool) = scratch(name)?;
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
        Ok(spool)
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
