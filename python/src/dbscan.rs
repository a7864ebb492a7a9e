//! DBSCAN.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use ropewalk::geometry::BoxSize;
use ropewalk::internals::memory::collected;
use ropewalk::{Dbscan, Labels};

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::errors::exception;

/// Returns the indices of the core points in ascending order, and the labels (noise -1).
#[pyfunction]
#[pyo3(signature = (points, eps, min_samples, weights, box_size, n_jobs))]
pub fn dbscan<'py>(
    py: Python<'py>,
    points: Rows,
    eps: f64,
    min_samples: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<(Vector<'py, i64>, Vector<'py, i32>)> {
    let mut options = Dbscan::new(eps, min_samples).periodic(box_size.map(BoxSize::from));
    if let Some(weights) = weights {
        options = options.weights(weights.as_slice()?);
    }
    let (labels, core) = run(py, n_jobs, || {
        let labels = ropewalk_table::dbscan(&points.0, &options)?;
        let core = collected((0..labels.as_slice().len()).filter(|&i| labels.is_core(i)).map(|i| i as i64));
        Ok((labels, core))
    })?;
    Ok((core.into_pyarray(py), labels.into_vec().into_pyarray(py)))
}

/// Returns the labels of new points from the core points and their labels.
#[pyfunction]
#[pyo3(signature = (core, labels, eps, new, box_size, n_jobs))]
pub fn dbscan_predict<'py>(
    py: Python<'py>,
    core: Rows,
    labels: PyReadonlyArray1<'py, i32>,
    eps: f64,
    new: Rows,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<Vector<'py, i32>> {
    let labels = Labels::from_slice(labels.as_slice()?).map_err(exception)?;
    // `min_samples` is irrelevant, since all of these points are core.
    let options = Dbscan::new(eps, 1).periodic(box_size.map(BoxSize::from));
    let labels = run(py, n_jobs, || ropewalk_table::dbscan_predict(&core.0, &labels, &new.0, &options))?;
    Ok(labels.into_pyarray(py))
}
