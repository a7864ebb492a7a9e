//! Conversion of indices to NumPy's signed types.

use bytemuck::allocation::try_cast_vec;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;

/// Returns indices of `n` points as `int32` in the library's own memory, or as `int64` if `n` is too large for
/// `int32`.
pub fn narrow(py: Python<'_>, indices: Vec<u32>, n: usize) -> Bound<'_, PyAny> {
    if n > i32::MAX as usize {
        return wide(py, indices);
    }
    match try_cast_vec::<u32, i32>(indices) {
        Ok(indices) => indices.into_pyarray(py).into_any(),
        Err((_, indices)) => wide(py, indices),
    }
}

fn wide(py: Python<'_>, indices: Vec<u32>) -> Bound<'_, PyAny> {
    py.detach(|| indices.into_iter().map(i64::from).collect::<Vec<_>>()).into_pyarray(py).into_any()
}

/// Returns indices as [`narrow`] does, in rows of two.
pub fn narrow_rows(py: Python<'_>, indices: Vec<u32>, n: usize) -> PyResult<Bound<'_, PyAny>> {
    let rows = [indices.len() / 2, 2];
    let indices = narrow(py, indices, n);
    match indices.cast::<numpy::PyArray1<i32>>() {
        Ok(indices) => Ok(indices.reshape(rows)?.into_any()),
        Err(_) => Ok(indices.cast::<numpy::PyArray1<i64>>()?.reshape(rows)?.into_any()),
    }
}

/// Returns offsets as `int64`, in the library's own memory if `usize` has 64 bits.
pub fn offsets(offsets: Vec<usize>) -> Vec<i64> {
    try_cast_vec(offsets).unwrap_or_else(|(_, offsets)| offsets.into_iter().map(|offset| offset as i64).collect())
}
