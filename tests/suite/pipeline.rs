//! From a snapshot to its catalogue: the same as the steps by hand, and what is missing by its name.

use common::data::root;
use ropewalk::halo::pipeline::{self, CenterKind, LinkingLength, Note, Options, Pipeline};
use ropewalk::io::{Masses, Points, ReadOptions, Snapshot, Table, read};
use ropewalk::{Catalog, Center, CenterFinder, ErrorKind, Fof, Particles};

fn sample() -> Snapshot {
    let path = root().join("data/p3m_64.gadget2");
    read(path, &ReadOptions::default().particle_type(1)).unwrap()
}

/// Two clumps and a point far away, in a box of 10.
fn clumps() -> Snapshot {
    let mut rows = vec![];
    for i in 0..30u8 {
        let t = f32::from(i);
        rows.push([0.02 * t.sin(), 0.02 * t.cos(), 0.001 * t].map(|x| if x < 0.0 { x + 10.0 } else { x }));
    }
    rows.extend((0..25u8).map(|i| [5.0, 5.0, 5.0 + 0.01 * f32::from(i)]));
    rows.push([8.0, 2.0, 2.0]);
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, rows.into_flattened()).unwrap()));
    snapshot.box_size = Some(10.0);
    snapshot
}

#[test]
fn the_steps_by_hand() {
    let snapshot = sample();
    let Points::F32(table) = &snapshot.points else { panic!("the sample is in f32") };
    let positions = table.rows::<3>().unwrap();
    let mut options = Options::default();
    options.center = Some(CenterKind::MostBound);
    options.overdensities = vec!["200c".parse().unwrap()];
    options.profiles = 2;
    let output = pipeline::run(&snapshot, &options).unwrap();

    let separation = 32.0 / (positions.len() as f64).cbrt();
    let halos = Fof::new(0.2 * separation).min_members(20).periodic(32.0).run(positions).unwrap();
    assert_eq!(output.halos, halos);
    let particles = Particles::of_snapshot(positions, &snapshot, Some(32.0));
    let catalog = Catalog::new(&halos, &particles).unwrap();
    assert_eq!(output.catalog.order(), catalog.order());
    assert!(output.catalog.halos().iter().zip(catalog.halos()).all(|(a, b)| (a.tag, a.mass) == (b.tag, b.mass)));
    let centers = CenterFinder::new(Center::MostBound { softening: 0.0 }).run(positions, &halos).unwrap();
    assert_eq!(output.centers, Some(centers));
    assert!(output.catalog.columns().iter().any(|column| column.name() == "sod_halo_m200c"));
    let largest = output.largest.unwrap();
    assert_eq!((output.profiles.len(), largest.halos.len()), (2, 2));
    assert_eq!(output.profiles[0].shells.last().map(|shell| shell.outer), largest.r200c[0]);
    assert_eq!((output.notes, output.universe.omega_m), (vec![], Some(0.31)));
}

/// One spanning tree gives the halos of all linking lengths, and refuses those that friends of friends refuse.
#[test]
fn one_tree_for_all_linking_lengths() {
    let sample = sample();
    let mut mixed = clumps();
    let n = mixed.points.len();
    mixed.velocities = Some(Points::F64(Table::new(3, vec![0.5; 3 * n]).unwrap()));
    for (snapshot, open) in [(&sample, false), (&sample, true), (&mixed, false)] {
        let mut options = Options::default();
        options.open = open;
        let tree = Pipeline::new(snapshot, &options).unwrap().spanning_tree().unwrap();
        for length in [0.0, 0.05, 0.168, 0.2, 0.3] {
            options.linking_length = LinkingLength::Separations(length);
            let pipeline = Pipeline::new(snapshot, &options).unwrap();
            let (found, expected) = (pipeline.find_in(&tree).unwrap().halos, pipeline.find().unwrap().halos);
            assert_eq!((&found, found.boundary()), (&expected, expected.boundary()), "{length}");
        }
        options.linking_length = LinkingLength::Length(17.0);
        let pipeline = Pipeline::new(snapshot, &options).unwrap();
        let by = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
        assert_eq!(by(pipeline.find_in(&tree).err()), by(pipeline.find().err()));
        let other = ropewalk::minimum_spanning_tree(&[[0.0f32; 3]]).unwrap();
        assert_eq!(pipeline.find_in(&other).unwrap_err().kind(), ErrorKind::Input);
    }
}

/// Points of one precision and velocities of another find what points of the wider one find.
#[test]
fn mixed_precision() {
    let mut mixed = clumps();
    let Points::F32(table) = &mixed.points else { panic!("clumps are in f32") };
    let wide: Vec<f64> = table.as_slice().iter().map(|&x| x.into()).collect();
    mixed.velocities = Some(Points::F64(Table::new(3, wide.clone()).unwrap()));
    let mut same = mixed.clone();
    same.points = Points::F64(Table::new(3, wide).unwrap());
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(0.1);
    let [a, b] = [&mixed, &same].map(|snapshot| pipeline::run(snapshot, &options).unwrap());
    assert_eq!((a.halos.len(), &a.halos, &a.catalog), (2, &b.halos, &b.catalog));
    assert!(a.catalog.halos()[0].motion.is_some());
}

#[test]
fn what_is_missing_has_a_name() {
    let mut snapshot = clumps();
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(0.1);
    options.overdensities = vec!["200c".parse().unwrap()];
    let missing = |snapshot: &Snapshot, options: &Options| {
        let error = Pipeline::new(snapshot, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
        error.parameter()
    };
    assert_eq!(missing(&snapshot, &options), Some("omega_m"));
    options.universe.omega_m = Some(0.3);
    assert_eq!(missing(&snapshot, &options), Some("masses"));
    snapshot.masses = Masses::Equal(1.0);
    assert_eq!(missing(&snapshot, &options), Some("units"));
    options.universe.units = ropewalk::units::Units::GADGET.into();
    let output = pipeline::run(&snapshot, &options).unwrap();
    assert_eq!(output.notes, [Note::NoRedshift]);

    options.box_size = Some(0.0);
    let error = options.check().unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some("box_size")));
    let flat = Snapshot::new(Points::F32(Table::new(3, vec![0.0; 6]).unwrap()));
    assert_eq!(missing(&flat, &Options::default()), Some("linking_length"));
    let plane = Snapshot::new(Points::F32(Table::new(2, vec![0.0; 6]).unwrap()));
    assert_eq!(Pipeline::new(&plane, &Options::default()).unwrap_err().kind(), ErrorKind::Input);
}

/// Arrays of another length than the points are errors.
#[test]
fn one_value_for_each_point() {
    let snapshot = clumps();
    let mut options = Options::default();
    options.linking_length = LinkingLength::Length(0.1);
    options.center = Some(CenterKind::MostBound);
    let mut bad = [snapshot.clone(), snapshot.clone(), snapshot];
    bad[0].ids = Some(vec![1, 2]);
    bad[1].masses = Masses::Each(vec![1.0; 3]);
    bad[2].velocities = Some(Points::F32(Table::new(3, vec![0.0; 9]).unwrap()));
    for snapshot in bad {
        assert_eq!(pipeline::run(&snapshot, &options).unwrap_err().kind(), ErrorKind::Input);
    }
    let none = Snapshot::new(Points::F64(Table::new(3, vec![]).unwrap()));
    let output = pipeline::run(&none, &options).unwrap();
    assert!(output.halos.is_empty() && output.catalog.halos().is_empty());
}
