//! The part of a ray inside a solid: the GPU counterpart of `geometry::shapes::ray_interval`.
//!
//! In: rows of solids, and rays. Out: the first and the last `t`, rounded as on the CPU.
//! The unit of length is that of the CPU, with two exceptions: `f32` shapes whose radii exceed the range of `f32`, and
//! shapes whose extent is within rounding of a power of two. Their results differ only if products underflow.

use cubecl::prelude::*;

use crate::gpu::geometry::closest::{face_of, weights};
use crate::gpu::geometry::frame::{components, half};
use crate::gpu::geometry::interval::{all, clip, extend, intersect, none, set, set_if};
use crate::gpu::geometry::slabs;
use crate::gpu::geometry::solid::{CoreKind, SolidSpec, core_at, is_point, is_proper, radius_at};
use crate::gpu::geometry::vector::{
    add_scaled, area2, bivector_dot, cross, dot, extent, length2, literal, nth, sub, unit, volume, volume2, volumes,
};
use crate::gpu::primitives::rounding::product;

/// Returns the first and the last `t` of a ray in the solid whose row begins at `at`, both in the range of the ray. The
/// first exceeds the last if the ray misses the solid. `ray` has the origin, the direction, and the ends of the range.
#[cube]
pub(in crate::gpu) fn ray_interval(
    rows: &Array<f64>,
    at: u32,
    ray: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> Array<f64> {
    let d = comptime!(spec.d);
    let mut found = none(ray[0]);
    if is_proper(rows, at) && is_proper_ray(ray, d) {
        let core = core_at(rows, at, spec);
        let inside = scaled_interval(&core, radius_at(rows, at), is_point(rows, at, spec), ray, spec);
        found[0] = max(inside[0], ray[comptime!(2 * d)]);
        found[1] = min(inside[1], ray[comptime!(2 * d + 1)]);
    }
    found
}

/// Returns `true` if the ray has any points.
#[cube]
fn is_proper_ray(ray: &Array<f64>, #[comptime] d: usize) -> bool {
    let (mut finite, mut moves) = (true.runtime(), false.runtime());
    #[unroll]
    for k in 0..comptime!(2 * d) {
        finite = finite && ray[k].abs() <= literal(f64::MAX);
    }
    #[unroll]
    for k in d..comptime!(2 * d) {
        moves = moves || ray[k] != f64::new(0.0);
    }
    finite && moves && ray[comptime!(2 * d)] <= ray[comptime!(2 * d + 1)]
}

/// Returns the interval of a line in a core with a radius, computed in units in which no product of lengths overflows
/// or vanishes.
#[cube]
fn scaled_interval(
    core: &Array<f64>,
    radius: f64,
    is_point: bool,
    ray: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> Array<f64> {
    let d = comptime!(spec.d);
    let (origin, direction) = (nth(ray, 0usize, d), nth(ray, 1usize, d));
    let one = f64::new(1.0);
    if comptime!(matches!(spec.kind, CoreKind::Slabs(_))) {
        slabs::line_interval(core, &origin, &direction, spec)
    } else {
        let (length, step) = (unit(reach(core, radius, &origin, spec)), unit(extent(&direction, d)));
        let is_scaled = length != one || step != one;
        let mut moved = Array::<f64>::new(comptime!(spec.numbers()));
        #[unroll]
        for i in 0..comptime!(spec.numbers()) {
            let is_frame = comptime!(matches!(spec.kind, CoreKind::Oriented | CoreKind::Ellipsoid));
            let mut own = product(core[i] - origin[comptime!(i % d)], length);
            if comptime!(is_frame && i >= d && i < d * (d + 1)) {
                own = core[i];
            } else if comptime!(is_frame && i >= d) {
                own = product(core[i], length);
            }
            moved[i] = select(is_scaled, own, core[i]);
        }
        let (mut from, mut by) = (Array::<f64>::new(d), Array::<f64>::new(d));
        #[unroll]
        for k in 0..d {
            from[k] = select(is_scaled, f64::new(0.0), origin[k]);
            by[k] = product(direction[k], step);
        }
        let mut inside = line_interval(&moved, product(radius, length), is_point, &from, &by, spec);
        inside[0] = inside[0] * step / length;
        inside[1] = inside[1] * step / length;
        inside
    }
}

/// Returns the largest absolute coordinate of the bounds of a solid relative to `origin`.
#[cube]
fn reach(core: &Array<f64>, radius: f64, origin: &Array<f64>, #[comptime] spec: SolidSpec) -> f64 {
    let d = comptime!(spec.d);
    let mut most = Array::<f64>::new(1usize);
    most[0] = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        if comptime!(matches!(spec.kind, CoreKind::Oriented | CoreKind::Ellipsoid)) {
            let mut across = Array::<f64>::new(d);
            let mut sum = f64::new(0.0);
            #[unroll]
            for i in 0..d {
                across[i] = product(half(core, i, d), core[comptime!((i + 1) * d + k)].abs());
                sum += across[i];
            }
            if comptime!(spec.kind == CoreKind::Ellipsoid) {
                sum = length2(&across, d).sqrt();
            }
            most[0] = max(most[0], (core[k] - origin[k]).abs() + sum);
        } else {
            #[unroll]
            for i in 0..comptime!(spec.numbers() / d) {
                most[0] = max(most[0], (core[comptime!(i * d + k)] - origin[k]).abs() + radius);
            }
        }
    }
    most[0]
}

/// Returns the interval of a line in a core with a radius.
#[cube]
fn line_interval(
    core: &Array<f64>,
    radius: f64,
    is_point: bool,
    from: &Array<f64>,
    by: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> Array<f64> {
    let d = comptime!(spec.d);
    if comptime!(spec.kind == CoreKind::Point) {
        ball(&sub(from, core, d), by, radius, d)
    } else if comptime!(spec.kind == CoreKind::Segment) {
        let (a, b) = (nth(core, 0usize, d), nth(core, 1usize, d));
        let mut found = none(radius);
        if radius > f64::new(0.0) {
            set(&mut found, &capsule(&a, &b, radius, from, by, d));
        } else {
            set(&mut found, &segment(&a, &b, from, by, d));
        }
        found
    } else if comptime!(spec.kind == CoreKind::Triangle) {
        triangle(&nth(core, 0usize, d), &nth(core, 1usize, d), &nth(core, 2usize, d), from, by, d)
    } else if comptime!(spec.kind == CoreKind::Tetrahedron) {
        tetrahedron(core, from, by)
    } else if comptime!(spec.kind == CoreKind::Box) {
        let mut found = all(radius);
        if is_point {
            set(&mut found, &ball(&sub(from, core, d), by, f64::new(0.0), d));
        } else {
            #[unroll]
            for k in 0..d {
                clip(&mut found, from[k], by[k], core[k], core[comptime!(d + k)]);
            }
        }
        found
    } else {
        let (place, along) = (components(core, &sub(from, core, d), d), components(core, by, d));
        if comptime!(spec.kind == CoreKind::Oriented) {
            let mut found = all(radius);
            #[unroll]
            for k in 0..d {
                clip(&mut found, place[k], along[k], -half(core, k, d), half(core, k, d));
            }
            found
        } else {
            ellipsoid(core, &place, &along, d)
        }
    }
}

/// Returns the interval of a line in a ball around the origin.
#[cube]
fn ball(from: &Array<f64>, by: &Array<f64>, radius: f64, #[comptime] d: usize) -> Array<f64> {
    let by2 = length2(by, d);
    let middle = -dot(from, by, d) / by2;
    // The squared distance of the line from the centre.
    let distance2 = area2(from, by, d) / by2;
    let half2 = product(radius, radius) - distance2;
    let half = (max(half2, f64::new(0.0)) / by2).sqrt();
    let mut found = none(by2);
    set_if(&mut found, half2 >= f64::new(0.0), middle - half, middle + half);
    found
}

/// Returns the interval of a line on a segment: a single `t`, unless the line runs along the segment.
#[cube]
fn segment(a: &Array<f64>, b: &Array<f64>, from: &Array<f64>, by: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let zero = f64::new(0.0);
    let (w, e) = (sub(a, from, d), sub(b, a, d));
    let mut found = none(by[0]);
    let mut is_across = false.runtime();
    if comptime!(d > 1) {
        let n2 = area2(by, &e, d);
        if n2 > zero {
            is_across = true.runtime();
            // The line of the segment is met at `s`, times `n2`.
            let s = -bivector_dot(by, &w, by, &e, d);
            let t = bivector_dot(&w, &e, by, &e, d) / n2;
            let is_met = volume2(&w, by, &e, d) == zero && zero <= s && s <= n2;
            set_if(&mut found, is_met, t, t);
        }
    }
    if !is_across {
        let mut end = none(by[0]);
        set_at(&mut end, &w, by, d);
        set_at(&mut found, &sub(b, from, d), by, d);
        extend(&mut found, &end);
    }
    found
}

/// Replaces an interval by the `t` at which a line meets a point, which is given relative to the origin of the line.
#[cube]
fn set_at(found: &mut Array<f64>, w: &Array<f64>, by: &Array<f64>, #[comptime] d: usize) {
    let t = dot(w, by, d) / length2(by, d);
    set_if(found, area2(w, by, d) == f64::new(0.0), t, t);
}

#[cube]
fn capsule(
    a: &Array<f64>,
    b: &Array<f64>,
    radius: f64,
    from: &Array<f64>,
    by: &Array<f64>,
    #[comptime] d: usize,
) -> Array<f64> {
    let zero = f64::new(0.0);
    let (w, e) = (sub(from, a, d), sub(b, a, d));
    let e2 = length2(&e, d);
    let mut found = ball(&w, by, radius, d);
    extend(&mut found, &ball(&sub(from, b, d), by, radius, d));
    if e2 > zero {
        let mut shaft = all(radius);
        let limit = product(product(radius, radius), e2);
        let mut is_across = false.runtime();
        if comptime!(d > 1) {
            let across = area2(by, &e, d);
            if across > zero {
                is_across = true.runtime();
                // Measured from the point of the line that is nearest to the axis.
                let middle = -bivector_dot(&w, &e, by, &e, d) / across;
                let half2 = limit - area2(&add_scaled(&w, middle, by, d), &e, d);
                let half = (max(half2, zero) / across).sqrt();
                set_if(&mut shaft, half2 >= zero, middle - half, middle + half);
            }
        }
        if !is_across {
            let (first, last) = (shaft[0], shaft[1]);
            set_if(&mut shaft, area2(&w, &e, d) <= limit, first, last);
        }
        let mut between = all(radius);
        clip(&mut between, dot(&w, &e, d), dot(by, &e, d), zero, e2);
        intersect(&mut shaft, &between);
        extend(&mut found, &shaft);
    }
    found
}

#[cube]
fn triangle(
    a: &Array<f64>,
    b: &Array<f64>,
    c: &Array<f64>,
    from: &Array<f64>,
    by: &Array<f64>,
    #[comptime] d: usize,
) -> Array<f64> {
    let zero = f64::new(0.0);
    let mut found = none(by[0]);
    // In the plane, a line enters and leaves through edges.
    let mut is_along = true.runtime();
    if comptime!(d == 3) {
        let (a, b, c) = (sub(a, from, d), sub(b, from, d), sub(c, from, d));
        // Volumes with the edges. Neighbouring triangles compute the same value for a shared edge, so no line passes
        // between them.
        let (u, v, w) = (volume(by, &b, &c), volume(by, &c, &a), volume(by, &a, &b));
        let normal = cross(&sub(&b, &a, d), &sub(&c, &a, d));
        let across = dot(&normal, by, d);
        if u + v + w != zero && across != zero {
            is_along = false.runtime();
            let is_inside = (u >= zero && v >= zero && w >= zero) || (u <= zero && v <= zero && w <= zero);
            let t = dot(&normal, &a, d) / across;
            set_if(&mut found, is_inside, t, t);
        }
    } else if comptime!(d > 3) {
        set_in_plane(&mut found, a, b, c, from, by, d);
        is_along = found[0] > found[1];
    }
    if is_along {
        extend(&mut found, &segment(a, b, from, by, d));
        extend(&mut found, &segment(b, c, from, by, d));
        extend(&mut found, &segment(c, a, from, by, d));
    }
    found
}

/// In more than three dimensions, a line meets the plane of a triangle if its distance from the plane is zero at some
/// `t`.
#[cube]
fn set_in_plane(
    found: &mut Array<f64>,
    a: &Array<f64>,
    b: &Array<f64>,
    c: &Array<f64>,
    from: &Array<f64>,
    by: &Array<f64>,
    #[comptime] d: usize,
) {
    let zero = f64::new(0.0);
    let (w, e, f) = (sub(from, a, d), sub(b, a, d), sub(c, a, d));
    let across2 = volume2(by, &e, &f, d);
    let shared = volumes(&w, by, &e, &f, d);
    if across2 != zero && product(volume2(&w, &e, &f, d), across2) == product(shared, shared) {
        let t = -shared / across2;
        let weights = weights(&add_scaled(from, t, by, d), a, b, c, d);
        set_if(found, weights[0] >= zero && weights[1] >= zero && weights[2] >= zero, t, t);
    }
}

/// Uses the triangles, because the planes of a thin tetrahedron determine its ends poorly.
#[cube]
fn tetrahedron(corners: &Array<f64>, from: &Array<f64>, by: &Array<f64>) -> Array<f64> {
    let mut found = none(by[0]);
    for face in 0..4u32 {
        let (a, b, c) = face_of(corners, face);
        extend(&mut found, &triangle(&a, &b, &c, from, by, 3usize));
    }
    found
}

/// `place` and `along` are the origin and the direction of a line in the frame of the ellipsoid.
#[cube]
fn ellipsoid(frame: &Array<f64>, place: &Array<f64>, along: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let zero = f64::new(0.0);
    let (mut from, mut by) = (Array::<f64>::new(d), Array::<f64>::new(d));
    let mut found = all(place[0]);
    #[unroll]
    for k in 0..d {
        let half = half(frame, k, d);
        if half > zero {
            from[k] = place[k] / half;
            by[k] = along[k] / half;
        } else {
            clip(&mut found, place[k], along[k], zero, zero);
            from[k] = zero;
            by[k] = zero;
        }
    }
    if length2(&by, d) > zero {
        intersect(&mut found, &ball(&from, &by, f64::new(1.0), d));
    } else {
        let (first, last) = (found[0], found[1]);
        set_if(&mut found, length2(&from, d) <= f64::new(1.0), first, last);
    }
    found
}
