//! Shapes stored in a tree of values: their distances from points, and tests of queries against them.

use crate::geometry::{Aabb, Distance, HitBy, Ray, Scalar, Sphere};

use super::{Capsule, Convex, Ellipsoid, Kdop, Obb, Segment, Tetrahedron, Triangle};

/// The squared distance; NaN if it is not finite, so that the shape is near to nothing.
fn distance2_to<S: Scalar, const D: usize>(shape: &impl Convex<S, D>, point: &[S; D]) -> f64 {
    let distance2 = shape.distance2(point);
    if distance2.is_finite() { distance2 } else { f64::NAN }
}

/// A query that can be tested against any stored convex shape.
pub trait ShapeQuery<S: Scalar, const D: usize> {
    /// Returns `true` if the query has a common point with a stored shape.
    fn hits<T: Convex<S, D>>(&self, stored: &T) -> bool;
}

impl<S: Scalar, const D: usize> ShapeQuery<S, D> for [S; D] {
    fn hits<T: Convex<S, D>>(&self, stored: &T) -> bool {
        stored.intersects(self)
    }
}

impl<S: Scalar, const D: usize> ShapeQuery<S, D> for Aabb<S, D> {
    fn hits<T: Convex<S, D>>(&self, stored: &T) -> bool {
        stored.intersects(self)
    }
}

impl<S: Scalar, const D: usize> ShapeQuery<S, D> for Sphere<S, D> {
    fn hits<T: Convex<S, D>>(&self, stored: &T) -> bool {
        stored.intersects(self)
    }
}

impl<S: Scalar, const D: usize> ShapeQuery<S, D> for Ray<S, D> {
    fn hits<T: Convex<S, D>>(&self, stored: &T) -> bool {
        stored.ray_interval(self).is_some()
    }
}

macro_rules! stored {
    ($($shape:ty, $dim:expr, [$($generics:tt)*];)*) => {$(
        impl<S: Scalar, $($generics)*> Distance<S, $dim> for $shape {
            fn distance2_to(&self, point: &[S; $dim]) -> f64 {
                distance2_to(self, point)
            }
        }

        impl<S: Scalar, $($generics)*> ShapeQuery<S, $dim> for $shape {
            fn hits<T: Convex<S, $dim>>(&self, stored: &T) -> bool {
                stored.intersects(self)
            }
        }

        impl<Q: ShapeQuery<S, $dim>, S: Scalar, $($generics)*> HitBy<Q> for $shape {
            fn is_hit_by(&self, query: &Q) -> bool {
                query.hits(self)
            }
        }

        impl<S: Scalar, $($generics)*> HitBy<$shape> for [S; $dim] {
            fn is_hit_by(&self, query: &$shape) -> bool {
                query.intersects(self)
            }
        }

        impl<S: Scalar, $($generics)*> HitBy<$shape> for Aabb<S, $dim> {
            fn is_hit_by(&self, query: &$shape) -> bool {
                query.intersects(self)
            }
        }

        impl<S: Scalar, $($generics)*> HitBy<$shape> for Sphere<S, $dim> {
            fn is_hit_by(&self, query: &$shape) -> bool {
                query.intersects(self)
            }
        }
    )*};
}

for_each_shape!(stored);

macro_rules! hit_by_rays {
    ($($shape:ty),*) => {$(
        impl<S: Scalar, const D: usize> HitBy<Ray<S, D>> for $shape {
            fn is_hit_by(&self, query: &Ray<S, D>) -> bool {
                self.ray_interval(query).is_some()
            }
        }
    )*};
}

hit_by_rays!([S; D], Aabb<S, D>, Sphere<S, D>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueBvh;

    #[test]
    fn what_is_stored_is_found_by_its_shape() {
        let triangle = |x: f32| (Triangle::new([x, 0.0, 0.0], [x + 4.0, 0.0, 0.0], [x, 4.0, 0.0]), x as u32);
        let tree = ValueBvh::build(vec![triangle(0.0), triangle(10.0), triangle(20.0)]).unwrap();
        // The point lies in the box of the first triangle but is nearer to the second triangle.
        let near = tree.nearest([7.0, 4.0, 0.0], 2);
        assert_eq!((near[0].index, near[0].distance2), (1, 9.0));
        assert_eq!((near[1].index, near[1].distance2), (0, 24.5));
        let hits = |ray: Ray<f32, 3>| tree.query(ray).map(|hit| hit.value.1).collect::<Vec<_>>();
        assert_eq!(hits(Ray::new([11.0, 1.0, 5.0], [0.0, 0.0, -1.0])), [10]);
        assert!(hits(Ray::new([13.0, 3.0, 5.0], [0.0, 0.0, -1.0])).is_empty());
        let segment = Segment::new([1.0, 1.0, 0.0], [11.0, 1.0, 0.0]);
        let mut found: Vec<u32> = tree.query(segment).map(|hit| hit.value.1).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 10]);
    }
}
