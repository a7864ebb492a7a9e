//! HDF5 snapshots in the layout of each code, written by `data/make_snapshots.py` with particle data computed by
//! formula.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Folder, all, refused};
use ropewalk::units::{Frame, LengthUnit, MassUnit, VelocityUnit};
use ropewalk_io::{
    Format, Masses, Points, ReadOptions, Role, Snapshot, SnapshotFormat, TypeRun, inspect, parts, read, write_snapshot,
};

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/snapshots").join(name)
}

pub fn coordinates(i: u64) -> [f64; 3] {
    [0, 1, 2].map(|k| ((i * (37 + 2 * k) + 11 * k) % 4096) as f64 / 64.0)
}

pub fn velocities(i: u64) -> [f64; 3] {
    [0, 1, 2].map(|k| (i * (53 + 2 * k) % 2048) as f64 / 8.0 - 128.0)
}

pub fn mass(i: u64) -> f64 {
    1.0 + (i % 16) as f64 / 16.0
}

#[track_caller]
pub fn assert_vectors(points: &Points, expected: impl Iterator<Item = [f64; 3]>, bits: u32) {
    let expected: Vec<f64> = expected.flatten().collect();
    match points {
        Points::F32(table) => {
            assert_eq!(bits, 32);
            assert_eq!(table.as_slice(), expected.iter().map(|&x| x as f32).collect::<Vec<_>>());
        }
        Points::F64(table) => {
            assert_eq!(bits, 64);
            assert_eq!(table.as_slice(), expected);
        }
    }
}

/// Asserts `n` particles computed by formula, with velocities times `factor`.
#[track_caller]
fn assert_particles(snapshot: &Snapshot, n: u64, bits: [u32; 2], factor: f64, first_id: u64) {
    assert_vectors(&snapshot.points, (0..n).map(coordinates), bits[0]);
    let scaled = (0..n).map(|i| velocities(i).map(|v| v * factor));
    assert_vectors(snapshot.velocities.as_ref().unwrap(), scaled, bits[1]);
    assert_eq!(snapshot.ids, Some((0..n).map(|i| first_id + 7 * i).collect()));
    assert_eq!(snapshot.box_size, Some(64.0));
}

fn run(particle_type: u8, count: usize) -> TypeRun {
    TypeRun { particle_type, count }
}

#[test]
fn gadget_2() {
    let snapshot = all(stored("gadget2.hdf5")).unwrap();
    assert_particles(&snapshot, 120, [32, 32], 0.5f64.sqrt(), 1000);
    assert_eq!(snapshot.types, [run(1, 100), run(2, 20)]);
    assert_eq!((snapshot.format, snapshot.redshift, snapshot.matter), (Format::GadgetHdf5, Some(1.0), Some(55.0)));
    let masses = [vec![0.5; 100], vec![0.25; 20]].concat();
    assert_eq!(snapshot.masses, Masses::Each(masses));
    let (background, units) = (snapshot.background, snapshot.units);
    assert_eq!((background.omega_m, background.omega_lambda, background.h), (Some(0.3), Some(0.7), Some(0.7)));
    // The file does not specify these units.
    assert_eq!((units.length, units.mass, units.velocity), (None, None, Some(VelocityUnit::KM_S)));

    let one = read(stored("gadget2.hdf5"), &ReadOptions::default().types([2]).ids(false).velocities(false)).unwrap();
    assert_vectors(&one.points, (100..120).map(coordinates), 32);
    assert_eq!((one.masses, one.ids, one.velocities), (Masses::Equal(0.25), None, None));
}

#[test]
fn gadget_4_in_two_files() {
    for name in ["gadget4.0.hdf5", "gadget4.1.hdf5", "gadget4", "gadget4.hdf5", "gadget4.*.hdf5"] {
        let snapshot = all(stored(name)).unwrap();
        assert_particles(&snapshot, 160, [64, 32], 0.5, 1000 + (1 << 40));
        assert_eq!(snapshot.types, [run(0, 30), run(1, 50), run(0, 10), run(1, 70)]);
        let masses: Vec<f64> = (0..160).map(|i| if i < 30 || (80..90).contains(&i) { mass(i) } else { 0.5 }).collect();
        assert_eq!(snapshot.matter, Some(masses.iter().sum()));
        assert_eq!(snapshot.masses, Masses::Each(masses));
        let units = snapshot.units;
        assert_eq!(units.length, Some(LengthUnit::MPC_H));
        assert_eq!((units.mass, units.velocity), (Some(MassUnit::MSUN_H_1E10), Some(VelocityUnit::KM_S)));
        assert_eq!(snapshot.background.omega_m, Some(0.31));
    }
    assert_eq!(parts(stored("gadget4.1.hdf5")), [stored("gadget4.1.hdf5"), stored("gadget4.0.hdf5")]);
}

#[test]
fn illustris_tng() {
    let snapshot = all(stored("tng.2.hdf5")).unwrap();
    assert_particles(&snapshot, 160, [64, 32], 0.5f64.sqrt(), 1000);
    let types = [run(0, 20), run(1, 30), run(4, 5), run(5, 1), run(0, 20), run(1, 30), run(0, 10), run(1, 40)];
    assert_eq!(snapshot.types, [&types[..], &[run(4, 3), run(5, 1)]].concat());
    assert_eq!(snapshot.units.length, Some(LengthUnit::KPC_H));

    // `matter` covers all types, including types that are not read.
    let whole = snapshot.matter.unwrap();
    let dark = read(stored("tng.0.hdf5"), &ReadOptions::default().types([1])).unwrap();
    assert_eq!((dark.points.len(), &dark.masses, dark.matter), (100, &Masses::Equal(0.5), Some(whole)));
    let without = read(stored("tng.0.hdf5"), &ReadOptions::default().types([1]).masses(false)).unwrap();
    assert_eq!((without.masses, without.matter), (Masses::Unknown, None));
    let tracers = read(stored("tng.0.hdf5"), &ReadOptions::default().types([3])).unwrap_err().to_string();
    assert!(tracers.contains("no particles of type 3; types present: 0 (50), 1 (100), 4 (8), 5 (2)"), "{tracers}");

    let contents = inspect(stored("tng.1.hdf5"), &ReadOptions::default()).unwrap();
    assert_eq!(contents.code.as_deref(), Some("AREPO"));
    assert_eq!(contents.files, ["tng.0.hdf5", "tng.1.hdf5", "tng.2.hdf5"].map(stored));
    let names: Vec<&str> = contents.types.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["PartType0", "PartType1", "PartType3", "PartType4", "PartType5"]);
    let coordinates = contents.types[0].fields.iter().find(|field| field.role == Role::Position).unwrap();
    let said = (coordinates.name.as_str(), coordinates.number.as_str(), coordinates.width, coordinates.unit.as_str());
    assert_eq!(said, ("Coordinates", "f64", 3, "3.085678e21 cgs a^1 h^-1"));
    assert_eq!((contents.types[1].mass, contents.types[2].count), (Some(0.5), 24));
}

#[test]
fn eagle() {
    let snapshot = all(stored("eagle.hdf5")).unwrap();
    assert_particles(&snapshot, 120, [64, 32], 0.5f64.sqrt(), 1000);
    let masses: Vec<f64> = (0..120).map(|i| if (40..100).contains(&i) { 0.5 } else { mass(i) }).collect();
    assert_eq!(snapshot.masses, Masses::Each(masses));
    assert_eq!(snapshot.units.length, Some(LengthUnit::MPC_H));
    assert_eq!(inspect(stored("eagle.hdf5"), &ReadOptions::default()).unwrap().code.as_deref(), Some("EAGLE"));
}

#[test]
fn gizmo_big_endian_and_not_cosmological() {
    let snapshot = all(stored("gizmo.hdf5")).unwrap();
    assert_particles(&snapshot, 100, [64, 32], 1.0, 1000);
    assert_eq!(snapshot.masses, Masses::Each((0..100).map(mass).collect()));
    assert_eq!(inspect(stored("gizmo.hdf5"), &ReadOptions::default()).unwrap().code.as_deref(), Some("GIZMO"));
}

#[test]
fn swift_with_lossy_filters() {
    let snapshot = all(stored("swift.hdf5")).unwrap();
    assert_particles(&snapshot, 120, [64, 32], 1.0, 1000);
    assert_eq!(snapshot.masses, Masses::Each((0..120).map(mass).collect()));
    assert_eq!((snapshot.format, snapshot.redshift), (Format::SwiftHdf5, Some(1.0)));
    let units = snapshot.units;
    assert_eq!(units.length, Some(LengthUnit { mpc: 1.0, per_h: false, frame: Frame::Comoving }));
    assert_eq!((units.mass, units.velocity), (Some(MassUnit::MSUN_1E10), Some(VelocityUnit::KM_S)));
    let background = snapshot.background;
    assert_eq!((background.omega_m, background.omega_lambda, background.h), (Some(0.3046), Some(0.694), Some(0.681)));
    let contents = inspect(stored("swift.hdf5"), &ReadOptions::default()).unwrap();
    assert_eq!(contents.code.as_deref(), Some("SWIFT 2025.10"));
}

#[test]
fn swift_by_the_parts_of_a_view() {
    for name in ["view.hdf5", "view.0.hdf5", "view.1.hdf5"] {
        let snapshot = all(stored(name)).unwrap();
        assert_particles(&snapshot, 80, [64, 32], 1.0, 1000);
        assert_eq!(snapshot.types, [run(1, 40), run(6, 8), run(1, 30), run(6, 2)]);
    }
    let folder = Folder::new("hdf5-view");
    fs::copy(stored("view.hdf5"), folder.file("view.hdf5")).unwrap();
    refused(folder.file("view.hdf5"), &["virtual datasets", "view.0.hdf5", "nor", "exists"]);
    fs::copy(stored("view.0.hdf5"), folder.file("view.0.hdf5")).unwrap();
    refused(folder.file("view.hdf5"), &["view.1.hdf5", "is missing", "over 2 files"]);
    fs::copy(stored("view.1.hdf5"), folder.file("view.1.hdf5")).unwrap();
    // The folder with the parts, and the view next to them.
    assert_eq!(all(&folder.0).unwrap(), all(stored("view.0.hdf5")).unwrap());
    fs::copy(stored("gadget2.hdf5"), folder.file("other.hdf5")).unwrap();
    refused(&folder.0, &["is a folder with 2 snapshots", "other.hdf5", "view"]);
}

#[test]
fn swift_initial_conditions() {
    let snapshot = all(stored("swift_writer.hdf5")).unwrap();
    // Conversions in the writer cost one digit. It writes both that velocities scale with a, and that they do not.
    let Some(Points::F64(table)) = &snapshot.velocities else { panic!("{:?}", snapshot.velocities) };
    let expected = (0..40).flat_map(velocities);
    assert!(table.as_slice().iter().zip(expected).all(|(v, expected)| (v - expected).abs() <= 1e-15 * 128.0));
    assert_vectors(&snapshot.points, (0..40).map(coordinates), 64);
    assert_eq!((snapshot.ids.unwrap()[39], snapshot.box_size, snapshot.redshift), (1273, Some(64.0), Some(1.0)));
    assert_eq!((snapshot.format, snapshot.units.length), (Format::SwiftHdf5, Some(LengthUnit::MPC)));
}

#[test]
fn every_index_of_chunks() {
    for name in ["indexes_old.hdf5", "indexes_new.hdf5"] {
        let snapshot = all(stored(name)).unwrap();
        assert_vectors(&snapshot.points, (0..420).map(coordinates), 64);
        assert_eq!((&snapshot.velocities, &snapshot.ids), (&None, &None));
        for t in 0..6 {
            let one = read(stored(name), &ReadOptions::default().types([t])).unwrap();
            let first = 70 * u64::from(t);
            assert_vectors(&one.points, (first..first + 70).map(coordinates), 64);
        }
        // A subsample omits the same particles for all chunk sizes.
        let some = read(stored(name), &ReadOptions::default().subsample(0.5)).unwrap();
        let Points::F64(table) = &some.points else { panic!("{:?}", some.points) };
        let rows = table.rows::<3>().unwrap();
        assert!((150..270).contains(&rows.len()), "{}", rows.len());
        let mut left = (0..420).map(coordinates);
        assert!(rows.iter().all(|row| left.any(|own| own == *row)));
        assert_eq!(some.masses, Masses::Equal(1.0));
        assert_eq!(snapshot.matter, Some(210.0));
    }
}

#[test]
fn wrong_snapshots() {
    let wrong = |name: &str, parts: &[&str]| refused(stored(&format!("wrong_{name}.hdf5")), parts);
    wrong("no_header", &["without the group Header"]);
    wrong("no_group", &["has no PartType1/Coordinates", "8 particles of that type"]);
    wrong("no_coordinates", &["has no PartType1/Coordinates"]);
    wrong("no_counts", &["no NumPart_ThisFile"]);
    wrong("width", &["PartType1/Coordinates has 8 rows of 2"]);
    wrong("rank", &["PartType1/Coordinates has 3 dimensions"]);
    wrong("whole", &["PartType1/Coordinates must hold floats"]);
    wrong("unwritten", &["PartType1/Velocities has no data"]);
    wrong("hole", &["PartType1/Velocities has 2 chunks, of which 1 were never written"]);
    wrong("wide_float", &["PartType1/Coordinates has numbers of 16 bytes"]);
    wrong(
        "sides",
        &["has a box with sides of 64, 64, 32; the sides of a periodic box must be equal", "ReadOptions::open"],
    );
    wrong("mass", &["has mass -1 for type 1"]);
    wrong("split", &["is one of 2 files", "needs a part number .0 to .1"]);
    wrong("total", &["declares 9 particles of type 1", "hold 8"]);
    // Fields that are not requested are not checked.
    for name in ["unwritten", "hole"] {
        read(stored(&format!("wrong_{name}.hdf5")), &ReadOptions::default().velocities(false)).unwrap();
    }
    let columns = read(stored("gadget2.hdf5"), &ReadOptions::default().columns(["x"])).unwrap_err();
    assert!(columns.to_string().contains("whose columns cannot be chosen"));
}

#[test]
fn parts_that_disagree() {
    let folder = Folder::new("hdf5-parts");
    let copy = |from: &str, to: &str| assert!(fs::copy(stored(from), folder.file(to)).unwrap() > 0);
    copy("tng.0.hdf5", "s.0.hdf5");
    copy("tng.1.hdf5", "s.1.hdf5");
    refused(folder.file("s.0.hdf5"), &["s.2.hdf5", "is missing", "over 3 files"]);
    copy("tng.1.hdf5", "s.2.hdf5");
    refused(folder.file("s.1.hdf5"), &["declares 50 particles of type 0", "3 files of the snapshot hold 60"]);
    copy("view.0.hdf5", "s.2.hdf5");
    refused(folder.file("s.1.hdf5"), &["s.2.hdf5", "total particle counts", "first file"]);
    copy("tng.2.hdf5", "s.2.hdf5");
    assert_eq!(all(folder.file("s.1.hdf5")).unwrap().points.len(), 160);
    assert_eq!(all(&folder.0).unwrap().points.len(), 160);
}

#[test]
fn units_and_redshift_of_the_user() {
    let of = |options: ReadOptions| read(stored("gadget2.hdf5"), &options).unwrap().velocities.unwrap();
    let scaled = |factor: f64| (0..120).map(move |i| velocities(i).map(|v| v * factor));
    assert_vectors(&of(ReadOptions::default().redshift(3.0)), scaled(0.5), 32);
    assert_vectors(&of(ReadOptions::default().velocity_unit(VelocityUnit::KM_S)), scaled(1.0), 32);
    let internal = ReadOptions::default().velocity_unit(VelocityUnit::GADGET);
    let swift = read(stored("swift.hdf5"), &internal).unwrap().velocities.unwrap();
    assert_vectors(&swift, scaled(0.5f64.sqrt()), 32);
}

/// Truncated files give an error or, if only unread parts are missing, the same particles.
#[test]
fn truncated_snapshots() {
    let folder = Folder::new("hdf5-cut");
    for name in ["gadget2", "eagle", "gizmo", "swift", "indexes_new", "indexes_old", "swift_writer"] {
        let bytes = fs::read(stored(&format!("{name}.hdf5"))).unwrap();
        let whole = all(stored(&format!("{name}.hdf5"))).unwrap();
        for end in (0..bytes.len()).step_by(211).chain([8, 48, 96, bytes.len() - 1]) {
            let cut = folder.with("cut.hdf5", &bytes[..end]);
            match all(&cut) {
                Err(_) => {}
                Ok(snapshot) if end == 0 || snapshot.points.is_empty() => {}
                Ok(snapshot) => assert_eq!(snapshot, whole, "{name} cut at {end}"),
            }
        }
    }
    super::assert_modest_memory();
}

/// Each word of a file in turn claims more data than there are: the result is an error or particles, in modest
/// memory.
#[test]
fn words_that_lie() {
    let folder = Folder::new("hdf5-lies");
    for (name, step) in [("gadget2", 4), ("indexes_new", 12)] {
        let whole = fs::read(stored(&format!("{name}.hdf5"))).unwrap();
        for at in (0..whole.len() - 8).step_by(step) {
            // Particle data may have any values.
            if whole[at..at + 8].iter().filter(|&&byte| byte != 0 && byte != 0xff).count() > 5 {
                continue;
            }
            let lie = [[0xff; 4], [0xff, 0xff, 0xff, 0x3f], [0, 0, 0, 1]][at / step % 3];
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&lie);
            if let Ok(snapshot) = all(folder.with("lie.hdf5", &bytes)) {
                assert!(snapshot.points.len() <= 420, "{name}: {lie:?} at byte {at}");
            }
        }
    }
    super::assert_modest_memory();
}

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new("hdf5-round");
    let path = folder.file("round.hdf5");
    let own = ["gadget2.hdf5", "gadget4.0.hdf5", "tng.0.hdf5", "eagle.hdf5", "gizmo.hdf5"].map(stored);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/p3m_64.gadget2");
    for from in own.into_iter().chain([sample]) {
        let before = all(&from).unwrap();
        write_snapshot(&path, &before, SnapshotFormat::GadgetHdf5).unwrap();
        let after = all(&path).unwrap();
        // Types are written one after the other.
        let total = |snapshot: &Snapshot| snapshot.types.iter().map(|run| run.count).sum::<usize>();
        assert_eq!((total(&after), after.redshift, after.box_size), (total(&before), before.redshift, before.box_size));
        assert_eq!(after.background.omega_m, before.background.omega_m);
        assert!((after.matter.unwrap() / before.matter.unwrap() - 1.0).abs() < 1e-12);
        let sorted = |snapshot: &Snapshot| {
            let mut rows: Vec<(u64, Vec<f64>)> = (0..snapshot.points.len())
                .map(|i| {
                    let vectors = [Some(&snapshot.points), snapshot.velocities.as_ref()].into_iter().flatten();
                    let numbers = vectors.flat_map(|points| match points {
                        Points::F32(table) => table.as_slice()[3 * i..3 * i + 3].iter().map(|&x| x.into()).collect(),
                        Points::F64(table) => table.as_slice()[3 * i..3 * i + 3].to_vec(),
                    });
                    (snapshot.ids.as_ref().unwrap()[i], numbers.collect::<Vec<f64>>())
                })
                .collect();
            rows.sort_by_key(|row| row.0);
            rows
        };
        for (after, before) in sorted(&after).into_iter().zip(sorted(&before)) {
            assert_eq!((after.0, &after.1[..3]), (before.0, &before.1[..3]));
            // The values are divided by a root and multiplied by it again.
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 2.4e-7 * b.abs();
            assert!(after.1[3..].iter().zip(&before.1[3..]).all(near), "{after:?}, {before:?}");
        }
    }
}
