//! Conversion of NumPy arrays to the library's types and back, without copies.

#![allow(unsafe_code)] // A reference to the array keeps its memory alive.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ropewalk_table::{Points, Table};

use crate::calls::run;
use crate::errors::exception;

/// The memory of an array in C order.
///
/// NumPy does not move the memory while a reference to the array exists, except in `resize` with `refcheck=False`. No
/// thread may write to the array while a call reads it; this is not checked, and it is undefined behaviour by Rust's
/// rules. In tests, results became meaningless or calls failed, but no crash was observed.
/// `docs/threads_and_memory.md` tells users.
struct Memory<S> {
    start: *const S,
    len: usize,
    _array: Py<PyArray2<S>>,
}

// SAFETY: the memory is only read, and stays allocated through `_array`, a reference that any thread may drop. That
// no thread writes to the array meanwhile is required of the caller (see `Memory`) and not checked.
unsafe impl<S: Element> Send for Memory<S> {}
// SAFETY: all access is reading; see `Send` above for writes by other threads.
unsafe impl<S: Element> Sync for Memory<S> {}

impl<S> AsRef<[S]> for Memory<S> {
    fn as_ref(&self) -> &[S] {
        // SAFETY: `start` points to `len` contiguous, aligned elements, checked in `shared`, and `_array` keeps them
        // alive as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

fn shared<S: Element + Sync + 'static>(array: &Bound<'_, PyArray2<S>>) -> PyResult<Table<S>> {
    if !array.is_c_contiguous() || !(array.data() as usize).is_multiple_of(align_of::<S>()) {
        return Err(PyTypeError::new_err("the array must be in C order"));
    }
    let (start, len) = (array.data().cast_const(), array.len());
    // The data pointer of an empty array may be null, but that of a slice must not be.
    let start = if len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { start };
    let memory = Memory { start, len, _array: array.clone().unbind() };
    Table::shared(array.shape()[1], Arc::new(memory)).map_err(exception)
}

/// A one-dimensional NumPy array that owns a vector of the library.
pub type Vector<'py, T> = Bound<'py, PyArray1<T>>;

/// An array of points, `float32` or `float64`, as the library's type.
pub struct Rows(pub Points);

impl<'a, 'py> FromPyObject<'a, 'py> for Rows {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray2<f32>>() {
            return Ok(Self(Points::F32(shared(&array)?)));
        }
        match object.cast::<PyArray2<f64>>() {
            Ok(array) => Ok(Self(Points::F64(shared(&array)?))),
            Err(_) => Err(PyTypeError::new_err("the array must have two dimensions and hold float32 or float64")),
        }
    }
}

/// Raises an error if points span more than the periodic box.
#[pyfunction]
#[pyo3(signature = (points, sides, n_jobs))]
pub fn check_box(py: Python<'_>, points: Rows, sides: Vec<f64>, n_jobs: Option<isize>) -> PyResult<()> {
    run(py, n_jobs, || points.0.check_sides(&sides))
}
