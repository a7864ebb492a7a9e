//! HDBSCAN*: the clusters stay in a Rust object, whose methods return arrays on request.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::cluster::{ClusterSelection, HdbscanClusters, Ties};
use ropewalk::geometry::BoxSize;
use ropewalk::internals::memory::{collected, copy_of};
use ropewalk::{Hdbscan, MinimumSpanningTree};

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::trees::SpanningTree;

/// The options, read from attributes of a Python object.
#[derive(FromPyObject)]
pub struct Options {
    min_cluster_size: usize,
    min_samples: Option<usize>,
    cluster_selection_epsilon: f64,
    max_cluster_size: Option<usize>,
    alpha: f64,
    leaf: bool,
    allow_single_cluster: bool,
    sequential: bool,
    pub box_size: Option<Vec<f64>>,
}

impl Options {
    pub fn hdbscan(&self) -> Hdbscan {
        let selection = if self.leaf { ClusterSelection::Leaf } else { ClusterSelection::ExcessOfMass };
        let mut options = Hdbscan::new(self.min_cluster_size)
            .cluster_selection(selection)
            .cluster_selection_epsilon(self.cluster_selection_epsilon)
            .allow_single_cluster(self.allow_single_cluster)
            .alpha(self.alpha)
            .ties(if self.sequential { Ties::Sequential } else { Ties::Together })
            .periodic(self.box_size.clone().map(BoxSize::from));
        if let Some(samples) = self.min_samples {
            options = options.min_samples(samples);
        }
        match self.max_cluster_size {
            Some(size) => options.max_cluster_size(size),
            None => options,
        }
    }
}

/// The parent, child, lambda and size of each row of a condensed tree.
type CondensedRows<'py> = (Vector<'py, i64>, Vector<'py, i64>, Vector<'py, f64>, Vector<'py, i64>);

/// The spanning tree of points, and its clusters.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Clusters {
    options: Hdbscan,
    tree: Py<SpanningTree>,
    pub found: HdbscanClusters,
}

/// Returns the clusters of points.
#[pyfunction]
#[pyo3(signature = (points, options, n_jobs))]
pub fn hdbscan(py: Python<'_>, points: Rows, options: Options, n_jobs: Option<isize>) -> PyResult<Clusters> {
    let hdbscan = options.hdbscan();
    let (found, tree) = run(py, n_jobs, || {
        // Rejects invalid options before the work starts.
        hdbscan.run_on_spanning_tree(&ropewalk::cluster::SpanningTree::default())?;
        let tree = MinimumSpanningTree::new().min_samples(hdbscan.samples(points.0.len())).alpha(options.alpha);
        let tree =
            ropewalk_table::minimum_spanning_tree(&points.0, &tree.periodic(options.box_size.map(BoxSize::from)))?;
        Ok((hdbscan.run_on_spanning_tree(&tree)?, SpanningTree(tree)))
    })?;
    Ok(Clusters { options: hdbscan, tree: Py::new(py, tree)?, found })
}

/// Returns the clusters of a spanning tree.
#[pyfunction]
#[pyo3(signature = (tree, options, n_jobs))]
pub fn hdbscan_of_tree(
    py: Python<'_>,
    tree: Py<SpanningTree>,
    options: Options,
    n_jobs: Option<isize>,
) -> PyResult<Clusters> {
    let options = options.hdbscan();
    let found = run(py, n_jobs, || options.run_on_spanning_tree(&tree.get().0))?;
    Ok(Clusters { options, tree, found })
}

#[pymethods]
impl Clusters {
    /// Returns the label of each point, -1 for noise.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py, i32>> {
        Ok(run(py, Some(1), || Ok(copy_of(self.found.labels().as_slice())))?.into_pyarray(py))
    }

    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py, f64>> {
        Ok(run(py, Some(1), || Ok(copy_of(self.found.probabilities())))?.into_pyarray(py))
    }

    fn persistence<'py>(&self, py: Python<'py>) -> Vector<'py, f64> {
        self.found.persistence().to_vec().into_pyarray(py)
    }

    fn outlier_scores<'py>(&self, py: Python<'py>, n_jobs: Option<isize>) -> PyResult<Vector<'py, f64>> {
        Ok(run(py, n_jobs, || Ok(self.found.outlier_scores()))?.into_pyarray(py))
    }

    /// Returns the spanning tree.
    fn tree(&self, py: Python<'_>) -> Py<SpanningTree> {
        self.tree.clone_ref(py)
    }

    /// Returns the columns of the condensed tree: parent, child, lambda, size.
    fn condensed<'py>(&self, py: Python<'py>) -> PyResult<CondensedRows<'py>> {
        let (parents, children, lambdas, sizes) = run(py, Some(1), || {
            let rows = || self.found.condensed_tree().rows();
            let [parents, children] =
                [collected(rows().map(|row| row.parent as i64)), collected(rows().map(|row| row.child as i64))];
            let sizes = collected(rows().map(|row| i64::from(row.size)));
            Ok((parents, children, collected(rows().map(|row| row.lambda)), sizes))
        })?;
        Ok((parents.into_pyarray(py), children.into_pyarray(py), lambdas.into_pyarray(py), sizes.into_pyarray(py)))
    }

    /// Returns the labels of DBSCAN* at a distance.
    fn dbscan_labels<'py>(
        &self,
        py: Python<'py>,
        eps: f64,
        min_cluster_size: usize,
        n_jobs: Option<isize>,
    ) -> PyResult<Vector<'py, i32>> {
        let labels = run(py, n_jobs, || {
            Hdbscan::new(min_cluster_size).run_on_spanning_tree(&self.tree.get().0)?.dbscan_labels(eps)
        })?;
        Ok(labels.into_vec().into_pyarray(py))
    }

    /// Returns the labels and probabilities of new points.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        points: Rows,
        new: Rows,
        n_jobs: Option<isize>,
    ) -> PyResult<(Vector<'py, i32>, Vector<'py, f64>)> {
        let found = run(py, n_jobs, || ropewalk_table::hdbscan_predict(&points.0, &self.found, &new.0, &self.options))?;
        Ok((found.labels.into_pyarray(py), found.probabilities.into_pyarray(py)))
    }
}
