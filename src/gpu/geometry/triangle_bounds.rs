//! Bounds of the distance from a point to a triangle, in `f32`.
//!
//! In: the row of a triangle, and a point. Out: a lower and an upper bound of the distance. They differ by parts per
//! million of the distance to the farthest corner, so few tests are left to `f64`.
//! A point of the triangle near the closest one gives the upper bound. The corners' least component in its direction is
//! a lower bound, whichever point that is. Source of the closest point: Ericson 2005, section 5.1.5.

use cubecl::prelude::*;

/// Distances of corners within which products of four stay in the range of `f32`.
const NEAREST: f32 = 1e-7;
const FARTHEST: f32 = 1e9;
/// The square of a triangle's height, relative to its sides, below which distances in `f64` may err by more than the
/// bounds. Narrower triangles have no bounds.
const WIDE: f32 = 1e-4;
/// The squared length of the longer side below which triangles have no bounds.
const SMALLEST_SIDE2: f32 = 1e-14;
/// More than the rounding errors of the bounds, relative to the distance of the farthest corner.
const ERROR: f32 = 8e-6;

/// Returns a lower and an upper bound of the distance from a point to the triangle whose corners begin at `rows[at]`: 0
/// and the largest number if none are known.
#[cube]
pub(in crate::gpu) fn triangle_bounds(
    rows: &Array<f64>,
    at: usize,
    point: &Array<f64>,
    #[comptime] d: usize,
) -> (f32, f32) {
    let (mut a, mut b, mut c) = (Array::<f32>::new(d), Array::<f32>::new(d), Array::<f32>::new(d));
    #[unroll]
    for k in 0..d {
        a[k] = f32::cast_from(rows[at + k] - point[k]);
        b[k] = f32::cast_from(rows[at + d + k] - point[k]);
        c[k] = f32::cast_from(rows[at + 2 * d + k] - point[k]);
    }
    let (e, f) = (side(rows, at, 1usize, d), side(rows, at, 2usize, d));
    bounds_of(&a, &b, &c, is_wide(&e, &f, d), d)
}

/// Returns the side from the first corner to another one.
#[cube]
fn side(rows: &Array<f64>, at: usize, #[comptime] corner: usize, #[comptime] d: usize) -> Array<f32> {
    let mut side = Array::<f32>::new(d);
    #[unroll]
    for k in 0..d {
        side[k] = f32::cast_from(rows[at + comptime!(corner * d + k)] - rows[at + k]);
    }
    side
}

/// Returns `true` if the triangle of two sides is not narrow.
#[cube]
fn is_wide(e: &Array<f32>, f: &Array<f32>, #[comptime] d: usize) -> bool {
    let (ee, ef, ff) = (dot(e, e, d), dot(e, f, d), dot(f, f, d));
    let side = max(ee, ff);
    // Products of smaller sides have lost digits.
    side >= f32::new(SMALLEST_SIDE2) && ee * ff - ef * ef > f32::new(WIDE) * side * side
}

/// Returns the bounds for a triangle whose corners are relative to the point.
#[cube]
fn bounds_of(a: &Array<f32>, b: &Array<f32>, c: &Array<f32>, is_wide: bool, #[comptime] d: usize) -> (f32, f32) {
    let (zero, one) = (f32::new(0.0), f32::new(1.0));
    let (aa, bb, cc) = (dot(a, a, d), dot(b, b, d), dot(c, c, d));
    let (ab, bc, ca) = (dot(a, b, d), dot(b, c, d), dot(c, a, d));
    let far = max(aa, max(bb, cc)).sqrt();
    // The weights of the closest points of the three sides.
    let on_ab = part(aa - ab, aa + bb - ab - ab);
    let on_bc = part(bb - bc, bb + cc - bc - bc);
    let on_ca = part(cc - ca, cc + aa - ca - ca);
    let of_ab = along(aa, ab, bb, on_ab);
    let of_bc = along(bb, bc, cc, on_bc);
    let of_ca = along(cc, ca, aa, on_ca);
    let mut weights = Array::<f32>::new(3usize);
    let is_ab = of_ab <= min(of_bc, of_ca);
    let is_bc = !is_ab && of_bc <= of_ca;
    weights[0] = select(is_ab, one - on_ab, select(is_bc, zero, on_ca));
    weights[1] = select(is_ab, on_ab, select(is_bc, one - on_bc, zero));
    weights[2] = select(is_ab, zero, select(is_bc, on_bc, one - on_ca));
    // The weights of the nearest point of the plane.
    let u = bb * cc - bc * bc + (bc * (ab + ca) - ab * cc - ca * bb);
    let v = cc * aa - ca * ca + (ca * (bc + ab) - bc * aa - ab * cc);
    let w = aa * bb - ab * ab + (ab * (ca + bc) - ca * bb - bc * aa);
    let sum = u + v + w;
    let is_inside = min(u, min(v, w)) > zero && sum >= f32::new(f32::MIN_POSITIVE);
    let by = one / select(is_inside, sum, one);
    weights[0] = select(is_inside, u * by, weights[0]);
    weights[1] = select(is_inside, v * by, weights[1]);
    weights[2] = select(is_inside, w * by, weights[2]);
    let mut closest = Array::<f32>::new(d);
    #[unroll]
    for k in 0..d {
        closest[k] = weights[0] * a[k] + weights[1] * b[k] + weights[2] * c[k];
    }
    let distance = dot(&closest, &closest, d).sqrt();
    let least = min(dot(&closest, a, d), min(dot(&closest, b, d), dot(&closest, c, d)));
    let error = far * f32::new(ERROR);
    // Next to the triangle, the direction has no digits.
    let is_known = is_wide && far >= f32::new(NEAREST) && far <= f32::new(FARTHEST);
    let is_off = is_known && distance > far * f32::new(1e-3);
    let lower = least / select(is_off, distance, one) - error;
    (select(is_off, max(lower, zero), zero), select(is_known, distance + error, f32::new(f32::MAX)))
}

#[cube]
fn dot(a: &Array<f32>, b: &Array<f32>, #[comptime] d: usize) -> f32 {
    let mut sum = f32::new(0.0);
    #[unroll]
    for k in 0..d {
        sum += a[k] * b[k];
    }
    sum
}

/// Returns a quotient between 0 and 1, and 0 for a divisor of 0.
#[cube]
fn part(of: f32, whole: f32) -> f32 {
    let quotient = of / select(whole > f32::new(0.0), whole, f32::new(1.0));
    max(f32::new(0.0), min(quotient, f32::new(1.0)))
}

/// Returns the squared length of (1 - `t`) a + `t` b, given a · a, a · b and b · b.
#[cube]
fn along(aa: f32, ab: f32, bb: f32, t: f32) -> f32 {
    let rest = f32::new(1.0) - t;
    rest * rest * aa + f32::new(2.0) * rest * t * ab + t * t * bb
}
