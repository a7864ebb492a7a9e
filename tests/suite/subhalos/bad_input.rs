//! Rejected input, and unusual input that is accepted.

use ropewalk::halo::AdaptaHopAlgorithm;
use ropewalk::{AdaptaHop, ErrorKind};

fn line(n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|i| [(i * i) as f64, (i % 2) as f64, 0.5 * (i % 3) as f64]).collect()
}

#[track_caller]
fn assert_parameter(finder: AdaptaHop, name: &str, value: &str) {
    let error = finder.run(&line(40)).unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(name)), "{error}");
    assert!(error.to_string().contains(&format!("{name} is {value};")), "{error}");
}

#[test]
fn options() {
    let new = AdaptaHop::new;
    let stepped = || new().algorithm(AdaptaHopAlgorithm::Stepped);
    assert_parameter(new().n_hop(0), "n_hop", "0");
    assert_parameter(new().n_hop(40), "n_hop", "40");
    assert_parameter(new().n_hop(usize::MAX), "n_hop", "1.8446744073709552e19");
    assert_parameter(new().n_density(40), "n_density", "40");
    for (bad, text) in [(-1.0, "-1"), (f64::NAN, "NaN")] {
        assert_parameter(new().density_threshold(bad), "density_threshold", text);
        assert_parameter(new().fudge(bad), "fudge", text);
        assert_parameter(new().fudge_epsilon(bad), "fudge_epsilon", text);
        assert_parameter(new().alpha(bad), "alpha", text);
    }
    assert_parameter(new().alpha(f64::INFINITY), "alpha", "inf");
    assert_parameter(stepped().fudge(0.0), "fudge", "0");
    assert_parameter(stepped().density_threshold(0.0), "density_threshold", "0");
    assert!(new().fudge(0.0).density_threshold(0.0).n_hop(39).run(&line(40)).is_ok());
    assert!(new().masses(vec![1.0; 39]).run(&line(40)).is_err_and(|error| error.kind() == ErrorKind::Input));
    assert_eq!(new().run(&[[0.0f32]; 70]).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn nothing_to_find() {
    let none: [[f32; 3]; 0] = [];
    for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
        let finder = AdaptaHop::new().algorithm(algorithm);
        let found = finder.run(&none).unwrap();
        assert!(found.is_empty() && found.halos().is_empty() && found.members(0).is_empty());
        let found = finder.density_threshold(f64::INFINITY).run(&line(40)).unwrap();
        assert!(found.is_empty() && found.structures().labels().n_noise() == 40);
    }
}

/// Infinite densities: all points are above any threshold, in one chain.
#[test]
fn all_at_one_place() {
    let points = [[0.25f32; 3]; 100];
    let finder = AdaptaHop::new().periodic(1.0);
    let found = finder.clone().fudge_epsilon(0.0).run(&points).unwrap();
    assert_eq!((found.len(), found.members(0).len(), found.rows()[0].peak), (1, 100, 0));
    // By default, a halo without a radius is dropped.
    assert!(finder.clone().run(&points).unwrap().is_empty());
    // No step makes a node, since the density never exceeds that of other components in a box with one halo.
    assert!(finder.fudge_epsilon(0.0).algorithm(AdaptaHopAlgorithm::Stepped).run(&points).unwrap().is_empty());
}

/// Without mass there is no centre and no radius, and the density is 0 everywhere.
#[test]
fn without_mass() {
    let density = ropewalk::cluster::KernelDensity::new()
        .n_density(10)
        .unit(ropewalk::cluster::DensityUnit::Absolute)
        .masses(vec![0.0; 40]);
    assert!(AdaptaHop::new().density(density).density_threshold(0.0).run(&line(40)).unwrap().is_empty());
}
