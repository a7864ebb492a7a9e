//! The points of segments, triangles and tetrahedra that are closest to a point, and the distance of two segments.
//!
//! Input: coordinates. Output: a squared distance and the point at which it is attained. Squared distances are
//! quotients of polynomials (an area over a length, a volume over an area), not lengths of rounded offsets. For small
//! integers they are exact up to one rounding. A degenerate shape is treated as its edges or points.
//! Source: Ericson 2005, Real-Time Collision Detection, sections 5.1.2, 5.1.5, 5.1.9. In any dimension by exterior
//! products.

use crate::geometry::shapes::vector::{add_scaled, area2, bivector_dot, dot, length2, sub, times, unit, volume2};

/// The nearest point of a shape and its squared distance. For a query point inside the shape it is that point.
#[derive(Clone, Copy, Debug)]
pub struct Closest<const D: usize> {
    pub distance2: f64,
    pub point: [f64; D],
}

impl<const D: usize> Closest<D> {
    /// The nearer of two points; the first in case of a tie.
    fn or(self, other: Self) -> Self {
        if other.distance2 < self.distance2 { other } else { self }
    }
}

pub fn on_point<const D: usize>(p: &[f64; D], a: &[f64; D]) -> Closest<D> {
    Closest { distance2: length2(&sub(p, a)), point: *a }
}

pub fn on_segment<const D: usize>(p: &[f64; D], [a, b]: [&[f64; D]; 2]) -> Closest<D> {
    let (w, e) = (sub(p, a), sub(b, a));
    let unit = unit(&[&w, &e]);
    let (w, e) = (times(&w, unit), times(&e, unit));
    let (t, e2) = (dot(&w, &e), length2(&e));
    if t <= 0.0 {
        on_point(p, a)
    } else if t >= e2 {
        on_point(p, b)
    } else {
        let distance2 = area2(&w, &e) / e2 / (unit * unit);
        Closest { distance2, point: if distance2 == 0.0 { *p } else { add_scaled(a, t / e2, &sub(b, a)) } }
    }
}

/// Returns the barycentric weights of the projection of a point on the plane of a triangle, multiplied by a squared
/// area, and that area. The area is 0 if the corners are collinear within rounding.
pub fn weights<const D: usize>(p: &[f64; D], [a, b, c]: [&[f64; D]; 3]) -> ([f64; 3], f64) {
    let [w, e, f] = [sub(p, a), sub(b, a), sub(c, a)];
    let unit = unit(&[&w, &e, &f]);
    let [w, e, f] = [w, e, f].map(|x| times(&x, unit));
    let n2 = area2(&e, &f);
    if n2 <= (4.0 * f64::EPSILON).powi(2) * length2(&e) * length2(&f) {
        return ([0.0; 3], 0.0);
    }
    let (v, u) = (bivector_dot([&w, &f], [&e, &f]), bivector_dot([&e, &w], [&e, &f]));
    ([n2 - v - u, v, u], n2)
}

pub fn on_triangle<const D: usize>(p: &[f64; D], corners: [&[f64; D]; 3]) -> Closest<D> {
    let [a, b, c] = corners;
    let (weights, n2) = weights(p, corners);
    if n2 > 0.0 && weights.iter().all(|&weight| weight >= 0.0) {
        let [w, e, f] = [sub(p, a), sub(b, a), sub(c, a)];
        let unit = unit(&[&w, &e, &f]);
        let scaled = [&w, &e, &f].map(|x| times(x, unit));
        let distance2 = volume2(&scaled[0], &scaled[1], &scaled[2]) / n2 / (unit * unit);
        let point = add_scaled(&add_scaled(a, weights[1] / n2, &e), weights[2] / n2, &f);
        return Closest { distance2, point: if distance2 == 0.0 { *p } else { point } };
    }
    on_segment(p, [a, b]).or(on_segment(p, [b, c])).or(on_segment(p, [c, a]))
}

/// Returns the barycentric weights of a point in a tetrahedron, multiplied by their sum: six times the signed
/// volumes. They have one sign if the point lies inside. `None` if the volume of the tetrahedron is exactly zero.
pub fn volumes(p: &[f64; 3], corners: [&[f64; 3]; 4]) -> Option<[f64; 4]> {
    let [a, b, c, d] = corners;
    let unit = unit(&[p, a, b, c, d]);
    let is_flat = side(corners, unit) == 0.0;
    (!is_flat).then(|| [[p, b, c, d], [a, p, c, d], [a, b, p, d], [a, b, c, p]].map(|of| side(of, unit)))
}

/// The faces of a tetrahedron.
pub const FACES: [[usize; 3]; 4] = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]];

/// The side of the plane of three points on which a fourth lies: positive, negative, or zero in the plane. Exact.
fn side(points: [&[f64; 3]; 4], unit: f64) -> f64 {
    let [a, b, c, d] = points.map(|p| robust::Coord3D { x: p[0] * unit, y: p[1] * unit, z: p[2] * unit });
    robust::orient3d(a, b, c, d)
}

/// Returns `true` if a point lies in a tetrahedron. Exact, so that every point lies in at least one of the tetrahedra
/// that fill a space.
fn is_in_tetrahedron(p: &[f64; 3], corners: [&[f64; 3]; 4]) -> bool {
    let [a, b, c, d] = corners;
    let unit = unit(&[p, a, b, c, d]);
    let all = side(corners, unit);
    let agrees = |part: f64| part == 0.0 || (part > 0.0) == (all > 0.0);
    all != 0.0 && [[p, b, c, d], [a, p, c, d], [a, b, p, d], [a, b, c, p]].into_iter().all(|of| agrees(side(of, unit)))
}

pub fn on_tetrahedron(p: &[f64; 3], corners: [&[f64; 3]; 4]) -> Closest<3> {
    if is_in_tetrahedron(p, corners) {
        return Closest { distance2: 0.0, point: *p };
    }
    // A flat tetrahedron equals the union of its triangles.
    let faces = FACES.map(|face| on_triangle(p, face.map(|i| corners[i])));
    faces[0].or(faces[1]).or(faces[2]).or(faces[3])
}

/// Computes the squared distance of two segments.
pub fn segments<const D: usize>([a, b]: [&[f64; D]; 2], [c, d]: [&[f64; D]; 2]) -> f64 {
    let ends = [on_segment(a, [c, d]), on_segment(b, [c, d]), on_segment(c, [a, b]), on_segment(d, [a, b])];
    let least = ends.iter().fold(f64::INFINITY, |least, end| least.min(end.distance2));
    let [w, e, f] = [sub(c, a), sub(b, a), sub(d, c)];
    let unit = unit(&[&w, &e, &f]);
    let [w, e, f] = [w, e, f].map(|x| times(&x, unit));
    let n2 = area2(&e, &f);
    // The nearest points of the two lines: `s` along the first and `t` along the second, times `n2`.
    let (s, t) = (bivector_dot([&w, &f], [&e, &f]), bivector_dot([&w, &e], [&e, &f]));
    let is_inside = |x: f64| 0.0 < x && x < n2;
    if !(is_inside(s) && is_inside(t)) {
        return least;
    }
    let between = if n2 > 1e-12 * length2(&e) * length2(&f) {
        volume2(&w, &e, &f) / n2
    } else {
        // Almost parallel: rounding destroys the normal. The distance of two points of the segments is never below
        // the minimum.
        length2(&sub(&add_scaled(&w, t / n2, &f), &times(&e, s / n2)))
    };
    least.min(between / (unit * unit))
}
