//! Moving least squares: at each target a separate polynomial, fitted to the neighbours.
//!
//! In: sources and targets. Out: an interpolator. Source: Lancaster and Salkauskas 1981; Levin 1998.
//!
//! With neighbours at offsets d(i), a radius R and weights w(i), the rows of A are sqrt(w(i)) times the monomials of
//! d(i)/R. These are of order one for all positions of points. The value at the target is the first coefficient of the
//! least squares solution. The coefficients of the sources are therefore sqrt(w(i)) times the shortest vector a with
//! A^T a = (1, 0, .., 0). This equation states that polynomials are reproduced. It is solved by a decomposition A P =
//! Q R with column pivoting (`qr`).
//!
//! If columns are dependent, the equation still has a solution if the neighbours determine the value at the target.
//! For example, four points of a plane through the target determine the value of a linear function in space. If there
//! is no solution, the next lower degree is tried. Columns count as dependent if they differ by no more than the
//! rounding of coordinates. If polynomials are not reproduced without that difference, the columns count as
//! independent after all, or the degree is lowered.

use super::basis::{MAX_DEGREE, basis_size, fill_columns, reproduction_error};
use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::kernels::Weight;
use super::neighborhood::Neighborhood;
use super::options::options;
use super::stencil::{Fit, Plan, TargetNeighbors, build_tree, stencils, wrapped_points};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar};
use crate::interpolate::errors;
use crate::simd::{LANES, Lanes, dispatch};

/// The ratio of a column's remaining norm to the first pivot up to which it is dependent: the rounding of differences
/// that should be 0, with a margin.
pub(crate) const DEPENDENT: f64 = 1e-12;
/// The largest difference of A^T a from the unit vector, in units of the monomials, for which the value at the target
/// is determined.
pub(crate) const DETERMINED: f64 = 1e-9;
/// Replaces [`DEPENDENT`] and [`DETERMINED`] where it is larger, in units of the rounding of coordinates over the
/// radius. Each monomial of a neighbour is off by at most as many such units as its degree, and pivots grow a
/// little.
pub(crate) const ROUNDING_MARGIN: f64 = 16.0;
/// The largest error, relative to one plus the sum of the absolute coefficients, with which polynomials count as
/// reproduced.
pub(crate) const REPRODUCED: f64 = 1e-11;
/// The largest sum of absolute coefficients for which directions due to rounding are fitted.
pub(crate) const MAX_COEFFICIENT_SUM: f64 = 100.0;
/// The largest change that rounded coordinates may cause in a function that changes by 1 over the radius.
pub(crate) const MAX_ROUNDING_EFFECT: f64 = 1e-3;

/// Interpolation by moving least squares: set the options, then call [`MovingLeastSquares::prepare`].
///
/// A polynomial is fitted to the neighbours of each target, with larger weights for nearer ones. Its value at the
/// target is the value of the field. All polynomials of the degree are reproduced, so a field of 1 gives 1 everywhere.
///
/// The degree is lower at a target if the sources do not determine the value of such polynomials there. Examples are
/// too few sources, or sources on a line or in a plane beside the target. [`Interpolator::degrees`] reports the degree
/// of the polynomials that are reproduced.
///
/// Coordinates count as rounded to their type: sources that are off a line or plane by no more than rounding count as
/// lying in it. The degree is also lower if the rounding of the sources would change the value at the target by a
/// thousandth of the field's change over the radius.
///
/// ```
/// use ropewalk::interpolate::{MovingLeastSquares, Weight};
///
/// let sources: Vec<[f32; 2]> = (0..400).map(|i| [(i % 20) as f32 / 20.0, (i / 20) as f32 / 20.0]).collect();
/// let values: Vec<f64> = sources.iter().map(|&[x, y]| f64::from(3.0 * x + y).sin()).collect();
/// let mls = MovingLeastSquares::new(2).weight(Weight::Wendland4).neighbors(20).periodic([1.0, 1.0]);
/// let found = mls.prepare(&sources, &[[0.512, 0.333f32]])?.apply(&values)?;
/// assert!((found[0] - f64::sin(3.0 * 0.512 + 0.333)).abs() < 1e-3);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MovingLeastSquares {
    pub(crate) degree: usize,
    pub(crate) weight: Weight,
    /// `None`: twice as many neighbours as there are monomials.
    reach: Option<Neighborhood>,
    pub(crate) fallback: Fallback,
    pub(crate) has_gradients: bool,
    size: BoxSize,
}

impl MovingLeastSquares {
    /// Creates options for polynomials of a degree from 0 to 4. The defaults: the weight Wendland2, twice as many
    /// neighbours as a polynomial has monomials (20 for degree 2 in three dimensions, 70 for degree 4), open space.
    pub fn new(degree: usize) -> Self {
        Self {
            degree,
            weight: Weight::default(),
            reach: None,
            fallback: Fallback::default(),
            has_gradients: false,
            size: BoxSize::default(),
        }
    }

    /// Sets the weight of neighbours as a function of distance. Default: [`Weight::Wendland2`].
    #[must_use]
    pub fn weight(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    options! {
        /// Uses the `k` nearest sources, with a weight that ends at 1.1 times the distance of the farthest. If `k` is
        /// the number of monomials, the fit passes through all values and amplifies their errors; twice as many are
        /// advisable. If there are fewer than `k` sources, all are used.
        neighbors,
        /// Uses all sources within a radius, where weights end. Values are then as smooth a function of the target as
        /// the weight is.
        radius,
        /// Sets the value assigned to targets without sources within the radius. Default: [`Fallback::Nan`].
        fallback
    }

    /// Requests the data for [`Interpolator::gradient`], too: one more number per coefficient and dimension. Default:
    /// `false`.
    #[must_use]
    pub fn with_gradients(mut self, has_gradients: bool) -> Self {
        self.has_gradients = has_gradients;
        self
    }

    /// Computes the coefficients for each target, in parallel and in `f64`, for points of 1 to 10 dimensions.
    ///
    /// # Cost
    /// Time: proportional to the number of neighbours times the square of the number of monomials. In three dimensions
    /// there are 10 monomials for degree 2, 20 for degree 3 and 35 for degree 4. Memory: 12 bytes per coefficient, and as
    /// much again while it runs.
    ///
    /// # Errors
    /// Returns an error if:
    /// - the degree is above 4, or there are fewer neighbours than monomials;
    /// - a radius is not positive and finite, or exceeds half the periodic box;
    /// - a coordinate is not finite or too large;
    /// - the primitives have an extent.
    pub fn prepare<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        guarded(|| self.prepare_by(sources, targets, D, S::ROUNDING))
    }

    /// The neighbours to use in `axes` dimensions.
    ///
    /// Errors: a degree above [`MAX_DEGREE`]; fewer neighbours than there are monomials.
    pub(crate) fn checked_neighborhood(&self, axes: usize) -> Result<Neighborhood> {
        if self.degree > MAX_DEGREE {
            return Err(Error::parameter_must("degree", self.degree as f64, "0, 1, 2, 3 or 4"));
        }
        let basis = basis_size(axes, self.degree);
        let reach = self.reach.clone().unwrap_or(Neighborhood::Neighbors(2 * basis));
        if let Neighborhood::Neighbors(k) = reach
            && k < basis
        {
            return Err(errors::too_few_neighbors(k, basis, self.degree, axes));
        }
        Ok(reach)
    }

    /// Computes the coefficients for each target as [`MovingLeastSquares::prepare`] does, in `axes` dimensions;
    /// coordinates from index `axes` on must be 0. `rounding` is the relative rounding error of coordinates.
    #[doc(hidden)]
    pub fn prepare_by<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
        axes: usize,
        rounding: f64,
    ) -> Result<Interpolator> {
        let reach = self.checked_neighborhood(axes)?;
        let tree = build_tree(sources, &self.size)?;
        reach.check(targets.len(), tree.space())?;
        let plan = Plan {
            reach: &reach,
            fallback: self.fallback,
            rule: &|work| dispatch!(_isa => fit(self, rounding, work)),
            axes,
            has_gradients: self.has_gradients,
            degree: self.degree as i8,
        };
        Ok(stencils(&tree, &wrapped_points(targets, tree.space())?, &plan))
    }
}

/// Computes the coefficients of the highest degree whose polynomials the neighbours determine at the target.
#[inline(always)]
fn fit(options: &MovingLeastSquares, rounding: f64, work: &mut TargetNeighbors) -> Option<i8> {
    work.relative_distances();
    options.weight.apply(&mut work.coefficients);
    let (len, inverse) = (work.len(), if work.radius > 0.0 { 1.0 / work.radius } else { 0.0 });
    let rounding = rounding * work.magnitude * inverse;
    let TargetNeighbors { offsets, coefficients, slopes, fit: Fit { roots, matrix, transpose }, .. } = work;
    roots.clear();
    roots.extend_from_slice(coefficients);
    let mut most = 0.0f64;
    for root in roots.as_flattened_mut() {
        *root = root.sqrt();
        most = most.max(*root);
    }
    if most == 0.0 {
        return None;
    }
    for offset in offsets.as_flattened_mut() {
        *offset *= inverse;
    }
    let dim = offsets.len() / roots.len();
    for degree in (0..=options.degree).rev() {
        // Rounding of positions does not affect constants. For higher degrees the absolute coefficients add up to at
        // least 1, so the limit on `rounding * size` below would be exceeded anyway.
        let rounding = if degree == 0 { 0.0 } else { rounding };
        if rounding > MAX_ROUNDING_EFFECT {
            continue;
        }
        let width = basis_size(dim, degree);
        let tolerance = ROUNDING_MARGIN * rounding;
        let mut solve = |tolerance: f64| {
            fill_columns(matrix.matrix(len, width), roots, offsets, degree);
            matrix.decompose(true, DEPENDENT.max(tolerance));
            let mut missing = 0.0;
            if matrix.rank() == width {
                matrix.shortest(0, coefficients);
            } else {
                matrix.decompose_transpose(transpose);
                missing = matrix.pseudoinverse_row(transpose, 0, coefficients);
            }
            multiply(coefficients, roots, 1.0);
            let size = coefficients.as_flattened().iter().map(|c| c.abs()).sum::<f64>();
            let is_determined = missing <= DETERMINED.max(tolerance) && rounding * size <= MAX_ROUNDING_EFFECT;
            // Columns that were left out may exceed the rounding of `f64`.
            let is_exact = matrix.rank() == width
                || !is_determined
                || reproduction_error(coefficients, offsets, degree) <= REPRODUCED * (1.0 + size);
            (is_determined, is_exact, size)
        };
        let (is_determined, is_exact, _) = solve(tolerance);
        if !is_determined {
            continue;
        }
        if !is_exact {
            // An offset from a line or plane by the rounding of coordinates is no direction to fit along, but the fit
            // must reproduce it.
            let (is_determined, is_exact, size) = if tolerance > DEPENDENT { solve(0.0) } else { (false, false, 0.0) };
            if !(is_determined && is_exact && size <= MAX_COEFFICIENT_SUM) {
                continue;
            }
        }
        if options.has_gradients && degree > 0 {
            for (axis, slopes) in slopes.chunks_exact_mut(roots.len()).enumerate() {
                if matrix.rank() == width {
                    matrix.shortest(1 + axis, slopes);
                } else {
                    matrix.pseudoinverse_row(transpose, 1 + axis, slopes);
                }
                multiply(slopes, roots, inverse);
            }
        }
        return Some(degree as i8);
    }
    None
}

#[inline(always)]
fn multiply(values: &mut [Lanes<f64>], by: &[Lanes<f64>], times: f64) {
    for (values, by) in values.iter_mut().zip(by) {
        for l in 0..LANES {
            values[l] *= by[l] * times;
        }
    }
}
