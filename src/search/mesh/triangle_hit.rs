//! The intersection of a ray and a triangle, without gaps between triangles.
//!
//! Input: a ray and a triangle in `f64`. Output: the weights of the corners, and `t`.
//! The triangle is translated and sheared so that the ray becomes the last axis. The three edge functions, which are
//! areas around that axis, then have the same sign if the triangle is met. Values on which rounding could have an
//! effect are computed without rounding ([`exact`](super::exact)). Each edge thus has the same sign for all its
//! triangles, and no ray passes between two. If an edge function is 0, the ray meets the edge or a corner.
//! `t` is the exact number rounded up ([`ray_parameter`](super::ray_parameter)). It is therefore the same for all
//! triangles that have the point, and comparisons of it are exact.
//! Cost: about 60 operations. Source: Woop, Benthin and Wald 2013; Edelsbrunner and Mücke 1990 (the displaced line of
//! [`Rule::Crossing`]).

use crate::geometry::{Ray, Scalar};
use crate::search::mesh::exact::Scaled;
use crate::search::mesh::ray_parameter::rounded_up;

/// The rule by which a ray through an edge or a corner meets triangles.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// It meets all triangles that have the edge or the corner.
    Closed,
    /// It meets the triangles that a displaced line meets. The displacement is an infinitesimal step along x, one
    /// along y that is infinitesimal compared with the first, and so on. A line then crosses a closed surface an even
    /// number of times.
    Crossing,
}

/// A hit on a triangle.
#[derive(Clone, Copy)]
pub(super) struct TriangleHit {
    pub t: f64,
    pub weights: [f64; 3],
}

/// A triangle that a line meets.
struct LineHit {
    edges: [f64; 3],
    /// The `t` of each corner along the last axis of the ray.
    corner_t: [f64; 3],
}

/// The point at which a line meets a triangle. The error of `t` is at most `margin`.
struct ApproximateHit {
    t: f64,
    weights: [f64; 3],
    margin: f64,
}

/// The larger of two numbers, computed by one instruction; the second if one is NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The largest magnitude.
#[inline(always)]
fn largest([a, b, c]: [f64; 3]) -> f64 {
    larger(a.abs(), larger(b.abs(), c.abs()))
}

/// A ray prepared for triangle tests.
#[derive(Clone, Copy)]
pub(super) struct TriangleRay {
    origin: [f64; 3],
    direction: [f64; 3],
    axes: [usize; 3],
    shear: [f64; 2],
    /// The first and the last `t` of the ray's range.
    range: [f64; 2],
}

impl TriangleRay {
    pub fn new<S: Scalar>(ray: &Ray<S, 3>) -> Self {
        let direction: [f64; 3] = ray.direction.map(Into::into);
        let longest = |&a: &usize, &b: &usize| direction[a].abs().total_cmp(&direction[b].abs());
        let last = (0..3).max_by(longest).unwrap_or(0);
        let axes = [(last + 1) % 3, (last + 2) % 3, last];
        let shear = [axes[0], axes[1]].map(|k| direction[k] / direction[last]);
        Self { origin: ray.origin.map(Into::into), direction, axes, shear, range: [ray.from, ray.to] }
    }

    /// Returns the hit of the ray on a triangle. The ends of the ray are included.
    pub fn hit(&self, corners: &[[f64; 3]; 3], rule: Rule) -> Option<TriangleHit> {
        let place = self.place(self.line(corners, rule)?);
        Some(TriangleHit { t: self.parameter(corners, &place)?, weights: place.weights })
    }

    /// Returns `true` if the ray meets a triangle. The ends of the ray are included. `t` is rounded up only near an
    /// end.
    pub fn meets(&self, corners: &[[f64; 3]; 3], rule: Rule) -> bool {
        let Some(met) = self.line(corners, rule) else { return false };
        let place = self.place(met);
        let is_within = self.range[0] < place.t - place.margin && place.t + place.margin < self.range[1];
        is_within || self.parameter(corners, &place).is_some()
    }

    /// Ends the ray at `t`, unless it ends before.
    #[inline(always)]
    pub fn end_at(&mut self, t: f64) {
        self.range[1] = self.range[1].min(t);
    }

    /// Returns the `t` of a place, rounded up; `None` beyond the ends of the ray.
    fn parameter(&self, corners: &[[f64; 3]; 3], place: &ApproximateHit) -> Option<f64> {
        let [from, to] = self.range;
        if place.t + place.margin < from || place.t - place.margin > to {
            return None;
        }
        let t = rounded_up(&self.origin, &self.direction, corners, place.t);
        (from <= t && t <= to).then_some(t)
    }

    /// Returns the intersection of the ray's line with a triangle.
    fn line(&self, corners: &[[f64; 3]; 3], rule: Rule) -> Option<LineHit> {
        let [kx, ky, kz] = self.axes;
        let mut x = [0.0; 3];
        let mut y = [0.0; 3];
        let mut along = [0.0; 3];
        let (mut far, mut wide) = ([0.0; 3], [0.0; 3]);
        for (at, corner) in corners.iter().enumerate() {
            let p: [f64; 3] = std::array::from_fn(|k| corner[k] - self.origin[k]);
            x[at] = p[kx] - self.shear[0] * p[kz];
            y[at] = p[ky] - self.shear[1] * p[kz];
            along[at] = p[kz];
            far[at] = largest(p);
            wide[at] = larger(x[at].abs(), y[at].abs());
        }
        let (far, wide) = (largest(far), largest(wide));
        // Differences, products and quotients each round by half an epsilon, a sheared coordinate by less than three
        // epsilons.
        let error = 4.0 * f64::EPSILON * far;
        let error = 4.0 * error * (wide + error) + 4.0 * f64::EPSILON * wide * wide + f64::MIN_POSITIVE;
        let mut edges: [f64; 3] = std::array::from_fn(|at| {
            let (b, c) = ((at + 1) % 3, (at + 2) % 3);
            x[b] * y[c] - x[c] * y[b]
        });
        if edges.iter().any(|&e| e < -error) && edges.iter().any(|&e| e > error) {
            return None;
        }
        // Beyond this bound, the sign and some digits are certain. They are never certain for NaN.
        let sure = |e: f64| e.abs() > 1e6 * error;
        let mut scaled = None;
        if !edges.iter().all(|&e| sure(e)) {
            let [a, b, c] = *corners;
            let exact = Scaled::new(self.direction, [self.origin, a, b, c]);
            for (at, edge) in edges.iter_mut().enumerate() {
                if !sure(*edge) {
                    let volume = exact.volume([0, 1 + (at + 1) % 3, 1 + (at + 2) % 3]);
                    let area = volume / self.direction[kz];
                    let least = f64::MIN_POSITIVE.copysign(volume) * self.direction[kz].signum();
                    *edge = if volume != 0.0 && area == 0.0 { least } else { area };
                }
            }
            scaled = Some(exact);
        }
        let is_met = self.is_met(&edges, rule, scaled.as_ref());
        is_met.then(|| LineHit { edges, corner_t: along.map(|along| along / self.direction[kz]) })
    }

    /// Returns `true` if the edge functions have the same sign.
    fn is_met(&self, edges: &[f64; 3], rule: Rule, scaled: Option<&Scaled<4>>) -> bool {
        let mut signs = edges.map(|e| i32::from(e > 0.0) - i32::from(e < 0.0));
        if let (Rule::Crossing, Some(scaled)) = (rule, scaled) {
            for (at, sign) in signs.iter_mut().enumerate().filter(|(_, sign)| **sign == 0) {
                let moved =
                    scaled.first_of_cross([1 + (at + 1) % 3, 1 + (at + 2) % 3]) * self.direction[self.axes[2]].signum();
                *sign = i32::from(moved > 0.0) - i32::from(moved < 0.0);
            }
        }
        match rule {
            Rule::Crossing => signs == [1; 3] || signs == [-1; 3],
            // If all are 0, the ray lies in the plane, or the triangle has no plane.
            Rule::Closed => signs != [0; 3] && (signs.iter().all(|&s| s >= 0) || signs.iter().all(|&s| s <= 0)),
        }
    }

    /// The point that is met, given edge functions of the same sign.
    fn place(&self, LineHit { edges, corner_t }: LineHit) -> ApproximateHit {
        let sum: f64 = edges.iter().sum();
        // Adding 0 avoids weights of -0.
        let mut weights = edges.map(|e| e / sum + 0.0);
        if !(sum.abs() <= f64::MAX && sum.is_normal()) {
            // The sum overflows, or the edge functions underflow.
            let most = edges.iter().fold(0.0, |most, e| f64::max(most, e.abs()));
            let edges = edges.map(|e| e / most);
            weights = edges.map(|e| e / edges.iter().sum::<f64>() + 0.0);
        }
        let t = (0..3).map(|at| weights[at] * corner_t[at]).sum();
        // Weights have at least six correct digits.
        ApproximateHit { t, weights, margin: 1e-5 * largest(corner_t) }
    }
}
