//! Densities, compared with their definition on clouds that have caused failures before.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::Scalar;
use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};

use super::definition;

const KERNELS: [DensityKernel; 3] = [DensityKernel::Symmetric, DensityKernel::Gather, DensityKernel::TopHat];

/// Asserts equality to 12 digits; infinities are equal.
#[track_caller]
pub fn assert_close(found: &[f64], expected: &[f64], context: &str) {
    assert_close_beside(found, expected, &vec![0.0; expected.len()], context);
}

/// Asserts equality to 12 digits, except for values that are negligible in comparison with `beside`. On a lattice, a
/// kernel may end exactly at its last neighbour, whose tiny contribution depends on the last bit of a root.
#[track_caller]
fn assert_close_beside(found: &[f64], expected: &[f64], beside: &[f64], context: &str) {
    assert_eq!((found.len(), beside.len()), (expected.len(), expected.len()), "{context}");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        if (found - expected).abs() <= 1e-15 * beside[i] {
            continue;
        }
        assert!(
            found == expected || (found / expected - 1.0).abs() <= 1e-12,
            "{i}: {found:e} for {expected:e}, {context}"
        );
    }
}

fn compare<S: Scalar, const D: usize>(Cloud { name, points, side, .. }: &Cloud<S, D>) {
    let n = points.len();
    let mut random = Random::new(n as u64);
    let unequal: Vec<f64> = (0..n).map(|_| 10f64.powf(3.0 * random.unit()) * random.below(5) as f64).collect();
    for n_density in [1, 2, 7, 64, n.saturating_sub(1)] {
        if n_density == 0 || n_density >= n {
            continue;
        }
        for side in [None, Some(*side)] {
            let lists = definition::nearest_lists(points, n_density, side);
            for kernel in KERNELS {
                for masses in [None, Some(&unequal)] {
                    let mut options = KernelDensity::new()
                        .n_density(n_density)
                        .kernel(kernel)
                        .unit(DensityUnit::Absolute)
                        .periodic(side);
                    if let Some(masses) = masses {
                        options = options.masses(masses.as_slice());
                    }
                    let found = options.run(points).unwrap();
                    let masses = masses.cloned().unwrap_or(vec![1.0; n]);
                    let largest = vec![masses.iter().copied().fold(0.0, f64::max); n];
                    let beside = definition::densities::<D>(&lists, &largest, kernel);
                    let expected = definition::densities::<D>(&lists, &masses, kernel);
                    assert_close_beside(
                        &found,
                        &expected,
                        &beside,
                        &format!("{name}, {D} dimensions, {n_density}, {kernel:?}, {side:?}"),
                    );
                }
            }
        }
    }
}

fn compare_all<S: Scalar, const D: usize>() {
    for cloud in clouds::small::<S, D>() {
        // Densities of the largest coordinates and of denormals are out of the range of f64.
        if !["denormals", "extremes", "empty", "one"].contains(&cloud.name) {
            compare(&cloud);
        }
    }
}

#[test]
fn clouds_of_f32_in_space() {
    compare_all::<f32, 3>();
}

#[test]
fn clouds_of_f64_in_space() {
    compare_all::<f64, 3>();
}

#[test]
fn clouds_in_the_plane() {
    compare_all::<f32, 2>();
    compare_all::<f64, 2>();
}

#[test]
fn particles_of_a_snapshot() {
    compare(&Cloud {
        points: clouds::snapshot::<f32, 3>().unwrap().points[..500].to_vec(),
        ..clouds::snapshot().unwrap()
    });
}
