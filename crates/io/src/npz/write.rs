//! Writing of NumPy archives: named arrays in one file.

use std::io::{self, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use ropewalk::{Error, Result};
use ropewalk_table::columns::Values;

use crate::atomic::replace;
use crate::npy;

/// Writes one-dimensional arrays of `uint64`, `int64` or `float64` as an uncompressed `.npz`, from which `numpy.load`
/// reads them by name.
///
/// Errors: if the file cannot be written; an existing file is then unchanged. If two arrays have the same name.
///
/// ```
/// use ropewalk_table::columns::Values;
/// use ropewalk_io::write_npz;
///
/// let path = std::env::temp_dir().join("ropewalk_write_npz.npz");
/// write_npz(&path, &[("ids", Values::Integers(vec![3, 1])), ("mass", Values::Numbers(vec![0.5]))])?;
/// assert!(std::fs::read(&path).unwrap().starts_with(b"PK"));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_npz(path: impl AsRef<Path>, arrays: &[(&str, Values)]) -> Result<()> {
    replace(path.as_ref(), |out| write(out, arrays))
}

/// Writes arrays as [`write_npz`] does, into a writer.
///
/// ```
/// use ropewalk_table::columns::Values;
/// use ropewalk_io::write_npz_to;
///
/// let mut bytes = Vec::new();
/// write_npz_to(&mut bytes, &[("ids", Values::Integers(vec![3, 1]))])?;
/// assert!(bytes.starts_with(b"PK"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written, or if two arrays have the same name.
pub fn write_npz_to(mut out: impl Write, arrays: &[(&str, Values)]) -> Result<()> {
    write(&mut out, arrays).map_err(Error::write)
}

fn write(out: &mut impl Write, arrays: &[(&str, Values)]) -> io::Result<()> {
    let mut archive = ZipWriter::new_stream(out);
    for (name, values) in arrays {
        archive.start_file(format!("{name}.npy"), stored())?;
        match values {
            Values::Integers(values) => npy::write(&mut archive, &[values.len() as u64], values)?,
            Values::Signed(values) => npy::write(&mut archive, &[values.len() as u64], values)?,
            Values::Numbers(values) => npy::write(&mut archive, &[values.len() as u64], values)?,
        }
    }
    archive.finish()?;
    Ok(())
}

/// Returns the options for an uncompressed array of any size.
pub(crate) fn stored() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true)
}
