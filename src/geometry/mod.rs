//! Points, boxes, balls, and what distance between them means.

mod aabb;
mod boundary;
mod bounded;
mod distance;
mod filtered;
mod hit_by;
mod predicate;
mod ray;
mod scalar;
pub(crate) mod scale;
pub mod shapes;
mod space;

pub use aabb::{Aabb, Sphere};
pub use boundary::Boundary;
pub use bounded::Bounded;
pub use distance::Distance;
pub(crate) use filtered::{Blocks, FilteredRadius, Metric};
pub use hit_by::HitBy;
pub use predicate::Query;
pub use ray::Ray;
pub(crate) use scalar::Lane;
pub use scalar::Scalar;
pub use shapes::{
    Capsule, Convex, Dop6, Dop8, Dop14, Dop18, Dop26, Ellipsoid, Kdop, Obb, Segment, Tetrahedron, Triangle,
};
#[cfg(feature = "halos")]
pub(crate) use space::length2;
pub use space::{BoxSize, Space};
