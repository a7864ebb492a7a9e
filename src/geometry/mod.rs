//! Points, boxes, spheres, rays and shapes, and distances between them in open or periodic space.

/// Calls the macro `$with` with each glam vector type that is a point, its scalar type and its dimension.
#[cfg(feature = "glam")]
macro_rules! for_each_glam_vector {
    ($with:ident) => {
        $with! {
            glam::Vec2: f32, 2;
            glam::Vec3: f32, 3;
            glam::Vec3A: f32, 3;
            glam::Vec4: f32, 4;
            glam::DVec2: f64, 2;
            glam::DVec3: f64, 3;
            glam::DVec4: f64, 4;
        }
    };
}

mod aabb;
mod boundary;
mod bounded;
pub(crate) mod cell;
mod crossed;
mod distance;
pub(crate) mod errors;
mod filtered;
mod hit_by;
mod padded_dimension;
mod predicate;
mod ray;
mod scalar;
pub(crate) mod scale;
pub mod shapes;
mod space;

pub use aabb::{Aabb, Sphere};
pub use boundary::Boundary;
pub use bounded::Bounded;
pub use cell::Cell;
pub use crossed::Crossed;
pub(crate) use distance::squared_limit;
pub use distance::{Distance, distance_from_square};
pub(crate) use filtered::{Blocks, FilteredRadius, Metric};
pub use hit_by::HitBy;
#[doc(hidden)]
pub use padded_dimension::PaddedDimension;
pub use predicate::Query;
pub use ray::Ray;
pub use scalar::Scalar;
pub(crate) use scalar::ScalarOps;
pub use shapes::{
    Capsule, Convex, Dop6, Dop8, Dop14, Dop18, Dop26, Ellipsoid, Kdop, Obb, Segment, Tetrahedron, Triangle,
};
#[doc(hidden)]
pub use space::length2;
pub use space::{BoxSize, Space};
