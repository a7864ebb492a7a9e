//! Rays: the points `origin + t * direction` in a range of `t`.

use crate::geometry::{Aabb, Query, Scalar, Space};

/// The points `origin + t * direction` for `t` from `from` to `to`, both ends included.
///
/// `t` is in units of the direction, which need not have length 1. A ray meets nothing if its origin or direction is
/// not finite, its direction is zero, or `from` is not at most `to`.
///
/// ```
/// use ropewalk::Ray;
///
/// let ray = Ray::new([0.0f32, 0.0, 5.0], [0.0, 0.0, -1.0]).between(0.0, 4.0);
/// assert_eq!(ray.at(4.0), [0.0, 0.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray<S, const D: usize> {
    /// The point at `t = 0`.
    pub origin: [S; D],
    /// The vector from the point at `t = 0` to the point at `t = 1`.
    pub direction: [S; D],
    /// The minimum `t` of the ray, inclusive.
    pub from: f64,
    /// The maximum `t` of the ray, inclusive.
    pub to: f64,
}

impl<S: Scalar, const D: usize> Ray<S, D> {
    /// Creates the half line from `origin`: `from` is 0 and `to` is infinity. Accepts arrays and glam vectors.
    pub fn new(origin: impl Into<[S; D]>, direction: impl Into<[S; D]>) -> Self {
        Self { origin: origin.into(), direction: direction.into(), from: 0.0, to: f64::INFINITY }
    }

    /// Restricts the ray to the range of `t` between `from` and `to`, both included. Default: 0 to infinity.
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Returns the point of the ray at the parameter `t`: `origin + t * direction`.
    pub fn at(&self, t: f64) -> [f64; D] {
        std::array::from_fn(|k| Into::<f64>::into(self.origin[k]) + t * Into::<f64>::into(self.direction[k]))
    }

    /// Returns `true` if the ray has any points.
    pub(crate) fn is_proper(&self) -> bool {
        let finite = |corner: &[S; D]| corner.iter().all(|x| x.abs() <= S::MAX);
        finite(&self.origin)
            && finite(&self.direction)
            && self.direction.iter().any(|x| *x != S::ZERO)
            && self.from <= self.to
    }

    /// Returns a lower bound on the minimum `t` within a box, or infinity if the ray misses the box.
    ///
    /// The bound is below the exact `t` by rounding errors only. For a box inside `bounds` it is no smaller.
    #[inline]
    pub(crate) fn enters(&self, bounds: &Aabb<S, D>) -> f64 {
        // All steps round monotonically, so the result is no smaller for a box inside this one.
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
            // A difference and a quotient are each rounded by half an epsilon, or by less than the smallest normal
            // number.
            let down = near * (1.0 - 4.0 * f64::EPSILON * near.signum()) - f64::MIN_POSITIVE;
            let up = far * (1.0 + 4.0 * f64::EPSILON * far.signum()) + f64::MIN_POSITIVE;
            (enter, leave) = (enter.max(down), leave.min(up));
        }
        if enter <= leave { enter } else { f64::INFINITY }
    }
}

/// A ray meets the boxes that contain one of its points, faces included.
///
/// Undecided cases due to rounding count as met, so the hits are candidates for your own geometry. In a periodic box
/// the ray does not re-enter at the opposite side, and images are not met.
impl<S: Scalar, const D: usize> Query<S, D> for Ray<S, D> {
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, _: &Space<D>) -> bool {
        self.is_proper() && self.enters(bounds) < f64::INFINITY
    }

    fn center(&self) -> Option<[S; D]> {
        Some(self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bvh;

    #[test]
    fn rays_meet_boxes() {
        let unit = Aabb::new([0.0f32, 0.0], [1.0, 1.0]);
        let meets = |origin: [f32; 2], direction: [f32; 2], from: f64, to: f64| {
            Ray::new(origin, direction).between(from, to).meets(&unit, &Space::OPEN)
        };
        let all = f64::INFINITY;
        assert!(meets([-1.0, 0.5], [1.0, 0.0], 0.0, all) && meets([2.0, 2.0], [-1.0, -1.0], 0.0, all));
        // Along a face, and through a corner.
        assert!(meets([-1.0, 1.0], [2.0, 0.0], 0.0, 0.5) && meets([-1.0, 2.0], [1.0, -1.0], 0.0, all));
        assert!(!meets([-1.0, 1.5], [1.0, 0.0], 0.0, all) && !meets([-1.0, 0.5], [-1.0, 0.0], 0.0, all));
        assert!(!meets([-1.0, 0.5], [1.0, 0.0], 0.0, 0.9) && meets([0.5, 0.5], [1.0, 0.0], 0.1, 0.2));
        assert!(meets([0.5, 0.5], [-1.0, 0.0], -9.0, -0.1) && !meets([0.5, 0.5], [1.0, 0.0], 1.0, 2.0));
        for (origin, direction) in
            [([0.5, 0.5], [0.0, 0.0]), ([f32::NAN, 0.5], [1.0, 0.0]), ([0.5, 0.5], [f32::INFINITY, 0.0])]
        {
            assert!(!meets(origin, direction, 0.0, all));
        }
        assert!(!meets([0.5, 0.5], [1.0, 0.0], 2.0, 1.0) && !meets([0.5, 0.5], [1.0, 0.0], f64::NAN, 1.0));
    }

    #[test]
    fn a_tree_is_asked_with_a_ray() {
        let boxes: Vec<Aabb<f64, 3>> = (0..1000)
            .map(|i| {
                let lo = [i % 10, i / 10 % 10, i / 100].map(f64::from);
                Aabb::new(lo, lo.map(|x| x + 0.5))
            })
            .collect();
        let bvh = Bvh::build(&boxes).unwrap();
        let ray = Ray::new([-1.0, 3.25, 4.5], [1.0, 0.0, 0.0]);
        let mut found: Vec<u32> = bvh.query(ray).collect();
        found.sort_unstable();
        assert_eq!(found, (0..10).map(|x| 430 + x).collect::<Vec<u32>>());
        assert_eq!(bvh.query(ray.between(0.0, 4.2)).count(), 4);
    }
}
