//! The formats, and how a file's first bytes tell them apart.

use std::fmt;

use crate::io::cloud::{fits, las, obj, pcd, ply};
use crate::io::{abacus, gadget, genericio, hdf5, npy, spool, tipsy, unreadable};

/// A file format that [`read`](crate::io::read) knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Format {
    /// Gadget-2 binary with `SnapFormat` 1: blocks in a fixed order.
    Gadget1,
    /// Gadget-2 binary with `SnapFormat` 2: a label before each block.
    Gadget2,
    /// Tipsy, of either byte order.
    Tipsy,
    /// GenericIO, of HACC.
    GenericIo,
    /// HDF5 of Gadget and its like: Gadget-2 to 4, AREPO and IllustrisTNG, GIZMO, EAGLE.
    GadgetHdf5,
    /// HDF5 of SWIFT.
    SwiftHdf5,
    /// HDF5 of datasets or records without a header, as h5py, PyTables and pandas write.
    Hdf5Table,
    /// Particles of RAMSES, a folder.
    Ramses,
    /// Particles of Abacus, in ASDF.
    Abacus,
    /// An array written by `numpy.save`.
    Npy,
    /// Arrays written by `numpy.savez`.
    Npz,
    /// A Parquet table, by the feature `parquet`.
    Parquet,
    /// Numbers as text, separated by commas, semicolons, tabs or spaces.
    Csv,
    /// A FITS table.
    Fits,
    /// LAS, a point cloud.
    Las,
    /// PCD, a point cloud.
    Pcd,
    /// Vertices of a PLY file.
    Ply,
    /// Vertices of a Wavefront OBJ file.
    Obj,
    /// None: the points come from memory.
    Memory,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gadget1 => "Gadget-2 binary, format 1",
            Self::Gadget2 => "Gadget-2 binary, format 2",
            Self::Tipsy => "Tipsy",
            Self::GenericIo => "GenericIO",
            Self::GadgetHdf5 => "Gadget HDF5",
            Self::SwiftHdf5 => "SWIFT HDF5",
            Self::Hdf5Table => "HDF5 table",
            Self::Ramses => "RAMSES",
            Self::Abacus => "Abacus ASDF",
            Self::Npy => "NumPy array",
            Self::Npz => "NumPy archive",
            Self::Parquet => "Parquet table",
            Self::Csv => "text table",
            Self::Fits => "FITS table",
            Self::Las => "LAS",
            Self::Pcd => "PCD",
            Self::Ply => "PLY",
            Self::Obj => "Wavefront OBJ",
            Self::Memory => "memory",
        })
    }
}

/// The message for other binary files.
const UNKNOWN: &str = "is binary, and in no format that is read: Gadget, Tipsy, GenericIO, HDF5 of simulations, RAMSES, Abacus, \
                       NumPy arrays and archives, Parquet, FITS tables, LAS, PCD, PLY";

pub(super) enum Found {
    Gadget,
    Tipsy,
    GenericIo,
    Hdf5,
    Ramses,
    Asdf,
    #[cfg(feature = "parquet")]
    Parquet,
    Npy,
    Zip,
    Fits,
    Las,
    Pcd,
    Ply,
    Obj,
    Text,
    Gzip,
    Other(&'static str),
}

/// The kind of file that begins with `prefix`.
pub(super) fn sniff(prefix: &[u8]) -> Found {
    if gadget::header::Layout::sniff(prefix).is_some() {
        Found::Gadget
    } else if prefix.starts_with(npy::MAGIC) {
        Found::Npy
    } else if prefix.starts_with(spool::GZIP) {
        Found::Gzip
    } else if hdf5::is_hdf5(prefix) {
        Found::Hdf5
    } else if prefix.starts_with(b"PK\x03\x04") {
        Found::Zip
    } else if unreadable::is_marked(prefix, b"PAR1") {
        #[cfg(feature = "parquet")]
        return Found::Parquet;
        #[cfg(not(feature = "parquet"))]
        Found::Other("is a Parquet table, which needs the feature `parquet`")
    } else if prefix.starts_with(fits::MAGIC) {
        Found::Fits
    } else if unreadable::is_marked(prefix, las::MAGIC) {
        Found::Las
    } else if ply::sniff(prefix) {
        Found::Ply
    } else if pcd::sniff(prefix) {
        Found::Pcd
    } else if abacus::sniff(prefix) {
        Found::Asdf
    } else if genericio::sniff(prefix) {
        Found::GenericIo
    } else if tipsy::sniff(prefix) {
        Found::Tipsy
    } else if let Some(why) = unreadable::sniff(prefix) {
        Found::Other(why)
    } else if prefix.contains(&0) {
        Found::Other(UNKNOWN)
    } else if obj::sniff(prefix) {
        Found::Obj
    } else {
        Found::Text
    }
}
