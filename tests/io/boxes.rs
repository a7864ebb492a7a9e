//! Periodic boxes that are not cubes: rejected with their sides, in each format that supports them, and read as open
//! on request.

use std::fs;
use std::path::Path;

use ropewalk_io::{ReadOptions, inspect, read, write_npz};
use ropewalk_table::columns::Values;

use super::expected::stored;
use super::{Folder, all, refused};

#[track_caller]
fn no_cube(path: &Path, sides: &str) {
    let what = format!("has a box with sides of {sides}; the sides of a periodic box must be equal");
    refused(path, &[&what, "ReadOptions::open"]);
    let open = read(path, &ReadOptions::default().open(true)).unwrap();
    assert_eq!((open.box_size, &open.notes[..]), (None, &[what.clone() + ": it is treated as open"][..]));
    let contents = inspect(path, &ReadOptions::default()).unwrap();
    assert_eq!((contents.box_size, contents.notes), (None, vec![what]));
}

#[test]
fn boxes_that_are_no_cubes() {
    let folder = Folder::new("boxes");
    no_cube(&stored("wrong_sides.hdf5"), "64, 64, 32");

    let path = folder.file("box.npz");
    let archive = |sides: &[f64]| {
        let numbers = |values: &[f64]| Values::Numbers(values.to_vec());
        write_npz(&path, &[("x", numbers(&[1.0])), ("y", numbers(&[2.0])), ("box_size", numbers(sides))]).unwrap();
    };
    archive(&[4.0, 4.0, 5.5]);
    no_cube(&path, "4, 4, 5.5");
    archive(&[4.0, 4.0, 4.0]);
    assert_eq!(all(&path).unwrap().box_size, Some(4.0));
    // Other columns are in no box.
    archive(&[4.0, 5.0]);
    assert!(read(&path, &ReadOptions::default().columns(["y"])).is_ok());

    let snap = folder.with("snap", fs::read(stored("tipsy_bare").join(tipsy())).unwrap());
    folder.with("snap.param", "bPeriodic = 1\ndPeriod = 2\ndzPeriod = 3\n");
    no_cube(&snap, "2, 2, 3");
    folder.with("snap.param", "bPeriodic = 1\ndxPeriod = 3\ndyPeriod = 3\ndzPeriod = 3\n");
    assert_eq!(all(&snap).unwrap().box_size, Some(3.0));
}

/// Returns the path of the snapshot in the folder.
fn tipsy() -> String {
    let names = fs::read_dir(stored("tipsy_bare")).unwrap().map(|entry| entry.unwrap().file_name());
    names
        .map(|name| name.into_string().unwrap())
        .find(|name| !name.contains("param") && !name.contains("iord"))
        .unwrap()
}
