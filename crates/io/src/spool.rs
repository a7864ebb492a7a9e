//! What cannot be read twice, as a file that can: standard input, a pipe, a compressed file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use ropewalk::{Error, Result};

use crate::atomic::Temporary;
use crate::memory_limit;
use crate::source::Cancellable;

/// Bytes that are copied between two checks of their number.
const STEP: u64 = 1 << 24;
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
        let path = crate::atomic::descriptor(&held);
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
        Self::checked(reader, name, |_| Ok(()))
    }

    /// The same, for files of a limited size. `check` refuses a number of bytes that is too large; it is called once for each [`STEP`] bytes.
    fn checked(reader: impl Read, name: &Path, check: impl Fn(u64) -> Result<()>) -> Result<Self> {
        let (mut file, spool) = scratch(name)?;
        let (mut reader, mut buffer, mut bytes) = (Cancellable(reader), vec![0; 1 << 18], 0);
        let mut checked = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    bytes += n as u64;
                    if bytes > checked {
                        checked = bytes.next_multiple_of(STEP);
                        check(checked)?;
                    }
                    file.write_all(&buffer[..n])
                        .map_err(|error| Error::io(name, "cannot be copied into the temporary folder", error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(name, "cannot be read", error)),
            }
        }
        file.flush().map_err(|error| Error::io(name, "cannot be copied into the temporary folder", error))?;
        Ok(spool)
    }

    /// A gzip file, uncompressed. A small file can hold far more than the disk has room for, so the memory that a run may take is the limit.
    ///
    /// Errors: the file is no gzip, or holds more bytes than there is memory.
    pub(super) fn uncompressed(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        let check = |bytes| memory_limit::check(path, bytes);
        Self::checked(MultiGzDecoder::new(io::BufReader::new(file)), path, check)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_a_limit() {
        let name = Path::new("a.gz");
        let check = |bytes: u64| if bytes > 2 * STEP { Err(Error::file(name, "is too large")) } else { Ok(()) };
        let copy = |bytes: u64| Spool::checked(io::repeat(0).take(bytes), name, check);
        assert_eq!(std::fs::metadata(copy(2 * STEP).unwrap().path()).unwrap().len(), 2 * STEP);
        assert!(copy(2 * STEP + 1).is_err_and(|error| error.to_string().contains("is too large")));
    }
}
