//! NumPy archives: named arrays in one file.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::npy;
use super::source::replace;
use crate::catalog::Values;
use crate::error::{Error, Result};

/// Writes one-dimensional arrays as an uncompressed `.npz`, which `numpy.load` reads by name: `uint64` or `float64`.
///
/// Errors: if the file cannot be written; one that was there is then unchanged. Two arrays of one name.
///
/// ```
/// use ropewalk::Values;
/// use ropewalk::io::write_npz;
///
/// let path = std::env::temp_dir().join("ropewalk_write_npz.npz");
/// write_npz(&path, &[("ids", Values::Integers(vec![3, 1])), ("mass", Values::Numbers(vec![0.5]))])?;
/// assert!(std::fs::read(&path).unwrap().starts_with(b"PK"));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_npz(path: impl AsRef<Path>, arrays: &[(&str, Values)]) -> Result<()> {
    let path = path.as_ref();
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, values: &Values| -> std::io::Result<()> {
        archive.start_file(format!("{name}.npy"), options)?;
        match values {
            Values::Integers(values) => npy::write(&mut archive, &[values.len() as u64], values),
            Values::Numbers(values) => npy::write(&mut archive, &[values.len() as u64], values),
        }
    };
    for (name, values) in arrays {
        add(name, values).map_err(|error| Error::file(path, error))?;
    }
    let bytes = archive.finish().map_err(|error| Error::file(path, error))?.into_inner();
    replace(path, |out| out.write_all(&bytes))
}
