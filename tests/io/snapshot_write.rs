//! Round trips of snapshots in each format.

use ropewalk::units::{KnownUnits, Units, VelocityUnit};
use ropewalk_io::{Background, Masses, Points, Snapshot, SnapshotFormat, TableFormat, TypeRun, write_snapshot};

use super::{Folder, all, f32s, f64s};

/// Returns eight particles at redshift 3 with interleaved types, as in the files of a split snapshot.
fn mixed() -> Snapshot {
    let runs = [(0, 2), (1, 2), (4, 1), (0, 1), (1, 2)];
    let mut snapshot = Snapshot::new(f32s(3, (0..24).map(|i| 0.1 * i as f32).collect::<Vec<f32>>()));
    snapshot.types = runs.map(|(particle_type, count)| TypeRun { particle_type, count }).to_vec();
    snapshot.velocities = Some(f32s(3, (0..24).map(|i| 16.0 * i as f32 - 100.0).collect::<Vec<f32>>()));
    snapshot.ids = Some(vec![8, 7, 6, 5, 4, 3, 2, 1 << 40]);
    snapshot.masses = Masses::Each(vec![0.5, 0.25, 2.0, 2.0, 0.125, 0.5, 2.0, 2.0]);
    snapshot.box_size = Some(10.0);
    snapshot.redshift = Some(3.0);
    snapshot.background = Background { omega_m: Some(0.3), omega_lambda: Some(0.7), h: Some(0.7) };
    snapshot.units = Units::GADGET.into();
    snapshot
}

/// The indices of the particles of `mixed`, ordered by type.
const BY_TYPE: [usize; 8] = [0, 1, 5, 2, 3, 6, 7, 4];

fn rows(points: &Points, order: &[usize]) -> Vec<f64> {
    let value = |place: usize| match points {
        Points::F32(table) => f64::from(table.as_slice()[place]),
        Points::F64(table) => table.as_slice()[place],
    };
    order.iter().flat_map(|row| (0..3).map(move |axis| value(3 * row + axis))).collect()
}

#[track_caller]
fn same(back: &Snapshot, written: &Snapshot, order: &[usize]) {
    let each = |masses: &Masses, n: usize| match masses {
        Masses::Each(masses) => masses.clone(),
        Masses::Equal(mass) => vec![*mass; n],
        _ => vec![],
    };
    let n = back.points.len();
    let own: Vec<usize> = (0..n).collect();
    assert_eq!(rows(&back.points, &own), rows(&written.points, order));
    let velocities = |snapshot: &Snapshot, order| rows(snapshot.velocities.as_ref().unwrap(), order);
    assert_eq!(velocities(back, &own), velocities(written, order));
    let ids = written.ids.as_ref().unwrap();
    assert_eq!(back.ids, Some(order.iter().map(|&row| ids[row]).collect()));
    let masses = each(&written.masses, written.points.len());
    assert_eq!(each(&back.masses, n), order.iter().map(|&row| masses[row]).collect::<Vec<f64>>());
    assert_eq!(back.redshift, written.redshift);
}

#[test]
fn types_that_take_turns() {
    let folder = Folder::new("mixed");
    let snapshot = mixed();
    let in_file_order: Vec<usize> = (0..8).collect();
    for (ending, order) in [
        ("gadget1", &BY_TYPE[..]),
        ("gadget2", &BY_TYPE),
        ("hdf5", &BY_TYPE),
        ("npz", &in_file_order),
        ("ecsv", &in_file_order),
        ("parquet", &in_file_order),
        ("tipsy", &BY_TYPE),
    ] {
        let path = folder.file(&format!("snap.{ending}"));
        write_snapshot(&path, &snapshot, SnapshotFormat::from_path(&path).unwrap()).unwrap();
        let back = all(&path).unwrap();
        if ending == "tipsy" {
            // Velocities have another unit in the file.
            let unit = back.units.velocity.unwrap().km_s;
            let own: Vec<usize> = (0..8).collect();
            let [ours, theirs] = [&snapshot, &back].map(|one| one.velocities.as_ref().unwrap());
            for (theirs, ours) in rows(theirs, &own).into_iter().zip(rows(ours, order)) {
                assert!((unit * theirs - ours).abs() <= 1e-6 * ours.abs(), "{theirs} {unit} {ours}");
            }
            assert_eq!(rows(&back.points, &own), rows(&snapshot.points, order));
            continue;
        }
        same(&back, &snapshot, order);
        assert_eq!(back.box_size, snapshot.box_size, "{ending}");
        if ending.starts_with("gadget") || ending == "hdf5" {
            let runs: Vec<(u8, usize)> = back.types.iter().map(|run| (run.particle_type, run.count)).collect();
            assert_eq!(runs, [(0, 3), (1, 4), (4, 1)]);
            assert_eq!(back.background, snapshot.background);
        }
        if ["ecsv", "parquet", "hdf5"].contains(&ending) {
            assert_eq!((back.units, back.background), (snapshot.units, snapshot.background));
        }
    }
    // A line for each particle, with its type.
    let path = folder.file("snap.csv");
    write_snapshot(&path, &snapshot, SnapshotFormat::Csv).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("x,y,z,vx,vy,vz,id,mass,type\n0,0.10000000149011612,"), "{text}");
    assert!(text.contains(",4,0.125,4\n") && text.contains(",1099511627776,2,1\n"), "{text}");
}

#[test]
fn numbers_are_the_same_again() {
    let folder = Folder::new("digits");
    let values = [0.1, 1.0 / 3.0, 1e-300, -5e22, f64::MAX, 4.9e-324];
    let mut snapshot = Snapshot::new(f64s(3, values));
    snapshot.masses = Masses::Equal(1.075454429625);
    for ending in ["csv", "ecsv", "npz", "npy", "parquet"] {
        let path = folder.file(&format!("points.{ending}"));
        write_snapshot(&path, &snapshot, SnapshotFormat::from_path(&path).unwrap()).unwrap();
        let back = all(&path).unwrap();
        assert_eq!(back.points, snapshot.points, "{ending}");
        match ending {
            "npy" => assert_eq!(back.masses, Masses::Unknown),
            "csv" => assert_eq!(back.masses, Masses::Each(vec![1.075454429625; 2])),
            _ => assert_eq!(back.masses, snapshot.masses, "{ending}"),
        }
    }
}

#[test]
fn points_of_any_dimension() {
    let folder = Folder::new("dimensions");
    for dim in [1, 2, 3, 4, 10] {
        let snapshot = Snapshot::new(f64s(dim, (0..2 * dim).map(|i| i as f64).collect::<Vec<f64>>()));
        for ending in ["csv", "ecsv", "npz", "npy", "parquet"] {
            let path = folder.file(&format!("{dim}.{ending}"));
            write_snapshot(&path, &snapshot, SnapshotFormat::from_path(&path).unwrap()).unwrap();
            assert_eq!(all(&path).unwrap().points, snapshot.points, "{dim} {ending}");
        }
    }
}

#[test]
fn gadgets_velocities_are_in_km_s() {
    let folder = Folder::new("velocities");
    let mut snapshot = mixed();
    snapshot.units = KnownUnits { velocity: Some(VelocityUnit { km_s: 0.5, is_internal: false }), ..snapshot.units };
    let path = folder.file("snap.gadget2");
    write_snapshot(&path, &snapshot, SnapshotFormat::Gadget2).unwrap();
    let halved = rows(snapshot.velocities.as_ref().unwrap(), &BY_TYPE).into_iter().map(|v| 0.5 * v);
    let own: Vec<usize> = (0..8).collect();
    assert!(halved.eq(rows(all(&path).unwrap().velocities.as_ref().unwrap(), &own)));
}

#[test]
fn units_without_h_become_gadgets() {
    let folder = Folder::new("units");
    let mut snapshot = mixed();
    let units = |length: &str, mass: &str| Units {
        length: length.parse().unwrap(),
        mass: mass.parse().unwrap(),
        velocity: VelocityUnit::KM_S,
    };
    for (length, mass) in [("kpc", "1e10 Msun"), ("pMpc", "Msun/h"), ("kpc/h", "1e10 Msun/h"), ("pkpc/h", "Msun")] {
        let units = units(length, mass);
        snapshot.units = units.into();
        let path = folder.file("snap.hdf5");
        write_snapshot(&path, &snapshot, SnapshotFormat::GadgetHdf5).unwrap();
        let back = all(&path).unwrap();
        // The numbers are equal, and so are the units.
        same(&back, &snapshot, &BY_TYPE);
        let KnownUnits { length, mass, velocity } = back.units;
        let read = Units { length: length.unwrap(), mass: mass.unwrap(), velocity: velocity.unwrap() };
        let [own, theirs] = [units, read].map(|units| units.conversion(3.0, Some(0.7)).unwrap());
        for (own, theirs) in [(own.length, theirs.length), (own.mass, theirs.mass), (own.velocity, theirs.velocity)] {
            assert!((own / theirs - 1.0).abs() < 1e-12, "{units} {read}");
        }
    }
}

/// Without h, conversion factors to CGS are not written, and a note says so. Names of units are written, and in HDF5
/// the units of datasets.
#[test]
fn units_without_h() {
    let folder = Folder::new("units-h");
    let mut snapshot = mixed();
    snapshot.units =
        Units { length: "kpc".parse().unwrap(), mass: "Msun".parse().unwrap(), velocity: VelocityUnit::KM_S }.into();
    snapshot.background.h = None;
    for (ending, is_written) in [("hdf5", false), ("tipsy", false), ("parquet", true), ("ecsv", true), ("npz", false)] {
        let path = folder.file(&format!("snap.{ending}"));
        let format = SnapshotFormat::from_path(&path).unwrap();
        write_snapshot(&path, &snapshot, format).unwrap();
        let (why, back) = (format.lacks_units(&snapshot), all(&path).unwrap().units);
        let is_kept = is_written || ending == "hdf5";
        assert_eq!((why.is_none(), back.length.is_some(), back.mass.is_some()), (is_written, is_kept, is_kept));
        if is_kept {
            assert_eq!((back.length, back.velocity), (snapshot.units.length, snapshot.units.velocity), "{ending}");
        }
        assert!(ending == "npz" || why.is_none_or(|why| why.contains("not known") && why.contains("h")), "{ending}");
    }
    snapshot.units = KnownUnits::default();
    assert_eq!(SnapshotFormat::GadgetHdf5.lacks_units(&snapshot), None);
}

#[test]
fn what_cannot_be_written() {
    let folder = Folder::new("refused");
    let refused = |snapshot: &Snapshot, format, part: &str| {
        let message = write_snapshot(folder.file("out"), snapshot, format).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("out"), "{part:?} is not in: {message}");
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    };
    let flat = Snapshot::new(f64s(2, [0.0; 4]));
    refused(&flat, SnapshotFormat::GadgetHdf5, "points have 2 components");
    refused(&flat, SnapshotFormat::Gadget1, "masses of type 1 are unknown");
    let mut short = mixed();
    short.ids = Some(vec![1]);
    for format in [SnapshotFormat::GadgetHdf5, SnapshotFormat::Gadget2, SnapshotFormat::Npz, SnapshotFormat::Csv] {
        refused(&short, format, "there are 8 points, but 1 ids");
    }
    let mut untyped = mixed();
    untyped.types.pop();
    refused(&untyped, SnapshotFormat::Ecsv, "there are 8 points, but 6 types");
    let mut wrong = mixed();
    wrong.velocities = Some(f32s(2, vec![0.0; 16]));
    refused(&wrong, SnapshotFormat::Csv, "points have 3 components, velocities 2");
    refused(&wrong, SnapshotFormat::GadgetHdf5, "velocities have 2 components");
}

#[test]
fn endings() {
    assert_eq!(SnapshotFormat::from_path("a.b/SNAP.H5").unwrap(), SnapshotFormat::GadgetHdf5);
    for name in ["snap", "snap.", "snap.txt", ".hdf5"] {
        let message = SnapshotFormat::from_path(name).unwrap_err().to_string();
        assert!(message.contains("unknown extension") && message.contains("hdf5, h5, gadget1"), "{message}");
        assert!(TableFormat::from_path(name).unwrap_err().to_string().contains(".ecsv, .csv, .hdf5, .h5 and .parquet"));
    }
    assert_eq!(
        "hdf".parse::<SnapshotFormat>().unwrap_err().to_string(),
        "`hdf` is not a format; use one of hdf5, h5, gadget1, gadget2, npz, npy, csv, ecsv, tipsy, parquet"
    );
}
