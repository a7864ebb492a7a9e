//! Kernel sums and inverse distances.

use ropewalk::interpolate::{Interpolator, InverseDistance, SmoothingKernel, Sph};

use super::points;

#[test]
fn what_is_scattered_adds_up() {
    let (sources, mut targets) = (points::<3>(3000, 1), points::<3>(400, 2));
    // Two positions within the kernels of few or no sources.
    targets.extend([[3.0; 3], [1.2, 0.5, 0.5]]);
    let masses: Vec<f64> = (0..3000).map(|i| f64::from(i % 7) - 2.5).collect();
    let total: f64 = masses.iter().sum();
    for kernel in SmoothingKernel::ALL {
        let sph = Sph::new(kernel);
        let radii: Vec<f64> = (0..3000).map(|i| 0.01 + 0.0001 * f64::from(i)).collect();
        let options = [sph.clone().radius(0.1), sph.clone().radius(1e-9), sph.clone().neighbors(1), sph.radii(radii)];
        for options in options {
            for options in [options.clone(), options.periodic([4.0, 4.0, 4.0])] {
                let scatter = options.scatter(&sources, &targets).unwrap();
                let found = scatter.apply(&masses).unwrap();
                assert!((found.iter().sum::<f64>() - total).abs() < 1e-9, "{options:?}");
                assert_eq!(found[400], 0.0);
                // The shares of each source add up to its value.
                let mut given = vec![0.0; sources.len()];
                for (list, shares) in scatter.sources().iter().zip(scatter.coefficients()) {
                    assert!(list.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)));
                    list.iter().zip(shares).for_each(|(&source, share)| given[source as usize] += share);
                }
                assert!(given.iter().all(|given| (given - 1.0).abs() < 1e-12));
            }
        }
        let narrow = Sph::new(kernel).radius(1e-9).scatter(&sources, &targets).unwrap();
        assert_eq!(narrow.n_without_neighbors(), sources.len());
    }
    let nowhere: [[f64; 3]; 0] = [];
    let lost = Sph::new(SmoothingKernel::CubicSpline).scatter(&sources, &nowhere).unwrap_err();
    assert!(lost.to_string().contains("the number of targets is 0"), "{lost}");
    assert!(Sph::new(SmoothingKernel::CubicSpline).scatter(&nowhere, &nowhere).unwrap().is_empty());
}

/// On a lattice in a periodic box, sums by volume are nearly normalized, and normalization makes them exactly so.
#[test]
fn gathered_fields() {
    let lattice: Vec<[f64; 2]> = (0..400).map(|i| [i % 20, i / 20].map(|x| 0.05 * f64::from(x))).collect();
    let targets = points::<2>(50, 3);
    let ones = vec![1.0; 400];
    for kernel in SmoothingKernel::ALL {
        let sph = Sph::new(kernel).radius(0.3).periodic(1.0);
        let plain = sph.clone().volumes(vec![0.05 * 0.05; 400]).normalized(false).gather(&lattice, &targets).unwrap();
        let values = plain.apply(&ones).unwrap();
        assert!(values.iter().all(|value| (value - 1.0).abs() < 2e-3), "{kernel:?} {values:?}");
        assert!(plain.degrees().iter().all(|&degree| degree == -1) && plain.n_lower() == 0);
        let normed = sph.gather(&lattice, &targets).unwrap();
        assert!(normed.apply(&ones).unwrap().iter().all(|value| (value - 1.0).abs() < 1e-14));
        // Equal except for the normalization.
        for (at, value) in values.iter().enumerate() {
            let pairs = plain.coefficients().of(at).iter().zip(normed.coefficients().of(at));
            assert!(pairs.into_iter().all(|(plain, normed)| (plain / value - normed).abs() < 1e-12));
        }
    }
}

#[test]
fn volumes_count() {
    let sph = Sph::new(SmoothingKernel::WendlandC2).radius(2.0).volumes([1.0, 3.0]);
    let gather: Interpolator = sph.gather(&[[-1.0f64], [1.0]], &[[0.0f64]]).unwrap();
    assert_eq!(gather.apply(&[4.0, 8.0]).unwrap(), [7.0]);
}

/// An empty sum is 0 if sums are not normalized and there is no fallback.
#[test]
fn sums_of_nothing() {
    let (sources, targets) = ([[0.0f64], [1.0]], [[0.5f64], [9.0]]);
    let sph = Sph::new(SmoothingKernel::CubicSpline).radius(1.0).volumes([1.0, 1.0]);
    let plain = sph.clone().normalized(false).gather(&sources, &targets).unwrap();
    let values = plain.apply(&[1.0, 1.0]).unwrap();
    assert!(values[0] > 0.0 && values[1] == 0.0, "{values:?}");
    assert_eq!(plain.apply_rows(&[1.0; 4], 2).unwrap()[2..], [0.0; 2]);
    assert_eq!((plain.n_without_neighbors(), plain.sources().of(1).len()), (1, 0));
    assert!(sph.gather(&sources, &targets).unwrap().apply(&[1.0, 1.0]).unwrap()[1].is_nan());
    let nothing: [[f64; 1]; 0] = [];
    let none = sph.volumes([]).normalized(false).gather(&nothing, &targets).unwrap();
    assert_eq!(none.apply(&[] as &[f64]).unwrap(), [0.0; 2]);
}

/// A number of columns that exceeds the address space is an error, not a panic.
#[test]
fn more_columns_than_memory() {
    let nothing: [[f64; 1]; 0] = [];
    let interpolator = InverseDistance::new(2.0).prepare(&nothing, &[[0.5f64]; 4]).unwrap();
    for columns in [1 << 62, usize::MAX] {
        let error = interpolator.apply_rows(&[], columns).unwrap_err();
        assert!(error.to_string().contains("columns"), "{error}");
    }
}

#[test]
fn inverse_distances() {
    let sources = [[0.0f64, 0.0], [3.0, 0.0], [0.0, 0.0], [0.0, 6.0]];
    let field = [1.0, 10.0, 2.0, -5.0];
    for power in [0.5, 1.0, 2.0, 400.0] {
        let interpolator =
            InverseDistance::new(power).prepare(&sources, &[[0.0, 0.0], [3.0, 0.0], [1.0, 1.0]]).unwrap();
        let values = interpolator.apply(&field).unwrap();
        // Two sources coincide with the first target.
        assert_eq!((values[0], values[1]), (1.5, 10.0));
        assert!((-5.0..=10.0).contains(&values[2]));
        assert_eq!(interpolator.degrees(), [0; 3]);
    }
    // The squares of such distances underflow, and other powers overflow.
    let tiny = InverseDistance::new(3.0).prepare(&[[1e-170f64], [1e-100], [1.0]], &[[0.0]]).unwrap();
    assert_eq!(tiny.apply(&[5.0, 6.0, 7.0]).unwrap(), [5.0]);
}
