//! HDF5 storage: maximum shapes wider than the shape, chunks without filters, LZF, and tables without a header.

use super::expected::{each, flat, stored};
use super::hdf5::{assert_vectors, coordinates, mass, velocities};
use super::{all, refused};
use ropewalk_io::{Format, ReadOptions, inspect, read, read_fields};

#[test]
fn maximum_shapes_wider_than_the_shape() {
    let snapshot = all(stored("tops.hdf5")).unwrap();
    assert_vectors(&snapshot.points, (0..42).map(coordinates), 64);
    for t in 0..6 {
        let one = read(stored("tops.hdf5"), &ReadOptions::default().types([t])).unwrap();
        let first = 7 * u64::from(t);
        assert_vectors(&one.points, (first..first + 7).map(coordinates), 64);
    }
}

#[test]
fn lzf() {
    let snapshot = all(stored("lzf.hdf5")).unwrap();
    assert_vectors(snapshot.velocities.as_ref().unwrap(), (0..8).map(velocities), 32);
}

#[test]
fn ids_that_are_floats() {
    let exact = all(stored("float_ids.hdf5")).unwrap();
    assert_eq!(exact.ids.unwrap(), (0..8).map(|i| 1000 + 7 * i).collect::<Vec<u64>>());
    let inexact = all(stored("half_ids.hdf5")).unwrap();
    assert_eq!((inexact.ids, inexact.points.len()), (None, 8));
    let notes = inexact.notes.join("\n");
    assert!(notes.contains("1000.5") && notes.contains("ids are left out"), "{notes}");
    // All parts decide alike, including those without the value.
    let part = read(stored("half_ids.hdf5"), &ReadOptions::default().part(1, 2)).unwrap();
    assert_eq!((part.ids, part.points.len()), (None, 4));
}

#[test]
fn links_that_are_not_followed() {
    refused(
        stored("wrong_external_link.hdf5"),
        &["PartType1/Masses is an external link to /masses", "elsewhere.hdf5", "not followed"],
    );
    refused(stored("wrong_soft_link.hdf5"), &["PartType1/Masses is a soft link to /nowhere"]);
    refused(
        stored("table_link.hdf5"),
        &["z (is an external link to /z of the file elsewhere.hdf5", "ReadOptions::columns"],
    );
    // The description of a file has them as notes.
    let notes = |name: &str| inspect(stored(name), &ReadOptions::default()).unwrap().notes.join("\n");
    let external = notes("wrong_external_link.hdf5");
    assert!(
        external.contains("PartType1/Masses is an external link to /masses of the file elsewhere.hdf5"),
        "{external}"
    );
    assert!(notes("wrong_soft_link.hdf5").contains("PartType1/Masses is a soft link to /nowhere"));
    assert!(!notes("gadget2.hdf5").contains("link"));
    let two = read(stored("table_link.hdf5"), &ReadOptions::default().columns(["x", "y"])).unwrap();
    assert_eq!((two.points.len(), two.points.dim()), (20, 2));
}

#[test]
fn tables_of_columns() {
    let table = all(stored("table_columns.hdf5")).unwrap();
    assert_vectors(&table.points, (0..20).map(coordinates), 32);
    assert_eq!(table.ids.as_deref(), Some(&(0..20).map(|i| 1000 + 7 * i).collect::<Vec<u64>>()[..]));
    assert_eq!(each(&table.masses), (0..20).map(mass).collect::<Vec<f64>>());
    assert_eq!(table.matter, Some((0..20).map(mass).sum()));
    assert_eq!((table.box_size, table.redshift, table.format), (Some(64.0), Some(1.0), Format::Hdf5Table));
    assert_eq!(table.columns, ["x", "y", "z"]);
    let turned = read(stored("table_columns.hdf5"), &ReadOptions::default().columns(["z", "x"])).unwrap();
    let expected: Vec<f64> = (0..20).map(coordinates).flat_map(|[x, _, z]| [z, x]).collect();
    assert_eq!((flat(&turned.points), turned.columns), (expected, vec!["z".into(), "x".into()]));
    let parts = [0, 1, 2].map(|k| read(stored("table_columns.hdf5"), &ReadOptions::default().part(k, 3)).unwrap());
    assert_eq!(parts.iter().flat_map(|part| flat(&part.points)).collect::<Vec<f64>>(), flat(&table.points));
    let contents = inspect(stored("table_columns.hdf5"), &ReadOptions::default()).unwrap();
    assert_eq!((contents.total(), contents.types[0].fields.len(), contents.box_size), (20, 6, Some(64.0)));
    let fields = read_fields(stored("table_columns.hdf5"), &["mass".into()]).unwrap();
    assert_eq!((fields.values, fields.names), ((0..20).map(mass).collect(), vec!["mass".to_string()]));
}

#[test]
fn tables_of_records() {
    // An array of three numbers next to columns named x, y and z is ignored.
    let path = stored("table_records.hdf5");
    for table in [all(&path), read(&path, &ReadOptions::default().columns(["x", "y", "run/stars/z"]))] {
        let table = table.unwrap();
        assert_vectors(&table.points, (0..20).map(coordinates), 64);
        assert_eq!((table.ids.unwrap()[19], table.columns.len()), (1133, 3));
    }
    let spins = read(stored("table_records.hdf5"), &ReadOptions::default().columns(["spin"])).unwrap();
    assert_vectors(&spins.points, (0..20).map(velocities), 32);
    let some = read(stored("table_records.hdf5"), &ReadOptions::default().columns(["spin"]).part(1, 3)).unwrap();
    let first = usize::try_from(some.first_row()).unwrap();
    assert_eq!(flat(&some.points)[..3], flat(&spins.points)[3 * first..3 * first + 3]);
}

#[test]
fn tables_that_are_unclear() {
    let path = stored("table_points.hdf5");
    refused(
        &path,
        &["several groups of columns", "a (20 x 3 f64)", "b (20 x 3 f32)", "c/short (4 i64)", "ReadOptions::columns"],
    );
    let chosen = |columns: &[&str]| read(&path, &ReadOptions::default().columns(columns.iter().copied()));
    assert_vectors(&chosen(&["/b"]).unwrap().points, (0..20).map(velocities), 32);
    assert_eq!(chosen(&["a", "b"]).unwrap().points.dim(), 6);
    for (columns, what) in [
        (&["a", "c/short"][..], "differ in length"),
        (&["d"], "has no column d; columns: a (20 x 3 f64)"),
        (&["a", "a"], "chosen twice"),
    ] {
        let message = chosen(columns).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    let names: Vec<&str> = contents.types.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!((names, contents.notes.len()), (vec!["/", "/c"], 1));
}
