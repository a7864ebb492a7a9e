//! Parquet tables.
//!
//! - in: columns of numbers by their names, as in text tables, without nulls. They are uncompressed, or compressed
//!   with Snappy, gzip, Zstandard, Brotli or LZ4. `metadata` lists the metadata that are used
//! - kinds: integers, floats of 16 to 64 bits, and decimals of up to 38 digits, which become the nearest float.
//!   Members of structures have names such as `pos.x`. Other kinds are left out with a note, or are an error if their
//!   name or the caller requires them
//! - out: a [`Snapshot`](crate::Snapshot); positions have 32 bits if all coordinates do
//! - cost: row groups are read in parallel, each column of a row group sequentially
//! - source: Apache Parquet, through its own library

mod arrow;
mod arrow_schema;
mod cells;
mod extend;
mod group;
mod kind;
mod reopening_file;
mod pages;
mod read;
mod metadata;
mod scan;
mod decompress_pages;
mod write;

use std::path::Path;

pub(crate) use cells::read_cells;
pub(crate) use extend::{ParquetFile, write_cells};
use read::{inspect, read};
use ropewalk::Result;
pub use write::write_parquet;

use crate::file_format::FileFormat;
use crate::reading::Reading;
use crate::unreadable::is_marked;
use crate::{Contents, Snapshot};

/// The format of Parquet tables.
pub(crate) struct Parquet;

impl FileFormat for Parquet {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        is_marked(prefix, b"PAR1")
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}
