//! Spherical overdensities: against stored ones, and against the definition.
#![cfg(feature = "io")]

mod common;

use std::path::{Path, PathBuf};

use common::random::Random;
use ropewalk::io::{Points, ReadOptions, read};
use ropewalk::{Overdense, Particles, overdensities};

/// Masses in 1e10 Msun/h, lengths in Mpc/h.
const CRITICAL: f64 = 27.7536627;
const OMEGA_M: f64 = 0.31;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

/// M and R for 200 times the critical and the mean density equal the stored ones, about the stored centres.
fn assert_reference(snapshot: &Path, halos: &Path, side: f64) {
    let snapshot = read(snapshot, &ReadOptions { particle_type: Some(1), ..ReadOptions::default() }).unwrap();
    let Points::F32(points) = &snapshot.points else { panic!("f64 positions") };
    let ropewalk::io::Masses::Equal(mass) = snapshot.masses else { panic!("no mass") };
    let particles = Particles::new(points.rows::<3>().unwrap()).mass(mass).periodic(side);

    let text = std::fs::read_to_string(halos).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let column = |name: &str| names.iter().position(|&other| other == name).unwrap();
    let at = ["mbp_x", "mbp_y", "mbp_z"].map(column);
    let ids = snapshot.ids.as_ref().unwrap();
    let position = |row: &[f64]| {
        // The centre is a particle: its digits in the table are too few to find it at distance 0.
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
            let Overdense { mass, radius, .. } = sphere.unwrap();
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
fn p3m_128() {
    let data = root().join("../shared/data");
    let snapshot = data.join("p3m_128.gadget2");
    if !snapshot.exists() {
        eprintln!("skipped: {} is not here", snapshot.display());
        return;
    }
    assert_reference(&snapshot, &data.join("p3m_128_fof_b0.2_periodic_halos.csv"), 64.0);
}

/// The definition, by trying every particle's distance on a sorted list of all.
fn expected(near: &mut [(f64, f64)], threshold: f64) -> Overdense {
    near.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let density = |mass: f64, radius: f64| mass / (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3));
    let mass_to = |n: usize| near[..n].iter().map(|near| near.1).sum::<f64>();
    for n in 1..=near.len() {
        // Just before the next particle comes in.
        if n < near.len() && density(mass_to(n), near[n].0) >= threshold {
            continue;
        }
        let radius = (3.0 * mass_to(n) / (4.0 * std::f64::consts::PI * threshold)).cbrt();
        return if n == 1 && radius < near[0].0 {
            Overdense::default()
        } else {
            Overdense { mass: mass_to(n), radius, count: n }
        };
    }
    Overdense::default()
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
        let found = overdensities(&particles, &[center], &[threshold, 1e9]).unwrap()[0][0].unwrap();
        assert_eq!(found.count, expected.count, "round {round}");
        assert!((found.mass - expected.mass).abs() < 1e-12 * (1.0 + expected.mass));
        assert!((found.radius - expected.radius).abs() < 1e-12 * (1.0 + expected.radius));
        nothing += usize::from(found.count == 0);
        something += usize::from(found.count > 1);

        // The same across the boundary of a box, if the sphere fits it.
        let side = 40.0;
        let moved: Vec<[f64; 3]> = positions.iter().map(|point| point.map(|x| (x - 5.0 + side) % side)).collect();
        let center = center.map(|x| (x - 5.0 + side) % side);
        let particles = Particles::new(&moved).masses(&masses).periodic(side);
        let around = overdensities(&particles, &[center], &[threshold]).unwrap()[0][0];
        // Whole boxes away is the same place.
        let far: Vec<[f64; 3]> = moved.iter().map(|point| [point[0] + side, point[1] - 2.0 * side, point[2]]).collect();
        let particles = Particles::new(&far).masses(&masses).periodic(side);
        let again = overdensities(&particles, &[center.map(|x| x - side)], &[threshold]).unwrap()[0][0];
        assert_eq!(again.map(|sphere| sphere.count), around.map(|sphere| sphere.count), "round {round}");
        if found.radius < 19.0 {
            assert_eq!(around.unwrap().count, found.count, "round {round}");
            assert!((around.unwrap().radius - found.radius).abs() < 1e-9);
        } else {
            assert_eq!(around, None);
        }
    }
    assert!(nothing > 5 && something > 100, "{nothing}, {something}");
}

#[test]
fn odd_input() {
    let refused = |result: ropewalk::Result<Vec<Vec<Option<Overdense>>>>, words: &[&str]| {
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
    // No centres, no thresholds, no particles, no mass.
    assert!(overdensities(&particles, &[], &[1.0]).unwrap().is_empty());
    assert_eq!(overdensities(&particles, &[[1.0; 3]], &[]).unwrap(), [[]]);
    let none = Some(Overdense::default());
    assert_eq!(overdensities(&Particles::<f32>::new(&[]), &[[1.0; 3]], &[1.0]).unwrap(), [[none]]);
    assert_eq!(overdensities(&particles.clone().mass(0.0), &[[1.0; 3]], &[1.0]).unwrap(), [[none]]);
    assert_eq!(overdensities(&particles, &[[1e9; 3]], &[1.0]).unwrap(), [[none]]);
}
