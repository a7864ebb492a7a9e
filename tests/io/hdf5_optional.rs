//! Velocities and ids of HDF5 snapshots that cannot be used are omitted with a note, and negative ids are rejected.

use std::path::PathBuf;

use common::data::root;
use ropewalk_io::hdf5_write::{Dataset, Group};
use ropewalk_io::{ReadOptions, Snapshot, read};

use super::{Folder, all, refused};

/// Returns the path of a snapshot of four particles with these datasets and coordinates.
fn snapshot(folder: &Folder, datasets: Vec<(&str, Dataset<'static>)>) -> PathBuf {
    let mut header = Group::default();
    for name in ["NumPart_ThisFile", "NumPart_Total"] {
        header.attribute(name, &[0u32, 4, 0, 0, 0, 0][..]);
    }
    header.attribute("MassTable", &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0][..]);
    for (name, value) in [("Time", 1.0), ("Redshift", 0.0), ("BoxSize", 10.0)] {
        header.attribute(name, value);
    }
    header.attribute("NumFilesPerSnapshot", 1i32);
    let mut particles = Group::default();
    particles.dataset("Coordinates", Dataset::owned(vec![1.5f64; 12], Some(3)));
    for (name, dataset) in datasets {
        particles.dataset(name, dataset);
    }
    let mut file = Group::default();
    file.group("Header", header);
    file.group("PartType1", particles);
    let mut bytes = vec![];
    file.write(&mut bytes).unwrap();
    folder.with("snapshot.hdf5", bytes)
}

#[track_caller]
fn is_noted(snapshot: &Snapshot, parts: &[&str]) {
    let is_it = |note: &&String| parts.iter().all(|part| note.contains(part));
    assert_eq!(snapshot.notes.iter().filter(is_it).count(), 1, "{:?}", snapshot.notes);
}

#[test]
fn negative_ids_are_refused() {
    let folder = Folder::new("hdf5-negative");
    let path = snapshot(&folder, vec![("ParticleIDs", Dataset::owned(vec![3i64, 7, -100, -1], None))]);
    refused(&path, &["PartType1/ParticleIDs has -100 in row 3; ids must not be negative"]);
    assert!(read(&path, &ReadOptions::default().ids(false)).is_ok());
    let path = snapshot(&folder, vec![("ParticleIDs", Dataset::owned(vec![3i32, 7, 2, -1], None))]);
    refused(&path, &["PartType1/ParticleIDs has -1 in row 4; ids must not be negative"]);
    let path = snapshot(&folder, vec![("ParticleIDs", Dataset::owned(vec![u64::MAX, 1 << 63, 1, 0], None))]);
    assert_eq!(all(path).unwrap().ids, Some(vec![u64::MAX, 1 << 63, 1, 0]));
    let path = snapshot(&folder, vec![("ParticleIDs", Dataset::owned(vec![i64::MAX, 5, 1, 0], None))]);
    assert_eq!(all(path).unwrap().ids, Some(vec![i64::MAX as u64, 5, 1, 0]));
}

#[test]
fn what_cannot_be_used_is_left_out() {
    let folder = Folder::new("hdf5-optional");
    let ids = || Dataset::owned(vec![1u32, 2, 3, 4], None);
    let short = snapshot(&folder, vec![("ParticleIDs", Dataset::owned(vec![1u32, 2], None))]);
    let read = all(short).unwrap();
    assert_eq!((read.points.len(), read.ids.clone()), (4, None));
    is_noted(&read, &["PartType1/ParticleIDs has 2 rows of 1", "must have 4 rows of 1", "ids are left out"]);

    let velocities = Dataset::owned(vec![100i32; 12], Some(3));
    let read = all(snapshot(&folder, vec![("Velocities", velocities), ("ParticleIDs", ids())])).unwrap();
    assert_eq!((read.velocities.is_none(), read.ids.clone()), (true, Some(vec![1, 2, 3, 4])));
    is_noted(&read, &["PartType1/Velocities must hold floats, but holds whole numbers: velocities are left out"]);

    let flat = Dataset::owned(vec![100.0f32; 8], Some(2));
    is_noted(
        &all(snapshot(&folder, vec![("Velocities", flat)])).unwrap(),
        &["has 4 rows of 2", "velocities are left out"],
    );

    let stored = |name: &str| root().join("tests/data/snapshots").join(name);
    let read = all(stored("wrong_text_ids.hdf5")).unwrap();
    assert_eq!(read.ids, None);
    is_noted(&read, &["PartType1/ParticleIDs holds strings, not numbers: ids are left out"]);
    is_noted(
        &all(stored("wrong_rows.hdf5")).unwrap(),
        &["PartType1/Velocities has 7 rows of 3", "velocities are left out"],
    );
}
