//! NumPy arrays in and out, without a copy.

#![allow(unsafe_code)] // An array's memory is kept alive by a reference to the array.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ropewalk_table::{Points, Table};

use crate::calls::run;
use crate::errors::exception;

/// The memory of an array that is in C order.
///
/// NumPy does not move it while there is a reference to the array, unless `resize` is told not to look (`refcheck=False`). No thread may
/// write into the array while a call reads it, which nothing here can prevent: by Rust's rules that is undefined. Answers become
/// meaningless, or calls fail; tests have seen no crash. The documentation says so (`docs/threads_and_memory.md`).
struct Memory<S> {
    start: *const S,
    len: usize,
    _array: Py<PyArray2<S>>,
}

// SAFETY: the memory is only read, and belongs to the array, whose reference may be dropped by any thread. That nothing writes to it
// meanwhile is asked of the caller.
unsafe impl<S: Element> Send for Memory<S> {}
// SAFETY: as above.
unsafe impl<S: Element> Sync for Memory<S> {}

impl<S> AsRef<[S]> for Memory<S> {
    fn as_ref(&self) -> &[S] {
        // SAFETY: the array has `len` elements at `start`, in one piece (`shared` checks), and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

fn shared<S: Element + Sync + 'static>(array: &Bound<'_, PyArray2<S>>) -> PyResult<Table<S>> {
    if !array.is_c_contiguous() || !(array.data() as usize).is_multiple_of(align_of::<S>()) {
        return Err(PyTypeError::new_err("an array in C order is needed"));
    }
    let (start, len) = (array.data().cast_const(), array.len());
    // The address of an empty array may be null, which a slice's must not be.
    let start = if len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { start };
    let memory = Memory { start, len, _array: array.clone().unbind() };
    Table::shared(array.shape()[1], Arc::new(memory)).map_err(exception)
}

/// A vector that NumPy has taken over.
pub type Vector<'py, T> = Bound<'py, PyArray1<T>>;

/// An array of points, `float32` or `float64`, as the library takes it.
pub struct Rows(pub Points);

impl<'a, 'py> FromPyObject<'a, 'py> for Rows {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray2<f32>>() {
            return Ok(Self(Points::F32(shared(&array)?)));
        }
        match object.cast::<PyArray2<f64>>() {
            Ok(array) => Ok(Self(Points::F64(shared(&array)?))),
            Err(_) => Err(PyTypeError::new_err("an array of two dimensions of float32 or float64 is needed")),
        }
    }
}

/// Refuses points that span more than the periodic box that they are said to lie in.
#[pyfunction]
#[pyo3(signature = (points, sides, n_jobs))]
pub fn check_box(py: Python<'_>, points: Rows, sides: Vec<f64>, n_jobs: Option<isize>) -> PyResult<()> {
    run(py, n_jobs, || points.0.check_sides(&sides))
}
