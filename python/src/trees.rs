//! Spanning trees and single linkage.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use ropewalk::MinimumSpanningTree;
use ropewalk::cluster::{Dendrogram, Edge, Merge};
use ropewalk::internals::memory::{collected, with_capacity};

use crate::arrays::{Rows, Vector};
use crate::calls::run;

/// The ends of edges in rows of two, and a number for each edge.
type Weighted<'py> = (Bound<'py, PyArray2<i64>>, Vector<'py, f64>);

/// The library's spanning tree.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct SpanningTree(pub ropewalk::cluster::SpanningTree);

impl SpanningTree {
    fn edges_and<'py>(
        &self,
        py: Python<'py>,
        n_jobs: Option<isize>,
        number: fn(&Edge) -> f64,
    ) -> PyResult<Weighted<'py>> {
        let (ends, numbers) = run(py, n_jobs, || {
            let n = self.0.edges().len();
            let (mut ends, mut numbers) = (with_capacity(n), with_capacity(n));
            let edge = |edge: &Edge| ([i64::from(edge.low), i64::from(edge.high)], number(edge));
            self.0.edges().par_iter().map(edge).unzip_into_vecs(&mut ends, &mut numbers);
            Ok((ends, numbers))
        })?;
        let rows = [ends.len(), 2];
        Ok((ends.into_flattened().into_pyarray(py).reshape(rows)?, numbers.into_pyarray(py)))
    }
}

#[pymethods]
impl SpanningTree {
    /// Returns the tree with the given edges and squared weights.
    #[new]
    fn new(
        py: Python<'_>,
        n_points: usize,
        edges: PyReadonlyArray2<'_, i64>,
        weights2: PyReadonlyArray1<'_, f64>,
        n_jobs: Option<isize>,
    ) -> PyResult<Self> {
        let (ends, weights2) = (edges.as_slice()?, weights2.as_slice()?);
        // Invalid ends are mapped to a number above all points, which `from_edges` rejects.
        let end = |end: i64| u32::try_from(end).unwrap_or(u32::MAX);
        let edge = |(ends, &weight2): (&[i64; 2], &f64)| Edge { low: end(ends[0]), high: end(ends[1]), weight2 };
        run(py, n_jobs, || {
            let edges = collected(ends.as_chunks().0.iter().zip(weights2).map(edge));
            ropewalk::cluster::SpanningTree::from_edges(n_points, edges).map(Self)
        })
    }

    #[getter]
    fn n_points(&self) -> usize {
        self.0.n_points()
    }

    /// Returns the ends and the weights of the edges.
    fn edges<'py>(&self, py: Python<'py>, n_jobs: Option<isize>) -> PyResult<Weighted<'py>> {
        self.edges_and(py, n_jobs, Edge::weight)
    }

    /// Returns the ends and the squared weights of the edges.
    fn state<'py>(&self, py: Python<'py>, n_jobs: Option<isize>) -> PyResult<Weighted<'py>> {
        self.edges_and(py, n_jobs, |edge| edge.weight2)
    }

    /// Returns the labels of the clusters joined by edges up to a length.
    fn cut<'py>(&self, py: Python<'py>, length: f64, n_jobs: Option<isize>) -> PyResult<Vector<'py, i32>> {
        Ok(run(py, n_jobs, || self.0.cut(length))?.into_vec().into_pyarray(py))
    }

    /// Returns the labels of the given number of clusters.
    fn cut_into<'py>(&self, py: Python<'py>, clusters: usize, n_jobs: Option<isize>) -> PyResult<Vector<'py, i32>> {
        Ok(run(py, n_jobs, || self.0.cut_into(clusters))?.into_vec().into_pyarray(py))
    }

    /// Returns the merges of single linkage in rows of four: two clusters, the height, the size.
    fn linkage<'py>(&self, py: Python<'py>, n_jobs: Option<isize>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if self.0.n_points() > 1 << 31 {
            let message = format!("{} points are too many for linkage; at most 2**31 are supported", self.0.n_points());
            return Err(PyValueError::new_err(message));
        }
        let rows: Vec<[f64; 4]> = run(py, n_jobs, || {
            let dendrogram = Dendrogram::new(&self.0);
            let mut rows = with_capacity(dendrogram.merges().len());
            let row = |merge: &Merge| {
                let [a, b] = merge.clusters.map(f64::from);
                [a, b, merge.height, f64::from(merge.size)]
            };
            dendrogram.merges().par_iter().map(row).collect_into_vec(&mut rows);
            Ok(rows)
        })?;
        let shape = [rows.len(), 4];
        rows.into_flattened().into_pyarray(py).reshape(shape)
    }
}

/// Returns the minimum spanning tree of points.
#[pyfunction]
#[pyo3(signature = (points, min_samples, alpha, box_size, n_jobs))]
pub fn minimum_spanning_tree(
    py: Python<'_>,
    points: Rows,
    min_samples: usize,
    alpha: f64,
    box_size: Option<Vec<f64>>,
    n_jobs: Option<isize>,
) -> PyResult<SpanningTree> {
    let options = MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha).periodic(box_size);
    run(py, n_jobs, || ropewalk_table::minimum_spanning_tree(&points.0, &options)).map(SpanningTree)
}
