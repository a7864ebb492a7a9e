//! The trait of shapes that rays cross.

use crate::geometry::{
    Aabb, Bounded, Capsule, Convex, Ellipsoid, Kdop, Obb, Ray, Scalar, Segment, Sphere, Tetrahedron, Triangle,
};

/// A shape with the part of a ray inside. [`ValueBvh::crossings`](crate::ValueBvh::crossings) calls it.
///
/// Points, boxes, spheres, the other [shapes](crate::geometry::shapes), and pairs of a shape and a value implement this
/// trait.
pub trait Crossed<S, const D: usize>: Bounded<S, D> {
    /// Returns the first and the last `t` of a ray in the shape, both in the range of the ray; `None` if the ray misses
    /// it. Intervals with a NaN, or with the last `t` before the first, count as missed.
    fn crossing(&self, ray: &Ray<S, D>) -> Option<[f64; 2]>;
}

/// A shape paired with a value; rays cross the shape.
impl<S, const D: usize, G: Crossed<S, D>, V: Sync> Crossed<S, D> for (G, V) {
    fn crossing(&self, ray: &Ray<S, D>) -> Option<[f64; 2]> {
        self.0.crossing(ray)
    }
}

macro_rules! crossed {
    ($($shape:ty, $dim:expr, [$($generics:tt)*];)*) => {$(
        impl<S: Scalar, $($generics)*> Crossed<S, $dim> for $shape {
            fn crossing(&self, ray: &Ray<S, $dim>) -> Option<[f64; 2]> {
                self.ray_interval(ray)
            }
        }
    )*};
}

crossed! {
    [S; D], D, [const D: usize];
    Aabb<S, D>, D, [const D: usize];
    Sphere<S, D>, D, [const D: usize];
    Segment<S, D>, D, [const D: usize];
    Capsule<S, D>, D, [const D: usize];
    Triangle<S, D>, D, [const D: usize];
    Tetrahedron<S>, 3, [];
    Obb<S, D>, D, [const D: usize];
    Ellipsoid<S, D>, D, [const D: usize];
    Kdop<S, D, N>, D, [const D: usize, const N: usize];
}
