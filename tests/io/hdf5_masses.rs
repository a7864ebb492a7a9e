//! Masses of HDF5 snapshots that occur twice: in the header and in datasets.

use ropewalk_io::hdf5_write::{Dataset, Group};
use ropewalk_io::{Masses, ReadOptions, inspect, read};

use super::{Folder, all, refused};

/// Returns two particles of type 1 and three of type 4, with masses in the header and in datasets of type 4.
fn snapshot(table: f64, datasets: &[(&str, &[f64])]) -> Vec<u8> {
    let mut header = Group::default();
    for name in ["NumPart_ThisFile", "NumPart_Total"] {
        header.attribute(name, &[0u32, 2, 0, 0, 3, 0][..]);
    }
    header.attribute("MassTable", &[0.0, 1.0, 0.0, 0.0, table, 0.0][..]);
    header.attribute("NumFilesPerSnapshot", 1i32);
    let mut root = Group::default();
    root.group("Header", header);
    for (kind, n) in [(1, 2), (4, 3)] {
        let mut group = Group::default();
        group.dataset("Coordinates", Dataset::owned(vec![1.0; 3 * n], Some(3)));
        for (name, values) in datasets.iter().filter(|_| kind == 4) {
            let width = (values.len() > n).then_some(values.len() / n);
            group.dataset(*name, Dataset::owned(values.to_vec(), width));
        }
        root.group(format!("PartType{kind}"), group);
    }
    let mut bytes = vec![];
    root.write(&mut bytes).unwrap();
    bytes
}

/// The dataset is used, and a different mass in the header is noted.
#[test]
fn other_masses_in_the_header() {
    let folder = Folder::new("masses-header");
    let own: &[f64] = &[7.0, 7.0, 8.0];
    let path = folder.with("a.hdf5", snapshot(0.5, &[("Masses", own)]));
    let stars = ReadOptions::default().types([4]);
    for options in [ReadOptions::default(), stars.clone(), stars.clone().part(0, 2)] {
        let snapshot = read(&path, &options).unwrap();
        let sentence =
            "masses of type 4 are read from PartType4/Masses, 7 to 8; 0.5 in the header's MassTable is ignored";
        assert_eq!(snapshot.notes, [sentence]);
        let Masses::Each(masses) = snapshot.masses else { panic!("each its own") };
        assert!(own.starts_with(&masses) || masses == [1.0, 1.0, 7.0, 7.0, 8.0], "{masses:?}");
    }
    let notes = inspect(&path, &ReadOptions::default()).unwrap().notes.join("; ");
    assert!(
        notes.contains("PartType4 has a dataset of masses, which is read; the header's MassTable has 0.5"),
        "{notes}"
    );
    // Rounding to single precision is not a difference.
    let path = folder.with("b.hdf5", snapshot(f64::from(0.3f32), &[("Masses", &[0.3, 0.3, 0.3])]));
    assert_eq!(all(&path).unwrap().notes, [""; 0]);
    assert_eq!(all(folder.with("c.hdf5", snapshot(0.0, &[("Masses", own)]))).unwrap().notes, [""; 0]);
}

/// Two datasets of one quantity must be equal; otherwise they are an error.
#[test]
fn two_datasets_of_one_quantity() {
    let folder = Folder::new("masses-twice");
    let own: &[f64] = &[7.0, 7.0, 8.0];
    let path = folder.with("a.hdf5", snapshot(0.0, &[("Masses", own), ("Mass", &[7.0, 7.0, 9.0])]));
    refused(&path, &["a.hdf5", "has PartType4/Masses and PartType4/Mass, which differ"]);
    let path = folder.with("b.hdf5", snapshot(0.0, &[("Masses", own), ("Mass", own)]));
    assert_eq!(all(&path).unwrap().masses, Masses::Each(vec![1.0, 1.0, 7.0, 7.0, 8.0]));
    let (one, other) = ([1.0; 9], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
    let stars = ReadOptions::default().types([4]);
    let path = folder.with("c.hdf5", snapshot(1.0, &[("Velocities", &one), ("Velocity", &other)]));
    let message = read(&path, &stars).unwrap_err().to_string();
    assert!(message.contains("PartType4/Velocities and PartType4/Velocity, which differ"), "{message}");
    let path = folder.with("d.hdf5", snapshot(1.0, &[("Velocities", &one), ("Velocity", &one)]));
    assert_eq!(read(&path, &stars).unwrap().points.len(), 3);
}
