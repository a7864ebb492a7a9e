//! Tests of the built program.

mod adaptahop;
mod bad_input;
mod boxes;
mod catalogs;
mod centers;
mod clusters;
mod columns;
mod config;
mod convert;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod device;
mod good_input;
mod hdbscan;
mod hop;
mod interpolate;
mod interface;
mod kdist;
mod labelled_tables;
mod linking_lengths;
mod memory;
mod missing;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "mpi")]
#[path = "../../../../tests/common/mpirun.rs"]
mod mpirun;
mod neighbors;
mod mutated;
mod one_number;
mod outputs;
mod pictures;
mod program;
mod raycast;
mod reference;
mod reports;
mod runs;
mod series;
mod several_devices;
mod table_units;
mod text_tables;
mod tree;
mod trees;
mod types;
mod units;
