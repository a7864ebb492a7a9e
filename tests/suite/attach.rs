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
    let pipeline = Pipeline::new(&linked, &options).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found, &others).unwrap();
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
    ];
    for (name, values) in expected {
        assert_eq!([row(1, name), row(2, name)], values, "{name}");
    }
}

#[test]
fn bad_questions() {
    let linked = [[0.0f32; 3], [1.0; 3]];
    let halos = Fof::new(2.0).run(&linked).unwrap();
    assert_eq!(halos.attach(&linked, &[], 1.0).unwrap(), []);
    let nan = halos.attach(&linked, &[[0.0; 3], [0.0, f32::NAN, 0.0]], 1.0).unwrap_err();
    assert_eq!(nan.kind(), ErrorKind::NotFinite);
    assert!(halos.attach(&linked, &[[0.0; 3]], -1.0).unwrap_err().to_string().contains("linking_length"));
    assert!(halos.attach(&linked[..1], &[[0.0; 3]], 1.0).unwrap_err().to_string().contains("2 labels"));
}
