//! Random point sets.

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ropewalk::sample::Sample;

use crate::calls::run;

/// Returns the points that a specification such as `uniform:n=1000,seed=7` describes.
#[pyfunction]
#[pyo3(signature = (spec, n_jobs))]
pub fn sample<'py>(py: Python<'py>, spec: &str, n_jobs: Option<isize>) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let points = run(py, n_jobs, || Sample::parse(spec)?.points())?;
    let rows = Array2::from_shape_vec((points.len(), 3), points.into_flattened());
    let rows = rows.map_err(|error| PyRuntimeError::new_err(format!("internal error: {error}")))?;
    Ok(rows.into_pyarray(py))
}
