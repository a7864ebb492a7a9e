//! Input that densities and HOP reject, and unusual input that they accept.

use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};
use ropewalk::{Aabb, Bvh, Error, ErrorKind, Hop};

fn line(n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|i| [(i * i) as f64, 1.0, 0.5 * (i % 3) as f64]).collect()
}

fn absolute() -> KernelDensity {
    KernelDensity::new().unit(DensityUnit::Absolute)
}

/// Asserts that the error concerns a parameter, and that the message names it and its value.
#[track_caller]
fn assert_parameter<T>(found: Result<T, Error>, name: &str, value: &str) {
    let Err(error) = found else { panic!("{name} = {value} is taken") };
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(name)), "{error}");
    assert!(error.to_string().contains(&format!("{name} is {value};")), "{error}");
}

#[test]
fn counts_of_neighbours() {
    let points = line(64);
    assert_parameter(absolute().run(&points), "n_density", "64");
    assert_parameter(absolute().n_density(usize::MAX).run(&points), "n_density", "1.8446744073709552e19");
    assert_parameter(absolute().n_density(0).run(&points), "n_density", "0");
    assert!(absolute().n_density(63).run(&points).is_ok());
    let top_hat = absolute().kernel(DensityKernel::TopHat);
    assert!(top_hat.clone().run(&points).is_ok());
    assert_parameter(top_hat.n_density(65).run(&points), "n_density", "65");
    let hop = Hop::new(1.0).density(absolute().n_density(5));
    assert_parameter(hop.clone().n_hop(65).run(&points), "n_hop", "65");
    assert_parameter(hop.clone().n_hop(0).run(&points), "n_hop", "0");
    assert_parameter(hop.clone().n_merge(64).run(&points), "n_merge", "64");
    assert!(hop.n_hop(64).n_merge(63).run(&points).is_ok());
}

#[test]
fn thresholds() {
    let points = line(70);
    let run = |hop: Hop| hop.density(absolute()).run(&points);
    assert_parameter(run(Hop::new(f64::NAN)), "delta_outer", "NaN");
    assert_parameter(run(Hop::new(-1.0)), "delta_outer", "-1");
    assert_parameter(run(Hop::new(2.0).delta_saddle(1.0)), "delta_saddle", "1");
    assert_parameter(run(Hop::new(2.0).delta_saddle(f64::NAN)), "delta_saddle", "NaN");
    assert_parameter(run(Hop::new(2.0).delta_peak(4.0)), "delta_peak", "4");
    assert_parameter(run(Hop::new(2.0).delta_peak(f64::NAN)), "delta_peak", "NaN");
    assert!(run(Hop::new(2.0).delta_saddle(2.0).delta_peak(2.0)).is_ok());
    assert_eq!(run(Hop::new(f64::INFINITY)).unwrap().len(), 0);
    assert_eq!(run(Hop::new(0.0)).unwrap().labels().n_noise(), 0);
}

#[test]
fn masses_and_volumes() {
    let points = line(70);
    let with = |mass: f64| {
        let mut masses = vec![1.0; 70];
        masses[33] = mass;
        absolute().masses(masses)
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = with(bad).run(&points).unwrap_err();
        assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(33)), "{error}");
    }
    assert!(with(0.0).run(&points).unwrap().iter().all(|&density| density > 0.0));
    assert_eq!(absolute().masses(vec![1.0; 69]).run(&points).unwrap_err().kind(), ErrorKind::Input);
    let none = KernelDensity::new().masses(vec![0.0; 70]).volume(1.0);
    assert_parameter(none.clone().run(&points), "masses", "0");
    assert!(none.unit(DensityUnit::Absolute).run(&points).unwrap().iter().all(|&density| density == 0.0));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(KernelDensity::new().volume(bad).run(&points).is_err_and(|error| error.parameter() == Some("volume")));
    }
    // All points are in a plane in open space, so their bounding box has no volume.
    let flat: Vec<[f64; 3]> = points.iter().map(|&[x, y, _]| [x, y, 0.0]).collect();
    assert_parameter(KernelDensity::new().run(&flat), "volume", "0");
    assert!(
        KernelDensity::new().volume(1.0).run(&flat).is_ok() && KernelDensity::new().periodic(1e4).run(&flat).is_ok()
    );
}

#[test]
fn points_without_a_kernel() {
    let error = |error: Error| (error.kind(), error.to_string());
    let (kind, sentence) = error(absolute().run(&[[0.0f32; 4]; 70]).unwrap_err());
    assert!(kind == ErrorKind::Unsupported && sentence.contains("2 or 3 dimensions, got 4"), "{sentence}");
    assert_eq!(Hop::new(1.0).run(&[[0.0f64]; 70]).unwrap_err().kind(), ErrorKind::Unsupported);
    let boxes: Vec<Aabb<f32, 3>> = (0..70).map(|i| Aabb::new([i as f32; 3], [i as f32 + 0.5; 3])).collect();
    let (kind, sentence) = error(absolute().run(&boxes).unwrap_err());
    assert!(kind == ErrorKind::Unsupported && sentence.contains("extent"), "{sentence}");
    assert_eq!(absolute().run(&[[f32::NAN, 0.0]]).unwrap_err().kind(), ErrorKind::NotFinite);
}

#[test]
fn fields() {
    let bvh = Bvh::build(&line(20)).unwrap();
    let hop = Hop::new(1.0).n_hop(5);
    assert_eq!(hop.chains_with_density(&bvh, &[1.0; 19]).unwrap_err().kind(), ErrorKind::Input);
    let mut field = [1.0; 20];
    field[7] = f64::NAN;
    let error = hop.chains_with_density(&bvh, &field).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(7)), "{error}");
    field[7] = f64::INFINITY;
    let chains = hop.chains_with_density(&bvh, &field).unwrap();
    assert_eq!((chains.peaks()[0].index, chains.chain()[7]), (7, 0));
    // Zeros of both signs are equal, so the lowest index is a peak.
    let zeros: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { -0.0 } else { 0.0 }).collect();
    assert_eq!(hop.n_hop(20).chains_with_density(&bvh, &zeros).unwrap().peaks()[0].index, 0);
}

#[test]
fn without_points() {
    let none: [[f32; 3]; 0] = [];
    assert!(KernelDensity::new().run(&none).unwrap().is_empty());
    let chains = Hop::new(1.0).chains(&none).unwrap();
    assert!(chains.peaks().is_empty() && chains.boundaries().is_empty());
    assert!(Hop::new(1.0).n_hop(usize::MAX).run(&none).unwrap().is_empty());
}

/// Kernels that overflow `f64` without masses, but not with the masses.
#[test]
fn light_particles_very_close() {
    let densities = |distance: f64| {
        let points: Vec<[f64; 3]> =
            (0..64).map(|i| [i / 16, i / 4 % 4, i % 4].map(|x| f64::from(x) * distance)).collect();
        absolute().n_density(8).masses(vec![1e-10; 64]).run(&points).unwrap()
    };
    // Scaling by powers of two is exact.
    let expected: Vec<f64> = densities(1.0).into_iter().map(|density| density * 2f64.powi(3 * 337)).collect();
    assert_eq!(densities(2f64.powi(-337)), expected);
    for distance in (0..40).map(|i| 1e-102 * 0.95f64.powi(i)) {
        assert!(densities(distance).iter().all(|&density| density > 1e200), "{distance}");
    }
    assert!(densities(1e-103).iter().all(|&density| density == f64::INFINITY));
}

/// Densities are infinite, the lowest index is the peak, and all points form one halo.
#[test]
fn all_at_one_place() {
    let points = [[0.25f32; 3]; 100];
    let hop = Hop::new(80.0).periodic(1.0);
    let chains = hop.chains(&points).unwrap();
    assert!(chains.density().iter().all(|&density| density == f64::INFINITY));
    let halos = hop.run(&points).unwrap();
    assert_eq!((halos.len(), halos.members(0).len()), (1, 100));
    // The number of copies equals the length of a list, which is valid.
    let few: Vec<[f32; 3]> = (0..100).map(|i| if i < 64 { [0.25; 3] } else { [0.01 * i as f32; 3] }).collect();
    assert!(KernelDensity::new().periodic(1.0).run(&few).unwrap().iter().all(|density| density.is_finite()));
}
