//! Rays: half lines, and the parts of them that count.

use crate::geometry::{Aabb, Query, Scalar, Space};

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

    /// The least `t` within a box, or less by what is rounded; infinite if the ray misses the box. Of a box inside it is no less.
    #[inline]
    pub(crate) fn enters(&self, bounds: &Aabb<S, D>) -> f64 {
        // All steps round monotonically.
        let (mut enter, mut leave) = (self.from, self.to);
        for k in 0..D {
            let [o, d]: [f64; 2] = [self.origin[k].into(), self.direction[k].into()];
            let [lo, hi]: [f64; 2] = [bounds.lo[k].into(), bounds.hi[k].into()];
            if d == 0.0 {
                if !(lo <= o && o <= hi) {
                    return f64::INFINITY;
                }
                continue;
            }
            let (near, far) = if d > 0.0 { (lo, hi) } else { (hi, lo) };
            let (near, far) = ((near - o) / d, (far - o) / d);
            // A difference and a quotient are each rounded by half an epsilon, or by less than the least normal number.
            let down = near * (1.0 - 4.0 * f64::EPSILON * near.signum()) - f64::MIN_POSITIVE;
            let up = far * (1.0 + 4.0 * f64::EPSILON * far.signum()) + f64::MIN_POSITIVE;
            (enter, leave) = (enter.max(down), leave.min(up));
        }
        if enter <= leave { enter } else { f64::INFINITY }
    }
}

/// What a ray meets: boxes that have a point of it, their faces included. What rounding leaves open is taken to be met, so that boxes are
/// candidates for a geometry of your own. In a periodic box the ray does not come back at the other side, and images are not met.
impl<S: Scalar, const D: usize> Query<S, D> for Ray<S, D> {
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, _: &Space<D>) -> bool {
        self.is_proper() && self.enters(bounds) < f64::INFINITY
    }

    fn center(&self) -> Option<[S; D]> {
        Some(self.origin)
    }
}
