//! The list of file formats, and the detection of a file's format.
//!
//! In: the first bytes of a file, or a path. Out: the format that reads it. Only this file knows all formats. Cost: a
//! few comparisons of bytes per format.

use std::path::Path;

#[cfg(feature = "parquet")]
use crate::parquet::Parquet;
use ropewalk::{Error, Result};

use crate::abacus::Abacus;
use crate::file_format::FileFormat;
use crate::gadget::Gadget;
use crate::genericio::GenericIo;
use crate::hdf5::Hdf5;
use crate::npy::Npy;
use crate::npz::Npz;
use crate::ramses::Ramses;
use crate::records::fits::Fits;
use crate::records::las::Las;
use crate::records::obj::Obj;
use crate::records::pcd::Pcd;
use crate::records::ply::Ply;
use crate::temp_file::GZIP;
use crate::text::TextTable;
use crate::tipsy::Tipsy;
use crate::unreadable;

/// Formats detected from a path, before the content is read.
const BY_PATH: &[&dyn FileFormat] = &[&Ramses];
/// Formats with a signature in their first bytes, in the order in which they are tried. Tipsy has the weakest
/// signature.
const WITH_SIGNATURE: &[&dyn FileFormat] = &[
    &Gadget,
    &Npy,
    &Hdf5,
    &Npz,
    #[cfg(feature = "parquet")]
    &Parquet,
    &Fits,
    &Las,
    &Ply,
    &Pcd,
    &Abacus,
    &GenericIo,
    &Tipsy,
];
/// Text formats without a signature, in the order in which they are tried. The last one accepts any text.
const TEXT: &[&dyn FileFormat] = &[&Obj, &TextTable];

/// The error message for other binary files.
const UNKNOWN: &str = "is binary and in an unsupported format; supported are Gadget, Tipsy, GenericIO, HDF5 of simulations, RAMSES, Abacus, \
                       NumPy arrays and archives, Parquet, FITS tables, LAS, PCD, PLY";

/// The format of a file, detected from its first bytes.
#[derive(Clone, Copy)]
pub(super) enum Detected {
    Known(&'static dyn FileFormat),
    Gzip,
    /// A format that is not supported; the text says what the file is.
    Unreadable(&'static str),
}

impl Detected {
    /// Returns the format that reads the file `path`.
    ///
    /// Errors: the file is compressed twice, or its format is not supported.
    pub(super) fn format(self, path: &Path) -> Result<&'static dyn FileFormat> {
        match self {
            Self::Known(format) => Ok(format),
            Self::Gzip => Err(Error::file(path, "is compressed twice; uncompress it once (gzip -d)")),
            Self::Unreadable(what) => Err(Error::file(path, what)),
        }
    }
}

/// Returns the format of a file whose first 4096 bytes are `prefix`.
pub(super) fn detect(prefix: &[u8]) -> Detected {
    let first =
        |formats: &[&'static dyn FileFormat]| formats.iter().copied().find(|format| format.recognises_prefix(prefix));
    if prefix.starts_with(GZIP) {
        return Detected::Gzip;
    }
    #[cfg(not(feature = "parquet"))]
    if unreadable::is_marked(prefix, b"PAR1") {
        return Detected::Unreadable("is a Parquet table, which needs the feature `parquet`");
    }
    if let Some(format) = first(WITH_SIGNATURE) {
        return Detected::Known(format);
    }
    if let Some(why) = unreadable::recognises_prefix(prefix) {
        return Detected::Unreadable(why);
    }
    match first(TEXT).filter(|_| !prefix.contains(&0)) {
        Some(format) => Detected::Known(format),
        None => Detected::Unreadable(UNKNOWN),
    }
}

/// Returns the format that the name of a path and the files beside it show.
pub(super) fn owner(path: &Path) -> Option<&'static dyn FileFormat> {
    BY_PATH.iter().copied().find(|format| format.recognises_path(path))
}

/// All formats.
pub(super) fn formats() -> impl Iterator<Item = &'static dyn FileFormat> {
    [WITH_SIGNATURE, BY_PATH, TEXT].into_iter().flatten().copied()
}
