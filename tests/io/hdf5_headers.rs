//! Headers of HDF5 snapshots that contradict each other, their fields or their files, and ids that floats do not hold
//! exactly.

use std::fs;
use std::path::PathBuf;

use super::expected::stored;
use super::{Folder, all, refused};
use ropewalk_io::{Masses, ReadOptions, SnapshotFormat, inspect, read, write_snapshot};

/// Values in `groups.hdf5`: first that of the header, then that of the parameters.
const BOX: [f64; 2] = [64.0, 64.0 + 1.0 / 65_536.0];
const OMEGA_M: [f64; 2] = [0.3, 0.3001];
const OMEGA_LAMBDA: [f64; 2] = [0.7, 0.7001];
const HUBBLE: [f64; 2] = [0.68, 0.6801];
const REDSHIFT: [f64; 2] = [1.5, 1.5001];
const KPC: f64 = 3.085678e21;

/// Returns the bytes of `groups.hdf5` with some numbers replaced.
fn changed(changes: &[(f64, f64)]) -> Vec<u8> {
    let mut bytes = fs::read(stored("groups.hdf5")).unwrap();
    for (from, to) in changes {
        replace(&mut bytes, &from.to_le_bytes(), &to.to_le_bytes());
    }
    bytes
}

/// Replaces the only occurrence of these bytes.
#[track_caller]
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    let [at] = places[..] else { panic!("{places:?} hold {from:?}") };
    bytes[at..at + to.len()].copy_from_slice(to);
}

#[test]
fn groups_that_agree() {
    let snapshot = all(stored("groups.hdf5")).unwrap();
    assert_eq!((snapshot.box_size, snapshot.redshift, snapshot.points.len()), (Some(64.0), Some(1.5), 8));
    let background = snapshot.background;
    assert_eq!((background.omega_m, background.omega_lambda, background.h), (Some(0.3), Some(0.7), Some(0.68)));
}

#[test]
fn names_are_spelled_in_other_ways() {
    let folder = Folder::new("headers-spelled");
    let mut bytes = fs::read(stored("groups.hdf5")).unwrap();
    let spellings = [
        ("BoxSize", "Boxsize"),
        ("OmegaLambda", "omegalambda"),
        ("HubbleParam", "HUBBLEPARAM"),
        ("Redshift", "redshift"),
    ];
    for (name, other) in spellings {
        let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(name.as_bytes())).collect();
        assert!(!places.is_empty(), "{name}");
        places.into_iter().for_each(|at| bytes[at..at + other.len()].copy_from_slice(other.as_bytes()));
    }
    let path = folder.with("a.hdf5", &bytes);
    assert_eq!(all(&path).unwrap(), all(stored("groups.hdf5")).unwrap());
    let notes = |path| inspect(path, &ReadOptions::default()).unwrap().notes.join("\n").to_lowercase();
    assert_eq!(notes(path), notes(stored("groups.hdf5")));
    // Messages spell names as in the file.
    replace(&mut bytes, &BOX[1].to_le_bytes(), &20.0_f64.to_le_bytes());
    replace(&mut bytes, &HUBBLE[0].to_le_bytes(), &f64::NAN.to_le_bytes());
    refused(folder.with("b.hdf5", &bytes), &["HUBBLEPARAM of Header is NaN"]);
}

/// A Hubble constant in km/s/Mpc is not mistaken for h in any format.
#[test]
fn a_hubble_constant_in_km_s_mpc() {
    let folder = Folder::new("headers-hubble");
    let said = ["h is 70; it must be above 0 and below 10: h is the Hubble constant in units of 100 km/s/Mpc"];
    let path = folder.with("a.hdf5", changed(&[(HUBBLE[0], 70.0), (HUBBLE[1], 70.0)]));
    refused(&path, &said);
    assert!(inspect(&path, &ReadOptions::default()).unwrap_err().to_string().contains(said[0]));
    let mut snapshot = all(stored("groups.hdf5")).unwrap();
    snapshot.background.h = Some(70.0);
    for (name, format) in [
        ("a.npz", SnapshotFormat::Npz),
        ("a.parquet", SnapshotFormat::Parquet),
        ("a.ecsv", SnapshotFormat::Ecsv),
        ("a.gadget2", SnapshotFormat::Gadget2),
    ] {
        write_snapshot(folder.file(name), &snapshot, format).unwrap();
        refused(folder.file(name), &said);
    }
}

#[test]
fn datasets_of_the_header_are_named() {
    let snapshot = all(stored("box_dataset.hdf5")).unwrap();
    assert_eq!(snapshot.box_size, None);
    assert_eq!(snapshot.notes, ["datasets in Header are not read, only its attributes are: BoxSize"]);
}

#[test]
fn zero_is_not_set() {
    let folder = Folder::new("headers-zero");
    let zeros = [(BOX[0], 0.0), (OMEGA_M[0], 0.0), (OMEGA_LAMBDA[0], 0.0), (HUBBLE[0], 0.0)];
    let snapshot = all(folder.with("a.hdf5", changed(&zeros))).unwrap();
    assert_eq!(snapshot.box_size, Some(BOX[1]));
    let background = snapshot.background;
    let wanted = (Some(OMEGA_M[1]), Some(OMEGA_LAMBDA[1]), Some(HUBBLE[1]));
    assert_eq!((background.omega_m, background.omega_lambda, background.h), wanted);
    // The same test for the parameters.
    let zeros = [(BOX[1], 0.0), (OMEGA_M[1], 0.0), (OMEGA_LAMBDA[1], 0.0), (HUBBLE[1], 0.0)];
    let same = all(folder.with("b.hdf5", changed(&zeros))).unwrap();
    assert_eq!(same, all(stored("groups.hdf5")).unwrap());
    let none = all(folder.with("c.hdf5", changed(&[(BOX[0], 0.0), (BOX[1], 0.0)]))).unwrap();
    assert_eq!(none.box_size, None);
}

#[test]
fn groups_that_contradict_each_other() {
    let folder = Folder::new("headers-apart");
    type Case = (&'static [(f64, f64)], &'static [&'static str]);
    let cases: [Case; 15] = [
        (&[(BOX[1], 20.0)], &["BoxSize of Header is 64, but BoxSize of Parameters is 20"]),
        (&[(BOX[1], 64.01)], &["BoxSize of Header is 64, but BoxSize of Parameters is 64.01"]),
        (&[(BOX[1], -64.0)], &["box size -64 in Parameters"]),
        (&[(BOX[1], f64::NAN)], &["box size NaN in Parameters"]),
        (&[(OMEGA_M[1], 0.9)], &["Omega0 of Header is 0.3, but Omega0 of Parameters is 0.9"]),
        (&[(HUBBLE[0], 0.5)], &["HubbleParam of Header is 0.5, but HubbleParam of Parameters is 0.6801"]),
        // Matter without OmegaLambda does not define a cosmology.
        (&[(OMEGA_LAMBDA[0], 0.0)], &["OmegaLambda of Header is 0, but OmegaLambda of Parameters is 0.7001"]),
        (&[(REDSHIFT[0], 0.0)], &["Redshift of Header is 0, but Redshift of Parameters is 1.5001"]),
        (&[(REDSHIFT[1], 0.0)], &["Redshift of Header is 1.5, but Redshift of Parameters is 0"]),
        (&[(OMEGA_M[0], -0.3)], &["Omega0 of Header is -0.3", "positive, or 0 for none"]),
        (&[(HUBBLE[0], f64::NAN)], &["HubbleParam of Header is NaN; it must be finite"]),
        (&[(HUBBLE[1], f64::INFINITY)], &["HubbleParam of Parameters is inf; it must be finite"]),
        (&[(OMEGA_LAMBDA[1], f64::NAN)], &["OmegaLambda of Parameters is NaN"]),
        (&[(KPC, -1.0)], &["UnitLength_in_cm of Header is -1"]),
        (&[(1.0, 1.5)], &["split over 1.5 files"]),
    ];
    for (changes, parts) in cases {
        let path = folder.with("a.hdf5", changed(changes));
        refused(&path, parts);
        let message = inspect(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(parts[0]), "{message}");
    }
}

/// Files of one snapshot with different cosmologies or units.
#[test]
fn files_that_contradict_each_other() {
    let folder = Folder::new("headers-files");
    let part = |name: &str, changes: &[(f64, f64)]| -> PathBuf {
        let mut bytes = changed(&[&[(1.0, 2.0)], changes].concat());
        // The total follows the number of particles in this file.
        let counts = [0u32, 8, 0, 0, 0, 0].map(u32::to_le_bytes).concat();
        let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&counts)).collect();
        assert_eq!(places.len(), 2);
        bytes[places[1] + 4] = 16;
        folder.with(name, bytes)
    };
    let first = part("s.0.hdf5", &[]);
    part("s.1.hdf5", &[]);
    assert_eq!(all(&first).unwrap().points.len(), 16);
    for (changes, what) in [
        (&[(OMEGA_M[0], 0.9), (OMEGA_M[1], 0.9)][..], "Omega0 0.9, but that of the first file has 0.3"),
        (&[(OMEGA_LAMBDA[0], 0.1), (OMEGA_LAMBDA[1], 0.1)], "OmegaLambda 0.1, but that of the first file has 0.7"),
        (&[(HUBBLE[0], 0.5), (HUBBLE[1], 0.5)], "HubbleParam 0.5, but that of the first file has 0.68"),
        (&[(KPC, 0.0)], "unit of length in cm none, but that of the first file has 3085678000000000000000"),
    ] {
        part("s.1.hdf5", changes);
        refused(&first, &["s.1.hdf5", what]);
    }
}

#[test]
fn particles_that_are_not_counted() {
    let path = stored("uncounted.hdf5");
    let what = "PartType4/Coordinates has 6 rows, but the header counts no particles of type 4";
    refused(&path, &[what, "ReadOptions::types"]);
    // A caller that chooses types knows that others are left out.
    let dark = read(&path, &ReadOptions::default().types([1])).unwrap();
    assert_eq!((dark.points.len(), &dark.masses, dark.matter), (8, &Masses::Each(vec![1.0; 8]), None));
    assert!(dark.notes.iter().any(|note| note == what), "{:?}", dark.notes);
    assert!(read(&path, &ReadOptions::default().types([4])).unwrap_err().to_string().contains(what));
    assert!(inspect(&path, &ReadOptions::default()).unwrap().notes.iter().any(|note| note == what));
}

#[test]
fn masses_of_two_units() {
    let path = stored("mixed_masses.hdf5");
    let what = "has Masses in different units for different types";
    refused(&path, &[what, "ReadOptions::types"]);
    let notes = inspect(&path, &ReadOptions::default()).unwrap().notes.join("\n");
    assert!(notes.contains(what), "{notes}");
    // Masses in one unit are read. Masses in two units have no sum.
    for (kind, msun) in [(0, 1e10), (1, 1.0)] {
        let one = read(&path, &ReadOptions::default().types([kind])).unwrap();
        let unit = one.units.mass.unwrap();
        assert_eq!((unit.msun, unit.per_h, one.matter), (msun, true, None));
        assert_eq!(one.masses, Masses::Each(vec![1.0; 8]));
    }
    assert_eq!(read(&path, &ReadOptions::default().masses(false)).unwrap().points.len(), 16);
}

/// Floats are accepted as ids up to the number from which on they do not hold all integers.
#[test]
fn ids_that_floats_do_not_hold() {
    let folder = Folder::new("headers-ids");
    // Replaces the id 1007.
    let with = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = fs::read(stored(&format!("{name}.hdf5"))).unwrap();
        replace(&mut bytes, from, to);
        folder.with(&format!("{name}-{to:?}.hdf5"), bytes)
    };
    let single = |id: f32| with("single_ids", &1007f32.to_le_bytes(), &id.to_le_bytes());
    // 2^9 times 1 + 495 / 512.
    let short = |bits: u16| with("short_ids", &(24u16 << 10 | 495 << 1).to_le_bytes(), &bits.to_le_bytes());
    for (path, id) in [(single(16_777_215.0), 16_777_215), (short(0x67ff), 2047)] {
        assert_eq!(all(path).unwrap().ids.unwrap()[1], id);
    }
    for (path, what) in [
        (single(16_777_216.0), "16777216, which is not an exact id (whole numbers from 0, below 16777216)"),
        (short(0x6800), "2048, which is not an exact id (whole numbers from 0, below 2048)"),
    ] {
        let snapshot = all(path).unwrap();
        let notes = snapshot.notes.join("\n");
        assert!(snapshot.ids.is_none() && notes.contains(what), "{notes}");
    }
    let table = |id: f32| with("table_ids", &1007f32.to_le_bytes(), &id.to_le_bytes());
    assert_eq!(all(table(16_777_215.0)).unwrap().ids.unwrap()[1], 16_777_215);
    refused(table(16_777_216.0), &["row 2 of", "is not an id", "small enough to be exact"]);
}
