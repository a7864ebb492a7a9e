//! Writing of NumPy arrays: points, labels, numbers, indices.

use std::io::{self, Write};
use std::path::Path;

use npyz::{AutoSerialize, WriterBuilder};

use ropewalk::{Error, ErrorKind, Result};

use crate::Points;
use crate::atomic::replace;

/// Writes labels as a one-dimensional array of `int32`.
///
/// # Errors
/// If the file cannot be written; an existing file is then unchanged.
pub fn write_npy_i32(path: impl AsRef<Path>, values: &[i32]) -> Result<()> {
    replace(path.as_ref(), |out| write(out, &[values.len() as u64], values))
}

/// Writes labels as a one-dimensional array of `int32` into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_i32_to(&mut bytes, &[3, -1])?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written.
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
/// Errors of `out`.
pub fn write_npy_u64_to(mut out: impl Write, values: &[u64]) -> Result<()> {
    write(&mut out, &[values.len() as u64], values).map_err(Error::write)
}

/// Writes numbers as a one-dimensional array of `float64`.
///
/// # Errors
/// If the file cannot be written; an existing file is then unchanged.
pub fn write_npy_f64(path: impl AsRef<Path>, values: &[f64]) -> Result<()> {
    replace(path.as_ref(), |out| write(out, &[values.len() as u64], values))
}

/// Writes numbers as a one-dimensional array of `float64` into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_f64_to(&mut bytes, &[0.5])?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written.
pub fn write_npy_f64_to(mut out: impl Write, values: &[f64]) -> Result<()> {
    write(&mut out, &[values.len() as u64], values).map_err(Error::write)
}

/// Writes points as a two-dimensional array with one row per point, in the precision of the points.
///
/// # Errors
/// If the file cannot be written; an existing file is then unchanged.
pub fn write_npy(path: impl AsRef<Path>, points: &Points) -> Result<()> {
    replace(path.as_ref(), |out| write_points(out, points))
}

/// Writes points as [`write_npy`] does, into a writer.
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
/// If `out` cannot be written.
pub fn write_npy_to(mut out: impl Write, points: &Points) -> Result<()> {
    write_points(&mut out, points).map_err(Error::write)
}

/// Writes indices as an array of `uint32` with `width` columns into a writer. For edges, the width is 2.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_u32_to(&mut bytes, &[0, 3, 1, 2], 2)?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written, or if the number of values is not a multiple of `width`.
pub fn write_npy_u32_to(mut out: impl Write, values: &[u32], width: usize) -> Result<()> {
    write(&mut out, &rows_of(values.len(), width)?, values).map_err(Error::write)
}

/// Writes numbers as an array of `float64` with `width` columns into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_f64_rows_to(&mut bytes, &[0.5, 3.0, 1.0, 2.0], 2)?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written, or if the number of values is not a multiple of `width`.
pub fn write_npy_f64_rows_to(mut out: impl Write, values: &[f64], width: usize) -> Result<()> {
    write(&mut out, &rows_of(values.len(), width)?, values).map_err(Error::write)
}

/// Writes numbers as an array of `float64` with the given shape, in C order, into a writer.
///
/// ```
/// let mut bytes = Vec::new();
/// ropewalk_io::write_npy_f64_shaped_to(&mut bytes, &[0.5, 3.0, 1.0, 2.0], &[2, 1, 2])?;
/// assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 1, 2"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// If `out` cannot be written, or if the product of `shape` is not the number of values.
pub fn write_npy_f64_shaped_to(mut out: impl Write, values: &[f64], shape: &[usize]) -> Result<()> {
    let n = shape.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
    if n != Some(values.len()) {
        let message = format!("the shape {shape:?} does not fit {} values", values.len());
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    write(&mut out, &shape, values).map_err(Error::write)
}

/// Returns the shape of an array with `width` columns.
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
    // The default type has the byte order of this machine, so the values are written without conversion.
    header.writer(&mut *out).write_header_only()?;
    out.write_all(bytemuck::cast_slice(values))
}
