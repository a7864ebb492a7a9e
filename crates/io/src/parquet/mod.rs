//! Parquet tables.
//!
//! - in: columns of numbers by their names, as of text, not null; plain, or compressed by Snappy, gzip, Zstandard, Brotli or LZ4; `said`
//!   lists the metadata that is used
//! - kinds: integers, floats of 16 to 64 bits, and decimals of up to 38 digits, of which the nearest float is taken; members of structures
//!   by names as `pos.x`. Other kinds are left out with a note, or refused where a name or a caller asks for them
//! - out: a [`Snapshot`](crate::Snapshot); positions of 32 bits if all coordinates are
//! - cost: row groups in parallel, each column of one from its beginning to its end
//! - layout: Apache Parquet, by its own library

mod arrow;
mod arrow_schema;
mod group;
mod kind;
mod opened;
mod pages;
mod read;
mod said;
mod scan;
mod unpack;
mod write;

use std::path::Path;

use read::{inspect, read};
use ropewalk::Result;
pub use write::write_parquet;

use crate::file_format::FileFormat;
use crate::reading::Reading;
use crate::unreadable::is_marked;
use crate::{Contents, Snapshot};

/// Parquet tables.
pub(crate) struct Parquet;

impl FileFormat for Parquet {
    fn sniff(&self, prefix: &[u8]) -> bool {
        is_marked(prefix, b"PAR1")
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}
