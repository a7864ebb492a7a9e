//! The functions on a device: each copies its points to or within the device, builds a tree of them, and leaves the
//! results there.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use ropewalk::Nearest;
use ropewalk::gpu::{self, Dbscan, Fof, Halos, MinimumSpanningTree, on_one_stream};
use ropewalk_table::{DeviceBvh as Tree, DevicePoints, on_device};

use crate::calls::run;
use crate::device::array::{DeviceArray, DeviceColumn};
use crate::device::source::Source;
use crate::errors::exception;
use crate::{hdbscan, hop};

/// Builds the tree of points. In a periodic box, points must not span more than its sides, as in `arrays::check_box`
/// for points in host memory.
fn tree_of(source: Source, size: Option<Vec<f64>>) -> ropewalk::Result<Tree> {
    let (dim, coordinates) = (source.dim, source.coordinates()?);
    if let Some(sides) = &size {
        coordinates.check_sides(dim, sides)?;
    }
    let points = DevicePoints::from_device(&coordinates, dim, size)?;
    drop(coordinates);
    points.tree()
}

/// Runs work on the device without the GIL. Calls come from threads of a pool. All of them use one stream, so that
/// the device's memory pool exists only once.
fn run_on_stream<T: Send>(py: Python<'_>, work: impl FnOnce() -> ropewalk::Result<T> + Send) -> PyResult<T> {
    run(py, None, || on_one_stream(work))
}

fn labels(column: gpu::DeviceVec<i32>) -> DeviceArray {
    DeviceArray::new(DeviceColumn::Labels(column))
}

fn numbers(column: gpu::DeviceVec<f64>) -> DeviceArray {
    DeviceArray::new(DeviceColumn::Numbers(column))
}

/// The group of each point, the offsets of groups in the list of members, and the list of members.
type Groups = (DeviceArray, DeviceArray, DeviceArray);

fn groups(halos: &Halos, n: usize) -> ropewalk::Result<Groups> {
    let halo_of_points = halos.halo_of_points()?;
    halo_of_points.wait()?;
    Ok((
        labels(halo_of_points),
        DeviceArray::new(DeviceColumn::indices(halos.offsets(), n + 1)),
        DeviceArray::new(DeviceColumn::indices(halos.all_members(), n)),
    ))
}

/// Returns the indices of the core points in ascending order, and the labels (noise -1).
#[pyfunction]
#[pyo3(signature = (x, eps, min_samples, box_size, device))]
pub fn device_dbscan(
    x: &Bound<'_, PyAny>,
    eps: f64,
    min_samples: usize,
    box_size: Option<Vec<f64>>,
    device: Option<usize>,
) -> PyResult<(DeviceArray, DeviceArray)> {
    let source = Source::new(x, device)?;
    run_on_stream(x.py(), || {
        let tree = tree_of(source, box_size)?;
        let found = on_device!(DeviceBvh, &tree, bvh => Dbscan::new(eps, min_samples).run_on(bvh))?;
        let (core, column) = (found.core_indices()?, found.column()?);
        column.wait()?;
        Ok((DeviceArray::new(DeviceColumn::indices(core, tree.len())), labels(column)))
    })
}

/// Returns friends-of-friends groups, the largest first.
#[pyfunction]
#[pyo3(signature = (x, linking_length, min_members, box_size, device))]
pub fn device_friends_of_friends(
    x: &Bound<'_, PyAny>,
    linking_length: f64,
    min_members: usize,
    box_size: Option<Vec<f64>>,
    device: Option<usize>,
) -> PyResult<Groups> {
    let source = Source::new(x, device)?;
    run_on_stream(x.py(), || {
        let tree = tree_of(source, box_size)?;
        let found = on_device!(DeviceBvh, &tree, bvh => Fof::new(linking_length).min_members(min_members).run_on(bvh))?;
        groups(&found, tree.len())
    })
}

/// Returns groups around density peaks, and the density of each point.
#[pyfunction]
#[pyo3(signature = (x, masses, options, device))]
pub fn device_hop(
    x: &Bound<'_, PyAny>,
    masses: Option<PyReadonlyArray1<'_, f64>>,
    options: hop::Options,
    device: Option<usize>,
) -> PyResult<(DeviceArray, DeviceArray, DeviceArray, DeviceArray)> {
    let source = Source::new(x, device)?;
    if !matches!(source.dim, 2 | 3) {
        // Points of another dimension would be padded to more coordinates, and the density kernels depend on the
        // dimension.
        return Err(PyValueError::new_err(format!("X has {} coordinates per point; HOP requires 2 or 3", source.dim)));
    }
    let box_size = options.box_size.clone();
    let mut hop = options.hop().map_err(exception)?;
    if let Some(masses) = masses {
        hop = hop.masses(masses.as_slice()?);
    }
    run_on_stream(x.py(), || {
        let hop = gpu::Hop::from(hop);
        let tree = tree_of(source, box_size)?;
        let chains = on_device!(DeviceBvh, &tree, bvh => hop.chains_on(bvh))?;
        let density = chains.density()?;
        let (labels, offsets, members) = groups(&hop.run_on_chains(&chains)?, tree.len())?;
        Ok((labels, offsets, members, numbers(density)))
    })
}

/// Returns labels (noise -1) and probabilities.
#[pyfunction]
#[pyo3(signature = (x, options, device))]
pub fn device_hdbscan(
    x: &Bound<'_, PyAny>,
    options: hdbscan::Options,
    device: Option<usize>,
) -> PyResult<(DeviceArray, DeviceArray)> {
    let source = Source::new(x, device)?;
    let (hdbscan, box_size) = (options.hdbscan(), options.box_size);
    run_on_stream(x.py(), || {
        let tree = tree_of(source, box_size)?;
        let found = on_device!(DeviceBvh, &tree, bvh => gpu::Hdbscan::from(hdbscan).run_on(bvh))?;
        found.wait()?;
        Ok((labels(found.labels().column()?), numbers(found.probabilities())))
    })
}

/// Returns the two ends of each edge, the lower index first, and the weights. Edges are in ascending order.
#[pyfunction]
#[pyo3(signature = (x, min_samples, alpha, box_size, device))]
pub fn device_minimum_spanning_tree(
    x: &Bound<'_, PyAny>,
    min_samples: usize,
    alpha: f64,
    box_size: Option<Vec<f64>>,
    device: Option<usize>,
) -> PyResult<(DeviceArray, DeviceArray)> {
    let source = Source::new(x, device)?;
    run_on_stream(x.py(), || {
        let tree = tree_of(source, box_size)?;
        let options = MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha);
        let found = on_device!(DeviceBvh, &tree, bvh => options.run_on(bvh))?;
        let (ends, weights) = (found.ends()?, found.weights()?);
        weights.wait()?;
        let n_edges = weights.len();
        Ok((DeviceArray::rows(DeviceColumn::indices(ends, tree.len()), [n_edges, 2]), numbers(weights)))
    })
}

/// A search tree that stays on a device.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct DeviceBvh {
    tree: Tree,
    dim: usize,
}

#[pymethods]
impl DeviceBvh {
    #[new]
    #[pyo3(signature = (x, box_size, device))]
    fn new(x: &Bound<'_, PyAny>, box_size: Option<Vec<f64>>, device: Option<usize>) -> PyResult<Self> {
        let source = Source::new(x, device)?;
        let dim = source.dim;
        run_on_stream(x.py(), || Ok(Self { tree: tree_of(source, box_size)?, dim }))
    }

    fn __len__(&self) -> usize {
        self.tree.len()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a tree on a GPU cannot be pickled or copied; build it again from its points"))
    }

    #[getter]
    fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of points within the radius of each point, the point itself included.
    fn count_neighbors(&self, py: Python<'_>, radius: f64) -> PyResult<DeviceArray> {
        let radius = checked_radius(radius)?;
        run_on_stream(py, || {
            let counts = on_device!(DeviceBvh, &self.tree, bvh => bvh.count_neighbors(radius))?;
            counts.wait()?;
            Ok(DeviceArray::new(DeviceColumn::indices(counts, self.tree.len() + 1)))
        })
    }

    /// Returns the number of pairs within the radius.
    fn count_pairs(&self, py: Python<'_>, radius: f64) -> PyResult<u64> {
        let radius = checked_radius(radius)?;
        run_on_stream(py, || on_device!(DeviceBvh, &self.tree, bvh => bvh.count_pairs(radius)))
    }

    /// Returns the offset of each point's list, and the indices of the points within the radius of each point, itself
    /// included.
    fn neighbors(&self, py: Python<'_>, radius: f64) -> PyResult<(DeviceArray, DeviceArray)> {
        let radius = checked_radius(radius)?;
        run_on_stream(py, || {
            let lists = on_device!(DeviceBvh, &self.tree, bvh => bvh.neighbors(radius))?;
            lists.wait()?;
            let offsets = DeviceColumn::indices(lists.offsets(), lists.n_values() + 1);
            let values = DeviceColumn::indices(lists.values(), self.tree.len());
            Ok((DeviceArray::new(offsets), DeviceArray::new(values)))
        })
    }

    /// Returns the indices of the `k` nearest neighbours of each point, in rows, and their distances.
    fn nearest_neighbors(&self, py: Python<'_>, k: usize, include_self: bool) -> PyResult<(DeviceArray, DeviceArray)> {
        let others = self.tree.len().saturating_sub(usize::from(!include_self));
        if k > others {
            return Err(PyValueError::new_err(format!("k is {k}; each point has only {others} possible neighbours")));
        }
        run_on_stream(py, || {
            let wanted = if include_self { Nearest::new(k) } else { Nearest::new(k).excluding_self() };
            let found = on_device!(DeviceBvh, &self.tree, bvh => bvh.nearest_neighbors(wanted))?;
            let distances = found.distances()?;
            distances.wait()?;
            let indices = DeviceColumn::indices(found.indices(), self.tree.len());
            let shape = [self.tree.len(), k];
            Ok((DeviceArray::rows(indices, shape), DeviceArray::rows(DeviceColumn::Numbers(distances), shape)))
        })
    }
}

fn checked_radius(radius: f64) -> PyResult<f64> {
    if (0.0..f64::INFINITY).contains(&radius) {
        return Ok(radius);
    }
    Err(PyValueError::new_err(format!("radius is {radius}; it must be finite and not negative")))
}
