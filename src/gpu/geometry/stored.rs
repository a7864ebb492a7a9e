//! The squared distance from a point to a stored shape: the GPU counterpart of `geometry::shapes::stored`.
//!
//! In: the row of a solid, and a point. Out: the squared distance as of the CPU's `Distance::distance2_to`.

use cubecl::prelude::*;

use crate::geometry::ScalarOps;
use crate::gpu::geometry::closest;
use crate::gpu::geometry::solid::{SolidSpec, core_at, is_proper, radius_at};
use crate::gpu::geometry::vector::literal;
use crate::gpu::primitives::rounding::product;

/// Returns the squared distance from a point to the solid whose row begins at `at`: 0 inside, NaN if the solid is empty
/// or the point is not finite.
#[cube]
pub(in crate::gpu) fn distance2_to_point(
    rows: &Array<f64>,
    at: u32,
    corners: &Array<f64>,
    point: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> f64 {
    let mut found = nan(point[0]);
    if is_proper(rows, at) && is_finite(point, comptime!(spec.d)) {
        let core = core_at(rows, at, spec);
        found = closest::distance2(&core, corners, point, spec);
        if comptime!(spec.has_radius()) {
            found = beyond(found, radius_at(rows, at));
        }
        found = select(found <= literal(f64::MAX), found, nan(point[0]));
    }
    found
}

/// Returns `true` if no coordinate is NaN or too large. Those of `f32` are too large only if they are infinite.
#[cube]
fn is_finite(point: &Array<f64>, #[comptime] d: usize) -> bool {
    let mut found = true.runtime();
    #[unroll]
    for k in 0..d {
        found = found && point[k].abs() <= literal(comptime!(f64::LIMIT));
    }
    found
}

/// Returns the square of the distance that remains after `radius` is subtracted from the root of `distance2`; 0 within
/// the radius.
#[cube]
fn beyond(distance2: f64, radius: f64) -> f64 {
    let zero = f64::new(0.0);
    let rest = distance2.sqrt() - radius;
    let outside = select(distance2 <= product(radius, radius), zero, product(rest, rest));
    select(radius == zero, distance2, outside)
}

/// Returns NaN, for any number that the compiler does not know. A literal does not compile for CUDA.
#[cube]
fn nan(any: f64) -> f64 {
    f64::reinterpret(u64::reinterpret(any) | 0x7ff8_0000_0000_0000u64)
}
