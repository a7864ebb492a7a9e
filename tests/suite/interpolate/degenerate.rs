//! Neighbours that do not determine a polynomial: the degree is reduced and reported.

use ropewalk::interpolate::{Fallback, InverseDistance, MovingLeastSquares};

use super::points;

const NONE: [[f64; 3]; 0] = [];

/// Returns the degrees at targets, after checking that linear functions are reproduced where the degree is at least
/// 1.
fn degrees(degree: usize, sources: &[[f64; 3]], targets: &[[f64; 3]]) -> Vec<i8> {
    let interpolator =
        MovingLeastSquares::new(degree).neighbors(20).with_gradients(true).prepare(sources, targets).unwrap();
    let linear = |[x, y, z]: [f64; 3]| 1.0 + 2.0 * x - 3.0 * y + 0.5 * z;
    let field: Vec<f64> = sources.iter().map(|&x| linear(x)).collect();
    let values = interpolator.apply(&field).unwrap();
    for ((value, &target), degree) in values.into_iter().zip(targets).zip(interpolator.degrees()) {
        assert!(*degree < 1 || (value - linear(target)).abs() < 1e-9, "{target:?}: {value}");
    }
    let gradients = interpolator.gradient::<3>(&field).unwrap();
    let is_finite = gradients.iter().map(|gradient| gradient.iter().all(|x| x.is_finite()));
    assert!(is_finite.eq(interpolator.degrees().iter().map(|&degree| degree >= 0)));
    interpolator.degrees().to_vec()
}

#[test]
fn points_of_a_plane() {
    let flat: Vec<[f64; 3]> = points::<2>(100, 1).into_iter().map(|[x, y]| [x, y, x - 2.0 * y]).collect();
    // Targets in the plane, where its points determine degree 2, and a target outside of the plane.
    assert_eq!(degrees(2, &flat, &[[0.5, 0.25, 0.0], flat[7], [0.5, 0.25, 0.1]]), [2, 2, 0]);
    // The gradient does not include the component across the plane.
    let targets = [[0.5, 0.25, 0.0]];
    let interpolator = MovingLeastSquares::new(2).with_gradients(true).prepare(&flat, &targets).unwrap();
    let field: Vec<f64> = flat.iter().map(|[x, y, _]| x + y).collect();
    // (1, 1, 0) without its component along (1, -2, -1).
    let [found] = interpolator.gradient::<3>(&field).unwrap()[..] else { unreachable!() };
    let expected = [7.0 / 6.0, 4.0 / 6.0, -1.0 / 6.0];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
}

/// A quadric: values on it and gradients along it are reproduced; the gradient across it is not determined.
#[test]
fn points_of_a_sphere() {
    let sphere: Vec<[f64; 3]> = points::<3>(3000, 6)
        .into_iter()
        .map(|at| at.map(|x| 2.0 * x - 1.0))
        .filter(|[x, y, z]| x * x + y * y + z * z > 0.01)
        .map(|at| at.map(|x| x / at.iter().map(|x| x * x).sum::<f64>().sqrt()))
        .collect();
    let targets = &sphere[..20];
    let values = |field: &dyn Fn(&[f64; 3]) -> f64| sphere.iter().map(field).collect::<Vec<_>>();
    let fit = |degree| MovingLeastSquares::new(degree).with_gradients(true).prepare(&sphere, targets).unwrap();
    let interpolator = fit(2);
    assert_eq!(interpolator.degrees(), [2; 20]);
    let field = |[x, y, z]: &[f64; 3]| x * x - y * z + z;
    let (found, gradients) =
        (interpolator.apply(&values(&field)).unwrap(), interpolator.gradient::<3>(&values(&field)).unwrap());
    for ((at, found), [a, b, c]) in targets.iter().zip(found).zip(gradients) {
        let [x, y, z] = *at;
        assert!((found - field(at)).abs() < 1e-9, "{at:?}: {found}");
        let [a, b, c] = [a - 2.0 * x, b + z, c + y - 1.0];
        let across = a * x + b * y + c * z;
        assert!([a - across * x, b - across * y, c - across * z].iter().all(|off| off.abs() < 1e-9), "{at:?}");
    }
    for gradient in fit(1).gradient::<3>(&values(&|[x, y, z]| 2.0 * x - y + 3.0 * z)).unwrap() {
        assert!(gradient.iter().zip([2.0, -1.0, 3.0]).all(|(found, right)| (found - right).abs() < 1e-9));
    }
}

#[test]
fn points_of_a_line() {
    let line: Vec<[f64; 3]> = (0..50).map(|i| [1.0, 2.0, 3.0].map(|x| 0.02 * x * f64::from(i))).collect();
    assert_eq!(degrees(2, &line, &[[0.5, 1.0, 1.5], [0.5, 1.0, 1.6]]), [2, 0]);
}

/// If neighbours are within the rounding error of coordinates, the result is their mean.
#[test]
fn neighbors_within_what_coordinates_are_rounded_by() {
    let at = |i: usize, step: usize| 1000.0 + 0.00007 * (i / step % 20) as f32;
    let sources: Vec<[f32; 3]> = (0..400).map(|i| [at(i, 1), at(i, 20), at(7 * i, 1)]).collect();
    let interpolator = MovingLeastSquares::new(2).with_gradients(true).prepare(&sources, &sources[..5]).unwrap();
    assert_eq!(interpolator.degrees(), [0; 5]);
    assert!(interpolator.apply(&[2.5; 400]).unwrap().iter().all(|value| (value - 2.5f64).abs() < 1e-14));
    assert_eq!(interpolator.gradient(&[2.5; 400]).unwrap(), [[0.0; 3]; 5]);
}

/// Rounding moves points of 32 bits off their line or plane. The fit must ignore that direction.
#[test]
fn rounded_points_of_lines_and_planes() {
    let field = |[x, y, z]: [f32; 3]| f64::from(3.0 * x + y - z).sin();
    let check = |sources: &[[f32; 3]], targets: &[[f32; 3]], expected: &[i8], off: f64| {
        let values: Vec<f64> = sources.iter().map(|&x| field(x)).collect();
        let shifted = |by: f32| move |x: &[f32; 3]| x.map(|x| x + by);
        for by in [0.0, 30.0] {
            let [sources, targets] = [sources, targets].map(|x| x.iter().map(shifted(by)).collect::<Vec<_>>());
            for degree in [1, 2] {
                let interpolator = MovingLeastSquares::new(degree).prepare(&sources, &targets).unwrap();
                let wide = |of: &[[f32; 3]]| of.iter().map(|x| x.map(f64::from)).collect::<Vec<_>>();
                let degrees = interpolator.degrees();
                // If sources are so close to a line that linear fields are not reproduced because of rounding, the
                // degree is reduced.
                let lowered = degrees.iter().filter(|&&degree| degree == 0).count();
                let is_lowered = expected == [0];
                assert!(
                    if is_lowered { lowered == targets.len() } else { lowered * 25 <= targets.len() },
                    "{degrees:?}"
                );
                assert!(degrees.iter().all(|degree| *degree == 0 || expected.contains(degree)), "{degrees:?}");
                assert_eq!(interpolator.n_lower(), lowered);
                for (found, (at, target)) in
                    interpolator.apply(&values).unwrap().into_iter().zip(wide(&targets).iter().enumerate())
                {
                    let size: f64 = interpolator.coefficients().of(at).iter().map(|c| c.abs()).sum();
                    let right = field(target.map(|x| (x - f64::from(by)) as f32));
                    // The error of a linear fit is due to the curvature of the field.
                    let off = [0.5, 3.0 * off, off][degrees[at] as usize];
                    assert!(size < 100.0 && (found - right).abs() < off, "{target:?}: {found}, not {right}; {size}");
                }
            }
        }
    };
    let line: Vec<[f32; 3]> = (0..200).map(|i| i as f32 / 200.0).map(|t| [t, 0.1 * t + 0.3, 0.7 - 0.3 * t]).collect();
    let on: Vec<[f32; 3]> = (0..50).map(|i| i as f32 / 53.0).map(|t| [t, 0.1 * t + 0.3, 0.7 - 0.3 * t]).collect();
    let beside: Vec<[f32; 3]> = on.iter().map(|&[x, y, z]| [x, y + 0.1, z]).collect();
    check(&line, &on, &[1, 2], 1e-2);
    check(&line, &beside, &[0], 0.5);
    let of_plane = |[x, y]: [f64; 2]| [x, y, 0.3 * x - 0.7 * y + 0.2].map(|x| x as f32);
    let plane: Vec<[f32; 3]> = points::<2>(2000, 4).into_iter().map(of_plane).collect();
    let on: Vec<[f32; 3]> = points::<2>(200, 5).into_iter().map(|x| of_plane(x.map(|x| 0.1 + 0.8 * x))).collect();
    let beside: Vec<[f32; 3]> = on.iter().map(|&[x, y, z]| [x, y, z + 1e-3]).collect();
    check(&plane, &on, &[1, 2], 1e-2);
    check(&plane, &beside, &[0], 0.5);
}

#[test]
fn copies_and_few_points() {
    assert_eq!(degrees(2, &[[1.0; 3]; 40], &[[1.0; 3], [2.0; 3]]), [2, 0]);
    assert_eq!(degrees(2, &[[1.0; 3]], &[[1.0; 3], [2.0; 3]]), [2, 0]);
    // Four corners determine a linear function.
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert_eq!(degrees(2, &corners, &[[0.2, 0.3, 0.4], [0.0; 3]])[0], 1);
    let many: Vec<[f64; 3]> = corners.into_iter().cycle().take(400).collect();
    assert_eq!(degrees(1, &many, &[[0.2, 0.3, 0.4]]), [0]);
    assert_eq!(degrees(1, &many[..20], &[[0.2, 0.3, 0.4]]), [1]);
    assert_eq!(degrees(2, &NONE, &[[0.0; 3]]), [-1]);
    assert!(degrees(2, &corners, &NONE).is_empty());
}

/// Nearly flat sources: columns of very different magnitude are not linearly dependent.
#[test]
fn flat_layers() {
    for height in [1e-2, 1e-4] {
        let layers: Vec<[f64; 3]> = points::<3>(2000, 2).into_iter().map(|[x, y, z]| [x, y, height * z]).collect();
        let target = [0.5, 0.5, 0.4 * height];
        let interpolator = MovingLeastSquares::new(2).neighbors(40).prepare(&layers, &[target]).unwrap();
        let field = |[x, y, z]: [f64; 3]| x * y + z / height * (x - z / height);
        let values: Vec<f64> = layers.iter().map(|&x| field(x)).collect();
        assert_eq!(interpolator.degrees(), [2], "{height}");
        assert!((interpolator.apply(&values).unwrap()[0] - field(target)).abs() < 1e-6, "{height}");
    }
}

#[test]
fn nothing_within_the_radius() {
    let sources = [[0.0f32], [1.0], [2.0]];
    let targets = [[0.5f32], [9.0], [2.0]];
    let field = [1.0, 2.0, 3.0];
    let options = MovingLeastSquares::new(1).radius(1.5);
    let prepare = |fallback| options.clone().fallback(fallback).prepare(&sources, &targets).unwrap();
    let interpolator = prepare(Fallback::Nan);
    let values = interpolator.apply(&field).unwrap();
    assert!((values[0] - 1.5).abs() < 1e-12 && values[1].is_nan() && (values[2] - 3.0).abs() < 1e-12, "{values:?}");
    assert_eq!((interpolator.n_without_neighbors(), interpolator.n_lower()), (1, 1));
    assert_eq!(interpolator.degrees(), [1, -1, 1]);
    let nearest = prepare(Fallback::Nearest);
    assert_eq!(nearest.apply(&field).unwrap()[1], 3.0);
    assert_eq!((nearest.degrees(), nearest.n_without_neighbors()), (&[1, 0, 1][..], 1));
    let weights = [81.0, 64.0, 49.0f64].map(f64::recip);
    let mean = weights.iter().zip(field).map(|(w, f)| w * f).sum::<f64>() / weights.iter().sum::<f64>();
    assert!((prepare(Fallback::InverseDistance).apply(&field).unwrap()[1] - mean).abs() < 1e-12);
    // A weight of 0 at the radius counts as no source.
    let edge = options.radius(7.0).prepare(&sources, &[[9.0f32]]).unwrap();
    assert_eq!((edge.n_without_neighbors(), edge.degrees()), (1, &[-1][..]));
    let far = InverseDistance::new(1.0).radius(0.25).prepare(&sources, &targets).unwrap();
    assert!(far.apply(&field).unwrap()[0].is_nan() && far.n_without_neighbors() == 2);
}
