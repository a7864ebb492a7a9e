//! Tests of convex shapes in kernels: the GPU counterpart of `geometry::shapes`, with bit-identical results.
//!
//! In: rows of numbers, which the host writes from shapes (`solid`). Out: distances from points (`stored`),
//! intersections (`pairs`), and the parts of rays inside shapes (`ray_interval`). Points, boxes and spheres are tested
//! against each other by `search::shapes::tests`.

mod closest;
mod closest_on_ellipsoid;
mod frame;
mod interval;
mod minimum_norm;
mod orientation;
mod pairs;
mod polytope;
pub(in crate::gpu) mod ray_interval;
mod slabs;
mod solid;
mod stored;
mod support;
#[cfg(test)]
mod tests;
pub(in crate::gpu) mod framed_triangles;
pub(in crate::gpu) mod triangle_bounds;
mod vector;

pub(in crate::gpu) use pairs::intersects;
pub(in crate::gpu) use solid::{CoreKind, SolidSpec, write_solid};
pub(in crate::gpu) use stored::distance2_to_point;
pub(in crate::gpu) use vector::literal;
