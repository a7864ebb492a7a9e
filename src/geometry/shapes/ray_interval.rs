//! The part of a line inside a shape.
//!
//! Input: a core, its radius, and a line `origin + t * direction`. Output: the first and the last `t`, over all real
//! numbers. A box is clipped by its slabs, and a tetrahedron is hit through its triangles. A ball is hit if half the
//! chord is real. A capsule consists of two balls and a cylinder. Lines in the plane of a triangle, and triangles
//! without area, are tested along the edges.
//! Cost: O(D) for boxes and balls, O(D²) for capsules.

use crate::geometry::shapes::closest::{FACES, weights};
use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::vector::{
    add_scaled, area2, bivector_dot, cross, dot, length2, sub, times, to_3d, to_f64, unit, volume, volume2, volumes,
};
use crate::geometry::{Aabb, Scalar};

type Interval = Option<[f64; 2]>;
const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// Computes the interval of a line in a solid, in units in which no product of lengths overflows or vanishes.
pub fn scaled_interval<S: Scalar, const D: usize>(
    solid: &Solid<D>,
    bounds: &Aabb<S, D>,
    line: [[f64; D]; 2],
) -> Interval {
    let [origin, direction] = line;
    let reach = [&bounds.lo, &bounds.hi].map(|corner| sub(&to_f64(corner), &origin));
    let (length, step) = (unit(&[&reach[0], &reach[1]]), unit(&[&direction]));
    if (length == 1.0 && step == 1.0) || matches!(solid.core, Core::Slabs(_)) {
        return solid_interval(solid, &line);
    }
    let moved = Solid { core: solid.core.moved(&origin, length), radius: solid.radius * length };
    let inside = solid_interval(&moved, &[[0.0; D], times(&direction, step)])?;
    Some(inside.map(|t| t * step / length))
}

/// The interval of a line in a solid.
fn solid_interval<const D: usize>(solid: &Solid<D>, line: &[[f64; D]; 2]) -> Interval {
    let [origin, direction] = line;
    match &solid.core {
        Core::Point(a) => ball(&sub(origin, a), direction, solid.radius),
        Core::Segment(ends) if solid.radius > 0.0 => capsule(ends, solid.radius, line),
        Core::Segment(ends) => segment(ends, line),
        Core::Triangle(corners) => triangle(corners, line),
        Core::Tetrahedron(corners) => tetrahedron(corners, line),
        Core::Box([lo, hi]) => (0..D).try_fold(ALL, |inside, k| clip(inside, origin[k], direction[k], [lo[k], hi[k]])),
        Core::Oriented(frame) => {
            let (from, by) = (frame.components(&sub(origin, &frame.center)), frame.components(direction));
            (0..D).try_fold(ALL, |inside, k| clip(inside, from[k], by[k], [-frame.half[k], frame.half[k]]))
        }
        Core::Ellipsoid(frame) => ellipsoid(frame, line),
        Core::Slabs(slabs) => slabs
            .iter()
            .try_fold(ALL, |inside, (normal, ends)| clip(inside, dot(&normal, origin), dot(&normal, direction), ends)),
        Core::Empty => None,
    }
}

/// The part of an interval in which `from + t * by` lies between two numbers.
fn clip([first, last]: [f64; 2], from: f64, by: f64, [lo, hi]: [f64; 2]) -> Interval {
    if by == 0.0 {
        return (lo <= from && from <= hi).then_some([first, last]);
    }
    let (a, b) = ((lo - from) / by, (hi - from) / by);
    let [first, last] = [first.max(a.min(b)), last.min(a.max(b))];
    (first <= last).then_some([first, last])
}

fn both([a, b]: [f64; 2], [c, d]: [f64; 2]) -> Interval {
    let [first, last] = [a.max(c), b.min(d)];
    (first <= last).then_some([first, last])
}

/// The smallest interval that contains all parts.
fn hull(parts: impl IntoIterator<Item = Interval>) -> Interval {
    parts.into_iter().flatten().reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
}

/// The interval of a line in a ball around the origin.
fn ball<const D: usize>(from: &[f64; D], by: &[f64; D], radius: f64) -> Interval {
    let by2 = length2(by);
    let middle = -dot(from, by) / by2;
    // The squared distance of the line from the centre.
    let distance2 = area2(from, by) / by2;
    let half2 = radius * radius - distance2;
    (half2 >= 0.0).then(|| {
        let half = (half2 / by2).sqrt();
        [middle - half, middle + half]
    })
}

/// The interval of a line on a segment: a single `t`, unless the line runs along the segment.
fn segment<const D: usize>([a, b]: &[[f64; D]; 2], [origin, direction]: &[[f64; D]; 2]) -> Interval {
    let (w, e) = (sub(a, origin), sub(b, a));
    let n2 = area2(direction, &e);
    if n2 > 0.0 {
        // The line of the segment is met at `s`, times `n2`.
        let s = -bivector_dot([direction, &w], [direction, &e]);
        let t = bivector_dot([&w, &e], [direction, &e]) / n2;
        return (volume2(&w, direction, &e) == 0.0 && (0.0..=n2).contains(&s)).then_some([t, t]);
    }
    let at = |w: &[f64; D]| {
        let t = dot(w, direction) / length2(direction);
        (area2(w, direction) == 0.0).then_some([t, t])
    };
    hull([at(&w), at(&sub(b, origin))])
}

fn capsule<const D: usize>([a, b]: &[[f64; D]; 2], radius: f64, [origin, direction]: &[[f64; D]; 2]) -> Interval {
    let e = sub(b, a);
    let e2 = length2(&e);
    let of_end = |end: &[f64; D]| ball(&sub(origin, end), direction, radius);
    let cylinder = || {
        let across = area2(direction, &e);
        let w = sub(origin, a);
        let shaft = if across > 0.0 {
            // Measured from the point of the line that is nearest to the axis.
            let middle = -bivector_dot([&w, &e], [direction, &e]) / across;
            let half2 = radius * radius * e2 - area2(&add_scaled(&w, middle, direction), &e);
            let half = (half2 / across).sqrt();
            (half2 >= 0.0).then_some([middle - half, middle + half])?
        } else {
            (area2(&w, &e) <= radius * radius * e2).then_some(ALL)?
        };
        both(shaft, clip(ALL, dot(&w, &e), dot(direction, &e), [0.0, e2])?)
    };
    hull([of_end(a), of_end(b), if e2 > 0.0 { cylinder() } else { None }])
}

fn triangle<const D: usize>(corners: &[[f64; D]; 3], line: &[[f64; D]; 2]) -> Interval {
    let [origin, direction] = line;
    let edges = || hull([[0, 1], [1, 2], [2, 0]].map(|edge| segment(&edge.map(|i| corners[i]), line)));
    // In the plane, a line enters and leaves through edges.
    if D < 3 {
        return edges();
    }
    if D > 3 {
        return triangle_in_general(corners, line).or_else(edges);
    }
    let by = to_3d(direction);
    let [a, b, c] = corners.map(|corner| to_3d(&sub(&corner, origin)));
    // Volumes with the edges. Neighbouring triangles compute the same value for a shared edge, so no line passes
    // between them.
    let weights = [volume(&by, &b, &c), volume(&by, &c, &a), volume(&by, &a, &b)];
    let all: f64 = weights.iter().sum();
    let normal = cross(&sub(&b, &a), &sub(&c, &a));
    let across = dot(&normal, &by);
    if all == 0.0 || across == 0.0 {
        return edges();
    }
    let inside = weights.iter().all(|&w| w >= 0.0) || weights.iter().all(|&w| w <= 0.0);
    let t = dot(&normal, &a) / across;
    inside.then_some([t, t])
}

/// In more than three dimensions, a line meets the plane of a triangle if its distance from the plane is zero at some
/// `t`.
fn triangle_in_general<const D: usize>([a, b, c]: &[[f64; D]; 3], [origin, direction]: &[[f64; D]; 2]) -> Interval {
    let [w, e, f] = [sub(origin, a), sub(b, a), sub(c, a)];
    let across2 = volume2(direction, &e, &f);
    let product = volumes([&w, &e, &f], [direction, &e, &f]);
    if across2 == 0.0 || volume2(&w, &e, &f) * across2 != product * product {
        return None;
    }
    let t = -product / across2;
    let (weights, _) = weights(&add_scaled(origin, t, direction), [a, b, c]);
    weights.iter().all(|&weight| weight >= 0.0).then_some([t, t])
}

/// Uses the triangles, because the planes of a thin tetrahedron determine its ends poorly.
fn tetrahedron<const D: usize>(corners: &[[f64; D]; 4], line: &[[f64; D]; 2]) -> Interval {
    hull(FACES.map(|face| triangle(&face.map(|corner| corners[corner]), line)))
}

fn ellipsoid<const D: usize>(frame: &Frame<D>, [origin, direction]: &[[f64; D]; 2]) -> Interval {
    let (mut from, mut by) = (frame.components(&sub(origin, &frame.center)), frame.components(direction));
    let mut inside = ALL;
    for k in 0..D {
        if frame.half[k] > 0.0 {
            (from[k], by[k]) = (from[k] / frame.half[k], by[k] / frame.half[k]);
        } else {
            inside = clip(inside, from[k], by[k], [0.0; 2])?;
            (from[k], by[k]) = (0.0, 0.0);
        }
    }
    if length2(&by) > 0.0 { both(inside, ball(&from, &by, 1.0)?) } else { (length2(&from) <= 1.0).then_some(inside) }
}
