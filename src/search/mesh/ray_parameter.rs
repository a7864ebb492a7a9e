//! The ray parameter `t` at which a line meets the plane of a triangle, rounded up to the next `f64`.
//!
//! In: a ray, the corners of a triangle, and an approximate `t`. Out: the smallest `f64` that is not below the exact `t`.
//! `t <= limit` then holds for the rounded number if and only if it holds for the exact one, and triangles that a ray meets at one point have
//! one `t`, whatever the order of their corners.
//! An approximate `t` is corrected by its residual, with an error bound; what the bound leaves open is decided by exact sums (`exact`).
//! Cost: about 100 operations; some microseconds for exact sums. Source: Dekker 1971 (error-free products); Shewchuk 1997 (expansions).

use crate::search::mesh::exact::{Scaled, two_product, two_sum};

/// Corrections of an approximate `t` before exact sums take over.
const CORRECTIONS: usize = 3;
/// Error bounds below this may have lost digits to underflow.
const LEAST_BOUND: f64 = 1e-280;

/// The smallest `f64` that is not below the exact `t`; `guess` where numbers overflow or underflow.
pub(super) fn rounded_up(origin: &[f64; 3], direction: &[f64; 3], corners: &[[f64; 3]; 3], guess: f64) -> f64 {
    corrected(origin, direction, corners, guess).unwrap_or_else(|| {
        let [a, b, c] = *corners;
        Scaled::new(*direction, [*origin, a, b, c]).parameter().unwrap_or(guess)
    })
}

/// The same by a residual, or `None` where rounding could change the result.
#[inline(always)]
fn corrected(origin: &[f64; 3], direction: &[f64; 3], corners: &[[f64; 3]; 3], guess: f64) -> Option<f64> {
    let [a, b, c] = corners;
    let u: [f64; 3] = std::array::from_fn(|k| b[k] - a[k]);
    let v: [f64; 3] = std::array::from_fn(|k| c[k] - a[k]);
    let normal: [f64; 3] = std::array::from_fn(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        u[i] * v[j] - u[j] * v[i]
    });
    let area = largest(&u) * largest(&v);
    let slope = direction[0] * normal[0] + direction[1] * normal[1] + direction[2] * normal[2];
    // Roundings of the differences, products and sums: less than 32 epsilons of what the products are at most.
    let slope_error = 32.0 * f64::EPSILON * area * largest(direction);
    let far = largest(origin) + largest(a);
    let mut t = guess;
    for _ in 0..CORRECTIONS {
        let mut offset = [0.0; 3];
        for k in 0..3 {
            // `a - origin - t direction`: exact but for the last sum.
            let [along, along_rest] = two_product(t, direction[k]);
            let [to, to_rest] = two_sum(a[k], -origin[k]);
            let [rest, rest_rest] = two_sum(to, -along);
            offset[k] = rest + (to_rest - along_rest + rest_rest);
        }
        let residual = offset[0] * normal[0] + offset[1] * normal[1] + offset[2] * normal[2];
        let moved = t.abs() * largest(direction);
        let error = 64.0 * f64::EPSILON * area * (largest(&offset) + 2.0 * f64::EPSILON * (far + moved));
        // False for NaN, too.
        let is_usable = error > LEAST_BOUND && slope_error <= 1e-6 * slope.abs();
        if !is_usable {
            return None;
        }
        let correction = residual / slope;
        let uncertainty =
            1.001 * error / slope.abs() + 3.0 * correction.abs() * (slope_error / slope.abs() + f64::EPSILON);
        let (least, most) = (correction - uncertainty, correction + uncertainty);
        let (down, up) = (t - t.next_down(), t.next_up() - t);
        if most <= 0.0 && least > -down {
            return Some(t);
        }
        if least > 0.0 && most <= up {
            return Some(t.next_up());
        }
        let next = t + correction;
        if next == t {
            return None;
        }
        t = next;
    }
    None
}

#[inline(always)]
fn largest([a, b, c]: &[f64; 3]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    larger(a.abs(), larger(b.abs(), c.abs()))
}
