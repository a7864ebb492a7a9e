//! DBSCAN.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::{Dbscan, table};

use crate::arrays::{Rows, Vector};
use crate::calls::run;

/// Labels (noise -1), and the indices of the core points in ascending order.
#[pyfunction]
#[pyo3(signature = (points, eps, min_samples, weights, box_size, n_jobs))]
pub fn dbscan<'py>(
    py: Python<'py>,
    points: Rows,
    eps: f64,
    min_samples: usize,
    weights: Option<Vec<f64>>,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<(Vector<'py, i32>, Vector<'py, i64>)> {
    let (labels, core) = run(py, n_jobs, || {
        let mut options = Dbscan::new(eps, min_samples).periodic(box_size);
        if let Some(weights) = weights {
            options = options.weights(weights);
        }
        let labels = table::dbscan(&points.0, &options)?;
        let core: Vec<i64> = (0..labels.as_slice().len()).filter(|&i| labels.is_core(i)).map(|i| i as i64).collect();
        Ok((labels.into_vec(), core))
    })?;
    Ok((labels.into_pyarray(py), core.into_pyarray(py)))
}
