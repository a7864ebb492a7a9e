//! Interpolation on a device, compared with the CPU bit for bit.

use common::random::Random;
use ropewalk::ErrorKind;
use ropewalk::gpu::{self, Coordinate, Device, DeviceVec, Points};
use ropewalk::interpolate::{
    Fallback, Interpolator, InverseDistance, MovingLeastSquares, SmoothingKernel, Sph, Weight,
};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Weights that are computed by series on a device.
const SERIES: [Weight; 2] = [Weight::Buhmann2, Weight::Gaussian];

/// Named sources and targets.
struct Case<const D: usize> {
    name: &'static str,
    sources: Vec<[f64; D]>,
    targets: Vec<[f64; D]>,
}

/// Returns points of the unit cube.
fn cube<const D: usize>(n: usize, seed: u64) -> Vec<[f64; D]> {
    let mut random = Random::new(seed);
    (0..n).map(|_| std::array::from_fn(|_| random.unit())).collect()
}

fn cases<const D: usize>() -> Vec<Case<D>> {
    let some = || cube::<D>(300, 1);
    let near = |sources: &[[f64; D]]| {
        let mut targets: Vec<[f64; D]> = cube(150, 2);
        targets.extend(&sources[..50.min(sources.len())]);
        targets.push([-1.0; D]);
        targets
    };
    let case = |name, sources: Vec<[f64; D]>| {
        let targets = near(&sources);
        Case { name, sources, targets }
    };
    let moved =
        |by: &dyn Fn(usize, [f64; D]) -> [f64; D]| some().into_iter().enumerate().map(|(i, x)| by(i, x)).collect();
    vec![
        case("a cube", some()),
        // Rounded coordinates: equal distances, and neighbours of a target on lines and planes.
        case("a lattice", moved(&|_, x| x.map(|x| (8.0 * x).round() / 8.0))),
        case("a plane", moved(&|_, x| std::array::from_fn(|k| if k + 1 == D { 0.25 * x[0] + 0.5 } else { x[k] }))),
        case("a line", moved(&|i, _| [i as f64 / 300.0; D])),
        case("nearly a plane", moved(&|i, x| std::array::from_fn(|k| if k + 1 == D { 1e-9 * i as f64 } else { x[k] }))),
        case("copies", moved(&|i, _| some()[i % 20])),
        Case { name: "one place", sources: vec![[0.5; D]; 60], targets: vec![[0.5; D], [0.25; D]] },
        Case {
            name: "far from the origin, next to each other",
            sources: moved(&|_, x| x.map(|x| 1000.0 + 0.005 * x)),
            targets: cube(50, 3).into_iter().map(|x: [f64; D]| x.map(|x| 1000.0 + 0.005 * x)).collect(),
        },
        Case { name: "few", sources: some()[..3].to_vec(), targets: cube(10, 4) },
        Case { name: "none", sources: vec![], targets: cube(10, 5) },
        Case { name: "no targets", sources: some(), targets: vec![] },
    ]
}

/// Returns `true` if numbers are equal, or differ by no more than the error of series.
fn are_near(ours: &[f64], theirs: &[f64], tolerance: f64) -> bool {
    let near =
        |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= tolerance * (1.0 + b.abs()) || (a.is_nan() && b.is_nan());
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(near)
}

/// Compares the values of a field and of two fields at once, and returns the latter at the sources.
fn compare_values(found: &gpu::Interpolator, there: &Interpolator, context: &str) -> Vec<f64> {
    let n = found.n_sources();
    let field: Vec<f64> = (0..2 * n).map(|i| ((i * 7919) % 1000) as f64 - 500.0).collect();
    let on_device = |values: &[f64]| DeviceVec::new(values, device()).unwrap();
    let values = found.apply(&on_device(&field[..n])).unwrap().read().unwrap();
    assert!(are_near(&values, &there.apply(&field[..n]).unwrap(), 0.0), "{context}");
    let values = found.apply_rows(&on_device(&field), 2).unwrap().read().unwrap();
    assert!(are_near(&values, &there.apply_rows(&field, 2).unwrap(), 0.0), "{context}");
    field
}

/// Calls a check with the name, the sources and the targets of each case.
fn for_each_case<S: Coordinate, const D: usize>(side: Option<f64>, check: impl Fn(&str, &[[S; D]], &[[S; D]])) {
    for case in cases::<D>() {
        let [sources, targets] =
            [case.sources, case.targets].map(|x| x.iter().map(|x| x.map(S::from_f64)).collect::<Vec<[S; D]>>());
        check(&format!("{} of {D}, {}, {side:?}", case.name, size_of::<S>()), &sources, &targets);
    }
}

fn upload<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> Points<S, D> {
    match side {
        None => Points::new(points, device()).unwrap(),
        Some(side) => Points::new_periodic(points, side, device()).unwrap(),
    }
}

fn compare_inverse_distances<S: Coordinate, const D: usize>(options: &InverseDistance, power: f64, side: Option<f64>) {
    for_each_case::<S, D>(side, |context, sources, targets| {
        let expected = options.clone().periodic(side).prepare(sources, targets).unwrap();
        let found = gpu::InverseDistance::from(options.clone()).prepare(&upload(sources, side), targets).unwrap();
        let there = found.read().unwrap();
        if power == 2.0 {
            assert_eq!(there, expected, "{context}");
        } else {
            assert_eq!((there.sources(), there.degrees()), (expected.sources(), expected.degrees()), "{context}");
            let [ours, theirs] = [&there, &expected].map(|all: &Interpolator| all.coefficients().values());
            assert!(are_near(ours, theirs, 1e-13), "{context}");
        }
        compare_values(&found, &there, context);
    });
}

#[test]
fn inverse_distances() {
    compare_inverse_distances::<f64, 2>(&InverseDistance::new(2.0), 2.0, None);
}

#[test]
#[ignore = "wide"]
fn wide_inverse_distances() {
    for power in [0.5, 1.0, 2.0, 3.7, 60.0] {
        let options = InverseDistance::new(power);
        compare_inverse_distances::<f32, 3>(&options, power, Some(1001.0));
        let options = options.radius(0.1).fallback(Fallback::Nearest);
        compare_inverse_distances::<f64, 2>(&options, power, None);
    }
}

/// Compares gathered and scattered sums.
fn compare_sums<S: Coordinate, const D: usize>(sph: &Sph, side: Option<f64>) {
    for_each_case::<S, D>(side, |context, sources, targets| {
        let context = format!("{context}, {sph:?}");
        let expected = sph.clone().periodic(side).gather(sources, targets).unwrap();
        let found = gpu::Sph::from(sph.clone()).gather(&upload(sources, side), targets).unwrap();
        assert_eq!(found.read().unwrap(), expected, "{context}");
        assert_eq!(found.n_lower().unwrap(), expected.n_lower(), "{context}");
        compare_values(&found, &expected, &context);

        if targets.is_empty() {
            return;
        }
        let expected = sph.clone().periodic(side).scatter(sources, targets).unwrap();
        let found = gpu::Sph::from(sph.clone()).scatter(sources, &upload(targets, side)).unwrap();
        assert_eq!(found.read().unwrap(), expected, "scattered, {context}");
        compare_values(&found, &expected, &context);
    });
}

#[test]
fn kernel_sums() {
    compare_sums::<f64, 2>(&Sph::new(SmoothingKernel::default()).radius(0.1).fallback(Fallback::Nearest), None);
}

#[test]
#[ignore = "wide"]
fn wide_kernel_sums() {
    for kernel in SmoothingKernel::ALL {
        let sph = Sph::new(kernel);
        compare_sums::<f64, 3>(&sph, None);
        compare_sums::<f32, 2>(&sph.clone().radius(0.1), Some(1001.0));
        compare_sums::<f32, 1>(&sph.fallback(Fallback::InverseDistance).neighbors(20), None);
    }
}

/// Volumes, sums that are not normalized, and a radius per target.
#[test]
#[ignore = "wide"]
fn wide_kernel_sums_with_volumes() {
    let (sources, targets) = (cube::<3>(400, 9), cube::<3>(300, 10));
    let volumes: Vec<f64> = (0..400).map(|i| f64::from(i % 5) * 1e-3).collect();
    let radii: Vec<f64> = (0..300).map(|i| 0.05 + 0.001 * f64::from(i)).collect();
    for kernel in SmoothingKernel::ALL {
        let sph = Sph::new(kernel).volumes(volumes.clone());
        for sph in [sph.clone(), sph.clone().neighbors(1), sph.radii(radii.clone()).fallback(Fallback::InverseDistance)]
        {
            for is_normalized in [true, false] {
                let sph = sph.clone().normalized(is_normalized);
                let expected = sph.gather(&sources, &targets).unwrap();
                let found = gpu::Sph::from(sph.clone()).gather(&upload(&sources, None), &targets).unwrap();
                assert_eq!(found.read().unwrap(), expected, "{sph:?}");
                compare_values(&found, &expected, "volumes");
            }
        }
    }
}

#[test]
fn refused_sums() {
    let points = Points::new(&cube::<3>(50, 8), device()).unwrap();
    let sph = || gpu::Sph::new(SmoothingKernel::default());
    let of = |sph: gpu::Sph| sph.gather(&points, &[[0.5; 3]]).err().unwrap().kind();
    assert_eq!(of(sph().normalized(false)), ErrorKind::Missing);
    assert_eq!(of(sph().volumes(vec![1.0; 49])), ErrorKind::Input);
    assert_eq!(of(sph().radii(vec![1.0; 2])), ErrorKind::Parameter);
    assert_eq!(of(sph().neighbors(0)), ErrorKind::Parameter);
    let none = Points::<f64, 3>::new(&[], device()).unwrap();
    assert_eq!(sph().scatter(&[[0.5; 3]], &none).err().unwrap().kind(), ErrorKind::Parameter);
    for power in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let options = gpu::InverseDistance::new(power);
        assert_eq!(options.prepare(&points, &[[0.5; 3]]).err().unwrap().kind(), ErrorKind::Parameter);
    }
}

fn compare<S: Coordinate, const D: usize>(options: &MovingLeastSquares, weight: Weight, side: Option<f64>) {
    for case in cases::<D>() {
        let context = format!("{} of {D}, {}, {weight:?}, {side:?}", case.name, size_of::<S>());
        let [sources, targets] =
            [case.sources, case.targets].map(|x| x.iter().map(|x| x.map(S::from_f64)).collect::<Vec<[S; D]>>());
        let (points, expected) = match side {
            None => (Points::new(&sources, device()), options.clone()),
            Some(side) => (Points::new_periodic(&sources, side, device()), options.clone().periodic(side)),
        };
        let expected = expected.prepare(&sources, &targets).unwrap();
        let found = gpu::MovingLeastSquares::from(options.clone()).prepare(&points.unwrap(), &targets).unwrap();
        let (degrees, there) = (found.degrees().read().unwrap(), found.read().unwrap());
        assert!(degrees.iter().copied().eq(there.degrees().iter().copied().map(i32::from)), "{context}");
        assert_eq!(there.sources(), expected.sources(), "{context}");
        assert_eq!(found.n_lower().unwrap(), there.n_lower(), "{context}");
        assert_eq!(found.n_without_neighbors(), expected.n_without_neighbors(), "{context}");
        // With few sources, rounding errors of weights are amplified.
        let is_series = SERIES.contains(&weight);
        if !is_series {
            assert_eq!(there, expected, "{context}");
        } else if case.name == "a cube" {
            let [ours, theirs] = [&there, &expected].map(|all: &Interpolator| all.coefficients().values());
            assert!(are_near(ours, theirs, 1e-10) && there.degrees() == expected.degrees(), "{context}");
        }

        let n = sources.len();
        let field = compare_values(&found, &there, &context);
        let on_device = |values: &[f64]| DeviceVec::new(values, device()).unwrap();
        let gradient = found.gradient(&on_device(&field[..n])).unwrap().read().unwrap();
        assert!(are_near(&gradient, there.gradient::<D>(&field[..n]).unwrap().as_flattened(), 0.0), "{context}");
    }
}

/// The default, a polynomial of another family, and a weight that is computed by a series.
const WEIGHTS: [Weight; 3] = [Weight::Wendland2, Weight::Wu4, Weight::Gaussian];

fn compare_in_space(weight: Weight) {
    compare::<f64, 3>(&MovingLeastSquares::new(2).weight(weight).with_gradients(true), weight, None);
}

#[test]
fn weights_in_space() {
    WEIGHTS.into_iter().for_each(compare_in_space);
}

#[test]
#[ignore = "wide"]
fn wide_weights_in_space() {
    Weight::ALL.into_iter().filter(|weight| !WEIGHTS.contains(weight)).for_each(compare_in_space);
}

#[test]
#[ignore = "wide"]
fn wide_other_degrees_numbers_and_boxes() {
    let weight = Weight::default();
    for degree in 0..3 {
        // Search kernels are compiled for each number of neighbours.
        let options = MovingLeastSquares::new(degree).neighbors(20).with_gradients(true);
        compare::<f32, 3>(&options, weight, None);
        compare::<f32, 2>(&options, weight, Some(1.0));
        compare::<f64, 1>(&options, weight, None);
    }
    compare::<f64, 3>(&MovingLeastSquares::new(2).neighbors(10).with_gradients(true), weight, Some(1001.0));
    compare::<f32, 2>(&MovingLeastSquares::new(1).neighbors(70).with_gradients(true), weight, None);
    compare::<f64, 4>(&MovingLeastSquares::new(1).with_gradients(true), weight, None);
}

/// Compares rows of various lengths, some of them empty.
fn compare_radii<S: Coordinate, const D: usize>(degree: usize, fallback: Fallback, side: Option<f64>) {
    let options = MovingLeastSquares::new(degree).radius(0.07).fallback(fallback).with_gradients(true);
    compare::<S, D>(&options, Weight::default(), side);
}

#[test]
fn radii() {
    compare_radii::<f64, 2>(1, Fallback::InverseDistance, None);
}

#[test]
#[ignore = "wide"]
fn wide_radii() {
    compare_radii::<f64, 2>(1, Fallback::Nan, None);
    compare_radii::<f64, 2>(1, Fallback::Nearest, None);
    compare_radii::<f32, 2>(2, Fallback::InverseDistance, Some(1001.0));
    compare_radii::<f64, 3>(1, Fallback::Nearest, None);
    compare_radii::<f32, 1>(2, Fallback::Nan, None);
    compare::<f64, 2>(&MovingLeastSquares::new(2).radius(0.2).with_gradients(true), Weight::Wu4, Some(1001.0));
}

#[test]
#[ignore = "wide"]
fn wide_cubic_polynomials() {
    compare::<f64, 2>(&MovingLeastSquares::new(3).with_gradients(true), Weight::default(), None);
}

#[test]
#[ignore = "wide"]
fn wide_degrees_three_and_four() {
    let of = |degree| MovingLeastSquares::new(degree).with_gradients(true);
    compare::<f64, 1>(&of(3), Weight::default(), None);
    compare::<f32, 3>(&of(3), Weight::default(), None);
    compare::<f64, 1>(&of(4), Weight::Wu4, None);
    compare::<f32, 2>(&of(4), Weight::default(), Some(1.0));
    compare::<f64, 2>(&of(4).neighbors(15), Weight::default(), None);
}

/// More targets than one kernel launch processes.
#[test]
#[ignore = "wide"]
fn wide_many_targets() {
    let (sources, targets) = (cube::<2>(2000, 6), cube::<2>(30_000, 7));
    let options = MovingLeastSquares::new(2);
    let found = gpu::MovingLeastSquares::from(options.clone());
    let found = found.prepare(&Points::new(&sources, device()).unwrap(), &targets).unwrap();
    assert_eq!(found.read().unwrap(), options.prepare(&sources, &targets).unwrap());
    assert_eq!((found.len(), found.sources().n_values(), found.n_sources()), (30_000, 12 * 30_000, 2000));
}

#[test]
fn what_is_refused() {
    let sources = cube::<3>(50, 8);
    let points = Points::new(&sources, device()).unwrap();
    let kind = |options: gpu::MovingLeastSquares, targets: &[[f64; 3]]| {
        options.prepare(&points, targets).err().unwrap().kind()
    };
    let of = gpu::MovingLeastSquares::new;
    let parameter = ErrorKind::Parameter;
    assert_eq!(kind(of(5), &[]), parameter);
    assert_eq!(kind(of(2).neighbors(9), &[]), parameter);
    assert_eq!(kind(of(1).radius(0.0), &[]), parameter);
    assert_eq!(kind(of(1).radius(f64::NAN), &[]), parameter);
    assert_eq!(kind(of(1), &[[0.0, f64::NAN, 0.0]]), ErrorKind::NotFinite);

    let found = of(1).prepare(&points, &[[0.5; 3]]).unwrap();
    let values = |n: usize, last: f64| {
        let mut values = vec![1.0; n];
        values[n - 1] = last;
        DeviceVec::new(&values, device()).unwrap()
    };
    let kind = |result: ropewalk::Result<DeviceVec<f64>>| result.err().unwrap().kind();
    assert_eq!(kind(found.apply(&values(49, 1.0))), ErrorKind::Input);
    assert_eq!(kind(found.apply_rows(&values(50, 1.0), 0)), parameter);
    let error = found.apply_rows(&values(51, 1.0), 2).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(error.to_string().contains("51 values for 50 sources; it must have 2 per source"), "{error}");
    for last in [f64::NAN, f64::INFINITY] {
        let error = found.apply(&values(50, last)).err().unwrap();
        assert!(error.to_string().contains("49"), "{error}");
    }
    assert_eq!(kind(found.gradient(&values(50, 1.0))), ErrorKind::Missing);
    let [one] = found.apply(&values(50, 1.0)).unwrap().read().unwrap()[..] else { unreachable!() };
    assert!((one - 1.0).abs() < 1e-14);
}
