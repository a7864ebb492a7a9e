//! Particles of other types in the halos of linked ones, against loops over all pairs.

use common::random::Random;
use ropewalk::halo::pipeline::{LinkingLength, Options, Pipeline};
use ropewalk::io::{Masses, Points, Snapshot, Table, TypeRun};
use ropewalk::{ErrorKind, Fof};

/// Random places on a grid, where many distances are equal.
fn places(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    (0..n).map(|_| std::array::from_fn(|_| random.below(24) as f64 / 4.0)).collect()
}

/// The nearest image's squared distance in a box of 6, or in open space.
fn distance2(a: [f64; 3], b: [f64; 3], periodic: bool) -> f64 {
    (0..3)
        .map(|k| {
            let d = (a[k] - b[k]).abs();
            let d = if periodic { d.min(6.0 - d) } else { d };
            d * d
        })
        .sum()
}

#[test]
fn the_nearest_linked_particle_decides() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (n, m) = (1 + random.below(150), random.below(150));
        let (linked, others) = (places(n, &mut random), places(m, &mut random));
        let periodic = seed % 2 == 0;
        let length = [0.25, 0.5, 1.0][seed as usize % 3];
        let halos = Fof::new(0.25).min_members(2).periodic(periodic.then_some(6.0)).run(&linked).unwrap();
        let found = halos.attach(&linked, &others, length).unwrap();
        let labels = halos.labels().as_slice();
        for (other, found) in others.iter().zip(found) {
            let nearest = (0..n)
                .map(|i| (distance2(linked[i], *other, periodic), i))
                .min_by(|a, b| a.partial_cmp(b).unwrap())
                .filter(|(d2, _)| *d2 <= length * length);
            assert_eq!(found, nearest.map_or(-1, |(_, i)| labels[i]), "case {seed}");
        }
    }
}

fn snapshot(rows: &[[f64; 3]], types: &[(u8, usize)], masses: Masses) -> Snapshot {
    let mut snapshot = Snapshot::new(Points::F64(Table::new(3, rows.concat()).unwrap()));
    snapshot.types = types.iter().map(|&(particle_type, count)| TypeRun { particle_type, count }).collect();
    snapshot.masses = masses;
    snapshot
}

#[test]
fn counts_and_masses_of_each_type() {
    // Two halos, of types 1 and 2; gas in the first, a star in the second, one far away.
    let linked = [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [5.0, 5.0, 5.0], [1.0, 1.0, 3.0], [5.0, 5.0, 6.0]];
    let linked = snapshot(&linked, &[(1, 3), (2, 2)], Masses::Each(vec![1.0, 2.0, 4.0, 8.0, 16.0]));
    let others = [[1.0, 1.0, 0.5], [1.0, 2.0, 1.0], [5.0, 5.0, 7.0], [9.0, 9.0, 9.0]];
    let others = snapshot(&others, &[(0, 2), (4, 2)], Masses::Each(vec![0.25, 0.5, 32.0, 64.0]));
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(1.0);
    options.min_members = 2;
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let attached = found.attached.clone().unwrap();
    assert_eq!(attached.labels, [0, 0, 1, -1]);
    assert_eq!((attached.members(0), attached.members(1), attached.members(9)), (&[0, 1][..], &[2][..], &[][..]));
    let catalog = pipeline.measure(&found).unwrap().catalog;
    let mut text = vec![];
    catalog.write_ecsv(&mut text, &[]).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let names: Vec<&str> = lines[0].split(',').collect();
    let row = |line: usize, name: &str| {
        let column = names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name} in {names:?}"));
        lines[line].split(',').nth(column).unwrap().parse::<f64>().unwrap()
    };
    let expected = [
        ("fof_halo_count", [3.0, 2.0]),
        ("fof_halo_count_type1", [2.0, 1.0]),
        ("fof_halo_mass_type1", [3.0, 4.0]),
        ("fof_halo_count_type2", [1.0, 1.0]),
        ("fof_halo_mass_type2", [8.0, 16.0]),
        ("fof_halo_count_type0", [2.0, 0.0]),
        ("fof_halo_mass_type0", [0.75, 0.0]),
        ("fof_halo_count_type4", [0.0, 1.0]),
        ("fof_halo_mass_type4", [0.0, 32.0]),
        ("fof_halo_mass", [11.0, 20.0]),
        ("fof_halo_count_total", [5.0, 3.0]),
        ("fof_halo_mass_total", [11.75, 52.0]),
        ("fof_halo_contamination", [8.0 / 11.75, 16.0 / 52.0]),
    ];
    for (name, values) in expected {
        let found = [row(1, name), row(2, name)];
        assert!((0..2).all(|i| (found[i] - values[i]).abs() < 1e-8), "{name}: {found:?}, {values:?}");
    }
}

#[test]
fn bad_questions() {
    let linked = [[0.0f32; 3], [1.0; 3]];
    let halos = Fof::new(2.0).run(&linked).unwrap();
    assert!(halos.attach(&linked, &[], 1.0).unwrap().is_empty());
    let nan = halos.attach(&linked, &[[0.0; 3], [0.0, f32::NAN, 0.0]], 1.0).unwrap_err();
    assert_eq!(nan.kind(), ErrorKind::NotFinite);
    assert!(halos.attach(&linked, &[[0.0; 3]], -1.0).unwrap_err().to_string().contains("linking_length"));
    assert!(halos.attach(&linked[..1], &[[0.0; 3]], 1.0).unwrap_err().to_string().contains("2 labels"));
}

/// Spheres are of all particles that were read: as if all had been linked, about the same centre.
#[test]
fn spheres_know_what_is_attached() {
    let mut random = Random::new(5);
    let mut cloud = |n: usize| -> Vec<[f64; 3]> {
        (0..n).map(|_| std::array::from_fn(|_| 5.0 + (random.unit() - 0.5).powi(3))).collect()
    };
    let (dark, gas) = (cloud(300), cloud(200));
    let masses = |n: usize, first: f64| Masses::Each((0..n).map(|i| first + i as f64 / 64.0).collect());
    let of = |rows: &[[f64; 3]], kind, masses| {
        let mut snapshot = snapshot(rows, &[(kind, rows.len())], masses);
        (snapshot.box_size, snapshot.redshift) = (Some(10.0), Some(0.0));
        snapshot.units = ropewalk::units::Units::GADGET.into();
        snapshot.background.omega_m = Some(0.3);
        snapshot.background.omega_lambda = Some(0.7);
        snapshot
    };
    let (linked, others) = (of(&dark, 1, masses(300, 1.0)), of(&gas, 0, masses(200, 2.0)));
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(0.2);
    options.overdensities = vec!["200c".parse().unwrap()];
    options.profiles = 1;
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let measured = pipeline.measure(&found).unwrap();
    let value = |name: &str| {
        let column = measured.catalog.columns().iter().find(|column| column.name() == name).unwrap();
        match column.values() {
            ropewalk::halo::Values::Numbers(values) => values[0],
            ropewalk::halo::Values::Integers(values) => values[0] as f64,
            other => panic!("{other:?}"),
        }
    };
    let [x, y, z] = measured.centers.as_ref().unwrap().as_slice()[measured.catalog.order()[0] as usize].position;
    let (radius, mass) = (value("sod_halo_r200c"), value("sod_halo_m200c"));
    let inside = |rows: &[[f64; 3]], first: f64| -> (f64, f64) {
        rows.iter().enumerate().fold((0.0, 0.0), |(count, mass), (i, row)| {
            let d2 = (row[0] - x).powi(2) + (row[1] - y).powi(2) + (row[2] - z).powi(2);
            if d2 <= radius * radius * (1.0 - 1e-12) {
                (count + 1.0, mass + first + i as f64 / 64.0)
            } else {
                (count, mass)
            }
        })
    };
    let (a, b) = (inside(&dark, 1.0), inside(&gas, 2.0));
    assert!(b.0 > 50.0, "{b:?}");
    assert_eq!(value("sod_halo_count_200c"), a.0 + b.0);
    assert!((mass / (a.1 + b.1) - 1.0).abs() < 1e-12, "{mass} {}", a.1 + b.1);
    let density = mass / (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3));
    assert!((density / (200.0 * 27.7536627) - 1.0).abs() < 1e-6, "{density}");
    let largest = pipeline.largest(&found, &measured.catalog, 1).unwrap();
    let counted: usize = pipeline.profiles(&largest).unwrap()[0].shells.iter().map(|shell| shell.count).sum();
    assert!(counted as f64 > 0.9 * (a.0 + b.0), "{counted}");
}

/// Masses of some particles are no masses: each of the others would weigh 1.
#[test]
fn masses_of_some_types() {
    let rows = [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]];
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(1.0);
    options.min_members = 2;
    let message = |linked: Masses, others: Masses| {
        let (linked, others) = (snapshot(&rows, &[(1, 2)], linked), snapshot(&rows, &[(4, 2)], others));
        let pipeline = Pipeline::new(&linked, &options).unwrap();
        pipeline.attaching(&others).map(drop).map_err(|error| error.to_string())
    };
    let error = message(Masses::Equal(1.0), Masses::Unknown).unwrap_err();
    assert_eq!(error, "the linked particles have masses, and the attached ones have none");
    let error = message(Masses::Unknown, Masses::Equal(1.0)).unwrap_err();
    assert_eq!(error, "the attached particles have masses, and the linked ones have none");
    let error = message(Masses::Equal(1.0), Masses::Each(vec![1.0, -2.0])).unwrap_err();
    assert_eq!(error, "type 4: particle 1: its mass is -2; masses must be finite and not negative");
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = message(Masses::Equal(1.0), Masses::Equal(bad)).unwrap_err();
        assert_eq!(error, format!("type 4: particle 0: its mass is {bad}; masses must be finite and not negative"));
    }
    assert!(message(Masses::Unknown, Masses::Unknown).is_ok());
    let mut negative = Options::default();
    negative.softening = -1.0;
    assert!(negative.check().unwrap_err().to_string().contains("softening is -1"));
}
