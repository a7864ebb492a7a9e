//! A file that several threads read at the same time.
//!
//! The reader of the `parquet` crate shares one file position among all threads.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use ropewalk::internals::cancel::check;

/// A file that is opened again for each range that is read.
pub(super) struct ReopeningFile {
    pub path: PathBuf,
    pub len: u64,
}

impl ReopeningFile {
    fn at(&self, start: u64) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }
}

impl Length for ReopeningFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for ReopeningFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Allocate no more memory than the file has bytes.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!("expected {length} bytes at byte {start} of {}", self.len)));
        }
        check();
        let mut bytes = vec![0; length];
        self.at(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
