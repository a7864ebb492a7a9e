//! The ray parameter `t` at which a line meets the plane of a triangle, rounded up to the next `f64`.
//!
//! Input: a ray, the corners of a triangle, and an approximate `t`. Output: the smallest `f64` that is at least the
//! exact `t`.
//! `t <= limit` then holds for the rounded number if and only if it holds for the exact one. Triangles that a ray
//! meets at the same point have the same `t`, for any order of their corners.
//! An approximate `t` is corrected by its residual, with an error bound. The first method computes the residual in
//! `f64`, the second with twice the digits. The bound of the second is 0 if nothing was rounded, as on planes along
//! the axes. Cases that both leave undecided are decided by exact sums (`exact`).
//! Cost: about 100 operations, or about 500 if a triangle is large compared with the precision of `t`. Exact sums
//! take a few microseconds.
//! Source: Dekker 1971 (error-free products); Shewchuk 1997 (expansions).

use crate::search::mesh::exact::{Scaled, two_product, two_sum};

/// The number of corrections of an approximate `t` before the next method takes over.
const CORRECTIONS: usize = 3;
/// Error bounds below this may have lost digits to underflow.
const LEAST_BOUND: f64 = 1e-280;

/// The smallest `f64` that is at least the exact `t`; `guess` if numbers overflow or underflow.
pub(super) fn rounded_up(origin: &[f64; 3], direction: &[f64; 3], corners: &[[f64; 3]; 3], guess: f64) -> f64 {
    Plane::new(origin, direction, corners)
        .corrected(guess)
        .or_else(|t| DoublePlane::new(origin, direction, corners).ok_or(t)?.corrected(t))
        .unwrap_or_else(|_| {
            let [a, b, c] = *corners;
            Scaled::new(*direction, [*origin, a, b, c]).parameter().unwrap_or(guess)
        })
}

/// `(a - origin - t direction) . normal`, and a bound on its rounding error.
struct Residual {
    value: f64,
    error: f64,
}

/// `direction . normal`, and a bound on its rounding error.
struct Slope {
    value: f64,
    error: f64,
}

/// Corrects `t` until it is the exact one rounded up. If rounding could change the result, the last `t` is returned
/// as the error.
#[inline(always)]
fn correct(mut t: f64, slope: &Slope, residual: impl Fn(f64) -> Option<Residual>) -> Result<f64, f64> {
    // `false` for NaN as well.
    let is_usable = slope.error <= 1e-6 * slope.value.abs();
    if !is_usable {
        return Err(t);
    }
    let steepness = slope.value.abs();
    for _ in 0..CORRECTIONS {
        let Residual { value, error } = residual(t).ok_or(t)?;
        let correction = value / slope.value;
        let uncertainty = 1.001 * error / steepness + 3.0 * correction.abs() * (slope.error / steepness + f64::EPSILON);
        let (least, most) = (correction - uncertainty, correction + uncertainty);
        let (down, up) = (t - t.next_down(), t.next_up() - t);
        if most <= 0.0 && least > -down {
            // Avoids -0.
            return Ok(t + 0.0);
        }
        if least > 0.0 && most <= up {
            return Ok(t.next_up());
        }
        let next = t + correction;
        // `true` for NaN as well.
        let is_stuck = next == t || next.is_nan();
        if is_stuck {
            return Err(t);
        }
        t = next;
    }
    Err(t)
}

/// The plane of a triangle with a normal in `f64`.
struct Plane<'a> {
    origin: &'a [f64; 3],
    direction: &'a [f64; 3],
    corner: &'a [f64; 3],
    normal: [f64; 3],
    /// An upper bound on the products in the normal.
    area: f64,
}

impl<'a> Plane<'a> {
    #[inline(always)]
    fn new(origin: &'a [f64; 3], direction: &'a [f64; 3], [a, b, c]: &'a [[f64; 3]; 3]) -> Self {
        let u: [f64; 3] = std::array::from_fn(|k| b[k] - a[k]);
        let v: [f64; 3] = std::array::from_fn(|k| c[k] - a[k]);
        let normal = std::array::from_fn(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            u[i] * v[j] - u[j] * v[i]
        });
        Self { origin, direction, corner: a, normal, area: largest(&u) * largest(&v) }
    }

    #[inline(always)]
    fn corrected(&self, guess: f64) -> Result<f64, f64> {
        let (direction, normal) = (self.direction, &self.normal);
        let value = direction[0] * normal[0] + direction[1] * normal[1] + direction[2] * normal[2];
        let steep = largest(direction);
        // Rounding errors of the differences, products and sums: less than 32 epsilons of the bound on the products.
        let slope = Slope { value, error: 32.0 * f64::EPSILON * self.area * steep };
        let far = largest(self.origin) + largest(self.corner);
        correct(
            guess,
            &slope,
            #[inline(always)]
            |t| {
                let offset = std::array::from_fn(|k| {
                    let [high, low, _] = offset(self.origin[k], direction[k], self.corner[k], t);
                    high + low
                });
                let value = offset[0] * normal[0] + offset[1] * normal[1] + offset[2] * normal[2];
                let moved = t.abs() * steep;
                let error = 64.0 * f64::EPSILON * self.area * (largest(&offset) + 2.0 * f64::EPSILON * (far + moved));
                (error > LEAST_BOUND).then_some(Residual { value, error })
            },
        )
    }
}

/// `a - origin - t direction` along one axis, as a sum of two numbers, and a bound on its error.
#[inline(always)]
fn offset(origin: f64, direction: f64, corner: f64, t: f64) -> [f64; 3] {
    let [along, along_rest] = two_product(t, direction);
    let [to, to_rest] = two_sum(corner, -origin);
    let [rest, rest_rest] = two_sum(to, -along);
    let low = to_rest - along_rest + rest_rest;
    [rest, low, 2.0 * f64::EPSILON * (to_rest.abs() + along_rest.abs() + rest_rest.abs())]
}

/// The same plane with a normal of twice the digits: numbers, their rounding errors, and bounds on the remaining
/// errors.
struct DoublePlane<'a> {
    origin: &'a [f64; 3],
    direction: &'a [f64; 3],
    corner: &'a [f64; 3],
    high: [f64; 3],
    low: [f64; 3],
    error: [f64; 3],
}

impl<'a> DoublePlane<'a> {
    /// `None` if products of these numbers could overflow or underflow.
    fn new(origin: &'a [f64; 3], direction: &'a [f64; 3], [a, b, c]: &'a [[f64; 3]; 3]) -> Option<Self> {
        let [u, v]: [[[f64; 2]; 3]; 2] = [b, c].map(|end| std::array::from_fn(|k| two_sum(end[k], -a[k])));
        let are_moderate = |edge: &[[f64; 2]; 3]| edge.iter().all(|&[high, low]| is_moderate(high) && is_rest(low));
        if !(are_moderate(&u) && are_moderate(&v) && direction.iter().all(|&x| is_moderate(x))) {
            return None;
        }
        let mut plane = Self { origin, direction, corner: a, high: [0.0; 3], low: [0.0; 3], error: [0.0; 3] };
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let [p, p_rest] = two_product(u[i][0], v[j][0]);
            let [q, q_rest] = two_product(u[j][0], v[i][0]);
            let [difference, rest] = two_sum(p, -q);
            let of_p = [u[i][0] * v[j][1], u[i][1] * v[j][0]];
            let of_q = [u[j][0] * v[i][1], u[j][1] * v[i][0]];
            let low = rest + (p_rest - q_rest) + (of_p[0] + of_p[1]) - (of_q[0] + of_q[1]);
            let rests = [rest, p_rest, q_rest, of_p[0], of_p[1], of_q[0], of_q[1]];
            // Seven sums, and the products of the rounding errors of both factors.
            plane.error[k] = 8.0 * f64::EPSILON * rests.iter().map(|x| x.abs()).sum::<f64>();
            [plane.high[k], plane.low[k]] = two_sum(difference, low);
        }
        plane.high.iter().all(|&x| is_moderate(x)).then_some(plane)
    }

    fn corrected(&self, guess: f64) -> Result<f64, f64> {
        let products: [f64; 3] = std::array::from_fn(|k| self.direction[k] * self.high[k]);
        let most = products.iter().map(|x| x.abs()).sum::<f64>();
        let ignored: f64 = (0..3).map(|k| self.direction[k].abs() * (self.low[k].abs() + self.error[k])).sum();
        let value = products[0] + products[1] + products[2];
        let slope = Slope { value, error: 4.0 * f64::EPSILON * most + 1.001 * ignored };
        correct(guess, &slope, |t| self.residual(t))
    }

    /// `None` if products could overflow or underflow.
    fn residual(&self, t: f64) -> Option<Residual> {
        let (mut high, mut low, mut rests, mut error) = (0.0, 0.0, 0.0f64, 0.0f64);
        let mut are_moderate = is_moderate(t);
        for k in 0..3 {
            let [far, rest, off] = offset(self.origin[k], self.direction[k], self.corner[k], t);
            let [far, rest] = two_sum(far, rest);
            are_moderate &= is_moderate(far) && is_rest(rest);
            let [product, product_rest] = two_product(far, self.high[k]);
            let more = [product_rest, far * self.low[k], rest * self.high[k]];
            let [sum, sum_rest] = two_sum(high, product);
            high = sum;
            low += sum_rest + (more[0] + more[1] + more[2]);
            rests += sum_rest.abs() + more[0].abs() + more[1].abs() + more[2].abs();
            error += far.abs() * self.error[k] + off * self.high[k].abs();
        }
        // At most sixteen roundings of sums and products, and the products of the rounding errors of both factors.
        let error = 1.01 * (16.0 * f64::EPSILON * rests + error);
        are_moderate.then_some(Residual { value: high + low, error })
    }
}

/// Returns `true` if products of three such numbers, and their rounding errors, are far from the limits of `f64`.
#[inline(always)]
fn is_moderate(x: f64) -> bool {
    x == 0.0 || (1e-50..=1e80).contains(&x.abs())
}

/// Same as [`is_moderate`], for the rounding error of a number.
#[inline(always)]
fn is_rest(x: f64) -> bool {
    x == 0.0 || x.abs() >= 1e-120
}

#[inline(always)]
fn largest([a, b, c]: &[f64; 3]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    larger(a.abs(), larger(b.abs(), c.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mixed;

    /// The results of the two methods before exact sums, and of exact sums.
    fn answers(origin: [f64; 3], direction: [f64; 3], corners: [[f64; 3]; 3], guess: f64) -> [Option<f64>; 3] {
        let [a, b, c] = corners;
        [
            Plane::new(&origin, &direction, &corners).corrected(guess).ok(),
            DoublePlane::new(&origin, &direction, &corners).and_then(|plane| plane.corrected(guess).ok()),
            Scaled::new(direction, [origin, a, b, c]).parameter(),
        ]
    }

    /// The direction and the guess of a ray towards a target, wrong by some rounding errors.
    fn aimed(origin: [f64; 3], target: [f64; 3], t: f64, round: u64) -> ([f64; 3], f64) {
        let direction = std::array::from_fn(|k| ((target[k] - origin[k]) / t) as f32 as f64);
        (direction, t * (1.0 + (round % 7) as f64 * 1e-8))
    }

    /// Rays in single precision, and triangles as large as their distance. All results of both methods must equal
    /// those of exact sums, and exact sums must be needed in almost no case.
    #[test]
    fn large_triangles_need_no_exact_sums() {
        let mut place = 0;
        let mut number = |_| {
            place += 1;
            ((mixed(place) >> 40) as f64 / (1 << 23) as f64 - 1.0) as f32 as f64
        };
        let mut undecided = [0; 2];
        const ROUNDS: u64 = 20_000;
        for round in 0..ROUNDS {
            let [origin, a, b, c]: [[f64; 3]; 4] = std::array::from_fn(|_| std::array::from_fn(&mut number));
            let target = std::array::from_fn(|k| 0.25 * a[k] + 0.25 * b[k] + 0.5 * c[k]);
            let (direction, guess) = aimed(origin, target, 0.7 + (round % 64) as f64, round);
            let [quick, double, exact] = answers(origin, direction, [a, b, c], guess);
            assert!(exact.is_some());
            for (method, answer) in [quick, double].into_iter().enumerate() {
                undecided[method] += usize::from(answer.is_none());
                assert!(answer.is_none() || answer == exact, "{answer:?} {exact:?}");
            }
        }
        // Some planes are met at such a small angle that their slope has few digits.
        assert!(undecided[1] <= 4, "{undecided:?}");
        assert!(undecided[0] > ROUNDS as usize / 2, "{undecided:?}");
    }

    /// If nothing is rounded, the second method decides: for planes along the axes, and for slanted planes of
    /// integers that are met at numbers with few digits.
    #[test]
    fn exact_parameters_are_decided() {
        let mut state = 0;
        let mut integer = |_| {
            state += 1;
            (mixed(state) % 64) as f64 - 32.0
        };
        let mut met = 0;
        for round in 0..5000 {
            let axis = round as usize % 3;
            let [a, mut b, mut c]: [[f64; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(&mut integer));
            if round % 2 == 0 {
                (b[axis], c[axis]) = (a[axis], a[axis]);
            }
            let direction: [f64; 3] = std::array::from_fn(&mut integer);
            // The origin lies some eighths of the direction before a corner.
            let t = ((mixed(round) % 64) as f64 - 8.0) / 8.0;
            let origin = std::array::from_fn(|k| a[k] - t * direction[k]);
            let [_, double, exact] = answers(origin, direction, [a, b, c], t);
            if exact.is_some() {
                assert_eq!((double, exact), (Some(t), Some(t)), "{origin:?} {direction:?} {a:?} {b:?} {c:?}");
                met += 1;
            }
        }
        assert!(met > 4500, "{met}");
    }

    /// Numbers near the limits of `f64` are left to exact sums.
    #[test]
    fn extreme_numbers_are_left_over() {
        let corners = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
        let scaled = |factor: f64| corners.map(|corner| corner.map(|x| x * factor));
        let direction = [0.1, 0.1, 1.0];
        assert_eq!(answers([0.0; 3], direction, scaled(1.0), 1.0)[1], Some(1.0));
        for factor in [1e-150, 1e-60, 1e100, 1e150] {
            assert_eq!(answers([0.0; 3], direction, scaled(factor), factor)[1], None, "{factor}");
        }
        assert_eq!(answers([1e-200, 0.0, 0.0], direction, scaled(1.0), 1.0)[1], None);
        assert_eq!(answers([0.0; 3], direction, scaled(1.0), f64::NAN)[..2], [None; 2]);
    }
}
