//! A sum that does not depend on the order or the grouping of its terms.
//!
//! In: numbers. Out: their sum, rounded once. Cost: a few nanoseconds per number, and 568 bytes.
//! Source: Kulisch, "Computer Arithmetic and Validity" (2013): a register as wide as the exponent range of the
//! format.

use crate::parallel::map_tasks;

/// The bits of a digit. The upper half of a word holds carries.
const DIGIT: u32 = 32;
/// The number of digits from the smallest 64-bit float, 2^-1074, to the largest, including room for carries.
const DIGITS: usize = 70;
/// The number of terms that are added before carries are propagated.
const TERMS: u32 = 1 << 29;
/// Numbers per parallel task.
const TASK: usize = 1 << 16;

/// A sum of masses that is exact until it is rounded. Partial sums that are merged equal the sum of the whole, bit
/// for bit.
///
/// ```
/// use ropewalk::halo::MassSum;
///
/// let masses = [0.1, 1e16, 0.3, -1e16];
/// let whole = MassSum::from_values(&masses);
/// let mut parts = MassSum::from_values(&masses[..1]);
/// parts.merge(&MassSum::from_values(&masses[1..]));
/// assert_eq!((parts.value(), whole.value()), (0.4, 0.4));
/// // Between processes, words are added independently.
/// let words: Vec<i64> = whole.words().iter().map(|word| word + word).collect();
/// assert_eq!(MassSum::from_words(&words).map(|sum| sum.value()), Some(0.8));
/// ```
#[derive(Clone, Debug)]
pub struct MassSum {
    digits: [i64; DIGITS],
    /// The number of terms that are not finite.
    non_finite: i64,
    /// The number of terms added since carries were propagated.
    terms: u32,
}

impl Default for MassSum {
    /// The empty sum, 0.
    fn default() -> Self {
        Self { digits: [0; DIGITS], non_finite: 0, terms: 0 }
    }
}

impl PartialEq for MassSum {
    /// Compares the sums before rounding.
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl MassSum {
    /// The number of [`words`](Self::words).
    pub const WORDS: usize = DIGITS + 1;

    /// Sums values, in parallel.
    pub fn from_values(values: &[f64]) -> Self {
        let sums = map_tasks(values.len(), TASK, &|range| {
            let mut sum = Self::default();
            values.get(range).unwrap_or_default().iter().for_each(|&value| sum.add(value));
            sum
        });
        sums.iter().fold(Self::default(), |mut all, sum| {
            all.merge(sum);
            all
        })
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.add_times(value, 1);
    }

    /// Adds a value `count` times.
    pub fn add_times(&mut self, value: f64, count: u64) {
        if !value.is_finite() {
            self.non_finite += i64::from(count > 0);
            return;
        }
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        // The value is mantissa * 2^(shift - 1074).
        let (mantissa, shift) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent as u32 - 1) };
        let (first, shift) = ((shift / DIGIT) as usize, shift % DIGIT);
        let sign = if value < 0.0 { -1 } else { 1 };
        let mut left = u128::from(mantissa) * u128::from(count);
        let mut carry = 0;
        for digit in self.digits.iter_mut().skip(first) {
            if left == 0 && carry == 0 {
                break;
            }
            let wide = (left as u64 & 0xffff_ffff) << shift | carry;
            *digit += sign * (wide & 0xffff_ffff) as i64;
            (carry, left) = (wide >> DIGIT, left >> DIGIT);
        }
        self.terms += 1;
        if self.terms >= TERMS {
            self.propagate_carries();
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.propagate_carries();
        let mut other = other.clone();
        other.propagate_carries();
        self.digits.iter_mut().zip(other.digits).for_each(|(own, digit)| *own += digit);
        self.non_finite = self.non_finite.saturating_add(other.non_finite);
        self.propagate_carries();
    }

    /// Propagates carries, so that each digit has [`DIGIT`] bits; the last digit keeps the sign.
    fn propagate_carries(&mut self) {
        let mut carry = 0;
        if let Some((last, others)) = self.digits.split_last_mut() {
            for digit in others {
                let all = *digit + carry;
                (*digit, carry) = (all & 0xffff_ffff, all >> DIGIT);
            }
            *last = last.saturating_add(carry);
        }
        self.terms = 0;
    }

    /// Returns the sum as words. Words of up to 2^30 sums may be added independently, as an all-reduce does.
    pub fn words(&self) -> [i64; Self::WORDS] {
        let mut settled = self.clone();
        settled.propagate_carries();
        let mut words = [0; Self::WORDS];
        words.iter_mut().zip(settled.digits.iter().chain([&settled.non_finite])).for_each(|(word, own)| *word = *own);
        words
    }

    /// Creates a sum from its words, or from the added words of several sums; `None` unless there are
    /// [`MassSum::WORDS`].
    #[cfg(any(feature = "distributed", test))]
    pub fn from_words(words: &[i64]) -> Option<Self> {
        let (digits, non_finite) = words.split_first_chunk::<DIGITS>()?;
        let &[non_finite] = non_finite else { return None };
        let mut sum = Self { digits: *digits, non_finite, terms: 0 };
        sum.propagate_carries();
        Some(sum)
    }

    /// Creates a sum whose value is NaN, for terms that could not be read.
    #[doc(hidden)]
    pub fn non_finite() -> Self {
        Self { non_finite: 1, ..Self::default() }
    }

    /// Returns the sum, rounded to the nearest float; NaN if a term is not finite.
    pub fn value(&self) -> f64 {
        if self.non_finite != 0 {
            return f64::NAN;
        }
        let mut sum = self.clone();
        sum.propagate_carries();
        let is_negative = sum.digits[DIGITS - 1] < 0;
        if is_negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.propagate_carries();
        }
        // Three digits have at least 65 bits, more than the mantissa of a float, or are all there are.
        let Some(high) = sum.digits.iter().rposition(|&digit| digit != 0) else { return 0.0 };
        let low = high.saturating_sub(2);
        let (below, rest) = sum.digits.split_at(low);
        let mut top = rest.iter().take(3).rev().fold(0u128, |top, &digit| top << DIGIT | digit as u128);
        top |= u128::from(below.iter().any(|&digit| digit != 0));
        let power = DIGIT as i32 * low as i32 - 1074;
        // In two steps, since one factor could be below the range of floats; neither step rounds.
        let half = power / 2;
        let value = top as f64 * power_of_two(half) * power_of_two(power - half);
        if is_negative { -value } else { value }
    }
}

/// Returns 2^`power`; the result must be a normal number.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((1023 + power) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let tiny = f64::from_bits(1);
        for (values, sum) in [
            (vec![], 0.0),
            (vec![tiny, tiny, tiny], f64::from_bits(3)),
            (vec![f64::MAX, f64::MAX, -f64::MAX, tiny, -f64::MAX], tiny),
            (vec![f64::MAX, f64::MAX], f64::INFINITY),
            (vec![-1.5, 0.25], -1.25),
            (vec![1.0, f64::EPSILON / 2.0], 1.0),
            // Half of a unit in the last place, and the smallest number.
            (vec![1.0, f64::EPSILON / 2.0, tiny], 1.0 + f64::EPSILON),
            (vec![1.0 + f64::EPSILON, f64::EPSILON / 2.0], 1.0 + 2.0 * f64::EPSILON),
            (vec![-1.0, -f64::EPSILON / 2.0, -tiny], -1.0 - f64::EPSILON),
            (vec![f64::MIN_POSITIVE, -tiny], f64::from_bits((1 << 52) - 1)),
        ] {
            assert_eq!(MassSum::from_values(&values).value().to_bits(), sum.to_bits(), "{values:?}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(MassSum::from_values(&[1.0, bad]).value().is_nan());
        }
        assert!(MassSum::non_finite().value().is_nan());
        assert!(MassSum::from_words(&[0; 3]).is_none());
    }

    /// Integers times a power of two, whose sum fits 128 bits.
    #[test]
    fn sums_of_many() {
        for power in [-1074, -1000, -40, 0, 33, 900] {
            let scale = |x: f64| x * power_of_two(power / 2) * power_of_two(power - power / 2);
            let mut seed = 1u64;
            let whole: Vec<i64> = (0..10_000)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (seed as i64) >> 12
                })
                .collect();
            let values: Vec<f64> = whole.iter().map(|&x| scale(x as f64)).collect();
            let expected = scale(whole.iter().map(|&x| i128::from(x)).sum::<i128>() as f64);
            let sum = MassSum::from_values(&values);
            assert_eq!(sum.value(), expected, "{power}");
            let mut turned = MassSum::default();
            values.iter().rev().for_each(|&value| turned.add(value));
            assert_eq!(turned, sum);
        }
    }

    #[test]
    fn many_times() {
        for count in [0, 1, 3, u64::from(u32::MAX), u64::MAX] {
            let mut sum = MassSum::default();
            sum.add_times(3.0, count);
            assert_eq!(sum.value(), (3 * u128::from(count)) as f64);
            sum.add_times(-3.0, count);
            assert_eq!(sum, MassSum::default());
        }
    }
}
