//! The CUDA array interface, version 3: a dictionary with an address.
//!
//! Source: Numba's documentation, "CUDA Array Interface (Version 3)".

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::device::external::{ExternalPoints, Precision, checked_shape};

/// Returns the points of an object that has the CUDA array interface; `None` if it does not.
///
/// If the object names a stream, all streams are waited for instead: a number that is not a stream would end the
/// process.
pub fn points(x: &Bound<'_, PyAny>) -> PyResult<Option<ExternalPoints>> {
    let Some(interface) = x.getattr_opt(pyo3::intern!(x.py(), "__cuda_array_interface__"))? else { return Ok(None) };
    let interface = interface
        .cast::<PyDict>()
        .map_err(|_| PyTypeError::new_err("__cuda_array_interface__ must be a dictionary"))?;
    // A value of `None` is the same as a missing key.
    let optional = |key: &str| PyResult::Ok(interface.get_item(key)?.filter(|value| !value.is_none()));
    let needed = |key: &str| {
        optional(key)?.ok_or_else(|| PyValueError::new_err(format!("__cuda_array_interface__ has no {key:?}")))
    };
    if optional("mask")?.is_some() {
        return Err(PyValueError::new_err("X has a mask; drop or fill the masked entries"));
    }
    let typestr: String = needed("typestr")?.extract()?;
    let (precision, size) = match typestr.as_str() {
        "<f4" => (Precision::F32, 4),
        "<f8" => (Precision::F64, 8),
        other => {
            return Err(PyTypeError::new_err(format!(
                "X holds numbers of the type {other:?}; it must hold float32 or float64"
            )));
        }
    };
    let shape: Vec<i64> = needed("shape")?.extract()?;
    let strides: Option<Vec<i64>> = match optional("strides")? {
        None => None,
        Some(strides) => {
            let strides: Vec<i64> = strides.extract()?;
            if strides.iter().any(|stride| stride % size != 0) {
                return Err(PyValueError::new_err(format!(
                    "X is not in C order: its strides are {strides:?} bytes, not multiples of {size}"
                )));
            }
            Some(strides.iter().map(|stride| stride / size).collect())
        }
    };
    let shape = checked_shape(&shape, strides.as_deref())?;
    let (address, _read_only): (u64, bool) = needed("data")?.extract()?;
    let version: u64 = needed("version")?.extract()?;
    // Before version 3 the interface did not specify streams.
    let wait_for_all = version < 3 || optional("stream")?.is_some();
    Ok(Some(ExternalPoints { address, shape, precision, device: None, wait_for_all, import: None }))
}
