//! NumPy arrays out: points, labels, numbers, indices.

use std::io::{self, Write};
use std::path::Path;

use npyz::{AutoSerialize, WriterBuilder};

use ropewalk::{Error, Result};

use crate::Points;
use crate::atomic::replace;

/// Writes labels as a one-dimensional array of `int32`.
///
/// # Errors
/// If the file cannot be written; one that was there is then unchanged.
pub fn write_npy_i32(path: impl AsRef<Path>, values: &[i32]) -> Result<()> {
    replace(path.as_ref(), |out| write(out, &[values.len() as u64], values))
}

/// The same into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_i32_to(&mut bytes, &[3, -1])?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it cannot be written.
pub fn write_npy_i32_to(mut out: impl Write, values: &[i32]) -> Result<()> {
    write(&mut out, &[values.len() as u64], values).map_err(Error::write)
}

/// Writes ids as a one-dimensional array of `uint64` into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_u64_to(&mut bytes, &[7, 9])?;
/// assert_eq!(bytes.len(), 128 + 16);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// What `out` refuses.
pub fn write_npy_u64_to(mut out: impl Write, values: &[u64]) -> Result<()> {
    write(&mut out, &[values.len() as u64], values).map_err(Error::write)
}

/// Writes numbers as a one-dimensional array of `float64`.
///
/// # Errors
/// If the file cannot be written; one that was there is then unchanged.
pub fn write_npy_f64(path: impl AsRef<Path>, values: &[f64]) -> Result<()> {
    replace(path.as_ref(), |out| write(out, &[values.len() as u64], values))
}

/// The same into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_f64_to(&mut bytes, &[0.5])?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it cannot be written.
pub fn write_npy_f64_to(mut out: impl Write, values: &[f64]) -> Result<()> {
    write(&mut out, &[values.len() as u64], values).map_err(Error::write)
}

/// Writes points as an array of N rows, in their own precision.
///
/// # Errors
/// If the file cannot be written; one that was there is then unchanged.
pub fn write_npy(path: impl AsRef<Path>, points: &Points) -> Result<()> {
    replace(path.as_ref(), |out| write_points(out, points))
}

/// The same into a writer.
///
/// ```
/// use ropewalk_io::{Points, Table};
///
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_to(&mut bytes, &Points::F64(Table::new(2, vec![0.5, 1.0])?))?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (1, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it cannot be written.
pub fn write_npy_to(mut out: impl Write, points: &Points) -> Result<()> {
    write_points(&mut out, points).map_err(Error::write)
}

/// Writes indices, `width` in a row as edges have two, as an array of `uint32` into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_u32_to(&mut bytes, &[0, 3, 1, 2], 2)?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it cannot be written, or if the rows are not whole.
pub fn write_npy_u32_to(mut out: impl Write, values: &[u32], width: usize) -> Result<()> {
    write(&mut out, &rows_of(values.len(), width)?, values).map_err(Error::write)
}

/// Writes numbers, `width` in a row, as an array of `float64` into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_f64_rows_to(&mut bytes, &[0.5, 3.0, 1.0, 2.0], 2)?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If it cannot be written, or if the rows are not whole.
pub fn write_npy_f64_rows_to(mut out: impl Write, values: &[f64], width: usize) -> Result<()> {
    write(&mut out, &rows_of(values.len(), width)?, values).map_err(Error::write)
}

/// The shape of rows of `width` values.
fn rows_of(values: usize, width: usize) -> Result<[u64; 2]> {
    match values.checked_div(width) {
        Some(rows) if rows * width == values => Ok([rows as u64, width as u64]),
        _ => {
            let must = "a divisor of the number of values";
            Err(Error::parameter_must("width", width as f64, must))
        }
    }
}

pub(crate) fn write_points(out: &mut impl Write, points: &Points) -> io::Result<()> {
    let shape = [points.len() as u64, points.dim() as u64];
    match points {
        Points::F32(table) => write(out, &shape, table.as_slice()),
        Points::F64(table) => write(out, &shape, table.as_slice()),
    }
}

pub(crate) fn write<T: AutoSerialize + bytemuck::Pod>(
    out: &mut impl Write,
    shape: &[u64],
    values: &[T],
) -> io::Result<()> {
    let header = npyz::WriteOptions::<T>::new().default_dtype().shape(shape);
    // The default type has this machine's byte order, so the values go out as they are.
    header.writer(&mut *out).write_header_only()?;
    out.write_all(bytemuck::cast_slice(values))
}
