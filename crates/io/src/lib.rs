//! Readers and writers of files with snapshots and tables of points.
//! - in: the path of a file written by a simulation or a program. The format is detected from the content, not from
//!   the name. A snapshot split over several files is named by one of them, by the common part of their names, or by
//!   its folder. Files may be compressed with gzip
//! - out: a [`Snapshot`]: the points as stored in the file, and its velocities, ids, masses, types, units and
//!   cosmology, if it has them. [`inspect`] describes a file without reading its particles
//! - cost: one pass over the requested columns, in parallel over files and pieces of files. Memory: the arrays, and a
//!   few megabytes per thread
//!
//! | code | format | what is read | what is converted |
//! |---|---|---|---|
//! | Gadget-2 and its like, GADGET-4 | binary, `SnapFormat` 1 and 2 | `POS`, `VEL`, `ID`, `MASS`, the header of either | velocities: `v = u sqrt(a)` in comoving runs |
//! | Gadget-2 to 4, AREPO and IllustrisTNG, GIZMO, EAGLE | HDF5 | `PartTypeN/{Coordinates, Velocities, ParticleIDs, Masses}`, `MassTable`, units of attributes and of the header | velocities, by the power of `a` that the file names |
//! | SWIFT | HDF5 | the same, cosmology and units of its groups; a view of several files by its parts | velocities, by the power of `a` that the file names |
//! | h5py, PyTables, pandas | HDF5 | datasets or fields of records of one length, by name, or chosen ones by path | |
//! | PKDGRAV, Gasoline, ChaNGa | Tipsy | positions, velocities, masses; ids of `.iord`, units of `.param` | velocities: `v = u a` |
//! | HACC | GenericIO | `x`, `y`, `z`, `vx`, `vy`, `vz`, `id`, `mass`; checksums | |
//! | RAMSES | `output_N` | particles with their families, the info file | |
//! | Abacus | ASDF | `rvint` or `pack9`, ids of the file beside it; one file, which is a slab or a subsample, so the linking length must be specified | from bits to Mpc/h and km/s |
//! | FITS | binary and text tables, the first of a file | columns by name, or chosen ones; units and `TNULL` | numbers, by `TSCAL` and `TZERO` |
//! | point clouds | LAS 1.0 to 1.4, PCD, PLY, vertices of OBJ | `x`, `y`, `z`, or chosen columns | LAS: integers, by scale and offset |
//! | tables | CSV, enhanced CSV, `.npy` (also records), `.npz`, Parquet (feature `parquet`) | columns by name, or chosen ones; units, redshift and box, if the file states them | |
//!
//! Information in a file that no reader uses is named in [`Snapshot::notes`] or [`Contents::notes`]. A named
//! coordinate, box, redshift or cosmology that cannot be read is an error.
//!
//! Each rank of a run reads one part ([`ReadOptions::part`]), and all ranks write one array together ([`SharedNpy`]).
//!
//! No other values are converted. Coordinates and masses keep the file's unit, which [`Snapshot::units`] names, and
//! velocities are peculiar (see [`Snapshot::velocities`]). Coordinates that are not finite are passed on and rejected
//! by the code that uses them. Every length that a file states is checked against its size before memory is reserved.

// Bytes, numbers and text in files.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod atomic;
mod lzf;
mod memory_limit;
mod messages;
mod number_types;
mod same_headers;
mod obj_lines;
mod ply_header;
mod source;
mod split_files;
mod temp_file;
mod unreadable;
mod yaml;

// Contents of a snapshot.
#[doc(hidden)]
pub mod unit_constants;
mod epoch;
mod expansion;
mod format;
mod gadget_header;
mod total_mass;
mod particle_type;
mod snapshot;
mod species;

// Options of a reading, and filling of arrays.
mod columns;
mod contents;
mod read_columns;
mod options;
mod part;
mod reading;
mod reduce;
mod box_sides;
mod subsample;
mod type_column;

// Columns and metadata of tables by their names.
mod array_names;
mod cells;
mod column_names;
mod table_columns;
mod ecsv;
mod typed_columns;

// The formats. No format knows the list of formats.
mod abacus;
mod records;
mod file_format;
mod gadget;
mod genericio;
mod hdf5;
#[cfg(feature = "mesh")]
mod mesh;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod ramses;
mod text;
mod tipsy;

// Reading of files of any format.
mod extended_table;
mod fields;
mod folder;
mod locate;
mod missing_rows;
mod read_file;
mod registry;
mod same_files;

// Writing.
#[doc(hidden)]
pub mod hdf5_write;
mod snapshot_write;
mod tables;

pub use atomic::AtomicFile;
pub use column_names::sky_columns;
pub use contents::{Contents, Field, Role, TypeContents};
pub use extended_table::ExtendedTable;
pub use fields::{Fields, read_fields};
pub use format::Format;
pub use gadget::{GadgetOptions, write_gadget};
pub use gadget_header::Header;
pub use locate::{companions, parts};
#[cfg(feature = "mesh")]
pub use mesh::{MeshData, read_mesh};
pub use npy::{
    NpyNumber, SharedNpy, read_npy_u64, write_npy, write_npy_f64, write_npy_f64_rows_to, write_npy_f64_shaped_to,
    write_npy_f64_to, write_npy_i32, write_npy_i32_to, write_npy_to, write_npy_u32_to, write_npy_u64_to,
};
pub use npz::{write_npz, write_npz_to};
pub use options::ReadOptions;
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use part::{Part, Slice};
pub use particle_type::particle_type;
pub use read_file::{inspect, read, read_from, read_header, read_with};
pub use reading::{OnProgress, Progress};
pub use ropewalk::halo::Background;
pub use ropewalk::halo::MassSum;
pub use same_files::agree_on_files;
pub use snapshot::{Masses, Snapshot, TypeRun};
pub use snapshot_write::{SnapshotFormat, write_snapshot};
pub use species::Species;
pub use tables::{TableFormat, TableWriter};
pub use tipsy::{TipsyOptions, write_tipsy};

pub use ropewalk_table::points::{Points, Table};
