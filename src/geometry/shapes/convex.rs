//! The trait of convex shapes: distance, closest point, intersection, and the part of a ray inside.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::vector::to_f64;
use crate::geometry::shapes::{pairs, ray_interval};
use crate::geometry::{Aabb, Bounded, Ray, Scalar, Sphere};

/// A convex shape: points (`[S; D]`), [`Aabb`], [`Sphere`] and the other [shapes](crate::geometry::shapes). Every two
/// shapes can be tested against each other.
///
/// All shapes are solid and closed: touching shapes intersect, and a point inside is its own closest point. Results
/// are those of `f64` arithmetic for every scalar type. Gaps below 1e-162, whose squares vanish in `f64`, count as
/// zero.
///
/// A shape has no points if a coordinate is NaN or infinite (or beyond 1e150 in `f64`, where squares overflow), a
/// radius is negative, or its corners are inverted. Nothing intersects such a shape, and it is infinitely far from
/// everything.
///
/// The module documents [the method for each pair](crate::geometry::shapes#pairs).
///
/// ```
/// use ropewalk::geometry::{Capsule, Convex, Triangle};
/// use ropewalk::Sphere;
///
/// let triangle = Triangle::new([0.0f32, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]);
/// let ball = Sphere::new([1.0, 1.0, 3.0], 1.0);
/// assert_eq!(triangle.distance2(&ball), 4.0);
/// assert_eq!(triangle.closest_point(ball.center), [1.0, 1.0, 0.0]);
/// let capsule = Capsule::new([1.0, 1.0, 5.0], [1.0, 1.0, 1.0], 1.0);
/// assert!(capsule.intersects(&triangle) && capsule.intersects(&ball)); // they touch
/// assert!(triangle.intersects(&[2.0, 2.0, 0.0]));
/// ```
pub trait Convex<S: Scalar, const D: usize>: Bounded<S, D> {
    /// Returns the shape in `f64`.
    #[doc(hidden)]
    fn solid(&self) -> Solid<D>;

    /// Computes the squared distance of the nearest two points of two shapes: zero if they intersect, infinite if one
    /// has no points.
    fn distance2<T: Convex<S, D>>(&self, other: &T) -> f64 {
        pairs::distance2(&self.solid(), &other.solid())
    }

    /// Returns `true` if the shapes have a common point. Touching counts.
    fn intersects<T: Convex<S, D>>(&self, other: &T) -> bool {
        pairs::intersects(&self.solid(), &other.solid())
    }

    /// Finds the point of the shape nearest to `point`: `point` itself if it lies inside, NaN if the shape has no
    /// points.
    ///
    /// If squared distances differ only in their last digits, it may be either of the points.
    fn closest_point(&self, point: impl Into<[S; D]>) -> [f64; D] {
        let point = Solid::new(Core::Point(to_f64(&point.into())), 0.0, S::LIMIT);
        if let Core::Point(point) = point.core { self.solid().closest(&point).point } else { [f64::NAN; D] }
    }

    /// Finds the first and the last `t` of a ray in the shape, both in the range of the ray; `None` if the ray misses
    /// it.
    ///
    /// For a ray in the plane of a triangle this is the part inside; a [`Mesh`](crate::Mesh) has no hit there.
    ///
    /// ```
    /// use ropewalk::geometry::Convex;
    /// use ropewalk::{Ray, Sphere};
    ///
    /// let ray = Ray::new([0.0f32, 0.0, -5.0], [0.0, 0.0, 2.0]);
    /// assert_eq!(Sphere::new([0.0, 0.0, 0.0], 1.0).ray_interval(&ray), Some([2.0, 3.0]));
    /// assert_eq!(Sphere::new([1.0, 0.0, 0.0], 1.0).ray_interval(&ray), Some([2.5, 2.5])); // touched
    /// assert_eq!(Sphere::new([2.0, 0.0, 0.0], 1.0).ray_interval(&ray), None);
    /// ```
    fn ray_interval(&self, ray: &Ray<S, D>) -> Option<[f64; 2]> {
        if !ray.is_proper() {
            return None;
        }
        let [first, last] = ray_interval::scaled_interval(
            &self.solid(),
            &self.bounds(),
            [to_f64(&ray.origin), to_f64(&ray.direction)],
        )?;
        let [from, to] = [first.max(ray.from), last.min(ray.to)];
        (from <= to).then_some([from, to])
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for [S; D] {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Point(to_f64(self)), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Aabb<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Box([to_f64(&self.lo), to_f64(&self.hi)]), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Sphere<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Point(to_f64(&self.center)), self.radius, S::LIMIT)
    }
}
