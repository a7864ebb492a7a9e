//! Distances in open space, and in a periodic box with minimum images.

use crate::error::{Error, Result};
use crate::geometry::errors;
use crate::geometry::{Aabb, Scalar, ScalarOps};
use crate::work;

/// The side lengths of a periodic box: one for a cube, one per axis, or none for open space.
///
/// ```
/// use ropewalk::geometry::BoxSize;
/// use ropewalk::Fof;
///
/// let cube = BoxSize::from(32.0);
/// assert_ne!(cube, BoxSize::from([32.0, 32.0, 4.0]));
/// assert_eq!(BoxSize::from(vec![32.0, 4.0]), BoxSize::from([32.0, 4.0]));
/// // An optional side needs no branch.
/// let side: Option<f64> = None;
/// assert!(Fof::new(20.0).periodic(side).run(&[[0.0f32]]).is_ok());
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BoxSize(Sides);

#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Sides {
    #[default]
    None,
    Cube(f64),
    Each(Vec<f64>),
}

impl<S: Scalar> From<S> for BoxSize {
    fn from(side: S) -> Self {
        Self(Sides::Cube(side.into()))
    }
}

impl<S: Scalar, const D: usize> From<[S; D]> for BoxSize {
    fn from(sides: [S; D]) -> Self {
        Self(Sides::Each(sides.iter().map(|&side| side.into()).collect()))
    }
}

impl From<Vec<f64>> for BoxSize {
    fn from(sides: Vec<f64>) -> Self {
        Self(Sides::Each(sides))
    }
}

impl<T: Into<BoxSize>> From<Option<T>> for BoxSize {
    fn from(size: Option<T>) -> Self {
        size.map_or_else(Self::default, Into::into)
    }
}

impl BoxSize {
    /// Returns `true` if there are no sides: open space.
    pub fn is_open(&self) -> bool {
        self.0 == Sides::None
    }

    /// Returns the side lengths of `dim` axes; `None` for open space.
    #[doc(hidden)]
    pub fn sides_of(&self, dim: usize) -> Result<Option<Vec<f64>>> {
        match &self.0 {
            Sides::None => Ok(None),
            Sides::Cube(side) => Ok(Some(vec![*side; dim])),
            Sides::Each(sides) if sides.len() == dim => Ok(Some(sides.clone())),
            Sides::Each(sides) => Err(errors::box_dimension(sides.len(), dim)),
        }
    }

    /// The side lengths, one per axis; each must be positive and at most [`ScalarOps::LIMIT`] of `f64`.
    fn sides<const D: usize>(&self) -> Result<Option<[f64; D]>> {
        let sides = match &self.0 {
            Sides::None => return Ok(None),
            Sides::Cube(side) => [*side; D],
            Sides::Each(sides) => sides.as_slice().try_into().map_err(|_| errors::box_dimension(sides.len(), D))?,
        };
        match sides.iter().position(|&side| !(side > 0.0 && side <= <f64 as ScalarOps>::LIMIT)) {
            Some(axis) => Err(errors::box_size(axis, sides[axis], <f64 as ScalarOps>::LIMIT)),
            None => Ok(Some(sides)),
        }
    }
}

/// Open or periodic space, which defines the distance.
///
/// In a periodic box, the distance is that to the nearest image (the minimum image), computed per axis:
/// `min(|a - b|, L - |a - b|)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space<const D: usize> {
    period: Option<[f64; D]>,
}

impl<const D: usize> Space<D> {
    /// Space without boundaries.
    pub const OPEN: Self = Self { period: None };

    /// Creates a periodic box, or open space if `size` has no sides.
    ///
    /// # Errors
    /// The number of sides is wrong, or a side is not positive or exceeds 1e150, beyond which squares overflow.
    pub fn periodic(size: impl Into<BoxSize>) -> Result<Self> {
        Ok(Self { period: size.into().sides()? })
    }

    /// Returns the side lengths of the periodic box, in the unit of the points; `None` for open space.
    pub fn period(&self) -> Option<&[f64; D]> {
        self.period.as_ref()
    }

    /// Checks that clustering within a length is well defined: no two images of a point may be within `length` of
    /// another point. `name` is the name of the caller's parameter.
    #[doc(hidden)]
    pub fn check_length(&self, name: &'static str, length: f64) -> Result<()> {
        if !(0.0..f64::INFINITY).contains(&length) {
            return Err(Error::parameter_must(name, length, "finite and not negative"));
        }
        for (axis, &size) in self.period.iter().flatten().enumerate() {
            if size < 2.0 * length {
                return Err(errors::box_too_small(axis, size, name, length));
            }
        }
        Ok(())
    }

    /// Computes the squared distance of two points in `f64`, summed in the order of the axes. In a periodic box, it is
    /// that of the nearest images.
    ///
    /// In a periodic box both points must lie in it: see [`Space::wrap`]. This value decides every distance test of
    /// the crate.
    #[inline(always)]
    pub fn distance2<S: Scalar>(&self, a: &[S; D], b: &[S; D]) -> f64 {
        work::count(1);
        let mut sum = 0.0;
        for k in 0..D {
            let length = self.length_along(k, Into::<f64>::into(a[k]) - Into::<f64>::into(b[k]));
            sum += length * length;
        }
        sum
    }

    /// The length of a difference along an axis, for the nearest image.
    #[inline(always)]
    fn length_along(&self, axis: usize, difference: f64) -> f64 {
        let d = difference.abs();
        self.period.as_ref().map_or(d, |period| d.min((period[axis] - d).max(0.0)))
    }

    /// Computes the vector in `f64` from one point to the nearest image of another. It is `to - from` in open space,
    /// and along an axis on which the points are exactly half a side apart.
    ///
    /// Its squares, summed in the order of the axes, are [`Space::distance2`]. Points outside the periodic box may be
    /// any number of sides apart; differences of more than one side are rounded.
    ///
    /// ```
    /// let space = ropewalk::geometry::Space::<2>::periodic(10.0)?;
    /// assert_eq!(space.offset(&[9.5f32, 1.0], &[0.5, 3.0]), [1.0, 2.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[inline]
    pub fn offset<S: Scalar>(&self, from: &[S; D], to: &[S; D]) -> [f64; D] {
        std::array::from_fn(|k| {
            let mut d = Into::<f64>::into(to[k]) - Into::<f64>::into(from[k]);
            if let Some(period) = &self.period
                && d.abs() > period[k]
            {
                d -= period[k] * (d / period[k]).round();
            }
            let length = self.length_along(k, d);
            if length < d.abs() { -length.copysign(d) } else { d }
        })
    }

    /// Computes the squared distance between two boxes in `f64`: zero if they touch. For two points it equals
    /// [`Space::distance2`].
    #[inline]
    pub fn min_distance2<S: Scalar>(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> f64 {
        work::count(1);
        let mut sum = 0.0;
        for k in 0..D {
            let gap = self.min_along(k, [a.lo[k].into(), a.hi[k].into()], [b.lo[k].into(), b.hi[k].into()]);
            sum += gap * gap;
        }
        sum
    }

    /// The distance of two intervals along one axis. For two numbers it equals the length that [`Space::distance2`]
    /// squares.
    #[inline(always)]
    fn min_along(&self, axis: usize, a: [f64; 2], b: [f64; 2]) -> f64 {
        // `above` is positive if `b` lies above `a`, `below` if it lies below.
        let (above, below) = (b[0] - a[1], a[0] - b[1]);
        let gap = above.max(below).max(0.0);
        match &self.period {
            None => gap,
            Some(period) => {
                let up = (period[axis] + above).max(below - period[axis]).max(0.0);
                let down = (period[axis] + below).max(above - period[axis]).max(0.0);
                gap.min(up).min(down)
            }
        }
    }

    /// Computes the shortest vector in `f64` from a box to the nearest image of another: the gap along each axis, or 0
    /// if the boxes meet there.
    ///
    /// Its squares, summed in the order of the axes, are [`Space::min_distance2`]. Of two equally near images, it
    /// selects the one without a shift, otherwise the upper one.
    ///
    /// ```
    /// use ropewalk::geometry::Space;
    /// use ropewalk::Aabb;
    ///
    /// let (a, b) = (Aabb::new([8.0f32, 0.0], [9.5, 2.0]), Aabb::new([0.5, 1.0], [1.0, 3.0]));
    /// assert_eq!(Space::OPEN.min_offset(&a, &b), [-7.0, 0.0]);
    /// assert_eq!(Space::periodic(10.0)?.min_offset(&a, &b), [1.0, 0.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn min_offset<S: Scalar>(&self, from: &Aabb<S, D>, to: &Aabb<S, D>) -> [f64; D] {
        std::array::from_fn(|k| {
            let [lo, hi]: [f64; 2] = [from.lo[k].into(), from.hi[k].into()];
            let (above, below) = (Into::<f64>::into(to.lo[k]) - hi, lo - Into::<f64>::into(to.hi[k]));
            let gap = |above: f64, below: f64| if below > above.max(0.0) { -below } else { above.max(0.0) };
            let own = gap(above, below);
            let Some(period) = &self.period else { return own };
            let images = [gap(period[k] + above, below - period[k]), gap(above - period[k], period[k] + below)];
            images.into_iter().fold(own, |best, image| if image.abs() < best.abs() { image } else { best })
        })
    }

    /// Returns `true` if an interval along an axis meets any image of the interval `of`, which starts in the periodic
    /// box.
    #[inline(always)]
    pub(crate) fn meets_along<S: Scalar>(&self, axis: usize, interval: [S; 2], of: [f64; 2]) -> bool {
        let is_met = |[from, to]: [f64; 2]| from <= of[1] && of[0] <= to;
        let Some(period) = &self.period else { return is_met(interval.map(Into::into)) };
        is_as_long(of[0], of[1], period[axis])
            || self.images_along(axis, period[axis], interval).into_iter().any(is_met)
    }

    /// The images of an interval along an axis that meet the periodic box.
    ///
    /// The ends are wrapped into the box as points are, so that a face still contains the point from which it was
    /// made. An interval at least as long as `side` becomes the whole axis.
    #[inline(always)]
    pub(crate) fn images_along<S: Scalar>(&self, axis: usize, side: f64, [lo, hi]: [S; 2]) -> [[f64; 2]; 3] {
        let [from, to]: [f64; 2] = [lo.into(), hi.into()];
        if is_as_long(from, to, side) {
            return [[f64::NEG_INFINITY, f64::INFINITY]; 3];
        }
        let [start, end]: [f64; 2] = [self.wrap_along(axis, lo).into(), self.wrap_along(axis, hi).into()];
        // The upper end may lie in another image of the box.
        let turns = ((to - from - (end - start)) / side).round();
        [0.0, -1.0, 1.0].map(|image| [start + image * side, end + (image + turns) * side])
    }

    /// Returns the image of a point inside the periodic box, where each coordinate is from 0 to the side, both
    /// included. Images are rounded to the type `S`, and trees store such images of their points. In open space the
    /// point is unchanged.
    #[inline]
    pub fn wrap<S: Scalar>(&self, point: [S; D]) -> [S; D] {
        if self.period.is_none() { point } else { std::array::from_fn(|k| self.wrap_along(k, point[k])) }
    }

    #[inline]
    fn wrap_along<S: Scalar>(&self, axis: usize, x: S) -> S {
        let at: f64 = x.into();
        match &self.period {
            Some(period) if !(0.0..=period[axis]).contains(&at) => {
                // A tiny negative remainder rounds to the upper face, which is an image of the lower face. If `S`
                // cannot represent the face, it rounds past it.
                let inside = S::from_f64(at.rem_euclid(period[axis]));
                if inside.into() > period[axis] { S::ZERO } else { inside }
            }
            _ => x,
        }
    }

    /// Shifts a box by whole periods so that its lower corner lies in the periodic box, rounded to its own type.
    #[inline]
    pub(crate) fn wrap_box<S: Scalar>(&self, bounds: Aabb<S, D>) -> Aabb<S, D> {
        let lo = self.wrap(bounds.lo);
        let hi = std::array::from_fn(|k| {
            let [from, to, hi]: [f64; 3] = [bounds.lo[k].into(), lo[k].into(), bounds.hi[k].into()];
            if from == to {
                bounds.hi[k]
            } else if from == hi {
                // Rounding must not give an extent to a box without one.
                lo[k]
            } else {
                S::from_f64(hi + (to - from)).max(lo[k])
            }
        });
        Aabb { lo, hi }
    }
}

/// Computes the squared length of a vector, summed in the order of the axes.
#[inline(always)]
pub fn length2([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

/// Returns `true` if the exact length of an interval is at least `side`, even if the computed length is rounded.
#[inline(always)]
fn is_as_long(from: f64, to: f64, side: f64) -> bool {
    let length = to - from;
    // The rounding error of the difference (Knuth 1969).
    let rest = || {
        let back = length - to;
        (to - (length - back)) - (from + back)
    };
    length > side || (length == side && rest() >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: a box from just above 0 to the other face counted as the whole axis, because its length
    /// rounds to the side.
    #[test]
    fn a_box_that_is_almost_as_long_as_the_side() {
        assert!(is_as_long(0.0, 1.0, 1.0) && is_as_long(-1e-17, 1.0, 1.0) && is_as_long(-1.0, f64::INFINITY, 1.0));
        assert!(!is_as_long(1e-17, 1.0, 1.0) && !is_as_long(0.5, 1.0, 1.0) && !is_as_long(1.0, 0.0, 1.0));
        let space = Space::<1>::periodic(1.0).unwrap();
        assert!(!space.meets_along(0, [1e-17, 1.0], [1e-18, 1e-18]));
        assert!(space.meets_along(0, [1e-17, 1.0], [1e-17, 1e-17]) && space.meets_along(0, [1e-17, 1.0], [0.0, 0.0]));
    }
}
