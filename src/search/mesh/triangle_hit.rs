//! Where a ray meets a triangle, without gaps.
//!
//! In: a ray and a triangle, in `f64`. Out: the weights of the corners and `t`.
//! The triangle is moved and sheared so that the ray is the last axis; three edge functions, the areas about it, then have one sign where it
//! is met. What rounding could have a part in is computed without rounding ([`exact`](super::exact)), so each edge has one sign, whichever
//! triangle asks, and no ray passes between two. Where a function is 0 the ray meets the edge or a corner. `t` is the exact number rounded up
//! ([`ray_parameter`](super::ray_parameter)), so it is the same for all triangles that have the point, and comparing it is exact.
//! Cost: about 60 operations. Source: Woop, Benthin and Wald 2013; Edelsbrunner and Mücke 1990 (the moved line of [`Rule::Crossing`]).

use crate::geometry::{Ray, Scalar};
use crate::search::mesh::exact::Scaled;
use crate::search::mesh::ray_parameter::rounded_up;

/// Which triangles a ray through an edge or a corner meets.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// All that have it.
    Closed,
    /// Those that a line beside it meets: the ray moved by an infinitesimal step along x, one along y that is infinitesimal beside that,
    /// and so on. A closed surface is then crossed an even number of times by a line.
    Crossing,
}

/// What was met.
#[derive(Clone, Copy)]
pub(super) struct TriangleHit {
    pub t: f64,
    pub weights: [f64; 3],
}

/// A triangle that a line meets.
struct Met {
    edges: [f64; 3],
    /// `t` of the planes across the ray through the corners.
    corner_t: [f64; 3],
}

/// The point at which a line meets a triangle; `t` is off by at most a margin.
struct Place {
    t: f64,
    weights: [f64; 3],
    margin: f64,
}

/// The larger of two numbers, by one instruction; the second if one is NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The largest magnitude.
#[inline(always)]
fn largest([a, b, c]: [f64; 3]) -> f64 {
    larger(a.abs(), larger(b.abs(), c.abs()))
}

/// A ray, ready for triangles.
#[derive(Clone, Copy)]
pub(super) struct TriangleRay {
    origin: [f64; 3],
    direction: [f64; 3],
    axes: [usize; 3],
    shear: [f64; 2],
    /// The first and the last `t` that count.
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

    /// Where the ray meets a triangle, its ends included.
    pub fn hit(&self, corners: &[[f64; 3]; 3], rule: Rule) -> Option<TriangleHit> {
        let place = self.place(self.line(corners, rule)?);
        Some(TriangleHit { t: self.parameter(corners, &place)?, weights: place.weights })
    }

    /// Whether the ray meets a triangle, its ends included. `t` is found only where it is near an end.
    pub fn meets(&self, corners: &[[f64; 3]; 3], rule: Rule) -> bool {
        let Some(met) = self.line(corners, rule) else { return false };
        let place = self.place(met);
        let is_within = self.range[0] < place.t - place.margin && place.t + place.margin < self.range[1];
        is_within || self.parameter(corners, &place).is_some()
    }

    /// Ends the ray at `t`, if it does not end before.
    #[inline(always)]
    pub fn end_at(&mut self, t: f64) {
        self.range[1] = self.range[1].min(t);
    }

    /// Returns `t` of a place, rounded up; `None` beyond the ends of the ray.
    fn parameter(&self, corners: &[[f64; 3]; 3], place: &Place) -> Option<f64> {
        let [from, to] = self.range;
        if place.t + place.margin < from || place.t - place.margin > to {
            return None;
        }
        let t = rounded_up(&self.origin, &self.direction, corners, place.t);
        (from <= t && t <= to).then_some(t)
    }

    /// Where the line of the ray meets a triangle.
    fn line(&self, corners: &[[f64; 3]; 3], rule: Rule) -> Option<Met> {
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
        // Differences, products and quotients round by half an epsilon each: a sheared coordinate by less than three.
        let error = 4.0 * f64::EPSILON * far;
        let error = 4.0 * error * (wide + error) + 4.0 * f64::EPSILON * wide * wide + f64::MIN_POSITIVE;
        let mut edges: [f64; 3] = std::array::from_fn(|at| {
            let (b, c) = ((at + 1) % 3, (at + 2) % 3);
            x[b] * y[c] - x[c] * y[b]
        });
        if edges.iter().any(|&e| e < -error) && edges.iter().any(|&e| e > error) {
            return None;
        }
        // Beyond this both the sign and some digits are sure. NaN is not.
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
        is_met.then(|| Met { edges, corner_t: along.map(|along| along / self.direction[kz]) })
    }

    /// Whether the edge functions have one sign.
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
            // Where all are 0 the ray lies in the plane, or there is no plane.
            Rule::Closed => signs != [0; 3] && (signs.iter().all(|&s| s >= 0) || signs.iter().all(|&s| s <= 0)),
        }
    }

    /// The point that is met where the edge functions have one sign.
    fn place(&self, Met { edges, corner_t }: Met) -> Place {
        let sum: f64 = edges.iter().sum();
        // No weight is -0.
        let mut weights = edges.map(|e| e / sum + 0.0);
        if !(sum.abs() <= f64::MAX && sum.is_normal()) {
            // Their sum overflows, or they underflow.
            let most = edges.iter().fold(0.0, |most, e| f64::max(most, e.abs()));
            let edges = edges.map(|e| e / most);
            weights = edges.map(|e| e / edges.iter().sum::<f64>() + 0.0);
        }
        let t = (0..3).map(|at| weights[at] * corner_t[at]).sum();
        // Weights have six digits at least.
        Place { t, weights, margin: 1e-5 * largest(corner_t) }
    }
}
