//! The interface between a file format and the functions that read, describe and find files.
//!
//! In: the first bytes of a file, its path, and a [`Reading`]. Out: a [`Snapshot`] or its [`Contents`]; the files
//! that belong together. Each format implements [`FileFormat`] once and does not know the others; `registry` lists
//! the formats. To add a format, write the implementation and its line there.

use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::gadget_header::Header;
use crate::reading::Reading;
use crate::{Contents, Snapshot};

/// A file format: how its files are recognised and read, and which names mark files that belong together.
pub(super) trait FileFormat: Sync {
    /// Returns `true` if a file whose first 4096 bytes are `prefix` has this format. It is called only if the formats
    /// before this one in the registry return `false`.
    fn recognises_prefix(&self, prefix: &[u8]) -> bool;

    /// Reads the requested rows of a file.
    ///
    /// Errors: those of [`read`](crate::read).
    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot>;

    /// Describes a file without reading its particles, unless only they show how many there are.
    ///
    /// Errors: those of [`inspect`](crate::inspect).
    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents>;

    /// Returns the header of a Gadget snapshot.
    ///
    /// Errors: those of [`read_header`](crate::read_header). Other formats have no such header.
    fn header(&self, path: &Path, _: &Reading<'_>) -> Result<Header> {
        Err(Error::file(path, "is not a Gadget snapshot, and has no header"))
    }

    /// Returns `true` if all files of this format are snapshots of simulations, which have no fields or columns to
    /// choose.
    fn is_of_simulations(&self) -> bool {
        false
    }

    /// Returns `true` for text tables: rows with missing values can be left out, and compressed files are
    /// uncompressed while they are read.
    fn is_text_table(&self) -> bool {
        false
    }

    /// Returns `true` if the name of `path` and the files beside it show this format, whatever the content. A folder
    /// may have a format.
    fn recognises_path(&self, _: &Path) -> bool {
        false
    }

    /// Returns `true` if a file of this format is the snapshot to read among the files of a folder.
    fn is_snapshot_in_folder(&self, _: &Path) -> bool {
        false
    }

    /// Returns the first file of the split snapshot that `path` names, if `path` itself is not a file.
    fn first_part(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the files of the split snapshot that contains `path`, found by their names, in order.
    fn parts(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }

    /// Returns the name of a split snapshot's file without the part number, if it has one.
    fn without_part_number(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the files beside `path` that are read with it, found by their names.
    fn companions(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }
}
