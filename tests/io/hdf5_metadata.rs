//! Attributes of HDF5 snapshots in all kinds of storage, single files of a split snapshot, and folders with other
//! files.

use std::fs;

use super::expected::stored;
use super::{Folder, all, refused};
use ropewalk_io::hdf5_write::{Dataset, Group};
use ropewalk_io::{ReadOptions, inspect, read};

#[test]
fn a_box_in_every_kind_of_storage() {
    for kind in ["text", "bytes", "half", "byte", "enum", "three", "texts"] {
        let snapshot = all(stored(&format!("box_{kind}.hdf5"))).unwrap();
        assert_eq!((snapshot.box_size, snapshot.points.len()), (Some(64.0), 8), "{kind}");
    }
    for (kind, what) in [
        ("words", "is the text '64 Mpc'; it must be a number"),
        ("two", "2 numbers in BoxSize"),
        ("none", "has no elements"),
        ("null", "a null dataspace"),
        ("record", "holds compounds"),
        ("wide", "numbers of 16 bytes"),
    ] {
        let path = stored(&format!("box_{kind}.hdf5"));
        refused(&path, &["BoxSize", what]);
        let message = inspect(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("BoxSize"), "{message}");
    }
}

#[test]
fn attributes_that_are_not_used_are_listed() {
    let notes = inspect(stored("tng.0.hdf5"), &ReadOptions::default()).unwrap().notes.join("\n");
    assert_eq!(notes, "", "all attributes of this file are used");
    let notes = inspect(stored("gadget4.0.hdf5"), &ReadOptions::default()).unwrap().notes.join("\n");
    assert!(notes.contains("attributes not used: of Parameters Parameter0, Parameter1"), "{notes}");
}

#[test]
fn one_file_of_a_snapshot() {
    let folder = Folder::new("hdf5-single");
    for k in [0, 2] {
        fs::copy(stored(&format!("tng.{k}.hdf5")), folder.file(&format!("s.{k}.hdf5"))).unwrap();
    }
    refused(folder.file("s.2.hdf5"), &["s.1.hdf5", "is missing", "ReadOptions::single_part"]);
    let single = ReadOptions::default().single_part(true);
    let part = read(folder.file("s.2.hdf5"), &single).unwrap();
    assert_eq!((part.points.len(), part.matter, part.box_size), (54, None, Some(64.0)));
    assert!(part.notes.join("\n").contains("is one of 3 files of a snapshot"), "{:?}", part.notes);
    assert_eq!((part.one_of_files, part.without_particles().one_of_files), (Some(3), Some(3)));
    assert_eq!(all(stored("tng.0.hdf5")).unwrap().one_of_files, None);
    let contents = inspect(folder.file("s.2.hdf5"), &ReadOptions::default()).unwrap();
    assert_eq!((contents.files.len(), contents.types[0].count), (2, 50));
    let notes = contents.notes.join("\n");
    assert!(notes.contains("1 of 3 files of the snapshot are missing") && notes.contains("s.1.hdf5"), "{notes}");
}

#[test]
fn folders_with_other_files() {
    let folder = Folder::new("hdf5-folder");
    for k in 0..3 {
        fs::copy(stored(&format!("tng.{k}.hdf5")), folder.file(&format!("snap_099.{k}.hdf5"))).unwrap();
    }
    folder.with("notes.txt", b"nothing");
    fs::copy(stored("table_points.hdf5"), folder.file("groups_099.0.hdf5")).unwrap();
    let snapshot = all(&folder.0).unwrap();
    assert_eq!(snapshot.points.len(), 160);
    assert!(snapshot.notes.join("\n").contains("2 other files are ignored"), "{:?}", snapshot.notes);
    fs::copy(stored("gizmo.hdf5"), folder.file("other.hdf5")).unwrap();
    refused(
        &folder.0,
        &["is a folder with 2 snapshots", "other.hdf5", "snap_099.0.hdf5", "give the path of one of them"],
    );
}

/// Dark energy, radiation and neutrinos are not used, and noted if they matter.
#[test]
fn terms_of_the_cosmology_that_are_not_used() {
    let folder = Folder::new("hdf5-dark-energy");
    let with = |terms: &[(&str, f64)]| {
        let mut header = Group::default();
        header.attribute("NumPart_ThisFile", &[0u32, 1][..]);
        header.attribute("NumPart_Total", &[0u32, 1][..]);
        header.attribute("MassTable", &[0.0, 1.0][..]);
        let mut cosmology = Group::default();
        let numbers = [("Omega_m", 0.3), ("Omega_lambda", 0.7), ("h", 0.7), ("Redshift", 1.0), ("Scale-factor", 0.5)];
        for (name, value) in numbers.iter().chain(terms) {
            cosmology.attribute(*name, &[*value][..]);
        }
        let mut particles = Group::default();
        particles.dataset("Coordinates", Dataset::owned(vec![1.0, 1.0, 1.0], Some(3)));
        let mut root = Group::default();
        root.group("Header", header);
        root.group("Cosmology", cosmology);
        root.group("PartType1", particles);
        let mut bytes = vec![];
        root.write(&mut bytes).unwrap();
        folder.with("snap.hdf5", bytes)
    };
    let path = with(&[("w_0", -0.8), ("w_a", 0.2), ("Omega_r", 0.0), ("Omega_nu_0", 0.0)]);
    let notes = all(&path).unwrap().notes;
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.contains("that are not used: w_0 = -0.8, w_a = 0.2; spheres"), "{note}");
    assert!(note.ends_with("E(z)^2 at redshift 1 would be 1.158506 times as large"), "{note}");
    assert!(inspect(&path, &ReadOptions::default()).unwrap().notes.contains(note));
    let note = all(with(&[("Omega_r", 1e-3), ("Omega_nu_0", 2e-3)])).unwrap().notes.join("; ");
    assert!(note.contains("that are not used: Omega_r = 0.001, Omega_nu_0 = 0.002;"), "{note}");
    assert_eq!(all(with(&[("w_0", -1.0), ("w_a", 0.0), ("Omega_r", 1e-7)])).unwrap().notes, [""; 0]);
}
