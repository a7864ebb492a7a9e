//! Random numbers that depend only on the seed, the purpose and the index.
//!
//! Streams belong to blocks of a fixed number of points, never to threads. A keyed permutation scatters the points of
//! a halo over the whole file. All operations are rounded exactly according to IEEE 754, so results are bitwise equal
//! on all platforms. Source: ChaCha8, Bernstein 2008; the permutation, Black and Rogaway 2002, section 5; directions,
//! Marsaglia 1972.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::error::{Error, Result};
use crate::parallel;

/// The purpose of a stream; streams of different purposes share no numbers.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    Points = 0,
    Order = 1,
    Masses = 2,
    Centers = 3,
}

/// A stream of independent random numbers.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// Creates stream `index` of a purpose.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        // The key is set here, because the expansion of `seed_from_u64` may change between versions.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream((purpose as u64) << 56 | index);
        Self(rng)
    }

    /// Draws a number uniform in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a point uniform in a cube with one corner at the origin.
    #[inline]
    pub fn cube(&mut self, side: f64) -> [f64; 3] {
        [self.unit() * side, self.unit() * side, self.unit() * side]
    }

    /// Draws a point uniform on the unit sphere, without trigonometry.
    #[inline]
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s < 1.0 {
                let scale = 2.0 * (1.0 - s).sqrt();
                return [x * scale, y * scale, 1.0 - 2.0 * s];
            }
        }
    }
}

/// A permutation of `0..n` by a key: a Feistel network on the digits of the index in base `ceil(sqrt(n))`.
///
/// The square of the base is hardly more than `n`, so an index rarely leaves the range and has to be permuted again.
#[derive(Debug)]
pub struct Permutation {
    n: u32,
    base: u32,
    keys: [u32; 4],
}

impl Permutation {
    pub fn new(n: u32, seed: u64) -> Self {
        let root = n.isqrt();
        let base = if u64::from(root) * u64::from(root) < u64::from(n) { root + 1 } else { root };
        let mut stream = Stream::new(seed, Purpose::Order, 0).0;
        Self { n, base: base.max(1), keys: std::array::from_fn(|_| stream.next_u32()) }
    }

    /// Returns the image of `index` under the permutation; `index` must be less than `n`.
    #[inline]
    pub fn of(&self, index: u32) -> u32 {
        let mut at = index;
        loop {
            let (mut left, mut right) = (at / self.base, at % self.base);
            for key in self.keys {
                let mut sum = left + self.digit(right ^ key);
                if sum >= self.base {
                    sum -= self.base;
                }
                (left, right) = (right, sum);
            }
            // At most 2^32 - 1, as the base is at most 2^16.
            at = left * self.base + right;
            if at < self.n {
                return at;
            }
        }
    }

    /// A pseudo-random digit: murmur3's finalizer, scaled down to the base.
    #[inline]
    fn digit(&self, x: u32) -> u32 {
        let mut x = x;
        x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
        x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
        x ^= x >> 16;
        ((u64::from(x) * u64::from(self.base)) >> 32) as u32
    }
}

/// Points generated from one stream. The block size is part of the meaning of a seed: changing it changes every
/// sample.
const BLOCK: usize = 4096;

/// The maximum number of points of a sample: the limit of 32-bit indices, as in [`Bvh::build`](crate::Bvh::build).
pub const MAX_POINTS: usize = u32::MAX as usize - 1;

/// Generates `n` points in `[0, side)` in parallel; point `i` is `point(i, stream)`.
///
/// Errors: more points than fit into memory.
pub fn fill(
    n: usize,
    side: f64,
    seed: u64,
    point: impl Fn(u32, &mut Stream) -> [f64; 3] + Sync,
) -> Result<Vec<[f32; 3]>> {
    let mut points = bytemuck::allocation::try_zeroed_vec::<[f32; 3]>(n)
        .map_err(|()| Error::memory(n, "points", n as u128 * size_of::<[f32; 3]>() as u128))?;
    let top = below(side);
    parallel::fill(&mut points, BLOCK, &|range, points| {
        let mut stream = Stream::new(seed, Purpose::Points, (range.start / BLOCK) as u64);
        for (index, out) in (range.start as u32..).zip(points) {
            *out = point(index, &mut stream).map(|x| (x as f32).clamp(0.0, top));
        }
    });
    Ok(points)
}

/// The largest `f32` below `side`: rounding to `f32` must not move a point onto the far face.
fn below(side: f64) -> f32 {
    let nearest = side as f32;
    if f64::from(nearest) < side { nearest } else { nearest.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_met_once() {
        for n in (0..200).chain([255, 256, 257, 65_535, 65_536, 65_537, 100_003]) {
            let permutation = Permutation::new(n, 7);
            let mut images: Vec<u32> = (0..n).map(|i| permutation.of(i)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..n), "n = {n}");
        }
    }

    #[test]
    fn the_longest_permutation_stays_in_range() {
        let n = MAX_POINTS as u32;
        let permutation = Permutation::new(n, 7);
        assert!([0, 1, n / 2, n - 1].iter().all(|&i| permutation.of(i) < n));
    }

    #[test]
    fn neighbours_part() {
        // Correlations of the index with its image, and of the images of neighbouring indices: each about 1/sqrt(n) by
        // chance.
        let n = 100_000;
        let permutation = Permutation::new(n, 1);
        let centered = |i: u32| f64::from(permutation.of(i)) / f64::from(n) - 0.5;
        let index: f64 = (0..n).map(|i| centered(i) * (f64::from(i) / f64::from(n) - 0.5)).sum();
        let next: f64 = (1..n).map(|i| centered(i) * centered(i - 1)).sum();
        for correlation in [index, next] {
            assert!(correlation.abs() * 12.0 / f64::from(n) < 0.01, "{correlation}");
        }
    }

    #[test]
    fn streams_differ() {
        let first = |seed, purpose, index| Stream::new(seed, purpose, index).unit();
        let base = first(1, Purpose::Points, 1);
        assert_eq!(base, first(1, Purpose::Points, 1));
        for other in [first(2, Purpose::Points, 1), first(1, Purpose::Masses, 1), first(1, Purpose::Points, 2)] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn directions_are_unit_and_balanced() {
        let mut stream = Stream::new(3, Purpose::Points, 0);
        let mut sum = [0.0; 3];
        for _ in 0..10_000 {
            let d = stream.direction();
            assert!((d.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            (0..3).for_each(|k| sum[k] += d[k]);
        }
        assert!(sum.iter().all(|s| s.abs() < 300.0), "{sum:?}");
    }

    #[test]
    fn the_far_wall_is_outside() {
        for side in [1.0, 0.1, 100.0, 1e-30, 1e15, f64::from(16_777_217u32)] {
            assert!(f64::from(below(side)) < side && f64::from(below(side).next_up()) >= side, "{side}");
        }
    }
}
