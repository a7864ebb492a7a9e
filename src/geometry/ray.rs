//! Rays: half lines, and the parts of them that count.

use crate::geometry::Scalar;

/// The points `origin + t * direction`, for `t` from `from` to `to`, both ends included.
///
/// `t` is in units of the direction, which need not have length 1. A ray whose origin or direction is not finite, whose direction is zero, or
/// whose `from` is above its `to`, meets nothing.
///
/// ```
/// use ropewalk::Ray;
///
/// let ray = Ray::new([0.0f32, 0.0, 5.0], [0.0, 0.0, -1.0]).between(0.0, 4.0);
/// assert_eq!(ray.at(4.0), [0.0, 0.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray<S, const D: usize> {
    /// Where `t` is 0.
    pub origin: [S; D],
    /// From there to where `t` is 1.
    pub direction: [S; D],
    /// The least `t`.
    pub from: f64,
    /// The largest `t`.
    pub to: f64,
}

impl<S: Scalar, const D: usize> Ray<S, D> {
    /// The half line from `origin` on; arrays and glam vectors will do.
    pub fn new(origin: impl Into<[S; D]>, direction: impl Into<[S; D]>) -> Self {
        Self { origin: origin.into(), direction: direction.into(), from: 0.0, to: f64::INFINITY }
    }

    /// The same line, of which the part from one `t` to another counts.
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// The point at `t`.
    pub fn at(&self, t: f64) -> [f64; D] {
        std::array::from_fn(|k| Into::<f64>::into(self.origin[k]) + t * Into::<f64>::into(self.direction[k]))
    }

    /// Whether the ray has points.
    pub(crate) fn is_proper(&self) -> bool {
        let finite = |corner: &[S; D]| corner.iter().all(|x| x.abs() <= S::MAX);
        finite(&self.origin)
            && finite(&self.direction)
            && self.direction.iter().any(|x| *x != S::ZERO)
            && self.from <= self.to
    }
}
