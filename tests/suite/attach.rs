//! Attached particles of other types in halos of linked ones, compared with loops over all pairs.

use common::random::Random;
use ropewalk::distributed::{Communicator, on_threads};
use ropewalk::{AdaptaHop, ErrorKind, Fof};
use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};
use ropewalk_pipeline::{Finder, LinkingLength, Options, Pipeline};
use ropewalk_table::columns::{Meta, Values};

/// Returns random positions on a grid, with many equal distances.
fn places(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    (0..n).map(|_| std::array::from_fn(|_| random.below(24) as f64 / 4.0)).collect()
}

/// Returns the squared distance to the nearest image in a box of 6, or in open space.
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
    // Two halos, of types 1 and 2; gas in the first halo, a star in the second, and a distant particle.
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

/// Spheres include all particles that were read: they equal those of a run with all particles linked, around the same
/// centre.
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
    (options.profiles, options.most_connected) = (1, true);
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let measured = pipeline.measure(&found).unwrap();
    // The description of each column names its types, except for names of halos and columns of one type.
    let columns = measured.catalog.columns().iter();
    let silent: Vec<&str> =
        columns.filter(|column| !column.describe(None).contains("; over ")).map(|column| column.name()).collect();
    let of_types = ["count_type0", "mass_type0", "count_type1", "mass_type1"].map(|name| format!("fof_halo_{name}"));
    assert_eq!(silent, [&["fof_halo_tag", "fof_halo_label"], &of_types.each_ref().map(String::as_str)[..]].concat());
    let value = |name: &str| {
        let column = measured.catalog.columns().iter().find(|column| column.name() == name).unwrap();
        match column.values() {
            ropewalk_table::columns::Values::Numbers(values) => values[0],
            ropewalk_table::columns::Values::Integers(values) => values[0] as f64,
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
    let counted: usize = pipeline.profiles(&found, &largest).unwrap()[0].shells.iter().map(|shell| shell.count).sum();
    assert!(counted as f64 > 0.9 * (a.0 + b.0), "{counted}");
}

/// If some types have no masses, masses are an error: the particles without masses would count 1 each.
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
    assert_eq!(error, "the linked particles have masses, and the attached particles do not");
    let error = message(Masses::Unknown, Masses::Equal(1.0)).unwrap_err();
    assert_eq!(error, "the attached particles have masses, and the linked particles do not");
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

fn pair_options() -> Options {
    let mut options = Options::default();
    (options.linking_length, options.min_members) = (LinkingLength::Length(1.0), 2);
    options
}

/// Returns a pair of dark-matter particles in a box of 10, and stars at the given positions.
fn pair_and_stars(stars: &[[f64; 3]]) -> (Snapshot, Snapshot) {
    let mut linked = snapshot(&[[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]], &[(1, 2)], Masses::Equal(4.0));
    linked.box_size = Some(10.0);
    (linked, snapshot(stars, &[(0, 1), (4, stars.len() - 1)], Masses::Equal(0.5)))
}

/// Attached particles must fit the box like linked ones. Particles outside of the box are wrapped and counted. If
/// linked and attached particles together span more than the box, they are rejected, in one process and across ranks.
#[test]
fn attached_particles_outside_of_the_box() {
    let options = pair_options();
    let refused = |stars: &[[f64; 3]]| {
        let (linked, others) = pair_and_stars(stars);
        let one =
            Pipeline::new(&linked, &options).unwrap().attaching(&others).map(drop).map_err(|error| error.to_string());
        let across = on_threads(3, |ranks| {
            let [linked, others] = [&linked, &others].map(|whole| on_rank(whole, ranks));
            Ok(Pipeline::across(ranks, &linked, &options)?.attaching(&others)?.outside())
        });
        (one, across.map_err(|error| error.to_string()))
    };
    // Stars that span a thousand boxes, and stars that are all far to one side and fit the box by themselves.
    for stars in [[[1.0, 1.0, 1.0], [5000.0, 1.0, 1.0]], [[5000.0, 1.0, 1.0], [5001.0, 1.0, 1.0]]] {
        let (one, across) = refused(&stars);
        let one = one.unwrap_err();
        assert!(one.contains("along axis 0 the linked and attached points run from 1 to 500"), "{one}");
        assert!(one.ends_with("specify the box of these points"), "{one}");
        let across = across.unwrap_err();
        assert!(across.ends_with(&one), "{across}");
    }
    let stars = [[1.0, 1.0, 1.5], [11.0, 1.0, 1.5], [-9.0, 1.0, 1.5]];
    let (one, across) = refused(&stars[..2]);
    assert_eq!((one, across), (Ok(()), Ok(vec![1, 1, 1])));
    let (mut linked, others) = pair_and_stars(&stars);
    linked.box_size = Some(15.0);
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    assert_eq!(pipeline.outside(), 1);
}

/// Returns the particles of a rank: the first particle on the first rank, all others on the last rank.
fn on_rank(whole: &Snapshot, ranks: &dyn Communicator) -> Snapshot {
    let range = match ranks.rank() {
        0 => 0..1,
        rank if rank + 1 == ranks.size() => 1..whole.points.len(),
        _ => 0..0,
    };
    let rows = |points: &Points| match points {
        Points::F64(table) => Points::F64(Table::new(3, table.rows::<3>().unwrap()[range.clone()].concat()).unwrap()),
        Points::F32(_) => panic!("of 64 bits"),
    };
    let mut part = whole.clone();
    (part.points, part.velocities) = (rows(&whole.points), whole.velocities.as_ref().map(rows));
    let mut start = 0;
    for run in &mut part.types {
        let end = start + run.count;
        run.count = end.min(range.end).saturating_sub(start.max(range.start));
        start = end;
    }
    part
}

/// Errors name the type of a particle and its index within the type, also for particles in no halo, and are the same
/// across ranks.
#[test]
fn numbers_that_are_not_finite() {
    let options = pair_options();
    let refused = |stars: &[[f64; 3]], velocities: Option<[f64; 12]>| {
        let (mut linked, mut others) = pair_and_stars(stars);
        linked.velocities = Some(Points::F64(Table::new(3, vec![0.0; 6]).unwrap()));
        others.velocities = velocities.map(|values| Points::F64(Table::new(3, values.to_vec()).unwrap()));
        let one = Pipeline::new(&linked, &options).unwrap().attaching(&others).map(drop).unwrap_err();
        let across = on_threads(2, |ranks| {
            let [linked, others] = [&linked, &others].map(|whole| on_rank(whole, ranks));
            Pipeline::across(ranks, &linked, &options)?.attaching(&others).map(drop)
        });
        let across = across.unwrap_err();
        assert_eq!((one.kind(), across.kind()), (ErrorKind::NotFinite, ErrorKind::NotFinite));
        assert_eq!(one.index(), Some(2));
        assert!(across.to_string().ends_with(&one.to_string()), "{across}");
        one.to_string()
    };
    let mut stars = [[1.0, 1.0, 1.5], [1.0, 1.0, 1.5], [1.0, 1.0, 1.5], [7.0, 7.0, 7.0]];
    let mut velocities = [0.0; 12];
    velocities[10] = f64::INFINITY;
    let error = refused(&stars, Some(velocities));
    assert_eq!(error, "type 4: particle 2: velocity 1 is inf; velocities must be finite");
    stars[3][2] = f64::NAN;
    assert_eq!(refused(&stars, None), "type 4: point 2: coordinate 2 is NaN; coordinates must be finite");
}

/// The unread share of the mass is known for all particles, but not for a sample.
#[test]
fn share_of_the_mass_of_a_sample() {
    let (mut linked, others) = pair_and_stars(&[[1.0; 3]]);
    linked.file_types = vec![(0, 1), (1, 2), (4, 7)];
    linked.matter = Some(10.0);
    let options = pair_options();
    let share = |linked: &Snapshot| {
        let pipeline = Pipeline::new(linked, &options).unwrap().attaching(&others).unwrap();
        let sets = pipeline.particle_sets();
        (sets.unread.clone(), sets.unread_share, sets.describe_unread().unwrap())
    };
    let (unread, known, words) = share(&linked);
    assert_eq!((unread, words.as_str()), (vec![4], "type 4: 15.0% of the mass in the file"));
    assert!((known.unwrap() - 0.15).abs() < 1e-12);
    linked.subsample = Some(0.9);
    assert_eq!(share(&linked), (vec![4], None, "type 4: share of the mass unknown".into()));
}

/// With HOP, the linking length matters only for attached particles, and the header then includes it.
#[test]
fn linking_length_of_hop() {
    let rows: Vec<[f64; 3]> = (0..30).map(|i| [1.0 + 0.01 * f64::from(i), 1.0, 1.0]).collect();
    let linked = snapshot(&rows, &[(1, 30)], Masses::Equal(1.0));
    let others = snapshot(&rows[..2], &[(4, 2)], Masses::Equal(1.0));
    let mut options = pair_options();
    options.finder = Finder::Hop(ropewalk::Hop::new(1.0).n_density(8).n_hop(4));
    let pipeline = Pipeline::new(&linked, &options).unwrap();
    let length = |pipeline: &Pipeline<'_>| {
        let entry = pipeline.meta().into_iter().find(|(name, _)| *name == "linking_length");
        entry.map(|(_, value)| if let Meta::Measured(length, _) = value { length } else { f64::NAN })
    };
    assert_eq!(length(&pipeline), None);
    assert_eq!(length(&pipeline.attaching(&others).unwrap()), Some(1.0));
}

/// With AdaptaHOP a particle joins the structure of its nearest linked particle, and all that contain it.
#[test]
fn particles_join_subhalos() {
    let mut random = Random::new(3);
    // A halo with a subhalo, another halo, and gas in all of them and elsewhere.
    let mut cloud = |n: usize, center: [f64; 3], edge: f64| -> Vec<[f64; 3]> {
        let mut place = || {
            let way: [f64; 3] = std::array::from_fn(|_| random.normal());
            let length = way.iter().map(|x| x * x).sum::<f64>().sqrt();
            let r = edge * random.unit();
            std::array::from_fn(|k| center[k] + r * way[k] / length)
        };
        (0..n).map(|_| place()).collect()
    };
    let clouds = [([5.0; 3], 1.5), ([5.9, 5.0, 5.0], 0.12), ([1.5, 8.0, 8.0], 0.5)];
    let mut of_each = |counts: [usize; 3]| -> Vec<[f64; 3]> {
        clouds.iter().zip(counts).flat_map(|(&(center, edge), n)| cloud(n, center, edge)).collect()
    };
    let (dark, mut gas) = (of_each([4000, 800, 500]), of_each([300, 200, 100]));
    gas.extend([[9.0; 3], [0.5; 3]]);
    let mut linked = snapshot(&dark, &[(1, dark.len())], Masses::Equal(4.0));
    linked.box_size = Some(10.0);
    let masses: Vec<f64> = (0..gas.len()).map(|i| 0.5 + i as f64 / 1024.0).collect();
    let others = snapshot(&gas, &[(0, 400), (4, gas.len() - 400)], Masses::Each(masses.clone()));
    let mut options = Options::default();
    options.finder = Finder::AdaptaHop { finder: AdaptaHop::new().density_threshold(5.0), unbind: false };
    (options.linking_length, options.min_members) = (LinkingLength::Length(0.05), 100);
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let attached = found.attached.as_ref().unwrap();

    let rows = found.subhalos.as_ref().unwrap().rows();
    let own = found.subhalos.as_ref().unwrap().structures().labels().as_slice();
    let mut expected = vec![vec![]; rows.len()];
    for (other, place) in gas.iter().zip(0u32..) {
        let nearest = (0..dark.len()).map(|i| (distance2(dark[i], *other, false), i));
        let (d2, nearest) = nearest.min_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
        let mut at = usize::try_from(own[nearest]).ok().filter(|_| d2 <= 0.05 * 0.05);
        assert_eq!(attached.labels[place as usize], at.map_or(-1, |at| found.halos.clusters()[at] as i32));
        while let Some(structure) = at {
            expected[structure].push(place);
            at = rows[structure].parent.map(|parent| parent as usize);
        }
    }
    assert!(rows.iter().zip(&expected).any(|(row, list)| row.level == 2 && list.len() > 50), "{expected:?}");
    for (structure, list) in expected.iter().enumerate() {
        assert_eq!(attached.members(structure), list);
    }
    let catalog = pipeline.measure(&found).unwrap().catalog;
    let column = |name: &str| catalog.columns().iter().find(|column| column.name() == name).unwrap().values();
    let (Values::Integers(stars), Values::Numbers(totals)) = (column("halo_count_type4"), column("halo_mass_total"))
    else {
        panic!("of other types")
    };
    for (row, &structure) in catalog.order().iter().enumerate() {
        let list = &expected[structure as usize];
        let mass: f64 = list.iter().map(|&place| masses[place as usize]).sum();
        assert!((totals[row] / (catalog.halos()[row].mass + mass) - 1.0).abs() < 1e-12);
        assert_eq!(stars[row], list.iter().filter(|&&place| place >= 400).count() as u64);
    }
}

/// Lists of members contain particles of any type, by their ids or by their indices within the type.
#[test]
fn lists_of_any_type() {
    let (linked, mut others) = pair_and_stars(&[[9.0; 3], [8.0; 3], [1.0, 1.0, 1.5]]);
    others.types = vec![TypeRun { particle_type: 31, count: 3 }];
    let options = pair_options();
    let run = |others: &Snapshot| {
        let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(others).unwrap();
        let mut found = pipeline.find().unwrap();
        pipeline.attach(&mut found).unwrap();
        let catalog = pipeline.measure(&found).unwrap().catalog;
        let notes = pipeline.meta().into_iter().find(|(name, _)| *name == "notes").unwrap().1;
        let Meta::Lines(notes) = notes else { panic!("notes are lines") };
        let members = pipeline.members(&found, &catalog).unwrap().unwrap();
        let list = |(name, values): &(&str, Values)| match values {
            Values::Integers(values) => format!("{name} {values:?}"),
            _ => panic!("{name} has no integers"),
        };
        (members.iter().map(list).collect::<Vec<_>>().join("; "), notes.join("; "))
    };
    let (lists, notes) = run(&others);
    assert!(lists.contains("offsets_type31 [0, 1]; ids_type31 [2]"), "{lists}");
    assert!(notes.contains("attached particles (type 31) have no readable ids"), "{notes}");
    others.ids = Some(vec![70, 80, 90]);
    let (lists, notes) = run(&others);
    assert!(lists.contains("ids_type31 [90]"), "{lists}");
    assert!(notes.contains("the linked particles (type 1) have no readable ids; tags are indices"), "{notes}");
    assert!(!notes.contains("attached particles (type 31) have no readable ids"), "{notes}");
    // Only one of two types has ids.
    others.types = [(31, 2), (4, 1)].map(|(particle_type, count)| TypeRun { particle_type, count }).to_vec();
    others.types_without_ids = vec![4];
    let (lists, notes) = run(&others);
    assert!(
        lists.contains("ids_type4 [0]") && notes.contains("attached particles (type 4) have no readable ids"),
        "{lists} {notes}"
    );
    others.types_without_ids = vec![31];
    let (lists, notes) = run(&others);
    assert!(
        lists.contains("ids_type4 [90]") && notes.contains("attached particles (type 31) have no readable ids"),
        "{lists} {notes}"
    );
}
