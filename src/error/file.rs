//! Errors about files.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use super::{Error, ErrorKind, Subject};

/// For the crates of this workspace; messages may change.
#[doc(hidden)]
impl Error {
    /// Creates the error for a file with invalid contents: `path: message`.
    pub fn file(path: impl Into<PathBuf>, message: impl Display) -> Self {
        Self::new(ErrorKind::Format, message.to_string()).in_file(path)
    }

    /// Creates the error for a failed operation of the operating system on a file: `path: what failed: why`. The
    /// system's error is the source.
    pub fn io(path: impl Into<PathBuf>, failed: impl Display, error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::OutOfMemory { ErrorKind::Memory } else { ErrorKind::Io };
        Self::new(kind, format!("{failed}: {error}")).in_file(path).caused_by(error)
    }

    /// Creates the error for a failed writer. The message is that of its error, which is the source.
    pub fn write(error: io::Error) -> Self {
        Self::new(ErrorKind::Io, error.to_string()).caused_by(error)
    }

    /// Prints the path of a file before the message, instead of the item that [`Error::of_item`] prints.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.subject = Subject::File(path.into());
        self
    }

    /// Replaces the path `from` by `to`, the name by which the user knows the file. Errors about other files are
    /// unchanged.
    #[must_use]
    pub fn renamed(mut self, from: &Path, to: &Path) -> Self {
        if let Subject::File(path) = &mut self.0.subject
            && path == from
        {
            *path = to.to_path_buf();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn errors_of_files_keep_their_source() {
        let refused = |kind: io::ErrorKind| Error::io("a.part", "cannot write", kind.into());
        let full = refused(io::ErrorKind::StorageFull);
        assert_eq!((full.kind(), full.source().is_some()), (ErrorKind::Io, true));
        assert_eq!(refused(io::ErrorKind::OutOfMemory).kind(), ErrorKind::Memory);
        let [from, to] = ["a.part", "a.csv"].map(Path::new);
        assert_eq!(full.renamed(to, from).renamed(from, to).to_string(), "a.csv: cannot write: no storage space");
        assert_eq!(Error::file("a.csv", "it is empty").kind(), ErrorKind::Format);
    }
}
