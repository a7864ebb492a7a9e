//! Distances to the k-th neighbours.

use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::arrays::{Rows, Vector};
use crate::calls::run;

/// Returns the distance of each point to its `k`-th neighbour, in ascending order.
#[pyfunction]
#[pyo3(signature = (points, k, box_size, n_jobs))]
pub fn k_distances<'py>(
    py: Python<'py>,
    points: Rows,
    k: usize,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<Vector<'py, f64>> {
    let distances = run(py, n_jobs, || ropewalk_table::k_distances(&points.0, k, box_size))?;
    Ok(distances.into_pyarray(py))
}
