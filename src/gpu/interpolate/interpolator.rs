//! Coefficients of the sources for each target, on a device: the GPU version of `interpolate::interpolator`.
//!
//! In: values at the sources. Out: values at the targets. Cost: as on the CPU, with a thread per value of the result.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, wait};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::interpolate::rows::Rows;
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::rounding::product;
use crate::interpolate::errors::{field_length, source_value};

/// The map from values at sources to values at targets, on a device: the GPU version of
/// [`crate::interpolate::Interpolator`]. [`MovingLeastSquares`](crate::gpu::MovingLeastSquares),
/// [`Sph`](crate::gpu::Sph) and [`InverseDistance`](crate::gpu::InverseDistance) prepare it.
#[derive(Clone, Debug)]
pub struct Interpolator {
    device: Device,
    n_sources: usize,
    dim: usize,
    degree: i8,
    sources: Csr,
    coefficients: Buffer<f64>,
    slopes: Option<Buffer<f64>>,
    degrees: Buffer<i32>,
    n_without_neighbors: usize,
    /// If `true`, targets without sources get 0, the value of an empty sum; otherwise they get NaN.
    zero_without_sources: bool,
}

impl Interpolator {
    /// Creates the map for a number of sources in a dimension. `n_without_neighbors` targets have the row of their
    /// fallback.
    pub(super) fn new(
        device: Device,
        [n_sources, dim]: [usize; 2],
        degree: i8,
        rows: Rows,
        n_without_neighbors: usize,
    ) -> Self {
        Self {
            device,
            n_sources,
            dim,
            degree,
            sources: Csr { device, offsets: rows.offsets, values: rows.indices },
            coefficients: rows.coefficients,
            slopes: rows.slopes,
            degrees: rows.degrees,
            n_without_neighbors,
            zero_without_sources: false,
        }
    }

    /// Sets the value of targets without sources to 0 rather than NaN.
    pub(super) fn with_zero_without_sources(self, zero_without_sources: bool) -> Self {
        Self { zero_without_sources, ..self }
    }

    /// Returns the number of targets.
    pub fn len(&self) -> usize {
        self.degrees.len()
    }

    /// Returns `true` if there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of sources, which is the number of values of a field.
    pub fn n_sources(&self) -> usize {
        self.n_sources
    }

    /// Returns the indices of the sources of each target, nearest first.
    pub fn sources(&self) -> Csr {
        self.sources.clone()
    }

    /// Returns the coefficients of the sources of all targets, at the places of the values of
    /// [`Interpolator::sources`].
    pub fn coefficients(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.coefficients.clone() }
    }

    /// Returns the degree of the polynomials whose values are reproduced at each target; -1 if not even constants are,
    /// as [`crate::interpolate::Interpolator::degrees`].
    pub fn degrees(&self) -> DeviceVec<i32> {
        DeviceVec { device: self.device, values: self.degrees.clone() }
    }

    /// Counts the targets whose degree is lower than requested, as [`crate::interpolate::Interpolator::n_lower`]. Waits
    /// for the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn n_lower(&self) -> Result<usize> {
        on!(self.device, client => {
            let (n, dim) = (self.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
            let flags = Buffer::<u32>::new(client, n);
            let degree = i32::from(self.degree);
            flag_lower::launch::<_>(client, blocks_for(n), dim, self.degrees.arg(), flags.arg(), degree, n as u32);
            Ok(sum(client, &flags)? as usize)
        })
    }

    /// Returns the number of targets without a source near enough to have a weight, as
    /// [`crate::interpolate::Interpolator::n_without_neighbors`].
    pub fn n_without_neighbors(&self) -> usize {
        self.n_without_neighbors
    }

    /// Computes the values at the targets of a field, given by its values at the sources in input order, as
    /// [`crate::interpolate::Interpolator::apply`].
    ///
    /// # Errors
    /// Returns an error if:
    /// - the number of values is not that of the sources;
    /// - a value is not finite, for which this waits for the device;
    /// - the values are on another device;
    /// - the device fails.
    pub fn apply(&self, values: &DeviceVec<f64>) -> Result<DeviceVec<f64>> {
        self.apply_rows(values, 1)
    }

    /// Computes the values of several fields at the targets. `values` holds `columns` values for each source, row by
    /// row, in input order; the result holds `columns` values for each target.
    ///
    /// # Errors
    /// As [`Interpolator::apply`]. Also if `columns` is 0, or if there are more than 2^32 - 1 values in all, or more
    /// than a buffer of the device can hold.
    pub fn apply_rows(&self, values: &DeviceVec<f64>, columns: usize) -> Result<DeviceVec<f64>> {
        if columns == 0 {
            return Err(Error::parameter_must("columns", 0.0, "at least 1"));
        }
        let rows = SumFactors { slopes: None, columns, out: columns };
        self.sum(values, rows)
    }

    /// Computes the gradient of a field at each target, with as many components as there are dimensions. The CPU
    /// version, [`crate::interpolate::Interpolator::gradient`], explains which part is not determined if sources lie
    /// in a plane or on a quadric.
    ///
    /// # Errors
    /// Those of [`Interpolator::apply`]; gradients that were not prepared.
    pub fn gradient(&self, values: &DeviceVec<f64>) -> Result<DeviceVec<f64>> {
        let Some(slopes) = &self.slopes else {
            let message = "gradients were not prepared; call with_gradients(true)";
            return Err(Error::missing("with_gradients", message));
        };
        self.sum(values, SumFactors { slopes: Some(slopes), columns: 1, out: self.dim })
    }

    /// Waits until the coefficients are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the coefficients from the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::interpolate::Interpolator> {
        on!(self.device, client => {
            let sources = self.sources.read()?;
            let coefficients = crate::Csr::from_parts(sources.offsets().to_vec(), self.coefficients.read(client)?);
            Ok(crate::interpolate::Interpolator {
                n_sources: self.n_sources,
                dim: self.dim,
                sources,
                coefficients,
                slopes: self.slopes.as_ref().map(|slopes| slopes.read(client)).transpose()?,
                degrees: self.degrees.read(client)?.into_iter().map(|degree| degree as i8).collect(),
                degree: self.degree,
                n_without_neighbors: self.n_without_neighbors,
                zero_without_sources: self.zero_without_sources,
            })
        })
    }

    /// Launches the sum for each value of the result, after checks.
    fn sum(&self, values: &DeviceVec<f64>, rows: SumFactors<'_>) -> Result<DeviceVec<f64>> {
        check_same(["the values", "the coefficients"], [values.device, self.device])?;
        if self.n_sources.checked_mul(rows.columns) != Some(values.len()) {
            return Err(field_length(values.len(), self.n_sources, rows.columns));
        }
        let most = u128::from(u32::MAX);
        let all = self.len() as u128 * rows.out as u128;
        let values_needed = all.max(values.len() as u128);
        if values_needed > most {
            return Err(errors::too_many_values(values_needed, "values"));
        }
        on!(self.device, client => {
            check_allocation(client, 8 * all)?;
            check_values(client, &values.values, rows.columns)?;
            Ok(DeviceVec { device: self.device, values: self.sum_checked(client, &values.values, &rows) })
        })
    }

    fn sum_checked<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        values: &Buffer<f64>,
        rows: &SumFactors<'_>,
    ) -> Buffer<f64> {
        let found = Buffer::<f64>::new(client, self.len() * rows.out);
        let (blocks, dim) = (blocks_for(found.len()), CubeDim::new_1d(THREADS_PER_BLOCK));
        let (has_slopes, factors) = (rows.slopes.is_some(), rows.slopes.unwrap_or(&self.coefficients));
        let missing = if self.zero_without_sources { 0.0 } else { f64::NAN };
        let bounds = Buffer::from_slice(client, &[missing, f64::MAX, f64::MIN]);
        let terms = TermsLaunch::new(
            self.sources.offsets.arg(),
            self.sources.values.arg(),
            factors.arg(),
            self.degrees.arg(),
            values.arg(),
            bounds.arg(),
            found.len() as u32,
        );
        add_terms::launch::<R>(client, blocks, dim, terms, found.arg(), rows.out as u32, has_slopes);
        found
    }
}

/// The factors of the sums, and the shapes of rows.
struct SumFactors<'a> {
    /// `None`: the coefficients are the factors.
    slopes: Option<&'a Buffer<f64>>,
    /// The number of values per source (`columns`) and per target (`out`).
    columns: usize,
    out: usize,
}

/// Errors: a value that is not finite.
fn check_values<R: Runtime>(client: &ComputeClient<R>, values: &Buffer<f64>, columns: usize) -> Result<()> {
    let flags = Buffer::<u32>::new(client, values.len());
    let largest = Buffer::from_slice(client, &[f64::MAX]);
    let (blocks, dim) = (blocks_for(values.len()), CubeDim::new_1d(THREADS_PER_BLOCK));
    flag_large::launch::<R>(client, blocks, dim, values.arg(), largest.arg(), flags.arg(), values.len() as u32);
    if sum(client, &flags)? == 0 {
        return Ok(());
    }
    let values = values.read(client)?;
    let at = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
    Err(source_value(at / columns, values[at]))
}

#[cube(launch)]
fn flag_lower(degrees: &Array<i32>, flags: &mut Array<u32>, degree: i32, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        flags[at] = select(degrees[at] < degree, 1u32, 0u32);
    }
}

#[cube(launch)]
fn flag_large(values: &Array<f64>, largest: &Array<f64>, flags: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        flags[at] = select(values[at].abs() <= largest[0], 0u32, 1u32);
    }
}

/// Coefficients or slopes, and values at the sources.
#[derive(CubeType, CubeLaunch)]
struct Terms {
    /// The first place of each target's row.
    offsets: Array<u32>,
    indices: Array<u32>,
    factors: Array<f64>,
    degrees: Array<i32>,
    values: Array<f64>,
    /// The value of targets without sources, the largest and the lowest finite number.
    bounds: Array<f64>,
    /// The number of values of the result.
    n: u32,
}

/// Computes value `at` of the result, one of `width` values of a target. With slopes, each source has one value and
/// `width` factors; otherwise one factor and `width` values.
#[cube(launch)]
fn add_terms(terms: &Terms, found: &mut Array<f64>, width: u32, #[comptime] has_slopes: bool) {
    let at = ABSOLUTE_POS as u32;
    if at < terms.n {
        let (target, column) = (at / width, at % width);
        let zero = f64::new(0.0);
        let mut sum = zero;
        // The lowest coefficient, and the minimum and maximum of the values with positive coefficients.
        let (mut lowest, mut least, mut most) = (zero, terms.bounds[1], terms.bounds[2]);
        let (first, end) = (terms.offsets[target as usize], terms.offsets[(target + 1) as usize]);
        for place in first..end {
            let source = terms.indices[place as usize];
            let mut factor = place;
            let mut value = source * width + column;
            if comptime!(has_slopes) {
                factor = place * width + column;
                value = source;
            }
            let (own, given) = (terms.factors[factor as usize], terms.values[value as usize]);
            sum += product(own, given);
            if comptime!(!has_slopes) {
                lowest = min(lowest, own);
                least = select(own > zero, min(least, given), least);
                most = select(own > zero, max(most, given), most);
            }
        }
        if comptime!(!has_slopes) {
            // Rounding may take a mean beyond the minimum or maximum of the values.
            let is_mean = lowest >= zero && terms.degrees[target as usize] >= 0;
            sum = select(is_mean, min(max(sum, least), most), sum);
        }
        if first == end {
            sum = terms.bounds[0];
        }
        found[at as usize] = sum;
    }
}
