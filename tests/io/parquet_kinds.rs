//! Parquet columns of other types than floats and integers of 32 and 64 bits, pandas indexes, and metadata.

use std::fs::File;

use ropewalk_io::{ReadOptions, inspect, read, read_fields, write_parquet};
use ropewalk_table::columns::{Column, Meta, Values};

use super::expected::{Expected, flat, stored};
use super::{Folder, all, refused};

fn file(name: &str) -> std::path::PathBuf {
    stored("parquet_kinds").join(format!("{name}.parquet"))
}

#[test]
fn kinds_of_numbers() {
    for name in ["zstd_1", "zstd_2", "brotli_1", "brotli_2"] {
        let (snapshot, mut wanted) = (all(file(name)).unwrap(), Expected::named("parquet_kinds"));
        assert_eq!(flat(&snapshot.points), wanted.f64s("pos"), "{name}");
        assert_eq!(snapshot.ids, Some(wanted.u64s("id")));
        let note = "columns left out: flag (true and false), when (dates or times), name (text), list (lists \
                    of numbers), void (nulls)";
        assert!(snapshot.notes.iter().any(|own| own.starts_with(note)), "{:?}", snapshot.notes);
        let contents = inspect(file(name), &ReadOptions::default()).unwrap();
        let kinds: Vec<&str> = contents.types[0].fields.iter().map(|field| field.number.as_str()).collect();
        assert_eq!(kinds[..4], ["f16", "decimal", "u32", "decimal"]);
        assert!(contents.notes.iter().any(|own| own.starts_with(note)));
    }
}

#[test]
fn coordinates_that_are_no_numbers() {
    for (name, what) in [
        ("flag", "column z holds true and false"),
        ("when", "column z holds dates or times"),
        ("name", "column z holds text"),
        ("void", "column z holds nulls"),
        ("list", "column z holds lists of numbers"),
    ] {
        refused(file(&format!("z_{name}")), &[what, "ReadOptions::columns"]);
        // Other columns can be chosen.
        let chosen = read(file(&format!("z_{name}")), &ReadOptions::default().columns(["x", "y"])).unwrap();
        assert_eq!(chosen.points.dim(), 2);
    }
    for column in ["flag", "list"] {
        let message = read(file("zstd_1"), &ReadOptions::default().columns(["x", column])).unwrap_err().to_string();
        assert!(message.contains(&format!("column {column} holds")), "{message}");
    }
}

#[test]
fn indexes_of_pandas() {
    let snapshot = all(file("index")).unwrap();
    assert_eq!((snapshot.points.dim(), snapshot.columns.join(" ")), (2, "a b".into()));
    assert!(
        snapshot.notes[0].starts_with("columns left out: t (an index of a pandas table); "),
        "{:?}",
        snapshot.notes
    );
    refused(file("index_x"), &["column x holds an index of a pandas table", "ReadOptions::columns"]);
    let chosen = read(file("index_x"), &ReadOptions::default().columns(["x", "y", "z"])).unwrap();
    assert_eq!(flat(&chosen.points)[3..6], [3.0, 0.5, 0.25]);
    let with_ids = all(file("index_id")).unwrap();
    assert_eq!((with_ids.points.dim(), with_ids.ids.unwrap()[2]), (2, 6));
    assert_eq!(read_fields(file("index"), &[]).unwrap().names, ["a", "b"]);
}

#[test]
fn metadata() {
    refused(file("said_0"), &["metadata box_size is '-5'; it must be a finite number above 0, or 0 for none"]);
    refused(file("said_1"), &["metadata box_size is 'wide'"]);
    refused(file("said_2"), &["metadata redshift is '[1, 2]'; it must be a finite number"]);
    assert_eq!(all(file("said_3")).unwrap().box_size, Some(10.0));
    assert_eq!(all(file("said_4")).unwrap().notes, ["entries of its metadata that are not used: finder"]);
}

/// Zero means an open box or an unknown cosmology, but is a valid mass.
#[test]
fn zeros_of_metadata() {
    let folder = Folder::new("parquet-zeros");
    let path = folder.file("table.parquet");
    let column = |name: &str| Column::new(name, Values::Numbers(vec![1.0, 2.0]));
    let with = |name: &str, value: f64| {
        let out = File::create(&path).unwrap();
        write_parquet(out, &[column("x"), column("y")], None, &[(name, Meta::Number(value))]).unwrap();
    };
    for name in ["box_size", "omega_m", "h"] {
        with(name, 0.0);
        let table = all(&path).unwrap();
        assert_eq!((table.box_size, table.background.omega_m, table.background.h), (None, None, None), "{name}");
        with(name, -1.0);
        refused(&path, &[name, "is '-1'; it must be a finite number above 0, or 0 for none"]);
    }
    with("particle_mass", 0.0);
    refused(&path, &["particle_mass is '0'; it must be a finite number above 0"]);
}

/// Pages that decompress to more than their headers claim are rejected before memory is allocated for them.
#[test]
fn pages_that_unpack_to_more() {
    for (name, codec) in [("zstd", "Zstandard"), ("gzip", "gzip"), ("brotli", "Brotli")] {
        let path = stored("parquet_bombs").join(format!("{name}.parquet"));
        refused(&path, &[&format!("a page of {codec}: decompresses to more than the 16"), "that its header declares"]);
    }
}
