//! Sums of products without rounding.
//!
//! In: terms. Out: parts that do not overlap, and the rounded sum, whose sign is exact unless products underflow.
//! Cost: some microseconds per sum, and 16 bytes of a thread's memory per term.

use cubecl::prelude::*;

/// Parts per loop iteration.
pub(in crate::gpu) const STEP: u32 = 12;

/// Returns `x`, XORed with `zero_bits`, which is 0 at run time. This keeps Vulkan's compilers from simplifying
/// `(a + b) - a` to `b`, and from reassociating sums.
#[cube]
fn opaque(x: f64, zero_bits: u64) -> f64 {
    f64::reinterpret(u64::reinterpret(x) ^ zero_bits)
}

/// Returns the rounded sum and its rounding error.
#[cube]
pub(in crate::gpu) fn two_sum(a: f64, b: f64, zero_bits: u64) -> (f64, f64) {
    let sum = opaque(a + b, zero_bits);
    let of_b = opaque(sum - a, zero_bits);
    let of_a = opaque(sum - of_b, zero_bits);
    let (rest_a, rest_b) = (opaque(a - of_a, zero_bits), opaque(b - of_b, zero_bits));
    (sum, opaque(rest_a + rest_b, zero_bits))
}

/// Splits a number into two halves. `split` is 2^27 + 1, which `f32` cannot represent.
#[cube]
fn halves(x: f64, zero_bits: u64, split: f64) -> (f64, f64) {
    let c = opaque(split * x, zero_bits);
    let high = opaque(c - opaque(c - x, zero_bits), zero_bits);
    (high, opaque(x - high, zero_bits))
}

/// Returns the rounded product and its rounding error.
#[cube]
pub(in crate::gpu) fn two_product(a: f64, b: f64, zero_bits: u64, split: f64) -> (f64, f64) {
    let (a1, a2) = halves(a, zero_bits, split);
    let (b1, b2) = halves(b, zero_bits, split);
    let all = opaque(a * b, zero_bits);
    let first = opaque(all - opaque(a1 * b1, zero_bits), zero_bits);
    let second = opaque(first - opaque(a2 * b1, zero_bits), zero_bits);
    let third = opaque(second - opaque(a1 * b2, zero_bits), zero_bits);
    (all, opaque(opaque(a2 * b2, zero_bits) - third, zero_bits))
}

/// An exact sum of terms, which are added in their order.
#[derive(CubeType)]
pub(in crate::gpu) struct Expansion {
    /// The maximum number of terms.
    #[cube(comptime)]
    capacity: usize,
    zero_bits: u64,
    split: f64,
    terms: Array<f64>,
    n_terms: Array<u32>,
}

#[cube]
impl Expansion {
    /// Creates an empty sum. `zero_bits` is 0, but unknown to the compiler, and `split` is 2^27 + 1.
    pub fn new(zero_bits: u64, split: f64, #[comptime] capacity: usize) -> Expansion {
        let mut n_terms = Array::<u32>::new(1usize);
        n_terms[0] = 0;
        Expansion { capacity, zero_bits, split, terms: Array::<f64>::new(capacity), n_terms }
    }

    pub fn add(&mut self, x: f64) {
        self.terms[self.n_terms[0] as usize] = x;
        self.n_terms[0] = self.n_terms[0] + 1;
    }

    /// Adds a product of three numbers.
    pub fn add_product(&mut self, a: f64, b: f64, c: f64) {
        let (high, low) = two_product(a, b, self.zero_bits, self.split);
        self.add_two(high, c);
        self.add_two(low, c);
    }

    /// Adds a product of two numbers.
    pub fn add_two(&mut self, a: f64, b: f64) {
        let (high, low) = two_product(a, b, self.zero_bits, self.split);
        self.add(high);
        self.add(low);
    }

    /// Returns the rounded sum. Its sign is that of the largest part.
    pub fn value(&self) -> f64 {
        let mut parts = Array::<f64>::new(comptime!(self.capacity + STEP as usize));
        let len = self.parts(&mut parts);
        sum_of(&parts, len)
    }

    /// Computes the sum as parts that do not overlap, the smallest first, and returns their number.
    ///
    /// A software driver of Vulkan ends all loops of a thread after 65,535 iterations. The first [`STEP`] parts are
    /// therefore added without a loop.
    pub fn parts(&self, parts: &mut Array<f64>) -> u32 {
        let zero = f64::new(0.0);
        let (mut carried, mut counts) = (Array::<f64>::new(1usize), Array::<u32>::new(2usize));
        // The number of parts, and the number of parts kept so far.
        counts[0] = 0;
        for term in 0..self.n_terms[0] {
            carried[0] = self.terms[term as usize];
            counts[1] = 0;
            let len = counts[0] + 0;
            take(parts, &mut carried, &mut counts, 0u32.runtime(), len, self.zero_bits);
            if len > STEP {
                for step in 1..len.div_ceil(STEP) {
                    take(parts, &mut carried, &mut counts, step * STEP, len, self.zero_bits);
                }
            }
            if carried[0] != zero {
                parts[counts[1] as usize] = carried[0];
                counts[1] = counts[1] + 1;
            }
            counts[0] = counts[1];
        }
        counts[0]
    }
}

/// Returns the sum of parts, added from the smallest one.
#[cube]
pub(in crate::gpu) fn sum_of(parts: &Array<f64>, len: u32) -> f64 {
    let mut sum = Array::<f64>::new(1usize);
    sum[0] = f64::new(0.0);
    for at in 0..len {
        sum[0] = sum[0] + parts[at as usize];
    }
    sum[0]
}

/// Adds the carried number to the parts from one place on, and keeps the rounding errors.
#[cube]
fn take(
    parts: &mut Array<f64>,
    carried: &mut Array<f64>,
    counts: &mut Array<u32>,
    from: u32,
    len: u32,
    zero_bits: u64,
) {
    #[unroll]
    for k in 0..STEP {
        let at = from + k;
        if at < len {
            let (sum, rest) = two_sum(carried[0], parts[at as usize], zero_bits);
            carried[0] = sum;
            // Parts that become 0 are dropped.
            if rest != f64::new(0.0) {
                parts[counts[1] as usize] = rest;
                counts[1] = counts[1] + 1;
            }
        }
    }
}
