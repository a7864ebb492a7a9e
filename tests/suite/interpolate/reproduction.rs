//! Constants and linear fields are reproduced up to rounding, or the degree is reduced; means stay within the range
//! of values.

use common::random::Random;
use ropewalk::Scalar;
use ropewalk::interpolate::{InverseDistance, MovingLeastSquares, SmoothingKernel, Sph, Weight};

/// Returns points near a line or plane, at a distance of `off` times a random number.
fn flat<S: Scalar, const D: usize>(random: &mut Random, axes: usize, off: f64, n: usize) -> Vec<[S; D]> {
    let directions: Vec<[f64; D]> = (0..axes).map(|_| std::array::from_fn(|_| random.unit() - 0.5)).collect();
    let origin: [f64; D] = std::array::from_fn(|_| 10.0 * random.unit());
    (0..n)
        .map(|_| {
            let parts: Vec<f64> = (0..axes).map(|_| random.unit()).collect();
            std::array::from_fn(|k| {
                let along: f64 = directions.iter().zip(&parts).map(|(direction, part)| direction[k] * part).sum();
                S::from_f64(origin[k] + along + off * (random.unit() - 0.5))
            })
        })
        .collect()
}

fn check<S: Scalar, const D: usize>(random: &mut Random, axes: usize) {
    for exponent in [-1, -2, -3, -4, -5, -6, -7, -8, -9, -11, -13, -15, -30] {
        let all = flat::<S, D>(random, axes, 10f64.powi(exponent), 220);
        let (targets, sources) = all.split_at(20);
        for degree in [1, 2] {
            for weight in [Weight::Wendland2, Weight::Wendland4] {
                let fit = MovingLeastSquares::new(degree).weight(weight).prepare(sources, targets).unwrap();
                let ones = fit.apply(&vec![1.0; sources.len()]).unwrap();
                let gradient: [f64; D] = std::array::from_fn(|_| random.unit() - 0.5);
                let linear = |at: &[S; D]| at.iter().zip(gradient).map(|(&x, g)| g * Into::<f64>::into(x)).sum::<f64>();
                let field: Vec<f64> = sources.iter().map(linear).collect();
                let found = fit.apply(&field).unwrap();
                for (i, target) in targets.iter().enumerate() {
                    let size: f64 = fit.coefficients().of(i).iter().map(|c| c.abs()).sum();
                    let what = format!("{D} dimensions, {axes} axes, off by 1e{exponent}, {size}");
                    assert!((ones[i] - 1.0).abs() <= 1e-11 * size, "{what}: {}", ones[i]);
                    if fit.degrees()[i] >= 1 {
                        let error = (found[i] - linear(target)).abs();
                        assert!(error <= 1e-10 * (1.0 + size), "{what}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn sources_almost_on_a_line_or_plane() {
    let mut random = Random::new(41);
    for _ in 0..6 {
        check::<f32, 2>(&mut random, 1);
        check::<f32, 3>(&mut random, 1);
        check::<f32, 3>(&mut random, 2);
        check::<f64, 2>(&mut random, 1);
        check::<f64, 3>(&mut random, 1);
        check::<f64, 3>(&mut random, 2);
    }
}

#[test]
fn means_are_within_their_values() {
    let mut random = Random::new(42);
    let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.unit()) };
    let sources: Vec<[f64; 3]> = (0..500).map(|_| point()).collect();
    let targets: Vec<[f64; 3]> = (0..500).map(|_| point()).chain(sources[..50].iter().copied()).collect();
    let fits = [
        InverseDistance::new(2.0).prepare(&sources, &targets).unwrap(),
        InverseDistance::new(3.7).neighbors(30).prepare(&sources, &targets).unwrap(),
        InverseDistance::new(1.0).radius(0.5).prepare(&sources, &targets).unwrap(),
        MovingLeastSquares::new(0).prepare(&sources, &targets).unwrap(),
        Sph::new(SmoothingKernel::default()).neighbors(40).gather(&sources, &targets).unwrap(),
    ];
    for (i, fit) in fits.iter().enumerate() {
        for value in [0.1, -3.3, 1e300, 5e-324] {
            assert!(fit.apply(&vec![value; 500]).unwrap().iter().all(|&x| x == value), "{i}: {value}");
            let rows = fit.apply(&vec![[value, -value]; 500]).unwrap();
            assert!(rows.iter().all(|&x| x == [value, -value]), "{i}: {value}");
        }
        let steps: Vec<f64> = (0..500).map(|i| 0.1 + f64::from(i % 2) * 1e-16).collect();
        let (least, most) = (steps[0].min(steps[1]), steps[0].max(steps[1]));
        assert!(fit.apply(&steps).unwrap().iter().all(|&x| (least..=most).contains(&x)), "{i}");
    }
}
