//! Intersection of two solids: the GPU counterpart of `geometry::shapes::pairs`.
//!
//! In: rows of solids. Out: `true` if they have a common point; touching counts. Decided by the arithmetic of the CPU.

use cubecl::prelude::*;

use crate::gpu::geometry::closest::{self, segments};
use crate::gpu::geometry::frame::half;
use crate::gpu::geometry::minimum_norm::{self, Set, SetSpec};
use crate::gpu::geometry::polytope;
use crate::gpu::geometry::slabs;
use crate::gpu::geometry::solid::{CoreKind, SolidSpec, core_at, is_empty, is_point, is_proper, radius_at};
use crate::gpu::geometry::vector::{length2, literal, nth};
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
    let mut found = Array::<u32>::new(1usize);
    found[0] = 0;
    if is_proper(a_rows, a_at) && is_proper(b_rows, b_at) {
        let (p, q) = (core_at(a_rows, a_at, a), core_at(b_rows, b_at, b));
        let radius = radius_at(a_rows, a_at) + radius_at(b_rows, b_at);
        let (a_is_point, b_is_point) = (is_point(a_rows, a_at, a), is_point(b_rows, b_at, b));
        let mut is_decided = false.runtime();
        if comptime!(is_slabs(a) || is_slabs(b)) {
            if are_separated(&p, a_corners, &q, b_corners, radius, a, b) {
                is_decided = true.runtime();
            } else if !a_is_point && !b_is_point && share_middle(&p, &q, a, b) {
                is_decided = true.runtime();
                found[0] = 1;
            }
        }
        if !is_decided {
            let limit = product(radius, radius);
            if a_is_point {
                found[0] = u32::cast_from(is_within(closest::distance2(&q, b_corners, &p, b), limit));
            } else if b_is_point {
                found[0] = u32::cast_from(is_within(closest::distance2(&p, a_corners, &q, a), limit));
            } else {
                if comptime!(a.kind != CoreKind::Point && b.kind != CoreKind::Point) {
                    if !is_empty(&p, a) && !is_empty(&q, b) {
                        found[0] = u32::cast_from(meet(&p, a_corners, &q, b_corners, radius, a, b));
                    }
                }
            }
        }
    }
    found[0] == 1
}

/// Returns `true` if a squared distance is finite and at most a limit.
#[cube]
fn is_within(distance2: f64, limit: f64) -> bool {
    distance2 <= literal(f64::MAX) && distance2 <= limit
}

fn is_slabs(spec: SolidSpec) -> bool {
    matches!(spec.kind, CoreKind::Slabs(_))
}

/// Returns `true` if an interval of slabs alone proves that two cores are farther apart than a radius.
#[cube]
fn are_separated(
    p: &Array<f64>,
    p_corners: &Array<f64>,
    q: &Array<f64>,
    q_corners: &Array<f64>,
    radius: f64,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    if comptime!(is_slabs(a)) {
        slabs::are_separated(p, q, q_corners, radius, a, b)
    } else {
        slabs::are_separated(q, p, p_corners, radius, b, a)
    }
}

/// Returns `true` if the centre of the common box of slabs and slabs, or of slabs and a box, lies in both.
#[cube]
fn share_middle(p: &Array<f64>, q: &Array<f64>, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> bool {
    if comptime!(is_slabs(a) && is_slabs(b)) {
        slabs::share_middle(p, q, a, b)
    } else if comptime!(is_slabs(a) && b.kind == CoreKind::Box) {
        slabs::share_middle_of_box(p, q, a)
    } else if comptime!(is_slabs(b) && a.kind == CoreKind::Box) {
        slabs::share_middle_of_box(q, p, b)
    } else {
        false.runtime()
    }
}

/// Returns `true` if all points within a radius of one core meet another core. Neither is a point or empty.
#[cube]
fn meet(
    p: &Array<f64>,
    p_corners: &Array<f64>,
    q: &Array<f64>,
    q_corners: &Array<f64>,
    radius: f64,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    let is_curved = comptime!(a.kind == CoreKind::Ellipsoid || b.kind == CoreKind::Ellipsoid);
    let are_alike = comptime!(a.kind == b.kind && matches!(a.kind, CoreKind::Segment | CoreKind::Box));
    if comptime!(is_curved) {
        meet_ellipsoid(p, p_corners, q, q_corners, radius, a, b)
    } else if comptime!(is_slabs(a) || is_slabs(b) || (a.d > 3 && !are_alike)) {
        let set = comptime!(SetSpec { set: Set::Difference, a, b });
        minimum_norm::distance2(p, p_corners, q, q_corners, radius, set) <= product(radius, radius)
    } else {
        meet_polytope(p, q, radius, a, b)
    }
}

/// Returns `true` if an ellipsoid and another core are at most a radius apart. Either core may be the ellipsoid. The
/// test uses the coordinates in which the ellipsoid is the unit ball, if they exist.
#[cube]
fn meet_ellipsoid(
    p: &Array<f64>,
    p_corners: &Array<f64>,
    q: &Array<f64>,
    q_corners: &Array<f64>,
    radius: f64,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    let one = f64::new(1.0);
    let (mut found, mut is_decided) = (false.runtime(), false.runtime());
    if comptime!(a.kind == CoreKind::Ellipsoid) {
        if is_invertible(p, comptime!(a.d)) {
            let set = comptime!(SetSpec { set: Set::Image, a, b });
            found = minimum_norm::distance2(p, p_corners, q, q_corners, radius, set) <= one;
            is_decided = true.runtime();
        }
    }
    if comptime!(b.kind == CoreKind::Ellipsoid) {
        if !is_decided && is_invertible(q, comptime!(b.d)) {
            let set = comptime!(SetSpec { set: Set::Image, a: b, b: a });
            found = minimum_norm::distance2(q, q_corners, p, p_corners, radius, set) <= one;
            is_decided = true.runtime();
        }
    }
    if !is_decided {
        let set = comptime!(SetSpec { set: Set::Difference, a, b });
        found = minimum_norm::distance2(p, p_corners, q, q_corners, radius, set) <= product(radius, radius);
    }
    found
}

/// Returns `true` if the map from the unit ball to the ellipsoid can be inverted: no radius is too small beside
/// another.
#[cube]
fn is_invertible(frame: &Array<f64>, #[comptime] d: usize) -> bool {
    let (mut least, mut most) = (half(frame, 0usize, d), max(half(frame, 0usize, d), f64::new(0.0)));
    #[unroll]
    for k in 1..d {
        least = min(least, half(frame, k, d));
        most = max(most, half(frame, k, d));
    }
    least > product(literal(1e-6), most)
}

/// Returns `true` if two polytopes are at most a radius apart. Of those in more than three dimensions, these are
/// two segments or two boxes.
#[cube]
fn meet_polytope(
    p: &Array<f64>,
    q: &Array<f64>,
    radius: f64,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    let d = comptime!(a.d);
    let are_segments = comptime!(a.kind == CoreKind::Segment && b.kind == CoreKind::Segment);
    if comptime!(d > 3 && are_segments) {
        are_near(p, q, radius, d)
    } else if comptime!(d > 3) {
        let mut gaps = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            gaps[k] = max(max(q[k] - p[comptime!(d + k)], p[k] - q[comptime!(d + k)]), f64::new(0.0));
        }
        length2(&gaps, d) <= f64::new(0.0)
    } else if comptime!(!are_segments) {
        let mut found = polytope::intersects(p, q, a, b);
        if comptime!(a.has_radius() || b.has_radius()) {
            if !found && radius > f64::new(0.0) {
                found = polytope::distance2(p, q, a, b) <= product(radius, radius);
            }
        }
        found
    } else {
        let mut found = Array::<u32>::new(1usize);
        if radius == f64::new(0.0) {
            found[0] = u32::cast_from(polytope::intersects(p, q, a, b));
        } else {
            found[0] = u32::cast_from(are_near(p, q, radius, d));
        }
        found[0] == 1
    }
}

/// Returns `true` if the distance of two segments is at most `radius`.
#[cube]
fn are_near(p: &Array<f64>, q: &Array<f64>, radius: f64, #[comptime] d: usize) -> bool {
    let distance2 = segments(&nth(p, 0usize, d), &nth(p, 1usize, d), &nth(q, 0usize, d), &nth(q, 1usize, d), d);
    distance2 <= product(radius, radius)
}
