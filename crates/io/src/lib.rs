//! Snapshots and tables of points from files, and back.
//!
//! - in: a path to what a simulation or a program wrote; the content decides, not the name. A snapshot in several files is named by one of
//!   them, by what their names have in common, or by its folder; files may be compressed by gzip
//! - out: a [`Snapshot`]: points as the file holds them, with velocities, ids, masses, types, units and cosmology as far as it has them;
//!   [`inspect`] tells what is in a file without reading it
//! - cost: one pass over the columns that are wanted, in parallel over files and parts of them; memory is that of the arrays, and a few
//!   megabytes for each thread
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
//! | Abacus | ASDF | `rvint` or `pack9`, ids of the file beside it; one file, which is a slab or a subsample: say the linking length | from bits to Mpc/h and km/s |
//! | FITS | binary and text tables, the first of a file | columns by name, or chosen ones; units and `TNULL` | numbers, by `TSCAL` and `TZERO` |
//! | point clouds | LAS 1.0 to 1.4, PCD, PLY, vertices of OBJ | `x`, `y`, `z`, or chosen columns | LAS: integers, by scale and offset |
//! | tables | CSV, enhanced CSV, `.npy` (also records), `.npz`, Parquet (feature `parquet`) | columns by name, or chosen ones; units, redshift and box as far as they say them | |
//!
//! What a file says and no reader uses is named in [`Snapshot::notes`] or [`Contents::notes`]; a named coordinate, box, redshift or cosmology
//! that cannot be read is an error.
//!
//! The processes of one run read a part each ([`ReadOptions::part`]), and write one array together ([`SharedNpy`]).
//!
//! Nothing else is converted: coordinates and masses stay in the file's unit, which [`Snapshot::units`] names, and velocities are peculiar
//! (see [`Snapshot::velocities`]). Coordinates that are not finite are passed on, and refused where they are used. Every promise a file makes
//! is checked against its length before memory is reserved.

// Bytes, numbers and texts of files.
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
mod spool;
mod unreadable;
mod yaml;

// What a snapshot holds.
#[doc(hidden)]
pub mod cgs;
mod epoch;
mod expansion;
mod format;
mod gadget_header;
mod matter;
mod particle_type;
mod snapshot;
mod species;

// What is wanted of a file, and how arrays are filled with it.
mod columns;
mod contents;
mod fill;
mod options;
mod part;
mod reading;
mod reduce;
mod sides;
mod subsample;
mod type_column;

// Columns and metadata of tables by their names.
mod array_names;
mod column_names;
mod csv_columns;
mod ecsv;
mod typed_columns;

// The formats. None knows the list of them.
mod abacus;
mod cloud;
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
mod fields;
mod folder;
mod locate;
mod read_file;
mod registry;
mod same_files;

// Writing.
#[doc(hidden)]
pub mod hdf5_write;
mod snapshot_write;
mod tables;

pub use atomic::AtomicFile;
pub use contents::{Contents, Field, Role, TypeContents};
pub use fields::{Fields, read_fields};
pub use format::Format;
pub use gadget::{GadgetOptions, write_gadget};
pub use gadget_header::Header;
pub use locate::{companions, parts};
#[cfg(feature = "mesh")]
pub use mesh::{MeshData, read_mesh};
pub use npy::{
    NpyNumber, SharedNpy, read_npy_u64, write_npy, write_npy_f64, write_npy_f64_rows_to, write_npy_f64_to,
    write_npy_i32, write_npy_i32_to, write_npy_to, write_npy_u32_to, write_npy_u64_to,
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
