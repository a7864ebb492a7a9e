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

/// A temporary file, removed when it is dropped or the process ends by a signal.
pub(super) struct Spool(Temporary);

impl Spool {
    /// All that `reader` has, which errors call `name`.
    pub(super) fn of(reader: impl Read, name: &Path) -> Result<Self> {
        let (mut file, temporary) = scratch(name)?;
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
        Ok(Self(temporary))
    }

    /// A gzip file, uncompressed.
    pub(super) fn uncompressed(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        Self::of(MultiGzDecoder::new(io::BufReader::new(file)), path)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &PathBuf {
        self.0.name()
    }
}
