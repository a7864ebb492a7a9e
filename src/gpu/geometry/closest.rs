//! The squared distances of a point from segments, triangles and other cores, and of two segments: the GPU counterpart
//! of `geometry::shapes::closest`.
//!
//! In: coordinates. Out: squared distances, rounded as on the CPU.

use cubecl::prelude::*;

use crate::gpu::geometry::closest_on_ellipsoid::on_ellipsoid;
use crate::gpu::geometry::frame::{components, half};
use crate::gpu::geometry::minimum_norm::{self, Set, SetSpec};
use crate::gpu::geometry::orientation::is_in_tetrahedron;
use crate::gpu::geometry::slabs::contains;
use crate::gpu::geometry::solid::{CoreKind, SolidSpec, is_empty};
use crate::gpu::geometry::vector::{
    add_scaled, area2, bivector_dot, dot, extent, infinity, length2, literal, nth, sub, times, unit, vector_at, volume2,
};
use crate::gpu::primitives::rounding::product;

/// Returns the squared distance of a point from a core: 0 inside, infinite if the core has no points. `corners` are
/// those of k-DOPs.
#[cube]
pub(super) fn distance2(core: &Array<f64>, corners: &Array<f64>, p: &Array<f64>, #[comptime] spec: SolidSpec) -> f64 {
    if comptime!(spec.kind == CoreKind::Ellipsoid) {
        on_ellipsoid(core, p, comptime!(spec.d))
    } else if comptime!(matches!(spec.kind, CoreKind::Slabs(_))) {
        on_slabs(core, corners, p, spec)
    } else {
        on_polytope(core, p, spec)
    }
}

#[cube]
fn on_slabs(slabs: &Array<f64>, corners: &Array<f64>, p: &Array<f64>, #[comptime] spec: SolidSpec) -> f64 {
    let mut found = infinity(p[0]);
    if contains(slabs, p, spec) {
        found = f64::new(0.0);
    } else if !is_empty(slabs, spec) {
        let set = comptime!(SetSpec { set: Set::ToPoint, a: spec, b: spec });
        found = minimum_norm::distance2(slabs, corners, p, corners, f64::new(0.0), set);
    }
    found
}

/// Returns the squared distance of a point from a core with few corners.
#[cube]
pub(super) fn on_polytope(core: &Array<f64>, p: &Array<f64>, #[comptime] spec: SolidSpec) -> f64 {
    let d = comptime!(spec.d);
    if comptime!(spec.kind == CoreKind::Point) {
        on_point(p, core, d)
    } else if comptime!(spec.kind == CoreKind::Segment) {
        on_segment(p, &nth(core, 0usize, d), &nth(core, 1usize, d), d)
    } else if comptime!(spec.kind == CoreKind::Triangle) {
        on_triangle(p, &nth(core, 0usize, d), &nth(core, 1usize, d), &nth(core, 2usize, d), d)
    } else if comptime!(spec.kind == CoreKind::Tetrahedron) {
        on_tetrahedron(p, core)
    } else if comptime!(spec.kind == CoreKind::Box) {
        on_box(p, core, d)
    } else {
        on_oriented(p, core, d)
    }
}

/// Returns the squared distance of a point from a tetrahedron, whose core ends with zero bits.
#[cube]
fn on_tetrahedron(p: &Array<f64>, corners: &Array<f64>) -> f64 {
    let mut found = Array::<f64>::new(1usize);
    found[0] = f64::new(0.0);
    if !is_in_tetrahedron(p, corners) {
        found[0] = infinity(p[0]);
        // A flat tetrahedron equals the union of its triangles.
        for face in 0..4u32 {
            let (a, b, c) = face_of(corners, face);
            found[0] = min(found[0], on_triangle(p, &a, &b, &c, 3usize));
        }
    }
    found[0]
}

/// Returns the corners of a face of a tetrahedron: of [0, 1, 2], [0, 1, 3], [0, 2, 3] or [1, 2, 3].
#[cube]
pub(super) fn face_of(corners: &Array<f64>, face: u32) -> (Array<f64>, Array<f64>, Array<f64>) {
    let a = vector_at(corners, select(face == 3, 3u32.runtime(), 0u32.runtime()), 3usize);
    let b = vector_at(corners, select(face >= 2, 6u32.runtime(), 3u32.runtime()), 3usize);
    let c = vector_at(corners, select(face == 0, 6u32.runtime(), 9u32.runtime()), 3usize);
    (a, b, c)
}

#[cube]
fn on_point(p: &Array<f64>, a: &Array<f64>, #[comptime] d: usize) -> f64 {
    length2(&sub(p, a, d), d)
}

#[cube]
fn on_box(p: &Array<f64>, corners: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut off = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        off[k] = p[k] - min(max(p[k], corners[k]), corners[comptime!(d + k)]);
    }
    length2(&off, d)
}

/// `frame` is the centre, the axes, and half the length along each.
#[cube]
fn on_oriented(p: &Array<f64>, frame: &Array<f64>, #[comptime] d: usize) -> f64 {
    let from = components(frame, &sub(p, frame, d), d);
    let mut off = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        let half = half(frame, k, d);
        off[k] = from[k] - min(max(from[k], -half), half);
    }
    length2(&off, d)
}

#[cube]
pub(super) fn on_segment(p: &Array<f64>, a: &Array<f64>, b: &Array<f64>, #[comptime] d: usize) -> f64 {
    let (w, e) = (sub(p, a, d), sub(b, a, d));
    let unit = unit(max(extent(&w, d), extent(&e, d)));
    let (w, e) = (times(&w, unit, d), times(&e, unit, d));
    let (t, e2) = (dot(&w, &e, d), length2(&e, d));
    let mut found = on_point(p, a, d);
    if t > f64::new(0.0) {
        if t >= e2 {
            found = on_point(p, b, d);
        } else {
            found = area2(&w, &e, d) / e2 / (unit * unit);
        }
    }
    found
}

/// Returns the barycentric weights of the projection of a point on the plane of a triangle, multiplied by a squared
/// area, and that area. The area is 0 if the corners are collinear within rounding.
#[cube]
pub(super) fn weights(
    p: &Array<f64>,
    a: &Array<f64>,
    b: &Array<f64>,
    c: &Array<f64>,
    #[comptime] d: usize,
) -> Array<f64> {
    let zero = f64::new(0.0);
    let (w, e, f) = (sub(p, a, d), sub(b, a, d), sub(c, a, d));
    let unit = unit(max(max(extent(&w, d), extent(&e, d)), extent(&f, d)));
    let (w, e, f) = (times(&w, unit, d), times(&e, unit, d), times(&f, unit, d));
    let n2 = area2(&e, &f, d);
    let (v, u) = (bivector_dot(&w, &f, &e, &f, d), bivector_dot(&e, &w, &e, &f, d));
    let least = f64::new(comptime!((4.0 * f64::EPSILON).powi(2) as f32));
    let is_flat = n2 <= product(product(least, length2(&e, d)), length2(&f, d));
    let mut out = Array::<f64>::new(4usize);
    out[0] = select(is_flat, zero, n2 - v - u);
    out[1] = select(is_flat, zero, v);
    out[2] = select(is_flat, zero, u);
    out[3] = select(is_flat, zero, n2);
    out
}

#[cube]
pub(super) fn on_triangle(p: &Array<f64>, a: &Array<f64>, b: &Array<f64>, c: &Array<f64>, #[comptime] d: usize) -> f64 {
    let zero = f64::new(0.0);
    let mut found = Array::<f64>::new(1usize);
    let mut is_found = false.runtime();
    if comptime!(d > 1) {
        let weights = weights(p, a, b, c, d);
        if weights[3] > zero && weights[0] >= zero && weights[1] >= zero && weights[2] >= zero {
            let (w, e, f) = (sub(p, a, d), sub(b, a, d), sub(c, a, d));
            let unit = unit(max(max(extent(&w, d), extent(&e, d)), extent(&f, d)));
            let (w, e, f) = (times(&w, unit, d), times(&e, unit, d), times(&f, unit, d));
            found[0] = volume2(&w, &e, &f, d) / weights[3] / (unit * unit);
            is_found = true.runtime();
        }
    }
    if !is_found {
        found[0] = min(min(on_segment(p, a, b, d), on_segment(p, b, c, d)), on_segment(p, c, a, d));
    }
    found[0]
}

/// Returns the squared distance of the segments from `a` to `b` and from `g` to `h`.
#[cube]
pub(super) fn segments(a: &Array<f64>, b: &Array<f64>, g: &Array<f64>, h: &Array<f64>, #[comptime] d: usize) -> f64 {
    let zero = f64::new(0.0);
    let of_ab = min(on_segment(a, g, h, d), on_segment(b, g, h, d));
    let mut least = min(of_ab, min(on_segment(g, a, b, d), on_segment(h, a, b, d)));
    if comptime!(d > 1) {
        let (w, e, f) = (sub(g, a, d), sub(b, a, d), sub(h, g, d));
        let unit = unit(max(max(extent(&w, d), extent(&e, d)), extent(&f, d)));
        let (w, e, f) = (times(&w, unit, d), times(&e, unit, d), times(&f, unit, d));
        let n2 = area2(&e, &f, d);
        // The nearest points of the two lines: `s` along the first and `t` along the second, times `n2`.
        let (s, t) = (bivector_dot(&w, &f, &e, &f, d), bivector_dot(&w, &e, &e, &f, d));
        if zero < s && s < n2 && zero < t && t < n2 {
            let mut between = volume2(&w, &e, &f, d) / n2;
            if n2 <= product(product(literal(1e-12), length2(&e, d)), length2(&f, d)) {
                // Almost parallel: rounding destroys the normal.
                let to = add_scaled(&w, t / n2, &f, d);
                between = length2(&sub(&to, &times(&e, s / n2, d), d), d);
            }
            least = min(least, between / (unit * unit));
        }
    }
    least
}
