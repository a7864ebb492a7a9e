//! Interpolation: the guarantees of each method.

mod degenerate;
mod fits;
mod refused;
mod reproduction;
mod sums;

use common::random::Random;

fn points<const D: usize>(n: usize, seed: u64) -> Vec<[f64; D]> {
    let mut random = Random::new(seed);
    (0..n).map(|_| std::array::from_fn(|_| random.unit())).collect()
}
