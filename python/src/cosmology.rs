//! The expected number of halos.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use ropewalk::halo::{Cosmology, MassFunction};

use crate::arrays::Vector;
use crate::calls::run;

/// Cosmological parameters, from a dictionary with the library's names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Universe {
    omega_m: f64,
    omega_lambda: f64,
    omega_b: f64,
    h: f64,
    sigma_8: f64,
    n_s: f64,
    redshift: f64,
}

/// Returns the number of halos of at least each of `masses` per (Mpc/h)^3.
#[pyfunction]
#[pyo3(signature = (masses, universe, by_spheres))]
pub fn halos_above<'py>(
    py: Python<'py>,
    masses: Vec<f64>,
    universe: Universe,
    by_spheres: bool,
) -> PyResult<Vector<'py, f64>> {
    let mut cosmology = Cosmology::default();
    cosmology.omega_m = universe.omega_m;
    cosmology.omega_lambda = universe.omega_lambda;
    cosmology.omega_b = universe.omega_b;
    cosmology.h = universe.h;
    cosmology.sigma_8 = universe.sigma_8;
    cosmology.n_s = universe.n_s;
    cosmology.redshift = universe.redshift;
    let function = if by_spheres { MassFunction::Tinker2008 } else { MassFunction::Warren2006 };
    Ok(run(py, Some(1), || cosmology.halos_above(&masses, function))?.into_pyarray(py))
}
