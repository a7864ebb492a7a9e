//! Interpolation between points whose kind is known at run time.

use ropewalk::geometry::BoxSize;
use ropewalk::internals::cancel::guarded;
use ropewalk::interpolate::{Interpolator, InverseDistance, MovingLeastSquares, Sph};
use ropewalk::{Bounded, Result, Scalar};

use super::Points;
use super::rows::{check_dim, of_one_precision, rows_of_same_kind, to_compiled_kind, with_rows};

/// An interpolation method with its options.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Moving least squares.
    MovingLeastSquares(MovingLeastSquares),
    /// Sums of a smoothing kernel at the targets: [`Sph::gather`].
    Gather(Sph),
    /// Values of sources distributed over targets: [`Sph::scatter`].
    Scatter(Sph),
    /// Inverse-distance weighting.
    InverseDistance(InverseDistance),
}

impl Interpolation {
    fn size(&self) -> &BoxSize {
        match self {
            Self::MovingLeastSquares(options) => options.size(),
            Self::Gather(options) | Self::Scatter(options) => options.size(),
            Self::InverseDistance(options) => options.size(),
        }
    }

    fn prepare<T: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        [sources, targets]: [&[T]; 2],
        size: BoxSize,
        axes: usize,
        rounding: f64,
    ) -> Result<Interpolator> {
        match self.clone() {
            Self::MovingLeastSquares(options) => options.periodic(size).prepare_by(sources, targets, axes, rounding),
            Self::Gather(options) => options.periodic(size).gather_by(sources, targets, axes),
            Self::Scatter(options) => options.periodic(size).scatter(sources, targets),
            Self::InverseDistance(options) => options.periodic(size).prepare(sources, targets),
        }
    }
}

/// Prepares an interpolator from values at `sources` to values at `targets`, as the method's own `prepare`, `gather`
/// or `scatter` does. If the precisions differ, both are converted to 64 bits.
///
/// ```
/// use ropewalk::interpolate::MovingLeastSquares;
/// use ropewalk_table::{Interpolation, Points, Table, interpolator};
///
/// // Four dimensions, stored as six: a linear function has five coefficients.
/// let sources = Points::F32(Table::new(4, (0..324).map(|i| ((i * i) as f32).sin()).collect())?);
/// let targets = Points::F64(Table::new(4, vec![0.25; 4])?);
/// let method = Interpolation::MovingLeastSquares(MovingLeastSquares::new(1).neighbors(12));
/// let interpolator = interpolator(&method, &sources, &targets)?;
/// assert_eq!((interpolator.degrees(), interpolator.sources().of(0).len()), (&[1][..], 12));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As the method. Also fails if targets have another dimension than the sources.
pub fn interpolator(method: &Interpolation, sources: &Points, targets: &Points) -> Result<Interpolator> {
    guarded(|| {
        check_dim("the dimension of the targets", targets, sources.dim())?;
        let axes = sources.dim();
        // Coordinates of 32 bits have 32-bit rounding errors, also after conversion to 64 bits.
        let is_wide = matches!((sources, targets), (Points::F64(_), Points::F64(_)));
        let rounding = if is_wide { 0.5 * f64::EPSILON } else { f64::from(0.5 * f32::EPSILON) };
        let (sources, targets) = of_one_precision(sources, targets);
        let (sources, size) = to_compiled_kind(&sources, method.size())?;
        let (targets, _) = to_compiled_kind(&targets, method.size())?;
        with_rows!(&*sources, rows => method.prepare([rows, rows_of_same_kind(rows, &targets)?], size, axes, rounding))
    })
}
