//! The names of the file formats.

use std::fmt;

/// A file format supported by [`read`](crate::read).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Format {
    /// Gadget-2 binary with `SnapFormat` 1: blocks in a fixed order.
    Gadget1,
    /// Gadget-2 binary with `SnapFormat` 2: a label before each block.
    Gadget2,
    /// Tipsy, in either byte order.
    Tipsy,
    /// GenericIO, the format of HACC.
    GenericIo,
    /// HDF5 of Gadget and related codes: Gadget-2 to 4, AREPO and IllustrisTNG, GIZMO, EAGLE.
    GadgetHdf5,
    /// HDF5 of SWIFT.
    SwiftHdf5,
    /// HDF5 datasets or records without a header, as written by h5py, PyTables and pandas.
    Hdf5Table,
    /// Particles of RAMSES, in a folder.
    Ramses,
    /// Particles of Abacus, in ASDF.
    Abacus,
    /// An array written by `numpy.save`.
    Npy,
    /// Arrays written by `numpy.savez`.
    Npz,
    /// A Parquet table, read with the feature `parquet`.
    Parquet,
    /// Numbers as text, separated by commas, semicolons, vertical bars, tabs or spaces.
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
    /// No file: the points come from memory.
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
