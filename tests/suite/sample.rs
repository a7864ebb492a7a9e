//! Properties of samples: sizes, distributions, and the same bits on every machine.

use ropewalk::Bvh;
use ropewalk::sample::{MockHalos, Sample};

fn points(spec: &str) -> Vec<[f32; 3]> {
    Sample::parse(spec).unwrap().points().unwrap()
}

/// Returns the FNV-1a hash of the bits.
fn checksum(points: &[[f32; 3]]) -> u64 {
    let step = |hash: u64, x: &f32| (hash ^ u64::from(x.to_bits())).wrapping_mul(0x100_0000_01b3);
    points.iter().flatten().fold(0xcbf2_9ce4_8422_2325, step)
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn bits_are_golden_for_any_number_of_threads() {
    let golden = [
        ("uniform:n=50001,seed=7", 0x015e_ea70_b844_2391),
        ("lattice:n=37^3,jitter=0.1,seed=1", 0x1880_d43b_cda8_cfaa),
        ("halos:n=100001,seed=3,background=0.3,box=100", 0xe190_45af_fb65_7171),
        ("halos:n=100001,seed=4,alpha=1,mmin=5,mmax=50000", 0x384c_33ee_c909_b9e2),
    ];
    for (spec, sum) in golden {
        for threads in [1, 2, 5] {
            let got = on_threads(threads, || checksum(&points(spec)));
            assert_eq!(got, sum, "{spec} on {threads} threads: {got:#x}");
        }
    }
}

#[test]
fn numbers_and_bounds_are_kept() {
    for n in [0, 1, 2, 19, 20, 21, 4095, 4096, 4097, 30_000] {
        for spec in [
            format!("uniform:n={n},box=0.1"),
            format!("halos:n={n},box=0.1"),
            format!("halos:n={n},background=0,mmin=1,mmax={},box=3", n.max(1)),
            format!("halos:n={n},background=1"),
            format!("nfw:n={n},concentration=0.1,box=0.1"),
        ] {
            let sample = Sample::parse(&spec).unwrap();
            let points = sample.points().unwrap();
            assert_eq!((points.len(), sample.len()), (n, n), "{spec}");
            assert!(points.iter().flatten().all(|&x| x >= 0.0 && f64::from(x) < sample.side()), "{spec}");
        }
    }
    for per_axis in [0, 1, 2, 9] {
        for jitter in [0.0, 0.5] {
            let points = points(&format!("lattice:n={per_axis}^3,jitter={jitter},box=7"));
            assert_eq!(points.len(), per_axis * per_axis * per_axis);
            assert!(points.iter().flatten().all(|x| (0.0..7.0).contains(x)));
        }
    }
}

#[test]
fn seeds_and_parameters_matter() {
    for (a, b) in [
        ("uniform:n=100,seed=1", "uniform:n=100,seed=2"),
        ("lattice:n=5^3,seed=1", "lattice:n=5^3,seed=2"),
        ("halos:n=1000,seed=1", "halos:n=1000,seed=2"),
        ("nfw:n=1000,seed=1", "nfw:n=1000,seed=2"),
        ("halos:n=1000,seed=1", "halos:n=1000,seed=18446744073709551615"),
    ] {
        assert_ne!(points(a), points(b), "{a} and {b}");
    }
}

/// The exponent of the mass function is the requested one: the mean of `ln(M / least)` agrees with theory within
/// standard errors.
#[test]
fn masses_follow_the_power_law() {
    for alpha in [0.5f64, 1.0, 1.5, 1.9, 2.0, 2.7] {
        let (least, most) = (100.0f64, 20_000.0f64);
        let mock = MockHalos::new(60_000_000).alpha(alpha).masses(least as u32, most as u32).seed(5);
        let logs: Vec<f64> =
            mock.catalog().unwrap().iter().map(|halo| ((f64::from(halo.mass) + 0.5) / least).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let error = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / count / count).sqrt();
        // Moments of the density M^-alpha dM on the interval, by Simpson's rule in ln M.
        let (a, span) = (1.0 - alpha, ((most + 1.0) / least).ln());
        let integral = |power: i32| -> f64 {
            (0..=2000)
                .map(|i| {
                    let l = span * f64::from(i) / 2000.0;
                    let weight = if i == 0 || i == 2000 { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
                    weight * l.powi(power) * (a * l).exp()
                })
                .sum()
        };
        let expected = integral(1) / integral(0);
        assert!((mean - expected).abs() < 4.0 * error + 2e-4, "alpha {alpha}: {mean} for {expected} +- {error}");
    }
}

#[test]
fn halos_use_up_what_is_not_background() {
    let mock = MockHalos::new(200_000).background(0.25).masses(50, 3000);
    let halos = mock.catalog().unwrap();
    let members: u32 = halos.iter().map(|halo| halo.mass).sum();
    assert!((150_000 - 50 + 1..=150_000).contains(&members), "{members}");
    let mut counted = vec![0; halos.len()];
    mock.membership().unwrap().into_iter().flatten().for_each(|halo| counted[halo as usize] += 1);
    assert!(halos.iter().map(|halo| halo.mass).eq(counted));
    assert!(halos.iter().all(|halo| (50..=3000).contains(&halo.mass)));
}

fn nfw(x: f64) -> f64 {
    x.ln_1p() - x / (1.0 + x)
}

/// Each large halo agrees with its distribution by a Kolmogorov-Smirnov test, and is 200 times as dense as the box.
#[test]
fn profiles_are_nfw() {
    let side = 10.0;
    let mock = MockHalos::new(200_000).background(0.2).masses(15_000, 40_000).side(side).seed(8);
    let (points, halos, of) = (mock.points().unwrap(), mock.catalog().unwrap(), mock.membership().unwrap());
    for (index, halo) in halos.iter().enumerate() {
        let mut parts: Vec<f64> = (points.iter().zip(&of))
            .filter(|(_, of)| **of == Some(index as u32))
            .map(|(point, _)| {
                let offset = |k: usize| {
                    let d = (f64::from(point[k]) - halo.center[k]).abs();
                    d.min(side - d)
                };
                let r = (0..3).map(|k| offset(k).powi(2)).sum::<f64>().sqrt();
                assert!(r <= halo.radius * 1.00001);
                nfw(halo.concentration * r / halo.radius) / nfw(halo.concentration)
            })
            .collect();
        parts.sort_by(f64::total_cmp);
        let count = parts.len() as f64;
        assert_eq!(parts.len(), halo.mass as usize);
        let worst =
            (parts.iter().enumerate()).map(|(i, part)| (part - (i as f64 + 0.5) / count).abs()).fold(0.0, f64::max);
        // One halo in ten thousand would fail by chance.
        assert!(worst < 2.23 / count.sqrt(), "halo {index}: {worst} of {count}");

        let density = count / (4.0 / 3.0 * std::f64::consts::PI * halo.radius.powi(3));
        assert!((density / 200.0 / (200_000.0 / side.powi(3)) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn concentration_falls_slowly_with_mass() {
    let mock = MockHalos::new(100_000).masses(10, 10_000);
    for halo in mock.catalog().unwrap() {
        let expected = 6.0 * (10_000.0 / f64::from(halo.mass)).powf(0.081);
        assert!((halo.concentration - expected).abs() < 1e-9);
    }
}

/// Returns chi-squared of the counts in 8^3 cells: 511 degrees of freedom, with a standard deviation of 32.
fn chi_squared(points: impl Iterator<Item = [f32; 3]>) -> f64 {
    let mut cells = vec![0.0f64; 512];
    points.for_each(|p| cells[p.iter().fold(0, |cell, x| cell * 8 + (x * 8.0) as usize)] += 1.0);
    let mean = cells.iter().sum::<f64>() / 512.0;
    cells.iter().map(|count| (count - mean).powi(2) / mean).sum()
}

#[test]
fn uniform_points_and_the_background_are_uniform() {
    let chi = chi_squared(points("uniform:n=100000,seed=2").into_iter());
    assert!((chi - 511.0).abs() < 130.0, "{chi}");

    let mock = MockHalos::new(200_000).background(0.5);
    let (points, of) = (mock.points().unwrap(), mock.membership().unwrap());
    let background = points.iter().zip(&of).filter(|(_, of)| of.is_none()).map(|(point, _)| *point);
    let chi = chi_squared(background);
    assert!((chi - 511.0).abs() < 130.0, "{chi}");
    assert!(chi_squared(points.into_iter()) > 10_000.0);
}

/// The excess of pairs of centres over chance decreases with distance as a power near -1.8.
#[test]
fn centers_are_clustered() {
    let halos = MockHalos::new(10_000_000).background(0.3).masses(100, 20_000).seed(1).catalog().unwrap();
    let centers: Vec<[f64; 3]> = halos.iter().map(|halo| halo.center).collect();
    let n = centers.len() as f64;
    assert!(n > 5000.0, "{n}");
    let tree = Bvh::build_periodic(&centers, 1.0).unwrap();
    let excess = |r: f64| {
        let chance = n * (n - 1.0) / 2.0 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
        tree.count_pairs(r) as f64 / chance - 1.0
    };
    let (near, far) = (excess(0.01), excess(0.04));
    assert!(near > 10.0, "{near}");
    let power = (far / near).log(4.0);
    assert!((-2.3..-1.3).contains(&power), "{near} to {far}: a power of {power}");
}

/// Neighbours in the file share a halo no more often than random pairs of points.
#[test]
fn order_says_nothing_of_place() {
    let mock = MockHalos::new(400_000).background(0.0).masses(1000, 20_000);
    let (halos, of) = (mock.catalog().unwrap(), mock.membership().unwrap());
    let n = of.len() as f64;
    let chance: f64 = halos.iter().map(|halo| (f64::from(halo.mass) / n).powi(2)).sum();
    for lag in [1, 2, 64, 4096, 100_000] {
        let same = of.iter().zip(&of[lag..]).filter(|(a, b)| a == b).count() as f64;
        let expected = chance * (n - lag as f64);
        assert!((same - expected).abs() < 5.0 * expected.sqrt(), "lag {lag}: {same} for {expected}");
    }
    for (index, halo) in halos.iter().enumerate() {
        let half = of[..of.len() / 2].iter().filter(|of| **of == Some(index as u32)).count() as f64;
        let mass = f64::from(halo.mass);
        assert!((half - mass / 2.0).abs() < 3.0 * mass.sqrt(), "halo {index}: {half} of {mass}");
    }
}

#[test]
fn a_lattice_has_its_spacing() {
    let exact = points("lattice:n=8^3,box=16");
    assert!(exact.iter().flatten().all(|x| x.rem_euclid(2.0) == 1.0));
    assert_eq!(Bvh::build_periodic(&exact, 16.0).unwrap().count_neighbors(2.0), [7; 512]);

    let moved = points("lattice:n=8^3,box=16,jitter=0.25");
    let offsets: Vec<f32> = moved.iter().flatten().map(|x| x.rem_euclid(2.0) - 1.0).collect();
    assert!(offsets.iter().all(|offset| offset.abs() <= 0.5));
    assert!(offsets.iter().any(|&offset| offset > 0.45) && offsets.iter().any(|&offset| offset < -0.45));
    let mut cells: Vec<_> = moved.iter().map(|p| p.map(|x| (x / 2.0) as u8)).collect();
    assert!(!cells.is_sorted());
    cells.sort_unstable();
    cells.dedup();
    assert_eq!(cells.len(), 512);
}

#[test]
fn specs_come_back() {
    for (spec, canonical) in [
        ("uniform", "uniform:n=1000000,seed=0,box=1"),
        ("uniform:n=1e6, seed=7", "uniform:n=1000000,seed=7,box=1"),
        ("lattice:n=64^3,jitter=0.1", "lattice:n=64^3,jitter=0.1,seed=0,box=1"),
        ("nfw:n=1e5,concentration=6.5", "nfw:n=100000,concentration=6.5,seed=0,box=1"),
        ("lattice:n=27", "lattice:n=3^3,jitter=0,seed=0,box=1"),
        (
            "halos:n=4e6,seed=3,background=0.25,box=100",
            "halos:n=4000000,background=0.25,alpha=1.9,mmin=20,mmax=80000,seed=3,box=100",
        ),
        ("halos:mmin=5,mmax=1e3,alpha=2", "halos:n=1000000,background=0.3,alpha=2,mmin=5,mmax=1000,seed=0,box=1"),
    ] {
        let sample: Sample = spec.parse().unwrap();
        assert_eq!(sample.to_string(), canonical);
        assert_eq!(Sample::parse(canonical).unwrap().to_string(), canonical);
    }
    assert_eq!(points("halos:n=9999"), points(&Sample::parse("halos:n=9999").unwrap().to_string()));
}

#[test]
fn bad_specs_say_what_is_wrong() {
    for (spec, message) in [
        ("", "unknown sample ``; the samples are uniform, lattice, halos, nfw"),
        ("plummer:n=3", "unknown sample `plummer`; the samples are uniform, lattice, halos, nfw"),
        ("uniform:jitter=3", "unknown key `jitter`; the keys are n, seed, box"),
        ("halos:n", "`n` is not of the form key=value"),
        ("halos:n=10,n=20", "`n` is given twice"),
        ("halos:n=ten", "`n` must be a whole number such as 1000000, 1e6 or 100^3, not `ten`"),
        ("halos:n=1.5", "not `1.5`"),
        ("halos:n=-1", "not `-1`"),
        ("halos:n=NaN", "not `NaN`"),
        ("halos:n=10^99", "not `10^99`"),
        ("halos:n=5e9", "5000000000 points exceed the limit"),
        ("lattice:n=100", "`n` of a lattice must be a cube such as 5^3, not 100"),
        ("lattice:n=1626^3", "points exceed the limit"),
        ("lattice:jitter=0.6", "jitter is 0.6; it must be from 0 to 0.5"),
        ("uniform:seed=-1", "`seed` must be a whole number from 0 to 2^64 - 1, not `-1`"),
        ("nfw:concentration=0", "the concentration is 0; it must be from 0.1 to 100"),
        ("uniform:box=0", "the side of the box is 0; it must be from 1e-15 to 1e15"),
        ("uniform:box=NaN", "the side of the box is NaN"),
        ("uniform:box=wide", "`box` must be a number, not `wide`"),
        ("halos:background=1.1", "the background is 1.1; it must be from 0 to 1"),
        ("halos:alpha=inf", "alpha is inf; it must be from 0 to 5"),
        ("halos:mmin=0", "the minimum mass is 0; it must be at least 1"),
        ("halos:mmin=30,mmax=20", "the maximum mass is 20; it must be at least the minimum mass, 30"),
        ("halos:mmax=5e9", "`mmax` must be at most 4294967295, not 5000000000"),
    ] {
        let error = Sample::parse(spec).unwrap_err().to_string();
        assert!(error.starts_with(&format!("sample `{spec}`: ")) && error.contains(message), "{error}");
    }
}

#[test]
fn bad_parameters_are_refused_without_a_spec_too() {
    assert!(MockHalos::new(10).side(f64::NAN).points().is_err());
    assert!(MockHalos::new(10).masses(0, 5).catalog().is_err());
    assert!(MockHalos::new(usize::MAX).membership().is_err());
    assert!(ropewalk::sample::Lattice::new(usize::MAX).points().is_err());
    assert!(ropewalk::sample::Uniform::new(usize::MAX).points().is_err());
}

/// The mass within a radius agrees with the profile within standard errors.
#[test]
fn one_halo_has_its_profile() {
    let within = |x: f64| (1.0 + x).ln() - x / (1.0 + x);
    for concentration in [1.0, 10.0, 60.0] {
        let points = points(&format!("nfw:n=1e5,concentration={concentration},box=8"));
        for radius in [0.1, 0.5, 1.5, 3.0] {
            let distance = |p: &[f32; 3]| p.iter().map(|&x| (f64::from(x) - 4.0).powi(2)).sum::<f64>().sqrt();
            let inside = points.iter().filter(|p| distance(p) < radius).count() as f64;
            let part = within(radius / 4.0 * concentration) / within(concentration);
            let error = (1e5 * part * (1.0 - part)).sqrt();
            assert!((inside - 1e5 * part).abs() < 4.0 * error + 1.0, "{concentration}, {radius}: {inside}, {part}");
        }
    }
}
