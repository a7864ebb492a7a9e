//! The search tree.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use rayon::prelude::*;
use ropewalk::geometry::distance_from_square;
use ropewalk::internals::memory::with_capacity;
use ropewalk::search::Neighbor;
use ropewalk::{Csr, Nearest};
use ropewalk_io::AtomicFile;
use ropewalk_table::{Radii, TreeFormat};

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::indices::{narrow, narrow_rows, offsets};

/// Offsets, and indices with the type of [`narrow`].
type Lists<'py> = (Vector<'py, i64>, Bound<'py, PyAny>);

/// One radius for all centers, or one for each.
#[derive(FromPyObject)]
pub enum Radius<'py> {
    Each(PyReadonlyArray1<'py, f64>),
    Same(f64),
}

impl Radius<'_> {
    fn radii(&self) -> PyResult<Radii<'_>> {
        Ok(match self {
            Self::Each(radii) => Radii::Each(radii.as_slice()?),
            Self::Same(radius) => Radii::Same(*radius),
        })
    }
}

/// Distances and indices of neighbours.
type DistancesAndIndices = (Vec<f64>, Vec<i64>);

/// A search tree, immutable after construction.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Bvh(ropewalk_table::Bvh);

#[pymethods]
impl Bvh {
    #[new]
    #[pyo3(signature = (points, box_size, n_jobs))]
    fn new(py: Python<'_>, points: Rows, box_size: Option<Vec<f64>>, n_jobs: Option<isize>) -> PyResult<Self> {
        run(py, n_jobs, || ropewalk_table::Bvh::build_periodic(&points.0, box_size)).map(Self)
    }

    /// Returns the points within a radius of each center.
    fn query<'py>(
        &self,
        py: Python<'py>,
        centers: Rows,
        radius: Radius<'py>,
        n_jobs: Option<isize>,
    ) -> PyResult<Lists<'py>> {
        let radii = radius.radii()?;
        let (starts, indices) = run(py, n_jobs, || self.0.query(&centers.0, radii))?.into_parts();
        Ok((offsets(starts).into_pyarray(py), narrow(py, indices, self.0.len())))
    }

    fn query_count<'py>(
        &self,
        py: Python<'py>,
        centers: Rows,
        radius: Radius<'py>,
        n_jobs: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let radii = radius.radii()?;
        Ok(narrow(py, run(py, n_jobs, || self.0.count(&centers.0, radii))?, self.0.len()))
    }

    /// Returns the nearest points to each query, or to each point of the tree, in rows of `k` that are padded.
    #[pyo3(signature = (queries, k, radius, excluding_self, n_jobs))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        queries: Option<Rows>,
        k: usize,
        radius: f64,
        excluding_self: bool,
        n_jobs: Option<isize>,
    ) -> PyResult<(Vector<'py, f64>, Vector<'py, i64>)> {
        let found = run(py, n_jobs, || {
            let lists =
                self.lists(queries.as_ref(), Nearest::new(k.min(self.0.len())).within(radius), excluding_self)?;
            Ok(rows(&lists, k, self.0.len()))
        })?;
        let n = queries.as_ref().map_or(self.0.len(), |queries| queries.0.len());
        let memory = || PyMemoryError::new_err(format!("cannot allocate {n} x {k} neighbours"));
        let (distances, indices) = found.ok_or_else(memory)?;
        Ok((distances.into_pyarray(py), indices.into_pyarray(py)))
    }

    /// Returns the lists of all points within a radius of each query, or of each point of the tree, nearest first.
    #[pyo3(signature = (queries, radius, excluding_self, n_jobs))]
    fn query_distances<'py>(
        &self,
        py: Python<'py>,
        queries: Option<Rows>,
        radius: f64,
        excluding_self: bool,
        n_jobs: Option<isize>,
    ) -> PyResult<(Vector<'py, i64>, Vector<'py, f64>, Vector<'py, i64>)> {
        let (starts, (distances, indices)) = run(py, n_jobs, || {
            let wanted = Nearest::new(self.0.len()).within(radius);
            let (starts, found) = self.lists(queries.as_ref(), wanted, excluding_self)?.into_parts();
            Ok((starts, unzip_neighbors(&found)))
        })?;
        Ok((offsets(starts).into_pyarray(py), distances.into_pyarray(py), indices.into_pyarray(py)))
    }

    fn neighbors<'py>(&self, py: Python<'py>, radius: f64, n_jobs: Option<isize>) -> PyResult<Lists<'py>> {
        let (starts, indices) = run(py, n_jobs, || self.0.neighbors(radius))?.into_parts();
        Ok((offsets(starts).into_pyarray(py), narrow(py, indices, self.0.len())))
    }

    fn count_neighbors<'py>(&self, py: Python<'py>, radius: f64, n_jobs: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        Ok(narrow(py, run(py, n_jobs, || self.0.count_neighbors(radius))?, self.0.len()))
    }

    /// Returns the pairs in rows of two indices, and their distances.
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        radius: f64,
        n_jobs: Option<isize>,
    ) -> PyResult<(Bound<'py, PyAny>, Vector<'py, f64>)> {
        let (indices, distances) = run(py, n_jobs, || {
            let mut pairs = self.0.pairs(radius)?;
            pairs.distances2.par_iter_mut().for_each(|distance| *distance = distance_from_square(*distance));
            Ok((pairs.indices.into_vec(), pairs.distances2))
        })?;
        Ok((narrow_rows(py, indices, self.0.len())?, distances.into_pyarray(py)))
    }

    /// Writes the nodes of the tree in the format of the file extension.
    fn write(&self, py: Python<'_>, path: PathBuf, n_jobs: Option<isize>) -> PyResult<()> {
        run(py, n_jobs, || {
            let format = TreeFormat::from_path(&path)?;
            let mut file = AtomicFile::create(&path)?;
            self.0.write(format, &mut file)?;
            file.commit()
        })
    }
}

impl Bvh {
    fn lists(&self, queries: Option<&Rows>, wanted: Nearest, excluding_self: bool) -> ropewalk::Result<Csr<Neighbor>> {
        match queries {
            Some(queries) => self.0.nearest(&queries.0, wanted),
            None if excluding_self => self.0.nearest_neighbors(wanted.excluding_self()),
            None => self.0.nearest_neighbors(wanted),
        }
    }
}

/// Splits neighbours into distances and indices.
fn unzip_neighbors(found: &[Neighbor]) -> DistancesAndIndices {
    let (mut distances, mut indices) = (with_capacity(found.len()), with_capacity(found.len()));
    let near = found.par_iter().map(|near| (near.distance(), i64::from(near.index)));
    near.unzip_into_vecs(&mut distances, &mut indices);
    (distances, indices)
}

/// Splits lists of neighbours into rows of `k` distances and `k` indices, padded with infinity and `n`. Returns
/// `None` if memory is insufficient.
fn rows(lists: &Csr<Neighbor>, k: usize, n: usize) -> Option<DistancesAndIndices> {
    let len = lists.len().checked_mul(k)?;
    if len == lists.values().len() {
        return Some(unzip_neighbors(lists.values()));
    }
    let (mut distances, mut indices): DistancesAndIndices = (vec![], vec![]);
    distances.try_reserve_exact(len).ok()?;
    indices.try_reserve_exact(len).ok()?;
    let near = |at: usize| match lists.of(at / k).get(at % k) {
        Some(near) => (near.distance(), i64::from(near.index)),
        None => (f64::INFINITY, n as i64),
    };
    (0..len).into_par_iter().map(near).unzip_into_vecs(&mut distances, &mut indices);
    Some((distances, indices))
}
