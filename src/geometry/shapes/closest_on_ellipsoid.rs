//! The closest point of a solid ellipsoid to a point.
//!
//! In: the frame of the ellipsoid, and a point. Out: a squared distance, and the point where it is attained.
//! Cost: O(D) per step of Newton's method, at most 200 steps.
//! Source: Eberly 2013, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid.

use crate::geometry::shapes::closest::Closest;
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::vector::{length2, sub};

/// The nearest point of a solid ellipsoid.
///
/// It is `r² y / (t + r²)` along each axis, for the `t > 0` with which it lies on the surface. Newton's method rises to that `t`, as
/// the function falls and is convex.
pub fn on_ellipsoid<const D: usize>(frame: &Frame<D>, p: &[f64; D]) -> Closest<D> {
    let y = frame.components(&sub(p, &frame.center));
    let r = &frame.half;
    let level = |t: f64| {
        let (mut level, mut slope) = (-1.0, 0.0);
        for k in 0..D {
            if r[k] > 0.0 {
                let share = y[k] / (t / r[k] + r[k]);
                level += share * share;
                slope -= 2.0 * share * share / (t + r[k] * r[k]);
            }
        }
        (level, slope)
    };
    let mut t = 0.0;
    if level(0.0).0 <= 0.0 {
        if (0..D).all(|k| r[k] > 0.0 || y[k] == 0.0) {
            return Closest { distance2: 0.0, point: *p };
        }
    } else {
        t = (0..D).fold(0.0, |most: f64, k| most.max(r[k] * (y[k].abs() - r[k])));
        for _ in 0..200 {
            let (level, slope) = level(t);
            let next = t - level / slope;
            // Rounding ends it, or NaN, where nothing is left of the slope.
            if next > t {
                t = next;
            } else {
                break;
            }
        }
    }
    let near: [f64; D] = std::array::from_fn(|k| if r[k] > 0.0 { y[k] / (1.0 + t / r[k] / r[k]) } else { 0.0 });
    Closest { distance2: length2(&sub(&y, &near)), point: frame.place(&near) }
}
