//! Sums of products without rounding, for the few cases in which rounding could decide.
//!
//! In: numbers. Out: the sum, rounded once, so that its sign is right. Cost: some microseconds.
//! It is exact where products neither overflow nor underflow: factors are scaled by powers of two, so that the largest is about 1, and none
//! but 0 may be below 1e-60 of it. Source: Dekker 1971 (products); Shewchuk 1997 (expansions).

/// The sum and what it is rounded by.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let of_b = sum - a;
    [sum, (a - (sum - of_b)) + (b - of_b)]
}

/// The product and what it is rounded by.
#[inline(always)]
fn two_product(a: f64, b: f64) -> [f64; 2] {
    let halves = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        [high, x - high]
    };
    let ([a1, a2], [b1, b2]) = (halves(a), halves(b));
    let product = a * b;
    [product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)]
}

/// An exact sum: parts that do not overlap, the smallest first.
#[derive(Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn add(&mut self, x: f64) {
        let mut carried = x;
        // Parts that become 0 are dropped.
        self.0.retain_mut(|part| {
            let [sum, rest] = two_sum(carried, *part);
            (carried, *part) = (sum, rest);
            rest != 0.0
        });
        if carried != 0.0 {
            self.0.push(carried);
        }
    }

    /// Adds a product of three.
    fn add_product(&mut self, a: f64, b: f64, c: f64) {
        for part in two_product(a, b) {
            for part in two_product(part, c) {
                self.add(part);
            }
        }
    }

    /// The sum, rounded; its sign is that of the largest part.
    fn value(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Two to the power by which the largest number is multiplied to be about 1.
fn scale<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    let most = numbers.fold(0.0, |most, x| f64::max(most, x.abs()));
    let exponent = if most > 0.0 { -most.log2().floor() } else { 0.0 };
    exponent.clamp(-1000.0, 1000.0).exp2()
}

/// A direction and points whose largest coordinates are about 1, and what volumes of them are to be divided by.
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

    /// `direction . ((p - o) x (q - o))`, for the points with these numbers; not 0 unless it is exactly 0.
    pub fn volume(&self, [o, p, q]: [usize; 3]) -> f64 {
        let mut sum = Expansion::default();
        let (d, [o, p, q]) = (&self.direction, [o, p, q].map(|at| &self.points[at]));
        for (k, &d) in d.iter().enumerate() {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            for (a, b) in [(p, q), (q, o), (o, p)] {
                sum.add_product(d, a[i], b[j]);
                sum.add_product(-d, a[j], b[i]);
            }
        }
        self.unscaled(sum.value(), 1)
    }

    /// `(a - o) . ((b - a) x (c - a))`, the volume between a point and a triangle; not 0 unless it is exactly 0.
    pub fn height(&self, [o, a, b, c]: [usize; 4]) -> f64 {
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
        self.unscaled(sum.value(), 0)
    }

    /// The first part of `direction x (q - p)` that is not 0, or 0.
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

    /// In the caller's unit, the sign kept whatever underflows.
    fn unscaled(&self, value: f64, directions: u32) -> f64 {
        let mut out = if directions == 1 { value / self.scales[0] } else { value / self.scales[1] };
        out = out / self.scales[1] / self.scales[1];
        if out == 0.0 && value != 0.0 { f64::MIN_POSITIVE.copysign(value) } else { out.clamp(-f64::MAX, f64::MAX) }
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
            // Of 20 bits, shifted: far more than a double holds of a product.
            i128::from(state >> 44) - (1 << 19)
        };
        for round in 0..200 {
            let mut point = || [number(), number(), number()];
            let (d, o, p) = (point(), point(), point());
            let mut q = point();
            if round % 2 == 0 {
                // The line from the origin meets the edge, but for one unit.
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
            assert_eq!(scaled.height([0, 1, 2, 3]), dot(p1, cross(minus(q, p), minus(d, p))) as f64);
            let first = cross(d, minus(q, p)).into_iter().find(|&x| x != 0).unwrap_or(0);
            assert_eq!(scaled.first_of_cross([1, 2]).signum() as i128, first.signum());
        }
    }
}
