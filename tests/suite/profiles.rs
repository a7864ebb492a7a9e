//! Density profiles and NFW fits.

use common::random::Random;
use ropewalk::halo::{Particles, Profile, Profiles, Resolution, profiles};

/// Returns points of an NFW halo with the given concentration and a radius of 1, by bisection of the enclosed mass.
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
        // The statistical error of the fit is about 1%.
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

/// Errors equal the scatter of fits to many mocks, and chi2 matches its degrees of freedom.
#[test]
fn errors_are_the_scatter() {
    let fits: Vec<_> = (10..70).map(|seed| profile(&nfw(4000, 6.0, seed), 20).fit.unwrap()).collect();
    let mean = |of: &dyn Fn(usize) -> f64| (0..fits.len()).map(of).sum::<f64>() / fits.len() as f64;
    for (value, error, truth) in [
        (fits.iter().map(|fit| fit.concentration).collect::<Vec<_>>(), fits[0].concentration_error, 6.0),
        (fits.iter().map(|fit| fit.radius).collect(), fits[0].radius_error, 1.0 / 6.0),
        (fits.iter().map(|fit| fit.density.ln()).collect(), fits[0].density_error / fits[0].density, f64::NAN),
    ] {
        let middle = mean(&|i| value[i]);
        let scatter = mean(&|i| (value[i] - middle).powi(2)).sqrt();
        assert!((0.7..1.4).contains(&(scatter / error)), "{scatter} {error}");
        // The mean of sixty fits.
        assert!(truth.is_nan() || (middle - truth).abs() < 0.5 * error, "{middle} {truth} {error}");
    }
    let chi2 = mean(&|i| fits[i].chi2);
    assert!(fits.iter().all(|fit| fit.shells == 20) && (16.0..20.0).contains(&chi2), "{chi2}");
    let fit = fits[0];
    assert!((fit.concentration * fit.radius - 1.0).abs() < 1e-12);
    assert!((fit.concentration_error / fit.concentration - fit.radius_error / fit.radius).abs() < 1e-12);
    assert!((fit.density_at(fit.radius) / fit.density - 0.25).abs() < 1e-12);
}

/// A core inside the resolved radius does not affect the fit.
#[test]
fn what_is_not_resolved_is_left_out() {
    let mut points = nfw(50_000, 8.0, 5);
    points.retain(|p| p.iter().map(|x| x * x).sum::<f64>() > 0.1f64.powi(2));
    let particles = Particles::new(&points);
    let run =
        |resolution| Profiles::new(20).resolution(resolution).run(&particles, &[[0.0; 3]], &[1.0]).unwrap().remove(0);
    let [all, outer] = [run(Resolution::Everywhere), run(Resolution::Softening(0.04))];
    assert_eq!((all.resolved, all.fitted().len(), &all.shells), (0.0, 20, &outer.shells));
    assert!((outer.resolved - 0.12).abs() < 1e-12);
    assert!(outer.fitted().iter().all(|shell| shell.inner >= 0.12) && outer.fitted().len() == 10);
    let [all, outer] = [all, outer].map(|profile| profile.fit.unwrap());
    assert!((outer.concentration - 8.0).abs() < 3.0 * outer.concentration_error, "{outer:?}");
    assert!(
        (all.concentration - 8.0).abs() > 10.0 * all.concentration_error && all.chi2 > 50.0 * outer.chi2,
        "{all:?}"
    );
    assert_eq!(outer.shells, 10);
    // No shell is left to fit.
    assert_eq!(run(Resolution::Softening(0.3)).fit, None);

    // Power et al. 2003: particles of equal masses on a line, so that N(r) = 1000 r, with 200 times the critical
    // density within 1.
    let line: Vec<[f64; 3]> = (1..=1000).map(|i| [0.001 * f64::from(i), 0.0, 0.0]).collect();
    let critical = 1000.0 / (4.0 / 3.0 * std::f64::consts::PI) / 200.0;
    let profiles = Profiles::new(20).resolution(Resolution::Power2003(critical));
    let found = profiles.run(&Particles::new(&line), &[[0.0; 3]], &[1.0]).unwrap().remove(0);
    // sqrt(200) / 8 N / ln N sqrt(critical / density) = N / (8 ln N) (N / 1000) for density = 200 critical (N / 1000)^-2.
    let ratio = |n: f64| n / (8.0 * n.ln()) * (n / 1000.0);
    let last = (2..=1000).filter(|&n| ratio(n.into()) < 0.6).max().unwrap();
    assert!((found.resolved - 0.001 * f64::from(last)).abs() < 1e-9, "{} {last}", found.resolved);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        for resolution in [Resolution::Softening(bad), Resolution::Power2003(bad)] {
            let error = Profiles::new(5).resolution(resolution).run(&particles, &[[0.0; 3]], &[1.0]).unwrap_err();
            assert!(error.to_string().contains("it must be finite and not negative"), "{error}");
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

    // The result is the same across the boundary of a box.
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
    // A constant density has no scale radius, and shells of one particle have no fit.
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
