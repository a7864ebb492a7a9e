//! Boxes and balls.

use crate::geometry::Scalar;

/// An axis-aligned box, both corners included. A point is a box whose corners coincide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb<S, const D: usize> {
    /// The lower corner.
    pub lo: [S; D],
    /// The upper corner.
    pub hi: [S; D],
}

// SAFETY: zeros are a value of each field. The derived implementation would cost each program that uses this crate a parser of Rust.
#[allow(unsafe_code)]
unsafe impl<S: bytemuck::Zeroable, const D: usize> bytemuck::Zeroable for Aabb<S, D> {}

impl<S: Scalar, const D: usize> Aabb<S, D> {
    /// The box that contains nothing: what a union starts from.
    pub const EMPTY: Self = Self { lo: [S::INFINITY; D], hi: [S::NEG_INFINITY; D] };

    /// The box between two corners.
    ///
    /// ```
    /// let unit = ropewalk::Aabb::new([0.0f32, 0.0], [1.0, 1.0]);
    /// assert!(unit.contains([1.0, 0.5]));
    /// ```
    pub fn new(lo: impl Into<[S; D]>, hi: impl Into<[S; D]>) -> Self {
        Self { lo: lo.into(), hi: hi.into() }
    }

    /// The box of a single point.
    #[inline]
    pub fn point(at: [S; D]) -> Self {
        Self { lo: at, hi: at }
    }

    /// The smallest box around both.
    #[inline]
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            lo: std::array::from_fn(|k| self.lo[k].min(other.lo[k])),
            hi: std::array::from_fn(|k| self.hi[k].max(other.hi[k])),
        }
    }

    /// Whether the point lies in the box, its faces included.
    pub fn contains(&self, point: impl Into<[S; D]>) -> bool {
        let point = point.into();
        (0..D).all(|k| self.lo[k] <= point[k] && point[k] <= self.hi[k])
    }

    /// Whether no coordinate is infinite or NaN.
    #[inline]
    pub(crate) fn is_finite(&self) -> bool {
        self.lo.iter().chain(&self.hi).all(|x| x.abs() <= S::MAX)
    }

    /// The middle, rounded to the scalar type.
    pub fn center(&self) -> [S; D] {
        std::array::from_fn(|k| {
            let (lo, hi): (f64, f64) = (self.lo[k].into(), self.hi[k].into());
            S::from_f64(lo + 0.5 * (hi - lo))
        })
    }
}

/// A ball: all points at most `radius` from `center`, the surface included.
///
/// The radius is `f64` whatever the coordinates are, because `f64` decides (see [the crate's contract](crate#contract)).
/// A radius that is negative or NaN holds nothing, an infinite one everything; a centre that is not finite has nothing near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere<S, const D: usize> {
    /// The centre.
    pub center: [S; D],
    /// The radius, inclusive.
    pub radius: f64,
}

impl<S: Scalar, const D: usize> Sphere<S, D> {
    /// The ball about `center`; arrays and glam vectors will do.
    ///
    /// ```
    /// let ball = ropewalk::Sphere::new([0.0f32, 0.0, 1.0], 0.5);
    /// assert_eq!(ball.radius, 0.5);
    /// ```
    pub fn new(center: impl Into<[S; D]>, radius: impl Into<f64>) -> Self {
        Self { center: center.into(), radius: radius.into() }
    }
}
