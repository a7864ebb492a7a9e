//! HOP.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use ropewalk::Hop;
use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};
use ropewalk::geometry::BoxSize;

use crate::arrays::{Rows, Vector};
use crate::calls::run;
use crate::errors::{exception, unknown};
use crate::fof::Lists;

/// The options, read from attributes of a Python object.
#[derive(FromPyObject)]
pub struct Options {
    delta_outer: f64,
    delta_saddle: Option<f64>,
    delta_peak: Option<f64>,
    n_density: usize,
    n_hop: usize,
    n_merge: usize,
    min_members: usize,
    kernel: String,
    unit: String,
    volume: Option<f64>,
    pub box_size: Option<Vec<f64>>,
}

impl Options {
    /// Returns the library's finder with these options.
    pub fn hop(&self) -> ropewalk::Result<Hop> {
        let density = KernelDensity::new().kernel(kernel(&self.kernel)?).unit(unit(&self.unit)?);
        let mut hop = Hop::new(self.delta_outer)
            .density(density.n_density(self.n_density).periodic(self.box_size.clone().map(BoxSize::from)))
            .n_hop(self.n_hop)
            .n_merge(self.n_merge)
            .min_members(self.min_members);
        if let Some(saddle) = self.delta_saddle {
            hop = hop.delta_saddle(saddle);
        }
        if let Some(peak) = self.delta_peak {
            hop = hop.delta_peak(peak);
        }
        Ok(match self.volume {
            Some(volume) => hop.volume(volume),
            None => hop,
        })
    }
}

fn kernel(name: &str) -> ropewalk::Result<DensityKernel> {
    match name {
        "symmetric" => Ok(DensityKernel::Symmetric),
        "gather" => Ok(DensityKernel::Gather),
        "top_hat" => Ok(DensityKernel::TopHat),
        _ => unknown("kernel", name),
    }
}

fn unit(name: &str) -> ropewalk::Result<DensityUnit> {
    match name {
        "mean" => Ok(DensityUnit::Mean),
        "absolute" => Ok(DensityUnit::Absolute),
        _ => unknown("unit", name),
    }
}

/// The groups, and the density of each point.
type HopArrays<'py> = (Vector<'py, i32>, Vector<'py, i64>, Bound<'py, PyAny>, Vector<'py, f64>);

/// Returns the groups of points, and the density of each point.
#[pyfunction]
#[pyo3(signature = (points, masses, options, n_jobs))]
pub fn hop<'py>(
    py: Python<'py>,
    points: Rows,
    masses: Option<PyReadonlyArray1<'py, f64>>,
    options: Options,
    n_jobs: Option<isize>,
) -> PyResult<HopArrays<'py>> {
    let mut options = options.hop().map_err(exception)?;
    if let Some(masses) = masses {
        options = options.masses(masses.as_slice()?);
    }
    let (lists, density) = run(py, n_jobs, || {
        let chains = ropewalk_table::hop_chains(&points.0, &options)?;
        Ok((Lists::new(options.run_on_chains(&chains)?), chains.into_density()))
    })?;
    let (labels, offsets, members) = lists.into_arrays(py);
    Ok((labels, offsets, members, density.into_pyarray(py)))
}
