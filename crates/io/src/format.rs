//! The names of the file formats.

use std::fmt;

/// A file format that [`read`](crate::read) knows.
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
