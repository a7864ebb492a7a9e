//! Sums of products without rounding, for the few cases in which rounding could change a decision.
//!
//! Input: numbers. Output: their sum, rounded once, so that its sign is correct. Cost: a few microseconds.
//! The sum is exact if products neither overflow nor underflow. Factors are scaled by powers of two so that the
//! largest is about 1, and all others must be 0 or at least 1e-60 of it.
//! Source: Dekker 1971 (products); Shewchuk 1997 (expansions).

/// The sum and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let of_b = sum - a;
    [sum, (a - (sum - of_b)) + (b - of_b)]
}

/// The product and its rounding error.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> [f64; 2] {
    let halves = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        [high, x - high]
    };
    let ([a1, a2], [b1, b2]) = (halves(a), halves(b));
    let product = a * b;
    [product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)]
}

/// An exact sum, stored as parts that do not overlap, smallest first.
#[derive(Clone, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn add(&mut self, x: f64) {
        let mut carried = x;
        // Parts that become 0 are removed.
        self.0.retain_mut(|part| {
            let [sum, rest] = two_sum(carried, *part);
            (carried, *part) = (sum, rest);
            rest != 0.0
        });
        if carried != 0.0 {
            self.0.push(carried);
        }
    }

    /// Adds a product of three numbers.
    fn add_product(&mut self, a: f64, b: f64, c: f64) {
        for part in two_product(a, b) {
            for part in two_product(part, c) {
                self.add(part);
            }
        }
    }

    /// The sum, rounded. Its sign is that of the largest part.
    fn value(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// The power of two that scales the largest number to about 1.
fn scale<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    let most = numbers.fold(0.0, |most, x| f64::max(most, x.abs()));
    let exponent = if most > 0.0 { -most.log2().floor() } else { 0.0 };
    exponent.clamp(-1000.0, 1000.0).exp2()
}

/// A direction and points, scaled so that their largest coordinates are about 1, and the two scale factors.
pub(super) struct Scaled<const N: usize> {
    direction: [f64; 3],
    points: [[f64; 3]; N],
    scales: [f64; 2],
}

impl<const N: usize> Scaled<N> {
    pub fn new(direction: [f64; 3], points: [[f64; 3]; N]) -> Self {
        let scales = [scale(direction.iter()), scale(points.iter().flatten())];
        Self {
            direction: direction.map(|x| x * scales[0]),
            points: points.map(|point| point.map(|x| x * scales[1])),
            scales,
        }
    }

    /// Computes `direction . ((p - o) x (q - o))` for the points with these indices. The result is 0 only if the value
    /// is exactly 0.
    pub fn volume(&self, points: [usize; 3]) -> f64 {
        self.unscaled(self.volume_sum(points).value())
    }

    fn volume_sum(&self, [o, p, q]: [usize; 3]) -> Expansion {
        let mut sum = Expansion::default();
        let (d, [o, p, q]) = (&self.direction, [o, p, q].map(|at| &self.points[at]));
        for (k, &d) in d.iter().enumerate() {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            for (a, b) in [(p, q), (q, o), (o, p)] {
                sum.add_product(d, a[i], b[j]);
                sum.add_product(-d, a[j], b[i]);
            }
        }
        sum
    }

    /// `(a - o) . ((b - a) x (c - a))`, the volume that a point and a triangle span.
    fn height_sum(&self, [o, a, b, c]: [usize; 4]) -> Expansion {
        let mut sum = Expansion::default();
        let at = |i: usize| &self.points[i];
        for ([p, q, r], sign) in [([a, b, c], 1.0), ([o, b, c], -1.0), ([a, o, c], -1.0), ([a, b, o], -1.0)] {
            let (p, q, r) = (at(p), at(q), at(r));
            for (k, &p) in p.iter().enumerate() {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                sum.add_product(sign * p, q[i], r[j]);
                sum.add_product(-sign * p, q[j], r[i]);
            }
        }
        sum
    }

    /// Computes the first component of `direction x (q - p)` that is not 0; 0 if all are.
    pub fn first_of_cross(&self, [p, q]: [usize; 2]) -> f64 {
        let (d, p, q) = (&self.direction, &self.points[p], &self.points[q]);
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let mut sum = Expansion::default();
            for (a, b) in [(d[i], q[j]), (-d[i], p[j]), (-d[j], q[i]), (d[j], p[i])] {
                two_product(a, b).into_iter().for_each(|part| sum.add(part));
            }
            if sum.value() != 0.0 {
                return sum.value();
            }
        }
        0.0
    }

    /// Converts a value to the caller's unit. The sign is kept even if the value underflows.
    fn unscaled(&self, value: f64) -> f64 {
        let out = value / self.scales[0] / self.scales[1] / self.scales[1];
        if out == 0.0 && value != 0.0 { f64::MIN_POSITIVE.copysign(value) } else { out.clamp(-f64::MAX, f64::MAX) }
    }
}

impl Scaled<4> {
    /// Computes the smallest `f64` that is at least the `t` at which the line from the first point meets the plane of
    /// the others. `None` if the slope has no sign, or `t` leaves the range of `f64`.
    pub fn parameter(&self) -> Option<f64> {
        let (height, mut slope) = (self.height_sum([0, 1, 2, 3]), self.volume_sum([1, 2, 3]));
        let mut negated = height.clone();
        negated.0.iter_mut().for_each(|part| *part = -*part);
        let (numerator, denominator) = (height.value(), slope.value());
        if numerator == 0.0 && denominator != 0.0 {
            return Some(0.0);
        }
        // `slope * t - height` increases with `t`.
        let mut height = negated;
        if denominator < 0.0 {
            slope.0.iter_mut().chain(&mut height.0).for_each(|part| *part = -*part);
        }
        let is_below = |t: f64| {
            let mut sum = height.clone();
            for &part in &slope.0 {
                two_product(part, t).into_iter().for_each(|part| sum.add(part));
            }
            sum.value() < 0.0
        };
        let mut t = numerator / denominator;
        if !t.is_normal() {
            return None;
        }
        // The quotient is wrong by a few units in the last place.
        for _ in 0..8 {
            let down = t.next_down();
            if is_below(t) {
                t = t.next_up();
            } else if is_below(down) {
                let t = t / self.scales[1] * self.scales[0];
                return t.is_normal().then_some(t);
            } else {
                t = down;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_of_integers() {
        let mut state = 7u64;
        let mut number = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // 20 bits, shifted. Products of such numbers need far more bits than a double has.
            i128::from(state >> 44) - (1 << 19)
        };
        for round in 0..200 {
            let mut point = || [number(), number(), number()];
            let (d, o, p) = (point(), point(), point());
            let mut q = point();
            if round % 2 == 0 {
                // The line from the origin meets the edge, or misses it by one unit.
                q = std::array::from_fn(|k| 2 * o[k] + 3 * d[k] - p[k] + i128::from(round % 4 == 0 && k == 1));
            }
            let minus = |a: [i128; 3], b: [i128; 3]| -> [i128; 3] { std::array::from_fn(|k| a[k] - b[k]) };
            let (p1, q1) = (minus(p, o), minus(q, o));
            let cross = |a: [i128; 3], b: [i128; 3]| -> [i128; 3] {
                std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
            };
            let dot = |a: [i128; 3], b: [i128; 3]| (0..3).map(|k| a[k] * b[k]).sum::<i128>();
            let real = |a: [i128; 3]| a.map(|x| x as f64);
            let scaled = Scaled::new(real(d), [real(o), real(p), real(q), real(d)]);
            assert_eq!(scaled.volume([0, 1, 2]), dot(d, cross(p1, q1)) as f64);
            let height = scaled.height_sum([0, 1, 2, 3]).value() / scaled.scales[1].powi(3);
            assert_eq!(height, dot(p1, cross(minus(q, p), minus(d, p))) as f64);
            let first = cross(d, minus(q, p)).into_iter().find(|&x| x != 0).unwrap_or(0);
            assert_eq!(scaled.first_of_cross([1, 2]).signum() as i128, first.signum());
        }
    }
}
