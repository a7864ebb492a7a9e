//! Spherical overdensities, compared with stored results and with the definition.

use std::path::Path;

use common::data::{large, root};
use common::random::Random;
use ropewalk::halo::{NoSphere, Particles, SphericalOverdensity, overdensities};
use ropewalk_io::{Points, ReadOptions, read};

/// The critical density for masses in 1e10 Msun/h and lengths in Mpc/h.
const CRITICAL: f64 = 27.7536627;
const OMEGA_M: f64 = 0.31;

/// Asserts that M and R for 200 times the critical and the mean density, around stored centres, equal the stored
/// values.
fn assert_reference(snapshot: &Path, halos: &Path, side: f64) {
    let snapshot = read(snapshot, &ReadOptions::default().types([1])).unwrap();
    let Points::F32(points) = &snapshot.points else { panic!("f64 positions") };
    let ropewalk_io::Masses::Equal(mass) = snapshot.masses else { panic!("no mass") };
    let particles = Particles::new(points.rows::<3>().unwrap()).mass(mass).periodic(side);

    let text = std::fs::read_to_string(halos).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let column = |name: &str| names.iter().position(|&other| other == name).unwrap();
    let at = ["mbp_x", "mbp_y", "mbp_z"].map(column);
    let ids = snapshot.ids.as_ref().unwrap();
    let position = |row: &[f64]| {
        // The centre is a particle, but its coordinates in the table have too few digits for a distance of 0.
        let id = row[column("mbp_id")] as u64;
        let index = ids.iter().position(|&other| other == id).unwrap();
        let own = points.rows::<3>().unwrap()[index].map(f64::from);
        assert!((0..3).all(|k| (own[k] - row[at[k]]).abs() < 1e-5 * side));
        own
    };
    let centers: Vec<[f64; 3]> = rows.iter().map(|row| position(row)).collect();
    let found = overdensities(&particles, &centers, &[200.0 * CRITICAL, 200.0 * OMEGA_M * CRITICAL]).unwrap();
    assert!(rows.len() > 600 && found.len() == rows.len());
    for (halo, (row, spheres)) in rows.iter().zip(&found).enumerate() {
        for (sphere, names) in spheres.iter().zip([["m200c", "r200c"], ["m200m", "r200m"]]) {
            let SphericalOverdensity { mass, radius, .. } = sphere.unwrap();
            for (ours, name) in [1e10 * mass, radius].into_iter().zip(names) {
                let theirs = row[column(name)];
                assert!(
                    (ours - theirs).abs() <= 1e-5 * theirs.abs(),
                    "halo {halo}: {name} is {ours}, should be {theirs}"
                );
            }
        }
    }
}

#[test]
fn p3m_64() {
    let halos = root().join("tests/data/p3m_64_fof_b0.2_periodic_halos.csv");
    assert_reference(&root().join("data/p3m_64.gadget2"), &halos, 32.0);
}

#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn p3m_128() {
    assert_reference(&large("p3m_128.gadget2"), &large("p3m_128_fof_b0.2_periodic_halos.csv"), 64.0);
}

/// Computes the sphere by its definition, from the sorted distances of all particles.
fn expected(near: &mut [(f64, f64)], threshold: f64) -> SphericalOverdensity {
    near.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let density = |mass: f64, radius: f64| mass / (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3));
    let mass_to = |n: usize| near[..n].iter().map(|near| near.1).sum::<f64>();
    for n in 1..=near.len() {
        // The density just before the next particle.
        if n < near.len() && density(mass_to(n), near[n].0) >= threshold {
            continue;
        }
        let radius = (3.0 * mass_to(n) / (4.0 * std::f64::consts::PI * threshold)).cbrt();
        return if n == 1 && radius < near[0].0 {
            SphericalOverdensity::default()
        } else {
            SphericalOverdensity { mass: mass_to(n), radius, count: n }
        };
    }
    SphericalOverdensity::default()
}

#[test]
fn the_definition() {
    let mut random = Random::new(77);
    let (mut nothing, mut something) = (0, 0);
    for round in 0..300 {
        let n = 1 + random.below(80);
        let clustered = round % 2 == 0;
        let positions: Vec<[f64; 3]> = (0..n)
            .map(|_| {
                let scale = if clustered { random.unit().powi(3) } else { 1.0 };
                std::array::from_fn(|_| 5.0 + 4.0 * scale * (random.unit() - 0.5))
            })
            .collect();
        let masses: Vec<f64> = (0..n).map(|_| 0.5 + random.unit()).collect();
        let center = if round % 3 == 0 { [5.2, 4.9, 5.0] } else { positions[random.below(n)] };
        let threshold = 10f64.powf(4.0 * random.unit() - 2.0);
        let distance = |point: &[f64; 3]| (0..3).map(|k| (point[k] - center[k]).powi(2)).sum::<f64>().sqrt();
        let mut near: Vec<(f64, f64)> = positions.iter().map(distance).zip(masses.iter().copied()).collect();
        let expected = expected(&mut near, threshold);

        let particles = Particles::new(&positions).masses(&masses);
        let found = or_nothing(overdensities(&particles, &[center], &[threshold, 1e9]).unwrap()[0][0]);
        assert_eq!(found.count, expected.count, "round {round}");
        assert!((found.mass - expected.mass).abs() < 1e-12 * (1.0 + expected.mass));
        assert!((found.radius - expected.radius).abs() < 1e-12 * (1.0 + expected.radius));
        nothing += usize::from(found.count == 0);
        something += usize::from(found.count > 1);

        // The result is the same across the boundary of a box, if the sphere fits into the box.
        let side = 40.0;
        let moved: Vec<[f64; 3]> = positions.iter().map(|point| point.map(|x| (x - 5.0 + side) % side)).collect();
        let center = center.map(|x| (x - 5.0 + side) % side);
        let particles = Particles::new(&moved).masses(&masses).periodic(side);
        let around = overdensities(&particles, &[center], &[threshold]).unwrap()[0][0];
        // Shifts by whole boxes have no effect.
        let far: Vec<[f64; 3]> = moved.iter().map(|point| [point[0] + side, point[1] - 2.0 * side, point[2]]).collect();
        let particles = Particles::new(&far).masses(&masses).periodic(side);
        let again = overdensities(&particles, &[center.map(|x| x - side)], &[threshold]).unwrap()[0][0];
        assert_eq!(again.map(|sphere| sphere.count), around.map(|sphere| sphere.count), "round {round}");
        if found.radius < 19.0 {
            assert_eq!(or_nothing(around).count, found.count, "round {round}");
            assert!((or_nothing(around).radius - found.radius).abs() < 1e-9);
        } else {
            assert_eq!(around, Err(NoSphere::BeyondHalfBox));
        }
    }
    assert!(nothing > 5 && something > 100, "{nothing}, {something}");
}

/// Converts `NotDense` to an empty sphere.
fn or_nothing(sphere: Result<SphericalOverdensity, NoSphere>) -> SphericalOverdensity {
    if sphere == Err(NoSphere::NotDense) { SphericalOverdensity::default() } else { sphere.unwrap() }
}

/// A sphere must not extend beyond half the box.
#[test]
fn no_sphere_beyond_half_the_box() {
    let pair = [[1.0, 1.0, 1.0], [1.1, 1.0, 1.0]];
    let find = |positions: &[[f64; 3]], side: [f64; 3], threshold: f64| {
        overdensities(&Particles::new(positions).periodic(side), &[[1.0; 3]], &[threshold]).unwrap()[0][0]
    };
    assert_eq!(find(&pair, [4.0; 3], 1e-4), Err(NoSphere::BeyondHalfBox));
    // 2 / (4/3 pi 2^3) is the mean density within half the box.
    assert!(find(&pair, [4.0; 3], 0.0598).is_ok_and(|sphere| sphere.radius < 2.0 && sphere.count == 2));
    assert_eq!(find(&pair, [4.0; 3], 0.0596), Err(NoSphere::BeyondHalfBox));
    assert_eq!(find(&pair, [40.0, 4.0, 40.0], 0.0596), Err(NoSphere::BeyondHalfBox));
    assert!(find(&pair, [40.0; 3], 0.0596).is_ok());
    // Particles in a corner are never within half the box.
    let corner = [[3.0; 3]; 3];
    for threshold in [1e-9, 1.0, 1e9] {
        assert_eq!(find(&corner, [4.0; 3], threshold), Err(NoSphere::NotDense));
    }
}

#[test]
fn particles_without_mass_do_not_matter() {
    let mut random = Random::new(5);
    for round in 0..100 {
        let n = 1 + random.below(40);
        let positions: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.unit())).collect();
        let masses: Vec<f64> = (0..n).map(|_| if random.below(2) == 0 { 0.0 } else { random.unit() }).collect();
        let (heavy, weights): (Vec<[f64; 3]>, Vec<f64>) =
            positions.iter().zip(&masses).filter(|&(_, &mass)| mass > 0.0).unzip();
        let centers = [positions[0], [0.5; 3]];
        let thresholds = [0.1, 1.0, 10.0, 1000.0];
        let all = overdensities(&Particles::new(&positions).masses(&masses), &centers, &thresholds).unwrap();
        let some = overdensities(&Particles::new(&heavy).masses(&weights), &centers, &thresholds).unwrap();
        for ((ours, theirs), center) in all.iter().zip(&some).zip(&centers) {
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert_eq!(ours.map(|sphere| sphere.mass), theirs.map(|sphere| sphere.mass), "round {round}");
                // Massless particles are counted if they are within the radius.
                let Ok(sphere) = ours else { continue };
                let d2 = |p: &[f64; 3]| (0..3).map(|k| (p[k] - center[k]).powi(2)).sum::<f64>();
                let inside = positions.iter().filter(|p| d2(p).sqrt() <= sphere.radius).count();
                assert_eq!(sphere.count, inside, "round {round}");
            }
        }
    }
    let nothing = Particles::new(&[[0.0f64; 3], [1.0; 3]]).mass(0.0);
    assert_eq!(overdensities(&nothing, &[[0.0; 3]], &[1.0]).unwrap(), [[Err(NoSphere::NotDense)]]);
    let box_of_nothing = nothing.periodic(5.0);
    assert_eq!(overdensities(&box_of_nothing, &[[0.0; 3]], &[1.0]).unwrap(), [[Err(NoSphere::NotDense)]]);
}

/// Thresholds, masses and lengths of any magnitude are accepted, and the search for the radius ends.
#[test]
fn extreme_units() {
    let positions = [[0.0; 3], [1.0, 0.0, 0.0]];
    let sphere = |mass: f64, threshold: f64| {
        overdensities(&Particles::new(&positions).mass(mass), &[[0.0; 3]], &[threshold]).unwrap()[0][0].unwrap()
    };
    for (mass, threshold, count) in
        [(1e-200, 1e200, 1), (5e-324, 1e308, 1), (1e-300, 1e-300, 1), (1e300, 1e-300, 2), (5e-324, 1e-308, 1)]
    {
        let found = sphere(mass, threshold);
        assert_eq!((found.count, found.mass), (count, count as f64 * mass), "{mass}, {threshold}");
        let expected = (found.mass.ln() - threshold.ln() + (0.75 / std::f64::consts::PI).ln()) / 3.0;
        assert!((found.radius.ln() - expected).abs() < 1e-9, "{mass}, {threshold}: {found:?}");
    }
    // Scales lengths by powers of two, and the threshold accordingly.
    let mut random = Random::new(2);
    let cloud: Vec<[f64; 3]> = (0..300).map(|_| std::array::from_fn(|_| random.normal())).collect();
    let find = |power: i32, far: f64| {
        let scale = 2f64.powi(power);
        let scaled: Vec<[f64; 3]> = cloud.iter().map(|point| point.map(|x| x * scale)).collect();
        let thresholds = [0.1, 1.0, 30.0].map(|threshold| threshold * 2f64.powi(-3 * power));
        let found =
            overdensities(&Particles::new(&scaled), &[scaled[7], [far * scale, 0.0, 0.0]], &thresholds).unwrap();
        found.into_iter().flatten().map(|sphere| sphere.map(|sphere| sphere.count)).collect::<Vec<_>>()
    };
    let expected = find(0, 50.0);
    for power in [-330, -200, -40, 40, 200, 300] {
        assert_eq!(find(power, 50.0), expected, "2^{power}");
    }
    // Centres beyond the range of `f32`, and beyond the range of squares.
    let few = [[1.0f32, 2.0, 3.0], [1.5, 2.0, 3.0]];
    for far in [1e30, 1e39, 1e100, 1e150] {
        let found = overdensities(&Particles::new(&few), &[[far; 3], [-far, far, 0.0]], &[1.0]).unwrap();
        assert_eq!(found, [[Err(NoSphere::NotDense)]; 2], "{far}");
    }
    let message = overdensities(&Particles::new(&few), &[[0.0; 3], [0.0, 1e151, 0.0]], &[1.0]).unwrap_err().to_string();
    assert!(message.contains("point 1") && message.contains("overflow"), "{message}");
    let message = overdensities(&Particles::new(&few).mass(1e308), &[[0.0; 3]], &[1.0]).unwrap_err().to_string();
    assert!(message.contains("sum of all masses"), "{message}");
}

/// Spheres of higher density are smaller, their mean density is the threshold, and their count is that of the
/// particles inside.
#[test]
fn spheres_are_what_they_say() {
    let mut random = Random::new(31);
    for round in 0..60 {
        let n = 1 + random.below(400);
        let side = (random.below(2) == 0).then_some(6.0);
        let positions: Vec<[f64; 3]> = (0..n)
            .map(|_| {
                let scale = random.unit().powi(2);
                std::array::from_fn(|_| (2.0 + 2.0 * scale * random.normal()).rem_euclid(6.0))
            })
            .collect();
        let masses: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let mut particles = Particles::new(&positions).masses(&masses);
        if let Some(side) = side {
            particles = particles.periodic(side);
        }
        let thresholds: Vec<f64> = (0..12).map(|i| 10f64.powf(0.5 * f64::from(i) - 2.0)).collect();
        let center = positions[random.below(n)];
        let found = &overdensities(&particles, &[center], &thresholds).unwrap()[0];
        let distance = |p: &[f64; 3]| {
            let gap = |k: usize| (p[k] - center[k]).abs();
            (0..3).map(|k| side.map_or(gap(k), |side: f64| gap(k).min(side - gap(k))).powi(2)).sum::<f64>().sqrt()
        };
        let mut last = f64::INFINITY;
        for (sphere, threshold) in found.iter().zip(&thresholds) {
            match sphere {
                Ok(sphere) => {
                    assert!(sphere.radius <= last && side.is_none_or(|side| sphere.radius <= 0.5 * side));
                    last = sphere.radius;
                    let density = sphere.mass / (4.0 / 3.0 * std::f64::consts::PI * sphere.radius.powi(3));
                    assert!((density / threshold - 1.0).abs() < 1e-12);
                    let inside = positions.iter().zip(&masses).filter(|(p, _)| distance(p) <= sphere.radius);
                    let (count, mass) = inside.fold((0, 0.0), |(count, sum), (_, mass)| (count + 1, sum + mass));
                    assert_eq!(sphere.count, count, "round {round}");
                    assert!((sphere.mass - mass).abs() <= 1e-12 * mass);
                }
                // `BeyondHalfBox` occurs at low thresholds, and `NotDense` at high ones.
                Err(NoSphere::BeyondHalfBox) => assert!(last == f64::INFINITY && side.is_some()),
                Err(reason) => assert_eq!(*reason, NoSphere::NotDense),
            }
        }
    }
}

#[test]
fn odd_input() {
    let refused = |result: ropewalk::Result<Vec<Vec<Result<SphericalOverdensity, NoSphere>>>>, words: &[&str]| {
        let message = result.expect_err("an error").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "'{message}' does not say {words:?}");
    };
    let positions = [[1.0f32, 2.0, 3.0], [1.5, 2.0, 3.0]];
    let particles = Particles::new(&positions);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(overdensities(&particles, &[[1.0; 3]], &[1.0, bad]), &["threshold", &bad.to_string()]);
    }
    refused(overdensities(&particles, &[[1.0; 3], [0.0, f64::NAN, 0.0]], &[1.0]), &["point 1", "NaN"]);
    refused(overdensities(&particles.clone().masses(&[1.0, -1.0]), &[], &[1.0]), &["particle 1", "-1"]);
    refused(overdensities(&Particles::new(&[[0.0, f64::NAN, 0.0]]), &[], &[1.0]), &["point 0", "NaN"]);
    // Without centres, thresholds, particles or mass.
    assert!(overdensities(&particles, &[], &[1.0]).unwrap().is_empty());
    assert_eq!(overdensities(&particles, &[[1.0; 3]], &[]).unwrap(), [[]]);
    let none = Err(NoSphere::NotDense);
    assert_eq!(overdensities(&Particles::<f32>::new(&[]), &[[1.0; 3]], &[1.0]).unwrap(), [[none]]);
    assert_eq!(overdensities(&particles.clone().mass(0.0), &[[1.0; 3]], &[1.0]).unwrap(), [[none]]);
    assert_eq!(overdensities(&particles, &[[1e9; 3]], &[1.0]).unwrap(), [[none]]);
}
