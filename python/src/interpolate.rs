//! Interpolation: coefficients are computed once and applied to any number of fields.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ropewalk::geometry::BoxSize;
use ropewalk::internals::memory::copy_of;
use ropewalk::interpolate::{Fallback, InverseDistance, MovingLeastSquares, SmoothingKernel, Sph, Weight};
use ropewalk_table::{Interpolation, interpolator};

use crate::arrays::{Rows, Vector};
use crate::borrowed::borrowed_array;
use crate::calls::run;
use crate::indices::{narrow, offsets};

/// The options of all methods, read from attributes of a Python object.
#[derive(FromPyObject)]
pub struct Options {
    method: String,
    degree: usize,
    weight: String,
    kernel: String,
    power: f64,
    k: Option<usize>,
    radius: Option<f64>,
    radii: Option<Vec<f64>>,
    volumes: Option<Vec<f64>>,
    normalized: bool,
    gradients: bool,
    fallback: String,
    box_size: Option<Vec<f64>>,
}

impl Options {
    fn method(self) -> PyResult<Interpolation> {
        let (fallback, size) = (fallback(&self.fallback)?, BoxSize::from(self.box_size.clone()));
        // The option types have methods of the same names, but no common trait.
        macro_rules! with_neighbor_choice {
            ($options:expr) => {{
                let options = $options.fallback(fallback).periodic(size);
                match (self.k, self.radius) {
                    (_, Some(radius)) => options.radius(radius),
                    (Some(k), None) => options.neighbors(k),
                    (None, None) => options,
                }
            }};
        }
        Ok(match self.method.as_str() {
            "moving_least_squares" => {
                let options = MovingLeastSquares::new(self.degree).weight(weight(&self.weight)?);
                Interpolation::MovingLeastSquares(with_neighbor_choice!(options.with_gradients(self.gradients)))
            }
            "inverse_distance" => {
                Interpolation::InverseDistance(with_neighbor_choice!(InverseDistance::new(self.power)))
            }
            "gather" | "scatter" => {
                let mut sph = with_neighbor_choice!(Sph::new(kernel(&self.kernel)?)).normalized(self.normalized);
                if let Some(radii) = self.radii {
                    sph = sph.radii(radii);
                }
                if let Some(volumes) = self.volumes {
                    sph = sph.volumes(volumes);
                }
                if self.method == "gather" { Interpolation::Gather(sph) } else { Interpolation::Scatter(sph) }
            }
            other => return Err(PyValueError::new_err(format!("unknown method {other:?}"))),
        })
    }
}

fn weight(name: &str) -> PyResult<Weight> {
    Ok(match name {
        "wendland0" => Weight::Wendland0,
        "wendland2" => Weight::Wendland2,
        "wendland4" => Weight::Wendland4,
        "wendland6" => Weight::Wendland6,
        "wu2" => Weight::Wu2,
        "wu4" => Weight::Wu4,
        "buhmann2" => Weight::Buhmann2,
        "buhmann3" => Weight::Buhmann3,
        "buhmann4" => Weight::Buhmann4,
        "gaussian" => Weight::Gaussian,
        _ => return Err(PyValueError::new_err(format!("unknown weight {name:?}"))),
    })
}

fn kernel(name: &str) -> PyResult<SmoothingKernel> {
    Ok(match name {
        "cubic_spline" => SmoothingKernel::CubicSpline,
        "wendland_c2" => SmoothingKernel::WendlandC2,
        "wendland_c4" => SmoothingKernel::WendlandC4,
        "wendland_c6" => SmoothingKernel::WendlandC6,
        _ => return Err(PyValueError::new_err(format!("unknown kernel {name:?}"))),
    })
}

fn fallback(name: &str) -> PyResult<Fallback> {
    Ok(match name {
        "nan" => Fallback::Nan,
        "nearest" => Fallback::Nearest,
        "inverse_distance" => Fallback::InverseDistance,
        _ => return Err(PyValueError::new_err(format!("unknown fallback {name:?}"))),
    })
}

/// The coefficients of the sources of each target.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Interpolator {
    own: ropewalk::interpolate::Interpolator,
    dim: usize,
    has_gradients: bool,
}

/// Computes the coefficients by the method that the options name.
#[pyfunction]
#[pyo3(signature = (options, sources, targets, n_jobs))]
pub fn prepare(
    py: Python<'_>,
    options: Options,
    sources: Rows,
    targets: Rows,
    n_jobs: Option<isize>,
) -> PyResult<Interpolator> {
    let (has_gradients, method) = (options.gradients, options.method()?);
    let own = run(py, n_jobs, || interpolator(&method, &sources.0, &targets.0))?;
    Ok(Interpolator { own, dim: sources.0.dim(), has_gradients })
}

#[pymethods]
impl Interpolator {
    #[getter]
    fn n_sources(&self) -> usize {
        self.own.n_sources()
    }

    #[getter]
    fn n_targets(&self) -> usize {
        self.own.len()
    }

    #[getter]
    fn n_lower(&self) -> usize {
        self.own.n_lower()
    }

    #[getter]
    fn n_without_neighbors(&self) -> usize {
        self.own.n_without_neighbors()
    }

    fn degrees<'py>(slf: &Bound<'py, Self>) -> PyResult<Vector<'py, i8>> {
        borrowed_array(slf, |own| own.own.degrees())
    }

    /// Returns the coefficients in rows for targets: the offsets of rows, the sources, and the coefficients.
    fn matrix<'py>(
        slf: &Bound<'py, Self>,
        n_jobs: Option<isize>,
    ) -> PyResult<(Vector<'py, i64>, Bound<'py, PyAny>, Vector<'py, f64>)> {
        let (py, own) = (slf.py(), &slf.get().own);
        let (starts, sources) =
            run(py, n_jobs, || Ok((copy_of(own.sources().offsets()), copy_of(own.sources().values()))))?;
        let coefficients = borrowed_array(slf, |own| own.own.coefficients().values())?;
        Ok((offsets(starts).into_pyarray(py), narrow(py, sources, own.n_sources()), coefficients))
    }

    /// Returns the values of fields at targets, in a row for each target.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<'py, f64>,
        n_jobs: Option<isize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = values.as_array().ncols();
        let values = values.as_slice()?;
        let found = run(py, n_jobs, || self.own.apply_rows(values, columns))?;
        found.into_pyarray(py).reshape([self.own.len(), columns])
    }

    fn gradient<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray1<'py, f64>,
        n_jobs: Option<isize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if !self.has_gradients {
            let what = "gradients were not prepared; use MovingLeastSquares(gradients=True)";
            return Err(PyValueError::new_err(what));
        }
        let values = values.as_slice()?;
        macro_rules! of_dim {
            ($($dim:literal)*) => {
                match self.dim {
                    $($dim => run(py, n_jobs, || Ok(self.own.gradient::<$dim>(values)?.into_flattened()))?,)*
                    dim => return Err(PyValueError::new_err(format!("gradients are not supported in {dim} dimensions; 1 to 10 are"))),
                }
            };
        }
        of_dim!(1 2 3 4 5 6 7 8 9 10).into_pyarray(py).reshape([self.own.len(), self.dim])
    }
}
