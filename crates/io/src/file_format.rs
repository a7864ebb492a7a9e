//! The interface of a file format to the functions that read, describe and find files.
//!
//! In: the first bytes of a file, its path, and a [`Reading`]. Out: a [`Snapshot`] or its [`Contents`]; the files that belong together.
//! Each format implements [`FileFormat`] once and knows no other; `registry` lists the formats. To add a format, write the
//! implementation and its line there.

use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::gadget_header::Header;
use crate::reading::Reading;
use crate::{Contents, Snapshot};

/// A file format: how its files are recognised and read, and by which names they belong together.
pub(super) trait FileFormat: Sync {
    /// Returns `true` if a file that begins with `prefix`, its first 4096 bytes, is of this format. The formats before this one in the
    /// registry have not recognised it.
    fn sniff(&self, prefix: &[u8]) -> bool;

    /// Reads the wanted rows of a file.
    ///
    /// Errors: those of [`read`](crate::read).
    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot>;

    /// Describes a file without its particles, unless nothing else tells how many there are.
    ///
    /// Errors: those of [`inspect`](crate::inspect).
    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents>;

    /// Returns the header of a Gadget snapshot.
    ///
    /// Errors: those of [`read_header`](crate::read_header). Other formats have no such header.
    fn header(&self, path: &Path, _: &Reading<'_>) -> Result<Header> {
        Err(Error::file(path, "is not a Gadget snapshot, and has no header"))
    }

    /// Returns `true` if all files of this format are snapshots of simulations, which have no fields or columns to choose.
    fn is_of_simulations(&self) -> bool {
        false
    }

    /// Returns `true` for text tables: rows with missing values can be left out, and compressed files are uncompressed as they are read.
    fn is_text_table(&self) -> bool {
        false
    }

    /// Returns `true` if a path is of this format by its name and the files beside it, whatever its content. A folder may be.
    fn owns(&self, _: &Path) -> bool {
        false
    }

    /// Returns `true` if a file of this format among others in a folder is the snapshot to read.
    fn is_snapshot_in_folder(&self, _: &Path) -> bool {
        false
    }

    /// Returns the first file of the split snapshot that `path` stands for, if it is no file itself.
    fn first_part(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the files of the split snapshot that `path` is one of, by their names and in their order.
    fn parts(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }

    /// Returns the name of a split snapshot's file without the number of the part, if it has one.
    fn without_part_number(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the files beside `path` that are read with it, by their names alone.
    fn companions(&self, _: &Path) -> Vec<PathBuf> {
        vec![]
    }
}
