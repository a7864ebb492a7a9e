//! Intersection of two solids: the GPU counterpart of `geometry::shapes::pairs`.
//!
//! In: rows of solids. Out: `true` if they have a common point; touching counts. Decided by the arithmetic of the CPU.

use cubecl::prelude::*;

use crate::gpu::geometry::closest::{self, segments};
use crate::gpu::geometry::polytope;
use crate::gpu::geometry::solid::{CoreKind, SolidSpec, core_at, is_point, is_proper, radius_at};
use crate::gpu::geometry::vector::{length2, nth};
use crate::gpu::primitives::rounding::product;

/// Returns `true` if the solids whose rows begin at `a_at` and `b_at` have a common point.
#[cube]
pub(in crate::gpu) fn intersects(
    a_rows: &Array<f64>,
    a_at: u32,
    a_corners: &Array<f64>,
    b_rows: &Array<f64>,
    b_at: u32,
    b_corners: &Array<f64>,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    let mut found = false.runtime();
    if is_proper(a_rows, a_at) && is_proper(b_rows, b_at) {
        let (p, q) = (core_at(a_rows, a_at, a), core_at(b_rows, b_at, b));
        let radius = radius_at(a_rows, a_at) + radius_at(b_rows, b_at);
        let (a_is_point, b_is_point) = (is_point(a_rows, a_at, a), is_point(b_rows, b_at, b));
        if a_is_point {
            found = closest::distance2(&q, &p, b) <= product(radius, radius);
        } else if b_is_point {
            found = closest::distance2(&p, &q, a) <= product(radius, radius);
        } else {
            if comptime!(a.kind != CoreKind::Point && b.kind != CoreKind::Point) {
                found = meet(&p, &q, radius, a, b);
            }
        }
    }
    found
}

/// Returns `true` if all points within a radius of one core meet another core. Neither is a point.
#[cube]
fn meet(p: &Array<f64>, q: &Array<f64>, radius: f64, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> bool {
    let d = comptime!(a.d);
    let are_segments = comptime!(a.kind == CoreKind::Segment && b.kind == CoreKind::Segment);
    let has_radius = comptime!(a.has_radius() || b.has_radius());
    let mut found = false.runtime();
    if comptime!(d <= 3) {
        let is_thin = radius == f64::new(0.0);
        if comptime!(!are_segments) {
            found = polytope::intersects(p, q, a, b);
            if comptime!(has_radius) {
                if !found && !is_thin {
                    found = polytope::distance2(p, q, a, b) <= product(radius, radius);
                }
            }
        } else if is_thin {
            found = polytope::intersects(p, q, a, b);
        } else {
            found = are_near(p, q, radius, d);
        }
    } else if comptime!(are_segments) {
        found = are_near(p, q, radius, d);
    } else if comptime!(a.kind == CoreKind::Box && b.kind == CoreKind::Box) {
        let mut gaps = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            gaps[k] = max(max(q[k] - p[comptime!(d + k)], p[k] - q[comptime!(d + k)]), f64::new(0.0));
        }
        found = length2(&gaps, d) <= f64::new(0.0);
    }
    found
}

/// Returns `true` if the distance of two segments is at most `radius`.
#[cube]
fn are_near(p: &Array<f64>, q: &Array<f64>, radius: f64, #[comptime] d: usize) -> bool {
    let distance2 = segments(&nth(p, 0usize, d), &nth(p, 1usize, d), &nth(q, 0usize, d), &nth(q, 1usize, d), d);
    distance2 <= product(radius, radius)
}
