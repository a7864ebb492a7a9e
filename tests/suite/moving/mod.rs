//! Moving points: trees that are refitted or rebuilt, and results in reused memory.

mod into;
mod rebuild;
mod refit;

use common::random::Random;
use ropewalk::geometry::BoxSize;
use ropewalk::{Bounded, Bvh, Scalar};

fn with_threads<R: Send>(threads: usize, task: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(task)
}

fn build<S: Scalar, T: Bounded<S, D>, const D: usize>(primitives: &[T], side: Option<f64>) -> Bvh<S, D> {
    Bvh::build_periodic(primitives, BoxSize::from(side)).unwrap()
}

/// Returns `n` points in the unit cube, half of them in clumps.
fn cloud<S: Scalar, const D: usize>(n: usize, seed: u64) -> Vec<[S; D]> {
    let mut random = Random::new(seed);
    let centers: Vec<[f64; D]> = (0..10).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let point = |i: usize| match i % 2 {
        0 => std::array::from_fn(|_| S::from_f64(random.unit())),
        _ => centers[i / 2 % 10].map(|x| S::from_f64(x + 0.02 * random.normal())),
    };
    (0..n).map(point).collect()
}

/// Returns the points after moving each by about `step` along each axis.
fn moved<S: Scalar, const D: usize>(points: &[[S; D]], step: f64, seed: u64) -> Vec<[S; D]> {
    let mut random = Random::new(seed);
    points.iter().map(|point| point.map(|x| S::from_f64(Into::<f64>::into(x) + step * random.normal()))).collect()
}
