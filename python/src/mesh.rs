//! Triangle meshes: ray casting, nearest triangles, and inside-outside tests.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::OnceLock;

use bytemuck::allocation::cast_vec;
use numpy::{Element, IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use rayon::prelude::*;
use ropewalk::internals::memory::with_capacity;
use ropewalk::search::{MeshNearest, RayHit};
use ropewalk::{Error, ErrorKind, Ray, Result, Scalar};
use ropewalk_table::{Points, Table};

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::indices::offsets;

type Matrix<'py, T> = Bound<'py, PyArray2<T>>;

/// Triangles, numbers (`t` of rays, or distances), and barycentric weights in rows of three.
type Hits<'py> = (Vector<'py, i32>, Vector<'py, f64>, Matrix<'py, f64>);

/// The columns of [`Hits`] as vectors.
struct Columns {
    triangles: Vec<i32>,
    numbers: Vec<f64>,
    weights: Vec<[f64; 3]>,
}

/// The minimum and maximum `t` of each ray. `None` means from 0 on, without an end.
type Limits<'py> = Option<PyReadonlyArray2<'py, f64>>;

/// A triangle mesh, immutable after construction.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Mesh(pub TypedMesh);

pub enum TypedMesh {
    /// A 32-bit mesh, and its 64-bit copy once there was a query with 64-bit points.
    F32(ropewalk::Mesh<f32>, OnceLock<ropewalk::Mesh<f64>>),
    F64(ropewalk::Mesh<f64>),
}

/// Runs `$work` with the mesh and the table in a common type.
macro_rules! with_mesh {
    ($own:expr, $points:expr, |$mesh:ident, $table:ident| $work:expr) => {
        match (&$own.0, &$points.0) {
            (TypedMesh::F32($mesh, _), Points::F32($table)) => $work,
            (TypedMesh::F32(narrow, wide), Points::F64($table)) => {
                let $mesh = wide.get_or_init(|| narrow.widened());
                $work
            }
            (TypedMesh::F64($mesh), Points::F64($table)) => $work,
            (TypedMesh::F64(_), Points::F32(_)) => Err(internal_error("32-bit points for a 64-bit mesh")),
        }
    };
}

#[pymethods]
impl Mesh {
    #[new]
    #[pyo3(signature = (vertices, faces, n_jobs))]
    fn new(py: Python<'_>, vertices: Rows, faces: PyReadonlyArray2<u32>, n_jobs: Option<isize>) -> PyResult<Self> {
        let faces = faces.as_slice()?.as_chunks().0;
        run(py, n_jobs, || {
            Ok(match &vertices.0 {
                Points::F32(table) => TypedMesh::F32(ropewalk::Mesh::build(rows(table)?, faces)?, OnceLock::new()),
                Points::F64(table) => TypedMesh::F64(ropewalk::Mesh::build(rows(table)?, faces)?),
            })
        })
        .map(Self)
    }

    /// Returns the lower and the upper corner of the box around all triangles.
    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        match &self.0 {
            TypedMesh::F32(mesh, _) => (mesh.bounds().lo.map(f64::from), mesh.bounds().hi.map(f64::from)),
            TypedMesh::F64(mesh) => (mesh.bounds().lo, mesh.bounds().hi),
        }
    }

    /// Returns the first hit of each ray, where `rays` has an origin and a direction in each row. Rays without a hit
    /// have -1, infinity and NaN.
    #[pyo3(signature = (rays, limits, n_jobs))]
    fn first_hits<'py>(
        &self,
        py: Python<'py>,
        rays: Rows,
        limits: Limits<'py>,
        n_jobs: Option<isize>,
    ) -> PyResult<Hits<'py>> {
        let limits = limits_slice(&limits)?;
        let found = run(py, n_jobs, || {
            with_mesh!(self, rays, |mesh, table| {
                let hits = mesh.first_hits(&rays_with_limits(table, limits)?);
                Ok(columns(&hits, |hit| hit.as_ref().map_or((-1, f64::INFINITY, [f64::NAN; 3]), of_hit)))
            })
        })?;
        arrays(py, found)
    }

    #[pyo3(signature = (rays, limits, n_jobs))]
    fn any_hits<'py>(
        &self,
        py: Python<'py>,
        rays: Rows,
        limits: Limits<'py>,
        n_jobs: Option<isize>,
    ) -> PyResult<Vector<'py, bool>> {
        let limits = limits_slice(&limits)?;
        let found = run(py, n_jobs, || {
            with_mesh!(self, rays, |mesh, table| Ok(mesh.any_hits(&rays_with_limits(table, limits)?)))
        })?;
        Ok(found.into_pyarray(py))
    }

    /// Returns the offsets of the rays' lists, and the concatenated lists of hits.
    #[pyo3(signature = (rays, limits, n_jobs))]
    fn hits_all<'py>(
        &self,
        py: Python<'py>,
        rays: Rows,
        limits: Limits<'py>,
        n_jobs: Option<isize>,
    ) -> PyResult<(Vector<'py, i64>, Hits<'py>)> {
        let limits = limits_slice(&limits)?;
        let (starts, found) = run(py, n_jobs, || {
            with_mesh!(self, rays, |mesh, table| {
                let (starts, hits) = mesh.hits_all(&rays_with_limits(table, limits)?).into_parts();
                Ok((starts, columns(&hits, of_hit)))
            })
        })?;
        Ok((offsets(starts).into_pyarray(py), arrays(py, found)?))
    }

    /// Returns the nearest triangles with distances and barycentric weights, and the nearest points; -1, infinity and
    /// NaN if there is no triangle within the radius.
    #[pyo3(signature = (points, radius, n_jobs))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        points: Rows,
        radius: f64,
        n_jobs: Option<isize>,
    ) -> PyResult<(Hits<'py>, Matrix<'py, f64>)> {
        let (found, places) = run(py, n_jobs, || {
            with_mesh!(self, points, |mesh, table| {
                let near = mesh.nearest_all(rows(table)?, radius);
                let of_nearest = |near: &MeshNearest| (near.triangle as i32, near.distance(), near.barycentric);
                let none = (-1, f64::INFINITY, [f64::NAN; 3]);
                let places = collected_by(&near, |near| near.map_or([f64::NAN; 3], |near| near.point));
                Ok((columns(&near, |near| near.as_ref().map_or(none, of_nearest)), places))
            })
        })?;
        Ok((arrays(py, found)?, matrix(py, places)?))
    }

    #[pyo3(signature = (points, n_jobs))]
    fn winding_number<'py>(&self, py: Python<'py>, points: Rows, n_jobs: Option<isize>) -> PyResult<Vector<'py, f64>> {
        let found = run(py, n_jobs, || with_mesh!(self, points, |mesh, table| Ok(mesh.winding_numbers(rows(table)?))))?;
        Ok(found.into_pyarray(py))
    }

    #[pyo3(signature = (points, n_jobs))]
    fn contains<'py>(&self, py: Python<'py>, points: Rows, n_jobs: Option<isize>) -> PyResult<Vector<'py, bool>> {
        let found = run(py, n_jobs, || with_mesh!(self, points, |mesh, table| Ok(mesh.contains_all(rows(table)?))))?;
        Ok(found.into_pyarray(py))
    }

    #[pyo3(signature = (points, n_jobs))]
    fn signed_distance<'py>(&self, py: Python<'py>, points: Rows, n_jobs: Option<isize>) -> PyResult<Vector<'py, f64>> {
        let found =
            run(py, n_jobs, || with_mesh!(self, points, |mesh, table| Ok(mesh.signed_distances(rows(table)?))))?;
        Ok(found.into_pyarray(py))
    }
}

/// The vertices, faces and colours of a file.
type Triangles<'py> = (Bound<'py, PyAny>, Matrix<'py, u32>, Option<Matrix<'py, u8>>);

/// Returns the vertices, faces and colours of a file.
#[pyfunction]
#[pyo3(signature = (path))]
pub fn read_mesh(py: Python<'_>, path: PathBuf) -> PyResult<Triangles<'_>> {
    let mesh = run(py, None, || ropewalk_io::read_mesh(&path))?;
    for note in &mesh.notes {
        let note = CString::new(format!("{}: {note}", path.display()))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 1)?;
    }
    let shape = [mesh.vertices.len(), 3];
    let vertices = match mesh.vertices {
        Points::F32(table) => table.into_vec().into_pyarray(py).reshape(shape)?.into_any(),
        Points::F64(table) => table.into_vec().into_pyarray(py).reshape(shape)?.into_any(),
    };
    let colors = mesh.colors.map(|colors| matrix(py, colors)).transpose()?;
    Ok((vertices, matrix(py, mesh.faces)?, colors))
}

/// The error for arguments that violate the contract with the Python side.
fn internal_error(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("internal error: {what}"))
}

fn rows<S, const D: usize>(table: &Table<S>) -> Result<&[[S; D]]> {
    table.rows().ok_or_else(|| internal_error("unexpected row length"))
}

fn limits_slice<'a>(limits: &'a Limits<'_>) -> PyResult<Option<&'a [[f64; 2]]>> {
    limits.as_ref().map(|limits| Ok(limits.as_slice()?.as_chunks().0)).transpose()
}

/// Returns rays from rows of an origin and a direction, with the limits of each ray.
fn rays_with_limits<S: Scalar>(table: &Table<S>, limits: Option<&[[f64; 2]]>) -> Result<Vec<Ray<S, 3>>> {
    let ray = |[x, y, z, u, v, w]: &[S; 6]| Ray::new([*x, *y, *z], [*u, *v, *w]);
    let rows = rows::<S, 6>(table)?;
    Ok(match limits {
        None => collected_by(rows, ray),
        Some(limits) if limits.len() != rows.len() => return Err(internal_error("numbers of rays and limits differ")),
        Some(limits) => {
            let mut rays = with_capacity(rows.len());
            let of = rows.par_iter().zip(limits).map(|(row, [from, to])| ray(row).between(*from, *to));
            of.collect_into_vec(&mut rays);
            rays
        }
    })
}

/// Maps items to values in parallel.
fn collected_by<T: Sync, U: Send>(items: &[T], value: impl Fn(&T) -> U + Sync + Send) -> Vec<U> {
    let mut all = with_capacity(items.len());
    items.par_iter().map(value).collect_into_vec(&mut all);
    all
}

fn of_hit(hit: &RayHit) -> (i32, f64, [f64; 3]) {
    // Cannot overflow, since there are fewer than 2^31 triangles.
    (hit.triangle as i32, hit.t, hit.barycentric)
}

fn columns<T: Sync>(of: &[T], row: impl Fn(&T) -> (i32, f64, [f64; 3]) + Sync) -> Columns {
    let (mut triangles, mut numbers) = (with_capacity(of.len()), with_capacity(of.len()));
    let narrow = of.par_iter().map(|own| {
        let (triangle, number, _) = row(own);
        (triangle, number)
    });
    narrow.unzip_into_vecs(&mut triangles, &mut numbers);
    Columns { triangles, numbers, weights: collected_by(of, |own| row(own).2) }
}

fn arrays(py: Python<'_>, columns: Columns) -> PyResult<Hits<'_>> {
    Ok((columns.triangles.into_pyarray(py), columns.numbers.into_pyarray(py), matrix(py, columns.weights)?))
}

/// Converts rows of three to a two-dimensional array without a copy.
fn matrix<T: Element + bytemuck::Pod>(py: Python<'_>, rows: Vec<[T; 3]>) -> PyResult<Matrix<'_, T>> {
    let shape = [rows.len(), 3];
    cast_vec::<[T; 3], T>(rows).into_pyarray(py).reshape(shape)
}
