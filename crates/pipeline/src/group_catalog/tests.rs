//! Tests that read group catalogues back.

use hdf5_reader::Hdf5File;

use ropewalk::AdaptaHop;
use ropewalk::units::Units;
use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};

use crate::{Finder, LinkingLength, Options, Pipeline};

fn snapshot(x: &[f64], types: &[(u8, usize)], ids: &[u64], masses: Masses) -> Snapshot {
    let points = x.iter().flat_map(|&x| [x, 5.0, 5.0]).collect();
    let mut snapshot = Snapshot::new(Points::F64(Table::new(3, points).unwrap()));
    snapshot.types = types.iter().map(|&(particle_type, count)| TypeRun { particle_type, count }).collect();
    snapshot.ids = Some(ids.to_vec());
    snapshot.masses = masses;
    snapshot
}

#[test]
fn particles_of_all_types_count() {
    let mut linked = snapshot(&[1.0, 7.0, 7.5, 1.5, 2.0], &[(1, 3), (2, 2)], &[50, 51, 52, 53, 54], Masses::Equal(2.0));
    let mut others =
        snapshot(&[1.1, 7.1, 4.0, 7.2], &[(0, 1), (4, 3)], &[60, 61, 62, 63], Masses::Each(vec![1.0, 0.5, 9.0, 0.25]));
    linked.file_types = vec![(0, 1), (1, 3), (2, 2), (4, 3), (5, 9)];
    linked.matter = Some(40.0);
    let along_x = |x: &[f64]| Points::F64(Table::new(3, x.iter().flat_map(|&x| [x, 0.0, 0.0]).collect()).unwrap());
    linked.velocities = Some(along_x(&[1.0, 2.0, 3.0, 1.0, 1.0]));
    let file = written(&linked, &others);
    let numbers = |name: &str| file.dataset(name).unwrap().read_array::<f64>().unwrap().into_raw_vec_and_offset().0;
    let counts = |name: &str| file.dataset(name).unwrap().read_array::<u64>().unwrap().into_raw_vec_and_offset().0;
    assert_eq!(counts("Group/GroupLen"), [4, 4]);
    assert_eq!(counts("Group/GroupLenType"), [1, 1, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0]);
    assert_eq!(numbers("Group/GroupMassType"), [1.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.75, 0.0]);
    assert_eq!(numbers("Group/GroupMass"), [7.0, 4.75]);
    // Over all types: (2 (1 + 1.5 + 2) + 1.1) / 7 and (2 (7 + 7.5) + 7.1 / 2 + 7.2 / 4) / 4.75.
    for name in ["Group/GroupPos", "Group/GroupCM"] {
        let near = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
        let centers = [10.1 / 7.0, 5.0, 5.0, 34.35 / 4.75, 5.0, 5.0];
        assert!(numbers(name).iter().zip(centers).all(near), "{name} {:?}", numbers(name));
    }
    assert_eq!(counts("IDs/ID"), [60, 50, 53, 54, 51, 52, 61, 63]);
    assert!(file.dataset("Subhalo/SubhaloLen").is_err());
    // If only some members have velocities, the group has no velocity.
    assert!(file.dataset("Group/GroupVel").is_err());
    let text =
        |file: &Hdf5File, name: &str| file.group("Header").unwrap().attribute(name).unwrap().read_strings().unwrap();
    assert_eq!(text(&file, "linked_types"), ["1, 2"]);
    assert_eq!(text(&file, "attached_types"), ["0, 4"]);
    assert_eq!(text(&file, "types_not_read"), ["5"]);
    let share = file.group("Header").unwrap().attribute("mass_share_not_read").unwrap().read_scalar::<f64>().unwrap();
    assert!((share - (1.0 - 20.75 / 40.0)).abs() < 1e-12, "{share}");
    assert!(text(&file, "notes").iter().any(|note| note.contains("the attached particles have no velocities")));

    others.velocities = Some(along_x(&[4.0, 5.0, 6.0, 7.0]));
    let file = written(&linked, &others);
    let numbers = |name: &str| file.dataset(name).unwrap().read_array::<f64>().unwrap().into_raw_vec_and_offset().0;
    let means = [(2.0 * 3.0 + 4.0) / 7.0, (2.0 * 5.0 + 0.5 * 5.0 + 0.25 * 7.0) / 4.75];
    let found = numbers("Group/GroupVel");
    assert!((0..2).all(|i| (found[3 * i] - means[i]).abs() < 1e-12), "{found:?} {means:?}");
    let dispersion = ((6.0 * (1.0 - means[0]).powi(2) + (4.0 - means[0]).powi(2)) / 21.0).sqrt();
    let found = numbers("Group/GroupVelDisp");
    assert!((found[0] - dispersion).abs() < 1e-12, "{found:?} {dispersion}");
    assert!(!text(&file, "notes").iter().any(|note| note.contains("no velocities")));
}

/// Ids are sorted by subhalo, then by type, as readers expect that find the ids of a subhalo by the lengths of those
/// before it.
#[test]
fn ids_of_subhalos() {
    // A halo along x whose density falls on both sides of two peaks, and gas beside each particle.
    let cloud = |center: f64, n: i32| {
        (0..n).map(move |i| f64::from(i - n / 2)).map(move |d| center + d.signum() * 0.002 * d.abs().powf(1.5))
    };
    let x: Vec<f64> = cloud(10.0, 400).chain(cloud(14.0, 200)).collect();
    let n = x.len();
    let ids: Vec<u64> = (0..n as u64).collect();
    let mut linked = snapshot(&x, &[(1, n)], &ids, Masses::Equal(2.0));
    linked.box_size = Some(30.0);
    let gas: Vec<f64> = x.iter().map(|x| x + 1e-4).collect();
    let gas_ids: Vec<u64> = ids.iter().map(|id| id + 10_000).collect();
    let others = snapshot(&gas, &[(0, n)], &gas_ids, Masses::Equal(1.0));
    let finder = Finder::AdaptaHop { finder: AdaptaHop::new().density_threshold(1e-3), unbind: false };
    let mut options = Options { finder, ..Options::default() };
    (options.linking_length, options.min_members) = (LinkingLength::Length(0.01), 10);
    let pipeline = Pipeline::new(&linked, &options).unwrap().attaching(&others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let catalog = pipeline.measure(&found).unwrap().catalog;
    let mut bytes = vec![];
    pipeline.write_group_catalog(&mut bytes, &found, &catalog).unwrap();
    let file = Hdf5File::from_vec(bytes).unwrap();
    let numbers = |name: &str| file.dataset(name).unwrap().read_array::<u64>().unwrap().into_raw_vec_and_offset().0;
    let (lengths, by_type, ids) = (numbers("Subhalo/SubhaloLen"), numbers("Subhalo/SubhaloLenType"), numbers("IDs/ID"));
    assert!(lengths.len() > numbers("Group/GroupLen").len() && lengths.iter().filter(|&&len| len > 20).count() > 1);
    let mut rest = &ids[..];
    for (length, counts) in lengths.iter().zip(by_type.chunks_exact(6)) {
        let (own, others) = rest.split_at(*length as usize);
        rest = others;
        let (gas, dark) = own.split_at(counts[0] as usize);
        assert_eq!(dark.len() as u64, counts[1]);
        // Each gas particle is beside the dark matter of its own subhalo.
        let mut beside: Vec<u64> = gas.iter().map(|id| id - 10_000).collect();
        let mut dark = dark.to_vec();
        beside.sort_unstable();
        dark.sort_unstable();
        assert_eq!(beside, dark);
    }
    assert!(rest.is_empty());
}

/// Writes and reads the group catalogue of linked particles and others that join their halos.
fn written(linked: &Snapshot, others: &Snapshot) -> Hdf5File {
    let mut options = Options::default();
    (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
    let pipeline = Pipeline::new(linked, &options).unwrap().attaching(others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let catalog = pipeline.measure(&found).unwrap().catalog;
    let mut bytes = vec![];
    pipeline.write_group_catalog(&mut bytes, &found, &catalog).unwrap();
    Hdf5File::from_vec(bytes).unwrap()
}

#[test]
fn no_groups() {
    let lonely = snapshot(&[1.0, 7.0], &[], &[1, 2], Masses::Unknown);
    let mut options = Options::default();
    (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
    let file = of_linked(&lonely, &options);
    assert_eq!(file.dataset("Group/GroupLenType").unwrap().shape(), [0, 6]);
}

/// With open boundaries the box of the catalogue is 0.
#[test]
fn open_boundaries() {
    let mut pair = snapshot(&[1.0, 1.5], &[], &[1, 2], Masses::Equal(1.0));
    pair.box_size = Some(10.0);
    pair.notes = vec!["something was assumed".into()];
    for (open, side) in [(true, 0.0), (false, 10.0)] {
        let mut options = Options { open, ..Options::default() };
        (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
        let file = of_linked(&pair, &options);
        for group in ["Header", "Parameters"] {
            let found = file.group(group).unwrap().attribute("BoxSize").unwrap().read_scalar::<f64>().unwrap();
            assert_eq!(found, side, "{group}");
        }
        let notes = notes(&file);
        assert!(notes.contains("something was assumed"), "{notes}");
        assert_eq!(notes.contains("BoxSize is 0, and the box of side 10 is not used"), open, "{notes}");
    }
}

/// Numbers of particles without masses have no unit.
#[test]
fn counts_are_no_masses() {
    let mut pair = snapshot(&[1.0, 1.5], &[], &[1, 2], Masses::Unknown);
    pair.units = Units::GADGET.into();
    let mut options = Options::default();
    (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
    let counts = "the snapshot has no masses; masses are particle counts";
    for (masses, value, is_mass) in [(Masses::Unknown, 2.0, false), (Masses::Equal(4.0), 8.0, true)] {
        pair.masses = masses;
        let file = of_linked(&pair, &options);
        for name in ["Group/GroupMass", "Group/GroupMassType"] {
            let dataset = file.dataset(name).unwrap();
            let sum: f64 = dataset.read_array::<f64>().unwrap().into_raw_vec_and_offset().0.iter().sum();
            assert_eq!(sum, value, "{name}");
            let of = |name: &str| dataset.attribute(name).unwrap().read_scalar::<f64>().unwrap();
            assert_eq!((of("to_cgs") > 0.0, of("mass_scaling")), (is_mass, f64::from(u8::from(is_mass))), "{name}");
        }
        assert_eq!(notes(&file).contains(counts), !is_mass);
    }
}

/// The list of ids is present only if all particles have ids.
#[test]
fn particles_without_ids() {
    let mut linked = snapshot(&[1.0, 1.5], &[(1, 2)], &[50, 51], Masses::Equal(1.0));
    let mut others = snapshot(&[1.1, 1.2, 1.3], &[(0, 2), (4, 1)], &[60, 61, 62], Masses::Equal(1.0));
    let has_ids = |file: &Hdf5File| {
        let count = file.group("Header").unwrap().attribute("Nids_Total").unwrap().read_scalar::<u64>().unwrap();
        assert_eq!(file.dataset("IDs/ID").is_ok(), count == 5);
        (count > 0, notes(file).contains("a group catalogue has no list of ids"))
    };
    assert_eq!(has_ids(&written(&linked, &others)), (true, false));
    others.types_without_ids = vec![4];
    assert_eq!(has_ids(&written(&linked, &others)), (false, true));
    others.ids = None;
    assert_eq!(has_ids(&written(&linked, &others)), (false, true));
    linked.ids = None;
    assert_eq!(has_ids(&written(&linked, &others)), (false, true));
}

/// Writes and reads the group catalogue of linked particles only.
fn of_linked(linked: &Snapshot, options: &Options) -> Hdf5File {
    let pipeline = Pipeline::new(linked, options).unwrap();
    let found = pipeline.find().unwrap();
    let catalog = pipeline.measure(&found).unwrap().catalog;
    let mut bytes = vec![];
    pipeline.write_group_catalog(&mut bytes, &found, &catalog).unwrap();
    Hdf5File::from_vec(bytes).unwrap()
}

/// Returns the notes of the header; empty if there are none.
fn notes(file: &Hdf5File) -> String {
    let notes = file.group("Header").unwrap().attribute("notes");
    notes.map_or(String::new(), |notes| notes.read_strings().unwrap().join("; "))
}
