//! Arrays over memory that a Python object owns, without copies.

#![allow(unsafe_code)] // Each array keeps the owner of its memory alive.

use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::PyClass;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

/// Returns a read-only array of values inside `owner`. The array keeps `owner` alive.
///
/// `values` must work for any lifetime, so the slice that it returns is part of the object or static. The object is
/// frozen, so its values neither move nor change while the array exists.
pub fn borrowed_array<'py, P, T>(
    owner: &Bound<'py, P>,
    values: impl for<'a> FnOnce(&'a P) -> &'a [T],
) -> PyResult<Bound<'py, PyArray1<T>>>
where
    P: PyClass<Frozen = True> + Sync,
    T: Element,
{
    let view = ArrayView1::from(values(owner.get()));
    // SAFETY: the values live as long as `owner`, to which the array holds a reference. Nothing writes to them:
    // `owner` is frozen, and `read_only` makes the array read-only.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner.clone().into_any()) };
    read_only(&array)?;
    Ok(array)
}

/// Returns a read-only array as [`borrowed_array`] does, in rows of `width` values.
pub fn borrowed_rows<'py, P, T>(
    owner: &Bound<'py, P>,
    width: usize,
    values: impl for<'a> FnOnce(&'a P) -> &'a [T],
) -> PyResult<Bound<'py, PyArray2<T>>>
where
    P: PyClass<Frozen = True> + Sync,
    T: Element,
{
    let values = values(owner.get());
    let view = ArrayView2::from_shape((values.len() / width.max(1), width), values)
        .map_err(|error| PyRuntimeError::new_err(format!("internal error: rows of {width} values: {error}")))?;
    // SAFETY: the values live as long as `owner`, to which the array holds a reference. Nothing writes to them:
    // `owner` is frozen, and `read_only` makes the array read-only.
    let array = unsafe { PyArray2::borrow_from_array(&view, owner.clone().into_any()) };
    read_only(&array)?;
    Ok(array)
}

fn read_only<T: Element, D: numpy::ndarray::Dimension>(array: &Bound<'_, numpy::PyArray<T, D>>) -> PyResult<()> {
    let array = array.try_readwrite().map_err(|error| PyRuntimeError::new_err(format!("internal error: {error}")))?;
    array.make_nonwriteable();
    Ok(())
}
