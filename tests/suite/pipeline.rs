//! The pipeline from a snapshot to its catalogue, compared with its single steps; missing data are named in errors.

use common::data::root;
use ropewalk::halo::{CenterFinder, Unbinding};
use ropewalk::{AdaptaHop, Center, ErrorKind, Fof, Hop};
use ropewalk_io::{Masses, Points, ReadOptions, Snapshot, Table, read};
use ropewalk_pipeline::{CenterKind, Finder, HaloName, LinkingLength, Note, Options, Pipeline};
use ropewalk_table::Catalog;
use ropewalk_table::columns::Values;

fn sample() -> Snapshot {
    let path = root().join("data/p3m_64.gadget2");
    read(path, &ReadOptions::default().types([1])).unwrap()
}

/// Returns two clumps and a distant point in a box of 10.
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
    let output = ropewalk_pipeline::run(&snapshot, &options).unwrap();

    let separation = 32.0 / (positions.len() as f64).cbrt();
    let halos = Fof::new(0.2 * separation).min_members(20).periodic(32.0).run(positions).unwrap();
    assert_eq!(output.halos, halos);
    let particles = ropewalk_pipeline::particles_of(positions, &snapshot, Some(32.0));
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

/// Halos and subhalos before and after unbinding, compared with the single steps. `largest` returns only halos.
#[test]
fn subhalos_by_hand() {
    let snapshot = sample();
    let Points::F32(table) = &snapshot.points else { panic!("the sample is in f32") };
    let positions = table.rows::<3>().unwrap();
    let particles = ropewalk_pipeline::particles_of(positions, &snapshot, Some(32.0));
    let Some(Points::F32(velocities)) = &snapshot.velocities else { panic!("the sample has velocities in f32") };
    let particles = particles.velocities(velocities.rows::<3>().unwrap());
    let found = AdaptaHop::new().min_members(40).periodic(32.0).run(positions).unwrap();
    // The gravitational constant for Mpc/h, km/s and 1e10 Msun/h.
    let gravity = ropewalk_pipeline::run(&snapshot, &Options::default()).unwrap();
    let gravity = gravity.universe.units().unwrap().conversion(0.0, gravity.universe.h).unwrap().gravity();
    assert!((gravity - 43.0091727).abs() < 1e-3);
    let unbinding = Unbinding::new(gravity).softening(0.01).min_members(40);
    let bound = found.unbind(&particles, &unbinding).unwrap();
    assert!(bound.structures.len() < found.len(), "{} of {}", bound.structures.len(), found.len());

    for unbind in [false, true] {
        let mut options = Options::default();
        options.finder = Finder::AdaptaHop { finder: AdaptaHop::new(), unbind };
        options.min_members = 40;
        options.softening = 0.01;
        options.profiles = 2;
        let output = ropewalk_pipeline::run(&snapshot, &options).unwrap();
        let subhalos = if unbind { &bound.structures } else { &found };
        assert_eq!(output.subhalos.as_ref(), Some(subhalos));
        assert_eq!(output.halos, subhalos.nested());
        let mut catalog = Catalog::new(&output.halos, &particles).unwrap().prefix("halo");
        catalog.add_subhalos(subhalos).unwrap();
        assert_eq!((output.catalog.halos(), output.catalog.subhalos()), (catalog.halos(), catalog.subhalos()));
        let names: Vec<&str> = output.catalog.columns().iter().map(|column| column.name()).collect();
        let by_hand: Vec<&str> = catalog.columns().iter().map(|column| column.name()).collect();
        assert_eq!(names[..by_hand.len()], by_hand);
        let more = ["halo_found_mass", "halo_bound_vmax", "halo_bound_rvmax"];
        assert_eq!(names[by_hand.len()..], more[..if unbind { 3 } else { 0 }]);
        if unbind {
            let column = output.catalog.columns().iter().find(|column| column.name() == "halo_found_mass").unwrap();
            let Values::Numbers(before) = column.values() else { panic!("masses are numbers") };
            let less = before.iter().zip(output.catalog.halos()).filter(|(before, halo)| halo.mass < **before * 0.9999);
            assert!(less.count() > 10);
        }
        // The largest halos, although some subhalos are larger than the second halo.
        let hosts = catalog.halos().iter().zip(catalog.subhalos()).enumerate().filter(|(_, (_, row))| row.level == 1);
        let names = hosts.map(|(row, (halo, _))| HaloName { row, tag: halo.tag }).take(2);
        assert_eq!(output.largest.unwrap().names, names.collect::<Vec<_>>());
        let finder = output.meta.iter().find(|(name, _)| *name == "finder").map(|(_, meta)| meta.clone());
        assert_eq!(finder, Some(ropewalk_table::columns::Meta::Text("AdaptaHOP".into())));
    }
    assert!(
        [Finder::default(), Finder::Hop(Hop::new(80.0))].map(|finder| finder.column_prefix()) == ["fof_halo", "halo"]
    );
}

/// Missing data for unbinding are reported before halos are found.
#[test]
fn unbinding_needs_velocities_and_units() {
    let mut snapshot = clumps();
    let n = snapshot.points.len();
    let mut options = Options::default();
    options.finder = Finder::AdaptaHop { finder: AdaptaHop::new(), unbind: true };
    let missing = |snapshot: &Snapshot, options: &Options| {
        let error = Pipeline::new(snapshot, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
        error.parameter()
    };
    assert_eq!(missing(&snapshot, &options), Some("masses"));
    snapshot.masses = Masses::Equal(1.0);
    assert_eq!(missing(&snapshot, &options), Some("velocities"));
    snapshot.velocities = Some(Points::F32(Table::new(3, vec![0.5; 3 * n]).unwrap()));
    assert_eq!(missing(&snapshot, &options), Some("units"));
    let gadget = ropewalk::units::Units::GADGET;
    options.universe.units.length = Some(gadget.length);
    options.universe.units.mass = Some(gadget.mass);
    assert_eq!(missing(&snapshot, &options), Some("velocity_unit"));
    options.universe.units.velocity = Some(gadget.velocity);
    assert_eq!(ropewalk_pipeline::run(&snapshot, &options).unwrap().notes, [Note::NoRedshift]);
    options.softening = -1.0;
    assert_eq!(ropewalk_pipeline::run(&snapshot, &options).unwrap_err().parameter(), Some("softening"));
    options.finder = Finder::AdaptaHop { finder: AdaptaHop::new().alpha(-1.0), unbind: false };
    assert_eq!(options.check().unwrap_err().parameter(), Some("alpha"));
}

/// One spanning tree gives the halos of all linking lengths, and rejects the linking lengths that friends of friends
/// rejects.
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
            let (found, expected) =
                (pipeline.find_by_spanning_tree(&tree).unwrap().halos, pipeline.find().unwrap().halos);
            assert_eq!((&found, found.boundary()), (&expected, expected.boundary()), "{length}");
        }
        options.linking_length = LinkingLength::Length(17.0);
        let pipeline = Pipeline::new(snapshot, &options).unwrap();
        let by = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
        assert_eq!(by(pipeline.find_by_spanning_tree(&tree).err()), by(pipeline.find().err()));
        let other = ropewalk::minimum_spanning_tree(&[[0.0f32; 3]]).unwrap();
        assert_eq!(pipeline.find_by_spanning_tree(&other).unwrap_err().kind(), ErrorKind::Input);
    }
}

/// Positions of one precision and velocities of another give the result of the higher precision.
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
    let [a, b] = [&mixed, &same].map(|snapshot| ropewalk_pipeline::run(snapshot, &options).unwrap());
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
    let output = ropewalk_pipeline::run(&snapshot, &options).unwrap();
    // Particles of such a small mass are only a part of the matter in their box.
    assert!(matches!(output.notes[..], [Note::PartOfVolume(_), Note::NoRedshift]), "{:?}", output.notes);

    options.box_size = Some(0.0);
    let error = options.check().unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some("box_size")));
    let flat = Snapshot::new(Points::F32(Table::new(3, vec![0.0; 6]).unwrap()));
    assert_eq!(missing(&flat, &Options::default()), Some("linking_length"));
    let plane = Snapshot::new(Points::F32(Table::new(2, vec![0.0; 6]).unwrap()));
    assert_eq!(Pipeline::new(&plane, &Options::default()).unwrap_err().kind(), ErrorKind::Input);
}

/// Arrays whose length differs from the number of points are errors.
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
        assert_eq!(ropewalk_pipeline::run(&snapshot, &options).unwrap_err().kind(), ErrorKind::Input);
    }
    let none = Snapshot::new(Points::F64(Table::new(3, vec![]).unwrap()));
    let output = ropewalk_pipeline::run(&none, &options).unwrap();
    assert!(output.halos.is_empty() && output.catalog.halos().is_empty());
}
