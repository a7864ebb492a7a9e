//! Particle types of tables: rows of a type are selected and keep their order.

use std::path::Path;

use ropewalk_io::{
    Masses, ReadOptions, Role, Snapshot, SnapshotFormat, TypeRun, inspect, read, write_npz, write_snapshot,
};
use ropewalk_table::columns::Values;

use super::expected::{each, flat};
use super::{Folder, all, f32s, f64s, refused};

/// The formats with a column of types.
const TABLES: [&str; 4] = ["csv", "ecsv", "npz", "parquet"];

/// Returns particles of gas, dark matter and stars in the order of a simulation's file: type by type.
fn snapshot(n: usize) -> Snapshot {
    let value = |i: usize| ((i * 7919) % 1009) as f32 / 100.0;
    let mut snapshot = Snapshot::new(f32s(3, (0..3 * n).map(value).collect::<Vec<f32>>()));
    let run = |particle_type, count| TypeRun { particle_type, count };
    snapshot.types = vec![run(0, n / 4), run(1, n / 2), run(4, n - n / 4 - n / 2)];
    snapshot.velocities = Some(f32s(3, (0..3 * n).map(|i| value(i) - 5.0).collect::<Vec<f32>>()));
    snapshot.ids = Some((0..n as u64).map(|i| (i * 31) % n as u64 + 5).collect());
    snapshot.masses = Masses::Each((0..n).map(|i| 0.5 + (i % 3) as f64).collect());
    snapshot.box_size = Some(10.5);
    snapshot.redshift = Some(0.0);
    snapshot
}

fn written(folder: &Folder, name: &str, snapshot: &Snapshot) -> std::path::PathBuf {
    let path = folder.file(name);
    write_snapshot(&path, snapshot, SnapshotFormat::from_path(&path).unwrap()).unwrap();
    path
}

#[track_caller]
fn same(a: &Snapshot, b: &Snapshot, name: &str) {
    assert_eq!(flat(&a.points), flat(&b.points), "{name}");
    assert_eq!(a.velocities.as_ref().map(flat), b.velocities.as_ref().map(flat), "{name}");
    assert_eq!((&a.ids, &a.types), (&b.ids, &b.types), "{name}");
    assert_eq!(each(&a.masses), each(&b.masses), "{name}");
    assert_eq!(a.matter, b.matter, "{name}");
}

#[test]
fn there_and_back() {
    let folder = Folder::new("types-back");
    let first = written(&folder, "first.hdf5", &snapshot(64));
    let original = all(&first).unwrap();
    assert_eq!(original.types.len(), 3);
    for ending in TABLES {
        let table = written(&folder, &format!("table.{ending}"), &original);
        same(&all(&table).unwrap(), &original, ending);
        let mut of_table = all(&table).unwrap();
        // Quantities that text tables cannot store.
        (of_table.box_size, of_table.redshift) = (original.box_size, original.redshift);
        same(&all(written(&folder, "last.hdf5", &of_table)).unwrap(), &original, ending);
    }
}

#[test]
fn chosen_types() {
    let folder = Folder::new("types-chosen");
    let original = written(&folder, "first.hdf5", &snapshot(3000));
    let whole = all(&original).unwrap();
    for ending in TABLES {
        let table = written(&folder, &format!("table.{ending}"), &whole);
        for types in [vec![1], vec![4, 0], vec![0, 1, 4]] {
            for part in [None, Some(0.25)] {
                let mut options = ReadOptions::default().types(types.clone());
                options.subsample = part;
                let (wanted, found) = (read(&original, &options).unwrap(), read(&table, &options).unwrap());
                same(&found, &wanted, &format!("{ending} {types:?} {part:?}"));
            }
        }
        let said = read(&table, &ReadOptions::default().types([2])).unwrap_err().to_string();
        assert!(said.contains("has no particles of type 2; types present: 0 (750), 1 (1500), 4 (750)"), "{said}");
        // The description of a file does not depend on the requested types.
        for types in [vec![], vec![1], vec![2]] {
            let contents = inspect(&table, &ReadOptions::default().types(types)).unwrap();
            let counts: Vec<_> = contents.types.iter().map(|one| (one.particle_type, one.count)).collect();
            assert_eq!(counts, [(Some(0), 750), (Some(1), 1500), (Some(4), 750)], "{ending}");
            assert!(contents.types[1].fields.iter().any(|field| field.role == Role::Type), "{ending}");
            assert_eq!(contents.total(), 3000);
        }
    }
}

/// Rows with interleaved types are selected one by one, and rows of a single type keep it.
#[test]
fn mixed_rows() {
    let folder = Folder::new("types-mixed");
    let mut mixed = Snapshot::new(f64s(3, (0..30).map(f64::from).collect::<Vec<f64>>()));
    let kinds = [1, 0, 1, 1, 4, 0, 1, 4, 4, 1];
    mixed.types = kinds.map(|particle_type| TypeRun { particle_type, count: 1 }).to_vec();
    mixed.ids = Some((20..30).collect());
    mixed.masses = Masses::Each((0..10).map(f64::from).collect());
    for ending in TABLES {
        let table = written(&folder, &format!("mixed.{ending}"), &mixed);
        let dark = read(&table, &ReadOptions::default().types([1])).unwrap();
        assert_eq!(
            (dark.ids.as_deref(), each(&dark.masses)),
            (Some(&[20, 22, 23, 26, 29][..]), &[0.0, 2.0, 3.0, 6.0, 9.0][..])
        );
        assert_eq!(flat(&dark.points)[3..6], [6.0, 7.0, 8.0]);
        assert_eq!((dark.types, dark.matter), (vec![TypeRun { particle_type: 1, count: 5 }], Some(45.0)));
        let runs: Vec<(u8, usize)> =
            all(&table).unwrap().types.iter().map(|run| (run.particle_type, run.count)).collect();
        assert_eq!(runs, [(1, 1), (0, 1), (1, 2), (4, 1), (0, 1), (1, 1), (4, 2), (1, 1)]);

        let stars = read(&table, &ReadOptions::default().types([4])).unwrap();
        let table = written(&folder, &format!("stars.{ending}"), &stars);
        assert_eq!(all(&table).unwrap().types, [TypeRun { particle_type: 4, count: 3 }]);
    }
}

/// A column of other values has another meaning, unless types are requested.
#[test]
fn other_columns_named_type() {
    let folder = Folder::new("types-other");
    let dark = ReadOptions::default().types([1]);
    for values in ["1,spiral", "1,7", "1,1.5", "1,-1", "nan,1"] {
        let (a, b) = values.split_once(',').unwrap();
        let path = folder.with("galaxies.csv", format!("x,y,type\n1,2,{a}\n3,4,{b}\n"));
        let table = all(&path).unwrap();
        assert_eq!((table.types, flat(&table.points)), (vec![], vec![1.0, 2.0, 3.0, 4.0]));
        let said = read(&path, &dark).unwrap_err().to_string();
        assert!(said.contains("column 3 (type) is not a particle type (a whole number from 0 to 6)"), "{said}");
    }
    let path = folder.file("galaxies.npz");
    let arrays = |types: &[f64]| {
        let numbers = |values: &[f64]| Values::Numbers(values.to_vec());
        write_npz(&path, &[("x", numbers(&[1.0, 3.0])), ("y", numbers(&[2.0, 4.0])), ("type", numbers(types))])
            .unwrap();
    };
    arrays(&[1.0, 1e9]);
    assert!(all(&path).unwrap().types.is_empty());
    assert!(refused_with(&path, &dark).contains("row 2 of its types is not a particle type"));
    arrays(&[1.0, 4.0]);
    assert_eq!(flat(&read(&path, &dark).unwrap().points), [1.0, 2.0]);
    arrays(&[1.0, 4.0, 1.0]);
    refused(&path, &["array type has 3 rows, but array x has 2"]);
    // If chosen as a coordinate, it has no other meaning.
    let path = folder.with("chosen.csv", "x,y,type\n1,2,0\n3,4,1\n");
    let chosen = read(&path, &ReadOptions::default().columns(["x", "type"])).unwrap();
    assert_eq!((flat(&chosen.points), chosen.types), (vec![1.0, 0.0, 3.0, 1.0], vec![]));
}

fn refused_with(path: &Path, options: &ReadOptions) -> String {
    read(path, options).unwrap_err().to_string()
}
