//! Errors about files.

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind};

impl Error {
    /// An error about what is in a file: `path: message`.
    pub(crate) fn file(path: impl Into<PathBuf>, message: impl std::fmt::Display) -> Self {
        Kind::File { path: path.into(), message: message.to_string(), source: None }.into()
    }

    /// The same about a file that the user knows by another name.
    pub(crate) fn renamed(mut self, from: &Path, to: &Path) -> Self {
        if let Kind::File { path, .. } = &mut *self.0
            && path == from
        {
            *path = to.to_path_buf();
        }
        self
    }

    /// A file that the operating system refuses: `path: what failed: why`. It keeps the system's error.
    pub(crate) fn io(path: impl Into<PathBuf>, failed: impl std::fmt::Display, error: std::io::Error) -> Self {
        Kind::File { path: path.into(), message: format!("{failed}: {error}"), source: Some(error) }.into()
    }
}
