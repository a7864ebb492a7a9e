//! Moving least squares: polynomials are reproduced, and results do not depend on the position, the scale, or the
//! number of threads.

use common::random::Random;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rayon::ThreadPoolBuilder;
use ropewalk::Scalar;
use ropewalk::interpolate::{MovingLeastSquares, Weight};

use super::points;

/// Passes `product` times each monomial of a degree, with factors from axis `first` on.
fn monomials<const D: usize>(x: &[f64; D], degree: i8, first: usize, product: f64, take: &mut impl FnMut(f64)) {
    if degree == 0 {
        take(product);
    } else {
        (first..D).for_each(|axis| monomials(x, degree - 1, axis, product * x[axis], take));
    }
}

/// Evaluates a polynomial with coefficients of 1, of each coordinate, of each product of two, and so on.
fn polynomial<const D: usize>(c: &[f64], degree: i8, x: &[f64; D]) -> f64 {
    let (mut c, mut sum) = (c.iter(), 0.0);
    for own in 0..=degree {
        monomials(x, own, 0, 1.0, &mut |product| sum += c.next().unwrap() * product);
    }
    sum
}

/// The number of monomials up to a degree.
fn basis<const D: usize>(degree: usize) -> usize {
    let mut count = 0;
    (0..=degree as i8).for_each(|own| monomials(&[1.0; D], own, 0, 1.0, &mut |_| count += 1));
    count
}

#[derive(Debug)]
struct Question<const D: usize> {
    sources: Vec<[f64; D]>,
    targets: Vec<[f64; D]>,
    degree: usize,
    weight: Weight,
    /// The number of neighbours in addition to the size of the basis.
    more: usize,
    radius: Option<f64>,
    coefficients: Vec<f64>,
}

/// On the grid, distances tie, points coincide, and points are on lines and planes.
fn question<const D: usize>() -> impl Strategy<Value = Question<D>> {
    any::<bool>().prop_flat_map(|on_grid| {
        let coordinate = if on_grid { (0i32..5).prop_map(f64::from).boxed() } else { (0.0..4.0).boxed() };
        let point = vec(coordinate, D).prop_map(|x| -> [f64; D] { x.try_into().unwrap() });
        let radius = prop::option::of(0.5..4.0);
        let cloud = (vec(point.clone(), 1..150), vec(point, 1..8));
        let weight = prop::sample::select(Weight::ALL.to_vec());
        (cloud, 0usize..5, weight, 0usize..30, radius, vec(-1.0..1.0, 35)).prop_map(
            |((sources, targets), degree, weight, more, radius, coefficients)| Question {
                sources,
                targets,
                degree,
                weight,
                more,
                radius,
                coefficients,
            },
        )
    })
}

fn polynomials_come_back<S: Scalar, const D: usize>(question: &Question<D>) -> Result<(), TestCaseError> {
    let stored = |points: &[[f64; D]]| -> Vec<[S; D]> { points.iter().map(|x| x.map(S::from_f64)).collect() };
    let (sources, targets) = (stored(&question.sources), stored(&question.targets));
    let options = MovingLeastSquares::new(question.degree).weight(question.weight);
    let options = match question.radius {
        Some(radius) => options.radius(radius),
        None => options.neighbors(basis::<D>(question.degree) + question.more),
    };
    let interpolator = options.prepare(&sources, &targets).unwrap();
    let mut n_lower = 0;
    for (at, target) in targets.iter().enumerate() {
        let degree = interpolator.degrees()[at];
        let (near, coefficients) = (interpolator.sources().of(at), interpolator.coefficients().of(at));
        prop_assert_eq!(degree == -1, near.is_empty());
        prop_assert!(degree <= question.degree as i8);
        n_lower += usize::from(degree < question.degree as i8);
        if near.is_empty() {
            continue;
        }
        let size = coefficients.iter().map(|c| c.abs()).sum::<f64>();
        prop_assert!((coefficients.iter().sum::<f64>() - 1.0).abs() < 1e-8 * size);
        // Relative to the target, so that large coefficients give large values.
        let about = |x: &[S; D]| std::array::from_fn(|k| Into::<f64>::into(x[k]) - Into::<f64>::into(target[k]));
        let values =
            near.iter().map(|&i| polynomial::<D>(&question.coefficients, degree, &about(&sources[i as usize])));
        let found: f64 = values.zip(coefficients).map(|(value, c)| value * c).sum();
        prop_assert!((found - question.coefficients[0]).abs() < 1e-6 * size, "{} {} {}", found, degree, size);
    }
    prop_assert_eq!(interpolator.n_lower(), n_lower);
    Ok(())
}

// Tolerances are those of rounding errors, so the cases are the same in each run.
proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn polynomials_in_one_dimension(question in question::<1>()) {
        polynomials_come_back::<f64, 1>(&question)?;
    }

    #[test]
    fn polynomials_in_two_dimensions(question in question::<2>()) {
        polynomials_come_back::<f32, 2>(&question)?;
        polynomials_come_back::<f64, 2>(&question)?;
    }

    #[test]
    fn polynomials_in_three_dimensions(question in question::<3>()) {
        polynomials_come_back::<f32, 3>(&question)?;
        polynomials_come_back::<f64, 3>(&question)?;
    }
}

#[test]
fn gradients_of_polynomials() {
    let (sources, targets) = (points::<3>(500, 1), points::<3>(50, 2));
    let c: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7) - 3.0).collect();
    for degree in [1, 2] {
        let options = MovingLeastSquares::new(degree).with_gradients(true);
        let interpolator = options.prepare(&sources, &targets).unwrap();
        let field: Vec<f64> = sources.iter().map(|x| polynomial(&c, degree as i8, x)).collect();
        let found = interpolator.gradient::<3>(&field).unwrap();
        for ([x, y, z], [gx, gy, gz]) in targets.iter().zip(found) {
            let quadratic = [
                2.0 * c[4] * x + c[5] * y + c[6] * z,
                c[5] * x + 2.0 * c[7] * y + c[8] * z,
                c[6] * x + c[8] * y + 2.0 * c[9] * z,
            ];
            for (k, found) in [gx, gy, gz].into_iter().enumerate() {
                let expected = c[1 + k] + if degree == 2 { quadratic[k] } else { 0.0 };
                assert!((found - expected).abs() < 1e-9, "{degree} {k}: {found} {expected}");
            }
        }
        assert!(interpolator.gradient::<2>(&field).is_err());
    }
}

/// Compares gradients with differences of the field.
fn gradients_of_degree<const D: usize>(degree: usize) {
    let (sources, targets) = (points::<D>(500, 1), points::<D>(50, 2));
    let c: Vec<f64> = (0..basis::<D>(degree)).map(|i| (i * i % 7) as f64 - 3.0).collect();
    let field = |x: &[f64; D]| polynomial(&c, degree as i8, x);
    let interpolator = MovingLeastSquares::new(degree).with_gradients(true).prepare(&sources, &targets).unwrap();
    assert_eq!(interpolator.degrees(), [degree as i8; 50], "{D} {degree}");
    let values: Vec<f64> = sources.iter().map(field).collect();
    let [found, gradients] =
        [interpolator.apply(&values).unwrap(), interpolator.gradient::<D>(&values).unwrap().into_flattened()];
    for (at, target) in targets.iter().enumerate() {
        assert!((found[at] - field(target)).abs() < 1e-8, "{D} {degree}: {} {}", found[at], field(target));
        for axis in 0..D {
            let moved = |by: f64| std::array::from_fn(|k| target[k] + if k == axis { by } else { 0.0 });
            let expected = (field(&moved(1e-5)) - field(&moved(-1e-5))) / 2e-5;
            let found = gradients[at * D + axis];
            assert!((found - expected).abs() < 1e-6, "{D} {degree} {axis}: {found} {expected}");
        }
    }
}

#[test]
fn values_and_gradients_of_high_degrees() {
    for degree in [3, 4] {
        gradients_of_degree::<1>(degree);
        gradients_of_degree::<2>(degree);
        gradients_of_degree::<3>(degree);
    }
}

/// Differences of such coordinates are exact, so all numbers are equal.
#[test]
fn neither_place_nor_unit_matters() {
    let mut random = Random::new(3);
    let mut some = |n| -> Vec<[f64; 3]> {
        (0..n).map(|_| std::array::from_fn(|_| random.below(1 << 20) as f64 / f64::from(1 << 20))).collect()
    };
    let (sources, targets) = (some(700), some(60));
    for options in [MovingLeastSquares::new(2), MovingLeastSquares::new(1).weight(Weight::Gaussian)] {
        let own = options.prepare(&sources, &targets).unwrap();
        for (scale, shift) in [(1.0, [64.0, -1024.0, 3.0]), (2f64.powi(400), [0.0; 3]), (2f64.powi(-400), [0.0; 3])] {
            let moved = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
                points.iter().map(|x| std::array::from_fn(|k| scale * x[k] + shift[k])).collect()
            };
            assert!(options.prepare(&moved(&sources), &moved(&targets)).unwrap() == own, "{scale} {shift:?}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (sources, targets) = (points::<2>(5000, 4), points::<2>(3000, 5));
    let field: Vec<[f64; 2]> = sources.iter().map(|[x, y]| [x * y, x - y]).collect();
    let run = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let interpolator = MovingLeastSquares::new(2).prepare(&sources, &targets).unwrap();
            let values = interpolator.apply(&field).unwrap();
            (interpolator, values)
        })
    };
    let one = run(1);
    assert!(run(2) == one && run(5) == one);
    // One field at a time, compared with columns.
    let flat = one.0.apply_rows(field.as_flattened(), 2).unwrap();
    let first: Vec<f64> = field.iter().map(|[first, _]| *first).collect();
    let first = one.0.apply(&first).unwrap();
    assert!(flat == one.1.as_flattened());
    assert!(one.1.iter().zip(first).all(|([both, _], alone)| (both - alone).abs() < 1e-14));
}

#[test]
fn around_the_boundary() {
    let sources = points::<2>(800, 6);
    let options = MovingLeastSquares::new(2).neighbors(16).periodic(1.0);
    let field: Vec<f64> = sources.iter().map(|[x, y]| (std::f64::consts::TAU * (x + 2.0 * y)).sin()).collect();
    let values = |targets: &[[f64; 2]]| options.prepare(&sources, targets).unwrap().apply(&field).unwrap();
    let corner = values(&[[0.0, 0.0], [1.0, 1.0], [-2.0, 5.0]]);
    assert!(corner[0].abs() < 0.02, "{corner:?}");
    assert!(corner.iter().all(|value| (value - corner[0]).abs() < 1e-12), "{corner:?}");
}

fn of_dimension<const D: usize>() {
    let (sources, targets) = (points::<D>(400, 7), points::<D>(9, 8));
    for (degree, k) in [(0, 5), (1, 2 + 2 * D), (2, (1 + D) * (2 + D))] {
        let interpolator = MovingLeastSquares::new(degree).neighbors(k).prepare(&sources, &targets).unwrap();
        assert_eq!(interpolator.degrees(), [degree as i8; 9], "{D}");
        let c: Vec<f64> = (0..66).map(|i| f64::from(i % 5) - 2.0).collect();
        let field: Vec<f64> = sources.iter().map(|x| polynomial(&c, degree as i8, x)).collect();
        for (value, target) in interpolator.apply(&field).unwrap().into_iter().zip(&targets) {
            assert!((value - polynomial(&c, degree as i8, target)).abs() < 1e-8, "{D} {degree}");
        }
    }
}

#[test]
fn all_dimensions() {
    of_dimension::<1>();
    of_dimension::<4>();
    of_dimension::<7>();
    of_dimension::<10>();
}
