//! Axis-aligned boxes and spheres.

use crate::geometry::Scalar;

/// An axis-aligned box, both corners included. A point is a box whose corners coincide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb<S, const D: usize> {
    /// The lower corner.
    pub lo: [S; D],
    /// The upper corner.
    pub hi: [S; D],
}

// SAFETY: zero bytes are a valid value of both fields, as `S: Zeroable`. A derive would make each dependent program
// compile a Rust parser.
#[allow(unsafe_code)]
unsafe impl<S: bytemuck::Zeroable, const D: usize> bytemuck::Zeroable for Aabb<S, D> {}

impl<S: Scalar, const D: usize> Aabb<S, D> {
    /// The empty box, the initial value of a union.
    pub const EMPTY: Self = Self { lo: [S::INFINITY; D], hi: [S::NEG_INFINITY; D] };

    /// Creates the box between two corners.
    ///
    /// ```
    /// let unit = ropewalk::Aabb::new([0.0f32, 0.0], [1.0, 1.0]);
    /// assert!(unit.contains([1.0, 0.5]));
    /// ```
    pub fn new(lo: impl Into<[S; D]>, hi: impl Into<[S; D]>) -> Self {
        Self { lo: lo.into(), hi: hi.into() }
    }

    /// Creates the box of a single point.
    #[inline]
    pub fn point(at: [S; D]) -> Self {
        Self { lo: at, hi: at }
    }

    /// Returns the smallest box that contains both boxes.
    #[inline]
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            lo: std::array::from_fn(|k| self.lo[k].min(other.lo[k])),
            hi: std::array::from_fn(|k| self.hi[k].max(other.hi[k])),
        }
    }

    /// Returns `true` if the point lies in the box, including its faces.
    pub fn contains(&self, point: impl Into<[S; D]>) -> bool {
        let point = point.into();
        (0..D).all(|k| self.lo[k] <= point[k] && point[k] <= self.hi[k])
    }

    /// Returns `true` if no coordinate is infinite or NaN.
    #[inline]
    pub(crate) fn is_finite(&self) -> bool {
        self.lo.iter().chain(&self.hi).all(|x| x.abs() <= S::MAX)
    }

    /// Returns the centre of the box, rounded to the scalar type.
    pub fn center(&self) -> [S; D] {
        std::array::from_fn(|k| {
            let (lo, hi): (f64, f64) = (self.lo[k].into(), self.hi[k].into());
            S::from_f64(lo + 0.5 * (hi - lo))
        })
    }
}

/// A solid sphere: all points at most `radius` from `center`, including the surface.
///
/// The radius is `f64` for every coordinate type, because tests are decided in `f64` (see
/// [the crate's contract](crate#contract)). A sphere is empty if its radius is negative or NaN, or its centre is not
/// finite. One with an infinite radius contains everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere<S, const D: usize> {
    /// The centre.
    pub center: [S; D],
    /// The radius, inclusive.
    pub radius: f64,
}

impl<S: Scalar, const D: usize> Sphere<S, D> {
    /// Creates the sphere around `center`, an array or a glam vector.
    ///
    /// ```
    /// let ball = ropewalk::Sphere::new([0.0f32, 0.0, 1.0], 0.5);
    /// assert_eq!(ball.radius, 0.5);
    /// ```
    pub fn new(center: impl Into<[S; D]>, radius: impl Into<f64>) -> Self {
        Self { center: center.into(), radius: radius.into() }
    }
}
