//! HDF5 files, written in one go.
//!
//! - in: a [`Group`] with attributes, groups and data sets, whose sizes are known before their values
//! - out: bytes through [`Write`](std::io::Write), headers first, then the values as one block for each data set; nothing is sought, so that
//!   values are neither copied nor held
//! - cost: one pass over the values; headers are in memory
//!
//! Source: HDF5 File Format Specification, version 3.0: superblock version 2, object headers version 2, links in the headers of their
//! groups, contiguous layout. Any HDF5 library from 1.8 (2008) on reads it.

mod dataset;
mod file;
mod object;

pub use dataset::Dataset;
pub use file::Group;
pub use object::Value;
