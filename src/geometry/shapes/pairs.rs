//! Distance and intersection of two shapes.
//!
//! Input: cores and radii. Output: a squared distance; an intersection test in which touching counts. Pairs with a
//! closed form use it; round shapes and shapes with many corners use [`minimum_norm`]. Intersection with an ellipsoid
//! is tested in the coordinates in which it is the unit ball.

use crate::geometry::distance::beyond;
use crate::geometry::shapes::closest::segments;
use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::minimum_norm;
use crate::geometry::shapes::polytope::{self, Polytope};
use crate::geometry::shapes::slabs::Slabs;
use crate::geometry::shapes::vector::{add_scaled, dot, length2, sub, times};

/// Computes the squared distance of two solids: zero if they touch, infinite if one has no points.
pub fn distance2<const D: usize>(a: &Solid<D>, b: &Solid<D>) -> f64 {
    match cores(&a.core, &b.core) {
        distance2 if distance2 == f64::INFINITY => distance2,
        distance2 => beyond(distance2, a.radius + b.radius),
    }
}

/// Returns `true` if the solids have a common point.
pub fn intersects<const D: usize>(a: &Solid<D>, b: &Solid<D>) -> bool {
    let radius = a.radius + b.radius;
    let is_point = |solid: &Solid<D>| matches!(solid.core, Core::Point(_));
    match (&a.core, &b.core) {
        (Core::Empty, _) | (_, Core::Empty) => false,
        (Core::Slabs(slabs), other) | (other, Core::Slabs(slabs)) if are_separated(slabs, other, radius) => false,
        (Core::Slabs(a), Core::Slabs(b)) if a.share_middle(b) => true,
        (Core::Slabs(slabs), Core::Box(corners)) | (Core::Box(corners), Core::Slabs(slabs))
            if slabs.share_middle_of_box(corners) =>
        {
            true
        }
        (Core::Ellipsoid(frame), _) if !is_point(b) && is_invertible(frame) => meets_ellipsoid(frame, a.radius, b),
        (_, Core::Ellipsoid(frame)) if !is_point(a) && is_invertible(frame) => meets_ellipsoid(frame, b.radius, a),
        (p, q) => {
            if radius == 0.0
                && !(is_point(a) || is_point(b))
                && let (Some(p), Some(q)) = (Polytope::new(p), Polytope::new(q))
            {
                return p.intersects(&q);
            }
            let distance2 = cores(p, q);
            distance2 < f64::INFINITY && distance2 <= radius * radius
        }
    }
}

/// The squared distance of two cores.
fn cores<const D: usize>(a: &Core<D>, b: &Core<D>) -> f64 {
    match (a, b) {
        (Core::Empty, _) | (_, Core::Empty) => f64::INFINITY,
        (Core::Point(p), other) | (other, Core::Point(p)) => other.closest(p).distance2,
        (Core::Segment([a, b]), Core::Segment([c, d])) => segments([a, b], [c, d]),
        (Core::Box([lo, hi]), Core::Box([from, to])) => {
            length2(&std::array::from_fn::<_, D, _>(|k| (from[k] - hi[k]).max(lo[k] - to[k]).max(0.0)))
        }
        _ => polytope::distance2(a, b).unwrap_or_else(|| {
            let (of_a, of_b) = (a.corners(), b.corners());
            if is_empty(a, &of_a) || is_empty(b, &of_b) {
                return f64::INFINITY;
            }
            // Relative to a point of the first core, so that rounding errors are relative to the sizes of the shapes.
            let origin = a.support(&[0.0; D], &of_a);
            let difference = |direction: &[f64; D]| {
                let back = times(direction, -1.0);
                sub(&sub(&a.support(direction, &of_a), &origin), &sub(&b.support(&back, &of_b), &origin))
            };
            length2(&minimum_norm::nearest(difference, &difference(&[0.0; D])))
        }),
    }
}

fn is_empty<const D: usize>(core: &Core<D>, corners: &[[f64; D]]) -> bool {
    matches!(core, Core::Slabs(_)) && corners.is_empty()
}

/// Returns `true` if one interval of a k-DOP alone proves that all points within a radius of a core lie outside.
fn are_separated<const D: usize>(slabs: &Slabs<D>, core: &Core<D>, radius: f64) -> bool {
    let are_apart = |[lo, hi]: [f64; 2], [from, to]: [f64; 2]| hi < from || to < lo;
    slabs.iter().any(|(direction, ends)| match core {
        Core::Slabs(other) => other.iter().any(|(same, interval)| same == direction && are_apart(ends, interval)),
        _ => {
            let back = direction.map(|x| -x);
            // Rounded up, because the root is rounded.
            let reach = radius * length2(&direction).sqrt() * (1.0 + 1e-12);
            let (from, to) = (-dot(&back, &core.support(&back, &[])), dot(&direction, &core.support(&direction, &[])));
            are_apart(ends, [from - reach, to + reach])
        }
    })
}

/// Returns `true` if the map from the unit ball to the ellipsoid can be inverted: no radius is too small beside
/// another.
fn is_invertible<const D: usize>(frame: &Frame<D>) -> bool {
    let [least, most] = frame.half.iter().fold([f64::INFINITY, 0.0], |[lo, hi]: [f64; 2], &x| [lo.min(x), hi.max(x)]);
    least > 1e-6 * most
}

/// Returns `true` if a solid meets the points within a radius of an ellipsoid. Computed in the coordinates in which
/// the ellipsoid is the unit ball.
fn meets_ellipsoid<const D: usize>(frame: &Frame<D>, radius: f64, solid: &Solid<D>) -> bool {
    let corners = solid.core.corners();
    if is_empty(&solid.core, &corners) {
        return false;
    }
    let image = |point: &[f64; D]| -> [f64; D] {
        let components = frame.components(&sub(point, &frame.center));
        std::array::from_fn(|k| components[k] / frame.half[k])
    };
    let support = |direction: &[f64; D]| {
        let mut normal = [0.0; D];
        for (k, axis) in frame.axes.iter().enumerate() {
            normal = add_scaled(&normal, direction[k] / frame.half[k], axis);
        }
        let point = solid.core.support(&normal, &corners);
        let length = length2(&normal).sqrt();
        let ball = if length > 0.0 { (solid.radius + radius) / length } else { 0.0 };
        image(&add_scaled(&point, ball, &normal))
    };
    length2(&minimum_norm::nearest(support, &support(&[0.0; D]))) <= 1.0
}
