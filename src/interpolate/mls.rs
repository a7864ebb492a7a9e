//! Moving least squares: at each target a polynomial of its own, fitted to its neighbours.
//!
//! In: sources and targets. Out: an interpolator. Source: Lancaster and Salkauskas 1981; Levin 1998.
//!
//! With neighbours at offsets d(i), a radius R and weights w(i), rows of A are sqrt(w(i)) times the monomials of d(i)/R, which are of order one
//! wherever the points lie. The value at the target is the first coefficient of the least squares solution, so coefficients of sources
//! are sqrt(w(i)) times the shortest vector a with A^T a = (1, 0, .., 0): that polynomials are reproduced is this equation. It is solved by
//! a decomposition A P = Q R with column pivoting (`qr`). Where columns are dependent, the equation still has a solution if what the neighbours
//! tell determines the value at the target (four points of a plane that holds the target determine that of a linear function in
//! space); where it has none, the same is tried with the next lower degree. Columns that differ by no more than coordinates are rounded by count
//! as dependent; if polynomials are not reproduced without the difference, it counts after all, or the degree is lower.

use super::basis::{basis_size, fill_columns, reproduction_error};
use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::kernels::Weight;
use super::options::options;
use super::reach::Reach;
use super::stencil::{Fit, Plan, Work, places_of, stencils, tree_of};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar};
use crate::interpolate::errors;
use crate::simd::{LANES, Lanes, dispatch};

/// Columns that have at most this part of the first left are dependent: what rounding of differences leaves of 0, and room.
pub(crate) const DEPENDENT: f64 = 1e-12;
/// What A^T a may be away from the unit vector, in units of the monomials, for the value at the target to be determined.
pub(crate) const DETERMINED: f64 = 1e-9;
/// The same two, where they are more, in units of what coordinates are rounded by over the radius: each monomial of a neighbour is off by
/// at most two, and pivots have grown a little.
pub(crate) const ROUNDED: f64 = 16.0;
/// The error, in parts of the sizes of the coefficients, up to which polynomials count as reproduced.
pub(crate) const REPRODUCED: f64 = 1e-11;
/// Sizes of coefficients, added up, beyond which directions that are due to rounding are not fitted along.
pub(crate) const LARGEST: f64 = 100.0;
/// What rounded coordinates may change a function by that changes by 1 over the radius.
pub(crate) const UNCERTAIN: f64 = 1e-3;

/// Moving least squares: options, then [`MovingLeastSquares::prepare`].
///
/// At each target a polynomial is fitted to the neighbours, those that are near counted more; its value there is that of the field. All
/// polynomials of the degree are reproduced, so values add up to 1 for a field of 1. Where sources are too few or lie so that they do not determine
/// the value of such polynomials at the target (on a line, in a plane beside it), the degree is lower there, and
/// [`Interpolator::degrees`] says so: it is always true that polynomials of that degree are reproduced. Coordinates count as rounded to their
/// type: what lies beside a line or plane by no more than that lies in it, and the degree is lower, too, where rounding of the sources
/// would change the value at the target by a thousandth of what the field changes by over the radius.
///
/// ```
/// use ropewalk::MovingLeastSquares;
/// use ropewalk::interpolate::Weight;
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
    /// Otherwise twice as many neighbours as there are monomials.
    reach: Option<Reach>,
    fallback: Fallback,
    pub(crate) has_gradients: bool,
    size: BoxSize,
}

impl MovingLeastSquares {
    /// Polynomials of degree 0, 1 or 2, the weight Wendland2, twice as many neighbours as a polynomial has monomials (of degree 2 in three
    /// dimensions 20), in open space.
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

    /// How much neighbours count by their distance.
    #[must_use]
    pub fn weight(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    options! {
        /// The `k` nearest sources count; weights end at 1.1 times the distance of the last. With as many as there are monomials, the fit goes
        /// through all of them, and errors of values are multiplied: take twice as many. If there are fewer sources, all count.
        neighbors,
        /// All sources within a radius count, where weights end: values are then as smooth a function of the target as weights are.
        radius,
        /// What a target gets that has no source within the radius.
        fallback
    }

    /// Whether [`Interpolator::gradient`] is prepared, too: as many numbers more for each coefficient as there are dimensions.
    #[must_use]
    pub fn with_gradients(mut self, has_gradients: bool) -> Self {
        self.has_gradients = has_gradients;
        self
    }

    /// The coefficients for each target, in parallel: of points of 1 to 10 dimensions, in `f64`.
    ///
    /// Memory: 12 bytes a coefficient, and as many meanwhile.
    ///
    /// Errors: a degree above 2; fewer neighbours than there are monomials; a radius that is not positive or more than half the
    /// periodic box; coordinates that are not finite; primitives with an extent.
    pub fn prepare<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
    ) -> Result<Interpolator> {
        guarded(|| self.prepare_by(sources, targets, D, S::ROUNDING))
    }

    /// How far each target looks, in `axes` dimensions.
    ///
    /// Errors: a degree above 2; fewer neighbours than there are monomials.
    pub(crate) fn checked_reach(&self, axes: usize) -> Result<Reach> {
        if self.degree > 2 {
            return Err(Error::parameter_must("degree", self.degree as f64, "0, 1 or 2"));
        }
        let basis = basis_size(axes, self.degree);
        let reach = self.reach.clone().unwrap_or(Reach::Neighbors(2 * basis));
        if let Reach::Neighbors(k) = reach
            && k < basis
        {
            return Err(errors::too_few_neighbors(k, basis, self.degree, axes));
        }
        Ok(reach)
    }

    /// The same in `axes` dimensions: the coordinates that follow are 0. Coordinates are rounded by `rounding` times themselves.
    #[doc(hidden)]
    pub fn prepare_by<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        sources: &[T],
        targets: &[U],
        axes: usize,
        rounding: f64,
    ) -> Result<Interpolator> {
        let reach = self.checked_reach(axes)?;
        let tree = tree_of(sources, &self.size)?;
        reach.check(targets.len(), tree.space())?;
        let plan = Plan {
            reach: &reach,
            fallback: self.fallback,
            rule: &|work| dispatch!(_isa => fit(self, rounding, work)),
            axes,
            has_gradients: self.has_gradients,
            degree: self.degree as i8,
        };
        Ok(stencils(&tree, &places_of(targets, tree.space())?, &plan))
    }
}

/// The coefficients of the highest degree whose polynomials the neighbours determine at the target.
#[inline(always)]
fn fit(options: &MovingLeastSquares, rounding: f64, work: &mut Work) -> Option<i8> {
    work.relative_distances();
    options.weight.apply(&mut work.coefficients);
    let (len, inverse) = (work.len(), if work.radius > 0.0 { 1.0 / work.radius } else { 0.0 });
    let rounding = rounding * work.magnitude * inverse;
    let Work { offsets, coefficients, slopes, fit: Fit { roots, matrix, transpose }, .. } = work;
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
        // Constants are the same wherever neighbours are; coefficients, whose sizes add up to 1 at least, would be too uncertain for others.
        let rounding = if degree == 0 { 0.0 } else { rounding };
        if rounding > UNCERTAIN {
            continue;
        }
        let width = basis_size(dim, degree);
        let doubt = ROUNDED * rounding;
        let mut solve = |doubt: f64| {
            fill_columns(matrix.matrix(len, width), roots, offsets, degree);
            matrix.decompose(true, DEPENDENT.max(doubt));
            let mut missing = 0.0;
            if matrix.rank() == width {
                matrix.shortest(0, coefficients);
            } else {
                matrix.decompose_transpose(transpose);
                missing = matrix.shortest_of_dependent(transpose, 0, coefficients);
            }
            multiply(coefficients, roots, 1.0);
            let size = coefficients.as_flattened().iter().map(|c| c.abs()).sum::<f64>();
            let is_determined = missing <= DETERMINED.max(doubt) && rounding * size <= UNCERTAIN;
            // Columns that were left out may be more than rounding of `f64`.
            let is_exact = matrix.rank() == width
                || !is_determined
                || reproduction_error(coefficients, offsets, degree) <= REPRODUCED * (1.0 + size);
            (is_determined, is_exact, size)
        };
        let (is_determined, is_exact, _) = solve(doubt);
        if !is_determined {
            continue;
        }
        if !is_exact {
            // What lies beside a line or plane by what coordinates are rounded by is no direction to fit along, but must be fitted.
            let (is_determined, is_exact, size) = if doubt > DEPENDENT { solve(0.0) } else { (false, false, 0.0) };
            if !(is_determined && is_exact && size <= LARGEST) {
                continue;
            }
        }
        if options.has_gradients && degree > 0 {
            for (axis, slopes) in slopes.chunks_exact_mut(roots.len()).enumerate() {
                if matrix.rank() == width {
                    matrix.shortest(1 + axis, slopes);
                } else {
                    matrix.shortest_of_dependent(transpose, 1 + axis, slopes);
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
