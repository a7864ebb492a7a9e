//! A temporary file with the content of an input that cannot be read twice: standard input, a pipe, or a compressed
//! file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use ropewalk::{Error, Result};

use crate::atomic::Temporary;
use crate::memory_limit;
use crate::source::Cancellable;

/// Bytes that are copied between two checks of the limit.
const STEP: u64 = 1 << 24;
/// The first bytes of gzip files.
pub(super) const GZIP: &[u8] = b"\x1f\x8b\x08";

/// A copy in the folder for temporary files. On Linux it has no name, so that it vanishes when the process ends, even
/// after a crash.
pub(super) struct TempFile {
    path: PathBuf,
    /// The file at `path`, which is removed when this handle is closed or dropped.
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

/// Creates a new file, and returns it with a path by which this process can open it.
fn scratch(name: &Path) -> Result<(File, TempFile)> {
    let failed = |error| Error::io(name, "cannot be copied into the temporary folder", error);
    #[cfg(target_os = "linux")]
    {
        let file = tempfile::tempfile().map_err(failed)?;
        let held = file.try_clone().map_err(failed)?;
        let path = crate::atomic::descriptor(&held);
        // Without /proc, the file needs a name.
        if path.is_file() {
            return Ok((file, TempFile { path, _held: Held::Unnamed { _file: held } }));
        }
    }
    let (file, temporary) = Temporary::scratch(name)?;
    let path = temporary.name().map(Path::to_path_buf).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    Ok((file, TempFile { path, _held: Held::Named { _file: temporary } }))
}

impl TempFile {
    /// Copies all bytes of `reader` into a file. Error messages name the input `name`.
    pub(super) fn from_reader(reader: impl Read, name: &Path) -> Result<Self> {
        Self::checked(reader, name, |_| Ok(()))
    }

    /// Copies as [`TempFile::from_reader`] does, with a limit. `check` is called once per [`STEP`] bytes, and returns
    /// an error if that number of bytes is too large.
    fn checked(reader: impl Read, name: &Path, check: impl Fn(u64) -> Result<()>) -> Result<Self> {
        let (mut file, temp_file) = scratch(name)?;
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
        Ok(temp_file)
    }

    /// Uncompresses a gzip file. A small file can contain far more than the disk can hold, so the memory available to
    /// the process is the limit.
    ///
    /// Errors: the file is not gzip, or contains more bytes than memory is available.
    pub(super) fn uncompressed(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        let check = |bytes| memory_limit::check(path, bytes);
        Self::checked(MultiGzDecoder::new(io::BufReader::new(file)), path, check)
    }

    /// Returns the path of the copy.
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
        let copy = |bytes: u64| TempFile::checked(io::repeat(0).take(bytes), name, check);
        assert_eq!(std::fs::metadata(copy(2 * STEP).unwrap().path()).unwrap().len(), 2 * STEP);
        assert!(copy(2 * STEP + 1).is_err_and(|error| error.to_string().contains("is too large")));
    }
}
