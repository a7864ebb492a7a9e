//! What all convex shapes have in common: distance, closest point, touch, and the part of a ray inside.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::vector::wide;
use crate::geometry::shapes::{pairs, ray_interval};
use crate::geometry::{Aabb, Bounded, Ray, Scalar, Sphere};

/// A convex shape: points (`[S; D]`), [`Aabb`], [`Sphere`] and the other [shapes](crate::shapes), of which every two can be asked about each
/// other.
///
/// All shapes are solid and closed: what touches intersects, and a point inside is its own closest point. Answers are those of `f64`
/// arithmetic, whatever the scalar. A shape with a coordinate that is NaN or infinite (or beyond 1e150 in `f64`, where squares
/// overflow), with a negative radius, or with its corners upside down, has no points: nothing intersects it, and it is infinitely far from
/// everything. Gaps whose squares vanish in `f64` (below 1e-162) are none.
///
/// The module says [how each pair is decided](crate::shapes#pairs).
///
/// ```
/// use ropewalk::{Capsule, Convex, Sphere, Triangle};
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
    /// The shape in `f64`.
    #[doc(hidden)]
    fn solid(&self) -> Solid<D>;

    /// The squared distance of the nearest two points; zero if the shapes intersect, infinite if one has no points.
    fn distance2<T: Convex<S, D>>(&self, other: &T) -> f64 {
        pairs::distance2(&self.solid(), &other.solid())
    }

    /// Whether the shapes have a point in common; touching counts.
    fn intersects<T: Convex<S, D>>(&self, other: &T) -> bool {
        pairs::intersects(&self.solid(), &other.solid())
    }

    /// The point of the shape that is nearest to another, which is that one itself inside; NaN if there is none. Where squared distances differ
    /// by their last digits only, either of the points.
    fn closest_point(&self, point: impl Into<[S; D]>) -> [f64; D] {
        let point = Solid::new(Core::Point(wide(&point.into())), 0.0, S::LIMIT);
        if let Core::Point(point) = point.core { self.solid().closest(&point).point } else { [f64::NAN; D] }
    }

    /// The first and the last `t` of a ray in the shape, both in the range of the ray; none if the ray misses it. In the plane of a triangle
    /// this is the part inside; a [`Mesh`](crate::Mesh) has no hit there.
    ///
    /// ```
    /// use ropewalk::{Convex, Ray, Sphere};
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
        let [first, last] =
            ray_interval::in_reach(&self.solid(), &self.bounds(), [wide(&ray.origin), wide(&ray.direction)])?;
        let [from, to] = [first.max(ray.from), last.min(ray.to)];
        (from <= to).then_some([from, to])
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for [S; D] {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Point(wide(self)), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Aabb<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Box([wide(&self.lo), wide(&self.hi)]), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Sphere<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Point(wide(&self.center)), self.radius, S::LIMIT)
    }
}
