//! Coefficients of the sources for each target: computed once, applied to any number of fields.
//!
//! In: values at the sources. Out: values at the targets, each a linear combination of a few source values. Cost: a
//! multiplication per coefficient and field.

use crate::cancel::guarded;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::interpolate::errors;
use crate::memory::{filled, zeroed};
use crate::parallel::{fill, map_tasks};

/// Targets per parallel task.
const TASK: usize = 1 << 10;

/// The map from values at sources to values at targets: a sparse matrix with a row for each target.
///
/// [`MovingLeastSquares`](crate::interpolate::MovingLeastSquares), [`Sph`](crate::interpolate::Sph) and
/// [`InverseDistance`](crate::interpolate::InverseDistance) prepare one.
///
/// ```
/// use ropewalk::interpolate::MovingLeastSquares;
///
/// let sources: Vec<[f64; 2]> = (0..100).map(|i| [f64::from(i % 10), f64::from(i / 10)]).collect();
/// let interpolator = MovingLeastSquares::new(2).prepare(&sources, &[[4.3, 5.5]])?;
///
/// // Two fields at once; a parabola is reproduced.
/// let fields: Vec<[f64; 2]> = sources.iter().map(|[x, y]| [x * x - y, 1.0]).collect();
/// let [parabola, one] = interpolator.apply(&fields)?[0];
/// assert!((parabola - (4.3 * 4.3 - 5.5)).abs() < 1e-12 && (one - 1.0).abs() < 1e-12);
/// assert_eq!((interpolator.degrees(), interpolator.n_lower()), (&[2][..], 0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Interpolator {
    pub(crate) n_sources: usize,
    pub(crate) dim: usize,
    pub(crate) sources: Csr<u32>,
    pub(crate) coefficients: Csr<f64>,
    /// The gradient coefficients: `dim` values for each entry of `coefficients`.
    pub(crate) slopes: Option<Vec<f64>>,
    pub(crate) degrees: Vec<i8>,
    pub(crate) degree: i8,
    pub(crate) n_without_neighbors: usize,
    /// If `true`, targets without sources get 0, the value of an empty sum; otherwise they get NaN.
    pub(crate) zero_without_sources: bool,
}

impl std::fmt::Debug for Interpolator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interpolator")
            .field("n_sources", &self.n_sources)
            .field("dim", &self.dim)
            .field("sources", &self.sources)
            .field("coefficients", &self.coefficients)
            .finish_non_exhaustive()
    }
}

/// The values of one point: a number, or an array of several numbers. Sealed.
pub trait FieldValue: sealed::Flat {}

impl FieldValue for f64 {}
impl<const F: usize> FieldValue for [f64; F] {}

mod sealed {
    pub trait Flat: bytemuck::Pod + Send + Sync {
        const WIDTH: usize;
    }

    impl Flat for f64 {
        const WIDTH: usize = 1;
    }

    impl<const F: usize> Flat for [f64; F] {
        const WIDTH: usize = F;
    }
}

impl Interpolator {
    /// Returns the number of targets.
    pub fn len(&self) -> usize {
        self.degrees.len()
    }

    /// Returns `true` if there are no targets.
    pub fn is_empty(&self) -> bool {
        self.degrees.is_empty()
    }

    /// Returns the number of sources, which is the number of values of a field.
    pub fn n_sources(&self) -> usize {
        self.n_sources
    }

    /// Returns the indices of the sources of each target, nearest first.
    pub fn sources(&self) -> &Csr<u32> {
        &self.sources
    }

    /// Returns the coefficients of the sources of each target, in the order of [`Interpolator::sources`].
    pub fn coefficients(&self) -> &Csr<f64> {
        &self.coefficients
    }

    /// Returns the degree of the polynomials whose values are reproduced at each target; for gradients see
    /// [`Interpolator::gradient`]. It is -1 if not even constants are reproduced: for sums that are not normalized, and
    /// for targets without sources.
    pub fn degrees(&self) -> &[i8] {
        &self.degrees
    }

    /// Returns the number of targets whose degree is lower than requested. Targets without neighbours have the degree
    /// of their [`Fallback`](crate::interpolate::Fallback): 0 if it gives a value, otherwise -1.
    pub fn n_lower(&self) -> usize {
        self.degrees.iter().filter(|&&degree| degree < self.degree).count()
    }

    /// Returns the number of targets without a source near enough to have a weight. Their values come from the
    /// [`Fallback`](crate::interpolate::Fallback); in sums that are not normalized, NaN becomes 0.
    pub fn n_without_neighbors(&self) -> usize {
        self.n_without_neighbors
    }

    /// Computes the values at the targets of one or several fields, given by their values at the sources in input
    /// order. If constants are reproduced and no coefficient is negative, each value lies between the minimum and
    /// maximum of the sources with positive coefficients.
    ///
    /// # Errors
    /// Returns an error if the number of values is not that of the sources, or if a value is not finite.
    pub fn apply<V: FieldValue>(&self, values: &[V]) -> Result<Vec<V>> {
        guarded(|| {
            if values.len() != self.n_sources {
                return Err(errors::field_length(values.len(), self.n_sources, 1));
            }
            let mut found: Vec<V> = zeroed(self.len());
            if V::WIDTH > 0 {
                self.apply_to(bytemuck::cast_slice(values), bytemuck::cast_slice_mut(&mut found), V::WIDTH)?;
            }
            Ok(found)
        })
    }

    /// Computes the values at the targets of a number of fields known at run time. `values` holds `columns` values for
    /// each source, row by row, in input order; the result holds `columns` values for each target.
    ///
    /// # Errors
    /// Returns an error if there are not `columns` values for each source, or if a value is not finite. `columns` must
    /// be at least 1, and not too large for the result to be addressable.
    pub fn apply_rows(&self, values: &[f64], columns: usize) -> Result<Vec<f64>> {
        guarded(|| {
            if columns == 0 {
                return Err(Error::parameter_must("columns", 0.0, "at least 1"));
            }
            if self.n_sources.checked_mul(columns) != Some(values.len()) {
                return Err(errors::field_length(values.len(), self.n_sources, columns));
            }
            // Without sources, the length of `values` does not bound `columns`.
            let most = isize::MAX as usize / size_of::<f64>();
            let Some(len) = self.len().checked_mul(columns).filter(|&len| len <= most) else {
                let must = format!("at most {} for {} targets", most / self.len(), self.len());
                return Err(Error::parameter_must("columns", columns as f64, &must));
            };
            let mut found = zeroed(len);
            self.apply_to(values, &mut found, columns)?;
            Ok(found)
        })
    }

    /// Computes the gradient of a field at each target: that of the fitted polynomial, 0 for degree 0. If the field is
    /// a polynomial of the reproduced degree, this is the gradient of the field, unless another polynomial of that
    /// degree is 0 at all neighbours.
    ///
    /// Such polynomials exist if the neighbours lie in a plane. From degree 2 on they also exist if the neighbours lie on
    /// any quadric: a sphere, a cylinder, or a circle in two dimensions. Values on that surface are reproduced, as [`Interpolator::degrees`]
    /// reports, but only the part of the gradient along the surface is. The part across the surface is not determined:
    /// it is 0 for a plane, and arbitrary for other surfaces. For linear functions on a quadric, degree 1 gives the
    /// whole gradient.
    ///
    /// This is the diffuse derivative (Nayroles et al. 1992), which ignores the derivatives of the weights. It has the
    /// order of the fit, but is not the exact derivative of the values as a function of the target.
    ///
    /// ```
    /// use ropewalk::interpolate::MovingLeastSquares;
    ///
    /// let sources: Vec<[f64; 2]> = (0..100).map(|i| [f64::from(i % 10), f64::from(i / 10)]).collect();
    /// let interpolator = MovingLeastSquares::new(2).with_gradients(true).prepare(&sources, &[[4.5, 5.0]])?;
    /// let field: Vec<f64> = sources.iter().map(|[x, y]| x * x - y).collect();
    /// let [[x, y]] = interpolator.gradient(&field)?[..] else { unreachable!() };
    /// assert!((x - 9.0).abs() < 1e-12 && (y + 1.0).abs() < 1e-12);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error as [`Interpolator::apply`], if `D` is not the dimension of the points, or if gradients were
    /// not prepared ([`MovingLeastSquares::with_gradients`](crate::interpolate::MovingLeastSquares::with_gradients)).
    pub fn gradient<const D: usize>(&self, values: &[f64]) -> Result<Vec<[f64; D]>> {
        guarded(|| {
            let Some(slopes) = &self.slopes else {
                let message = "gradients were not prepared; call with_gradients(true)";
                return Err(Error::missing("with_gradients", message));
            };
            if D != self.dim {
                let must = format!("{}, the dimension of the points", self.dim);
                return Err(Error::parameter_must("the dimension of the gradient", D as f64, &must));
            }
            if values.len() != self.n_sources {
                return Err(errors::field_length(values.len(), self.n_sources, 1));
            }
            check_values(values, 1)?;
            let slopes: &[[f64; D]] = slopes.as_chunks().0;
            let mut found: Vec<[f64; D]> = zeroed(self.len());
            fill(&mut found, TASK, &|range, own| {
                for (gradient, target) in own.iter_mut().zip(range) {
                    let sources = self.sources.of(target);
                    let first = self.sources.offsets()[target];
                    if sources.is_empty() {
                        *gradient = [self.missing(); D];
                    }
                    for (&source, slope) in sources.iter().zip(&slopes[first..]) {
                        for (sum, slope) in gradient.iter_mut().zip(slope) {
                            *sum += slope * values[source as usize];
                        }
                    }
                }
            });
            Ok(found)
        })
    }

    /// The value of a target without sources.
    fn missing(&self) -> f64 {
        if self.zero_without_sources { 0.0 } else { f64::NAN }
    }

    fn apply_to(&self, values: &[f64], found: &mut [f64], columns: usize) -> Result<()> {
        check_values(values, columns)?;
        fill(found, TASK.saturating_mul(columns), &|range, own| {
            for (own, target) in own.chunks_exact_mut(columns).zip(range.start / columns..) {
                let (sources, coefficients) = (self.sources.of(target), self.coefficients.of(target));
                if sources.is_empty() {
                    own.fill(self.missing());
                    continue;
                }
                let is_mean = self.degrees[target] >= 0 && coefficients.iter().all(|&c| c >= 0.0);
                if let [own] = own {
                    *own = sources.iter().zip(coefficients).map(|(&source, c)| c * values[source as usize]).sum();
                } else {
                    for (&source, coefficient) in sources.iter().zip(coefficients) {
                        let row = &values[source as usize * columns..][..columns];
                        own.iter_mut().zip(row).for_each(|(own, value)| *own += coefficient * value);
                    }
                }
                if is_mean {
                    // Rounding may take a mean beyond the minimum or maximum of the values.
                    let counting = || sources.iter().zip(coefficients).filter(|(_, c)| **c > 0.0);
                    for (column, own) in own.iter_mut().enumerate() {
                        let value = |(&source, _): (&u32, &f64)| values[source as usize * columns + column];
                        let least = counting().map(value).fold(f64::INFINITY, f64::min);
                        let most = counting().map(value).fold(f64::NEG_INFINITY, f64::max);
                        *own = own.max(least).min(most);
                    }
                }
            }
        });
        Ok(())
    }

    /// Transposes the matrix: sources become targets and targets become sources. Targets without sources get 0.
    pub(super) fn transposed(self) -> Self {
        let mut offsets = zeroed(self.n_sources + 1);
        self.sources.values().iter().for_each(|&source| offsets[source as usize + 1] += 1);
        for i in 0..self.n_sources {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut sources: Vec<u32> = zeroed(self.sources.values().len());
        let mut coefficients: Vec<f64> = zeroed(sources.len());
        for (row, (list, own)) in self.sources.iter().zip(&self.coefficients).enumerate() {
            for (&column, &coefficient) in list.iter().zip(own) {
                let at = next[column as usize];
                next[column as usize] += 1;
                (sources[at], coefficients[at]) = (row as u32, coefficient);
            }
        }
        Self {
            n_sources: self.len(),
            dim: self.dim,
            degrees: filled(self.n_sources, -1),
            degree: -1,
            sources: Csr::from_parts(offsets.clone(), sources),
            coefficients: Csr::from_parts(offsets, coefficients),
            slopes: None,
            n_without_neighbors: self.n_without_neighbors,
            zero_without_sources: true,
        }
    }
}

/// Errors: a value that is not finite.
fn check_values(values: &[f64], columns: usize) -> Result<()> {
    let first = map_tasks(values.len(), 1 << 14, &|range| {
        values[range.clone()].iter().position(|value| !value.is_finite()).map(|at| range.start + at)
    });
    match first.into_iter().flatten().next() {
        Some(at) => Err(errors::source_value(at / columns, values[at])),
        None => Ok(()),
    }
}
