//! The point of a solid ellipsoid that is closest to a given point.
//!
//! Input: the frame of the ellipsoid, and a point. Output: a squared distance, and the point at which it is attained.
//! Cost: O(D) per step of Newton's method, at most 200 steps.
//! Source: Eberly 2013, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid.

use crate::geometry::shapes::closest::Closest;
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::vector::{length2, sub};

/// Finds the nearest point of a solid ellipsoid.
///
/// Its component along each axis is `r² y / (t + r²)`, with the `t > 0` that puts it on the surface. Newton's method
/// increases monotonically to that `t`, because the function is decreasing and convex.
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
            // Stops when rounding prevents progress, or on NaN, if the slope vanishes.
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
