//! Callers that only use coordinates: columns of velocities, ids, masses and types are noted in all table formats,
//! and not read.

use std::fs::File;

use ropewalk_io::{Masses, ReadOptions, Snapshot, read, write_npz, write_parquet};
use ropewalk_table::columns::{Column, Values};

use super::clouds::{columns, fits};
use super::{Folder, all, npy};

fn coordinates_only() -> ReadOptions {
    ReadOptions::default().coordinates_only(true)
}

/// Returns the note on columns that are left out, after checking that only coordinates were read.
#[track_caller]
fn left_out(snapshot: &Snapshot) -> String {
    assert!(snapshot.velocities.is_none() && snapshot.ids.is_none() && snapshot.masses == Masses::Unknown);
    assert!(snapshot.types.is_empty());
    let notes: Vec<&String> = snapshot.notes.iter().filter(|note| note.contains("columns")).collect();
    assert!(notes.len() < 2, "{notes:?}");
    notes.first().map_or(String::new(), |note| note.to_string())
}

#[track_caller]
fn has(note: &str, names: &[&str]) {
    for name in names {
        assert!(note.contains(name), "{name} is not in: {note}");
    }
}

#[test]
fn of_text() {
    let folder = Folder::new("unused-text");
    for (header, row, names) in [
        ("a,b,mass,id", "1,2,3,9", "mass (a mass by its name), id (an id by its name); "),
        ("a,b,Id,type", "1,2,3,1", "Id (an id by its name), type (a type by its name); "),
        ("x,y,vx,vy", "1,2,3,4", "vx (a velocity by its name), vy (a velocity by its name); "),
        // Also if there are fewer velocities than coordinates.
        ("a,b,vx", "1,2,3", "vx (a velocity by its name); "),
        ("a,b,id", "1,2,nc7", "id (text); "),
        ("x,y,id,w", "1,2,nc7,1", "w (beside x, y), id (text); "),
    ] {
        let path = folder.with("a.csv", format!("{header}\n{row}\n{row}\n"));
        let snapshot = read(&path, &coordinates_only()).unwrap();
        assert_eq!(snapshot.columns, header.split(',').take(2).collect::<Vec<_>>());
        let note = left_out(&snapshot);
        assert!(note.starts_with(&format!("columns left out: {names}")), "{note}");
        let chosen = coordinates_only().columns(header.split(',').take(2));
        assert_eq!(left_out(&read(&path, &chosen).unwrap()), "");
    }
    // No note is needed if the columns are read, or explicitly excluded.
    let path = folder.with("a.csv", "x,y,id,mass\n1,2,3,4\n");
    assert!(all(&path).unwrap().notes.is_empty());
    assert!(read(&path, &ReadOptions::default().ids(false).masses(false)).unwrap().notes.is_empty());
    // Chosen types are read.
    let path = folder.with("a.csv", "x,y,type\n1,2,1\n3,4,4\n");
    let snapshot = read(&path, &coordinates_only().types([4])).unwrap();
    assert_eq!((snapshot.points.len(), snapshot.notes.len()), (1, 0));
}

#[test]
fn of_binary_tables() {
    let folder = Folder::new("unused-binary");
    let numbers = || Values::Numbers(vec![1.0, 2.0]);
    let ids = || Values::Integers(vec![1, 2]);

    let parquet = folder.file("a.parquet");
    let table = [("a", numbers()), ("b", numbers()), ("mass", numbers()), ("id", ids())];
    let table: Vec<Column> = table.into_iter().map(|(name, values)| Column::new(name, values)).collect();
    write_parquet(File::create(&parquet).unwrap(), &table, None, &[]).unwrap();
    has(&left_out(&read(&parquet, &coordinates_only()).unwrap()), &["mass (a mass by", "id (an id by"]);

    let cards = columns(&[("a", "B", &[]), ("b", "B", &[]), ("mass", "B", &[]), ("id", "B", &[])]);
    let fits = folder.with("a.fits", fits("BINTABLE", &cards, 4, &[1, 2, 3, 4, 5, 6, 7, 8]));
    let note = left_out(&read(&fits, &coordinates_only()).unwrap());
    assert!(note.starts_with("columns that are not read: mass, id"), "{note}");
    assert_eq!(all(&fits).unwrap().ids, Some(vec![4, 8]));

    let npz = folder.file("a.npz");
    write_npz(&npz, &[("x", numbers()), ("y", numbers()), ("vx", numbers()), ("vy", numbers()), ("id", ids())])
        .unwrap();
    let snapshot = read(&npz, &coordinates_only()).unwrap();
    assert_eq!(
        (left_out(&snapshot).as_str(), &snapshot.notes[..]),
        ("", &["arrays that are not used: vx, vy, id".into()][..])
    );

    let descr = "[('x', '<i4'), ('y', '<i4'), ('pid', '<i4')]";
    let npy = folder.with("a.npy", npy::file(descr, false, "(2,)", &[1; 24]));
    has(&left_out(&read(&npy, &coordinates_only()).unwrap()), &["id (an id by its name)"]);
}
