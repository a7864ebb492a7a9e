//! Writing of HDF5 files in one pass.
//!
//! - in: a [`Group`] with attributes, groups and data sets, whose sizes are known before their values
//! - out: bytes through [`Write`](std::io::Write): first all headers, then the values, contiguous for each data set.
//!   The writer never seeks, and values are neither copied nor buffered
//! - cost: one pass over the values; headers are held in memory
//!
//! Source: HDF5 File Format Specification, version 3.0: superblock version 2, object headers version 2, links in the
//! headers of their groups, contiguous layout. HDF5 libraries from version 1.8 (2008) on can read the files.

mod dataset;
mod file;
mod object;

pub use dataset::Dataset;
pub use file::Group;
pub use object::Value;
