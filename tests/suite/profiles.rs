//! Density profiles and NFW fits.

use common::random::Random;
use ropewalk::Particles;
use ropewalk::halo::{Profile, profiles};

/// Points of an NFW halo of a concentration, out to a radius of 1: by bisection of the enclosed mass.
fn nfw(n: usize, concentration: f64, seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    let within = |x: f64| (1.0 + x).ln() - x / (1.0 + x);
    (0..n)
        .map(|_| {
            let wanted = random.unit() * within(concentration);
            let (mut lo, mut hi) = (0.0, concentration);
            for _ in 0..60 {
                let middle = 0.5 * (lo + hi);
                if within(middle) < wanted { lo = middle } else { hi = middle }
            }
            let r = lo / concentration;
            let z = 2.0 * random.unit() - 1.0;
            let (sin, cos) = (std::f64::consts::TAU * random.unit()).sin_cos();
            let flat = (1.0 - z * z).sqrt();
            [r * flat * cos, r * flat * sin, r * z]
        })
        .collect()
}

fn profile(points: &[[f64; 3]], shells: usize) -> Profile {
    profiles(&Particles::new(points), &[[0.0; 3]], &[1.0], shells).unwrap().remove(0)
}

#[test]
fn a_mock_returns_its_concentration() {
    for (concentration, seed) in [(4.0, 1), (8.0, 2), (15.0, 3)] {
        let profile = profile(&nfw(50_000, concentration, seed), 20);
        let fit = profile.fit.unwrap();
        // The likelihood's own error is some 1 %.
        assert!((fit.concentration / concentration - 1.0).abs() < 0.04, "{fit:?}, should be {concentration}");
        let last = profile.shells.last().unwrap();
        assert_eq!(last.enclosed, 50_000.0);
        // The fit passes through the densities of shells with many particles.
        for shell in profile.shells.iter().filter(|shell| shell.count > 1000) {
            let x = (shell.inner * shell.outer).sqrt() / fit.radius;
            let model = fit.density / (x * (1.0 + x) * (1.0 + x));
            assert!((shell.density / model - 1.0).abs() < 0.12, "{shell:?}: {model}");
        }
    }
}

#[test]
fn shells_hold_what_is_in_them() {
    let points = nfw(3000, 6.0, 4);
    let masses: Vec<f64> = (0..3000).map(|i| 1.0 + f64::from(i % 7)).collect();
    let particles = Particles::new(&points).masses(&masses);
    let found = &profiles(&particles, &[[0.05, 0.0, -0.02]], &[0.7], 9).unwrap()[0];
    let distance = |p: &[f64; 3]| ((p[0] - 0.05).powi(2) + p[1].powi(2) + (p[2] + 0.02).powi(2)).sqrt();
    let mut before = 0.014;
    for shell in &found.shells {
        assert!((shell.inner / before - 1.0).abs() < 1e-12);
        let inside = |p: &[f64; 3]| distance(p) > shell.inner && distance(p) <= shell.outer;
        let count = points.iter().filter(|p| inside(p)).count();
        let mass: f64 = points.iter().zip(&masses).filter(|(p, _)| inside(p)).map(|(_, mass)| mass).sum();
        let enclosed: f64 =
            points.iter().zip(&masses).filter(|(p, _)| distance(p) <= shell.outer).map(|(_, m)| m).sum();
        assert_eq!((shell.count, shell.mass, shell.enclosed), (count, mass, enclosed));
        before = shell.outer;
    }
    assert_eq!(before, 0.7);

    // The same around the boundary of a box.
    let moved: Vec<[f64; 3]> = points.iter().map(|p| p.map(|x| (x + 15.9).rem_euclid(16.0))).collect();
    let particles = Particles::new(&moved).masses(&masses).periodic(16.0);
    let around = &profiles(&particles, &[[15.95, 15.9, 15.88]], &[0.7], 9).unwrap()[0];
    let counts = |profile: &Profile| profile.shells.iter().map(|shell| shell.count).collect::<Vec<_>>();
    assert_eq!(counts(around), counts(found));
}

#[test]
fn nothing_to_fit() {
    let empty = profile(&[[5.0; 3]], 10);
    assert_eq!((empty.shells.len(), empty.fit), (10, None));
    assert!(empty.shells.iter().all(|shell| shell.count == 0 && shell.density == 0.0));
    assert_eq!(profile(&nfw(100, 5.0, 1), 0).shells, []);
    // A constant density has no scale radius, nor have shells of one particle.
    let points = [[0.1, 0.0, 0.0], [0.5, 0.0, 0.0]];
    assert_eq!(profile(&points, 10).fit, None);
    assert_eq!(profiles(&Particles::new(&points), &[[0.0; 3]], &[0.0], 5).unwrap(), [Profile::default()]);
    assert!(profiles(&Particles::new(&points), &[], &[], 5).unwrap().is_empty());
}

#[test]
fn refusals() {
    let points = [[0.1, 0.0, 0.0], [0.5, 0.0, 0.0]];
    let particles = Particles::new(&points);
    let message = |result: ropewalk::Result<Vec<Profile>>| result.unwrap_err().to_string();
    assert!(message(profiles(&particles, &[[0.0; 3]], &[], 5)).contains("radii has 0"));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(message(profiles(&particles, &[[0.0; 3]], &[bad], 5)).contains("radius is"));
    }
    assert!(message(profiles(&particles, &[[0.0, f64::NAN, 0.0]], &[1.0], 5)).contains("NaN"));
    assert!(message(profiles(&particles.clone().periodic(1.5), &[[0.0; 3]], &[1.0], 5)).contains("1.5"));
}
