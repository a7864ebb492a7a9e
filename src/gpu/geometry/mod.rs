//! Tests of convex shapes in kernels: the GPU counterpart of `geometry::shapes`, with bit-identical results.
//!
//! In: rows of numbers, which the host writes from shapes (`solid`). Out: distances from points (`stored`),
//! intersections (`pairs`).

mod closest;
mod frame;
mod pairs;
mod polytope;
mod solid;
mod stored;
#[cfg(test)]
mod tests;
mod vector;

pub(in crate::gpu) use pairs::intersects;
pub(in crate::gpu) use solid::{CoreKind, SolidSpec, write_solid};
pub(in crate::gpu) use stored::distance2_to_point;
