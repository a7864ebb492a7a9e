//! Parquet tables.
//!
//! - in: columns of numbers by their names, as of text; floats and whole numbers of 32 and 64 bits, not null; plain, or compressed by
//!   Snappy, gzip or LZ4; units that astropy or Arrow left, `redshift` and `box_size` of the file's metadata
//! - out: a [`Snapshot`](crate::io::Snapshot); positions of 32 bits if all coordinates are
//! - cost: row groups in parallel, each column of one from its beginning to its end
//! - layout: Apache Parquet, by its own library

mod arrow;
mod arrow_schema;
mod opened;
mod pages;
mod read;
mod write;

pub(super) use read::{inspect, read};
pub use write::write_parquet;
