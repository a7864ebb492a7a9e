//! Tables of fields: columns of numbers, whatever their names.

use std::fs::File;

use ropewalk::halo::{Column, Values};
use ropewalk::io::{Fields, ReadOptions, read, read_fields, write_npy_f64_rows_to, write_npz, write_parquet};

use super::Folder;
use super::expected::{flat, stored};

/// Each column, by its name.
fn named(fields: &Fields) -> Vec<(&str, Vec<f64>)> {
    assert_eq!(fields.names.len(), fields.columns);
    let column = |k: usize| fields.values.iter().skip(k).step_by(fields.columns).copied().collect();
    fields.names.iter().enumerate().map(|(k, name)| (name.as_str(), column(k))).collect()
}

fn chosen(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn all_formats_of_tables() {
    let folder = Folder::new("fields");
    let numbers = |shift: f64| (0..12).map(|i| shift + f64::from(i)).collect::<Vec<f64>>();
    let names: Vec<String> = ["x", "y", "id", "mass", "type", "vx"].map(String::from).into();
    let names: Vec<String> = names.into_iter().chain((0..8).map(|k| format!("f{k}"))).collect();
    let shift = |k: usize| 100.0 * k as f64;
    let wanted: Vec<(&str, Vec<f64>)> =
        names.iter().enumerate().map(|(k, name)| (name.as_str(), numbers(shift(k)))).collect();
    let rows: Vec<f64> = (0..12).flat_map(|i| wanted.iter().map(move |(_, column)| column[i])).collect();

    let line = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + ",a\n";
    let text: String = rows.chunks(names.len()).map(line).collect();
    let csv = folder.with("a.csv", format!("{},note\n{text}", names.join(",")));
    let columns = |k: usize| Values::Numbers(numbers(shift(k)));
    let [npz, parquet, npy] = ["a.npz", "a.parquet", "a.npy"].map(|name| folder.file(name));
    let mut arrays: Vec<(&str, Values)> = (0..names.len()).map(|k| (names[k].as_str(), columns(k))).collect();
    arrays.push(("box_size", Values::Numbers(vec![1.0])));
    write_npz(&npz, &arrays).unwrap();
    let table: Vec<Column> = names.iter().enumerate().map(|(k, name)| Column::new(name, columns(k))).collect();
    write_parquet(File::create(&parquet).unwrap(), &table, None, &[]).unwrap();
    for path in [&csv, &npz, &parquet] {
        assert_eq!(named(&read_fields(path, &[]).unwrap()), wanted, "{}", path.display());
        let two = read_fields(path, &chosen(&["f7", "mass"])).unwrap();
        assert_eq!(named(&two), [wanted[13].clone(), wanted[3].clone()]);
        let error = read_fields(path, &chosen(&["q"])).unwrap_err().to_string();
        assert!(error.contains(" q;"), "{error}");
    }
    write_npy_f64_rows_to(&mut File::create(&npy).unwrap(), &rows, names.len()).unwrap();
    let fields = read_fields(&npy, &[]).unwrap();
    assert_eq!((fields.values, fields.columns, fields.names), (rows, 14, vec![]));
    assert_eq!(named(&read_fields(&npy, &chosen(&["3", "1"])).unwrap()), [("3", numbers(200.0)), ("1", numbers(0.0))]);
}

#[test]
fn numbers_of_snapshots() {
    let fields = read_fields(stored("npz").join("stored.npz"), &chosen(&["positions"])).unwrap();
    assert_eq!(fields.names, ["positions0", "positions1", "positions2"]);
    // Its ids are too large for floats.
    let error = read_fields(stored("genericio/little"), &[]).unwrap_err().to_string();
    assert!(error.contains("2^53"), "{error}");
    let fields = read_fields(stored("genericio/little"), &chosen(&["phi", "x", "mask"])).unwrap();
    assert_eq!(fields.names, ["phi", "x", "mask"]);
    let points = flat(&read(stored("genericio/little"), &ReadOptions::default()).unwrap().points);
    assert!(named(&fields)[1].1.iter().eq(points.iter().step_by(3)));

    let folder = Folder::new("fields-bad");
    for (text, said) in [
        ("a,b\n1\n", "line 2: 1 columns where the first line has 2"),
        ("a,b\n1,2\n1,x\n", "line 3: column 2 is not a number: 'x', in the field b"),
        ("a,b\n1,2\n1,\n", "line 3: column 2 is not a number: '', in the field b"),
        ("a,b\nc,d\n", "line 2: no column holds a number"),
        ("a,b\n", "has no rows of numbers"),
    ] {
        let error = read_fields(folder.with("a", text), &[]).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("coordinates"), "{error}");
    }
    let path = folder.with("a", b"\x89HDF\r\n\x1a\n\0\0");
    let error = read_fields(path, &[]).unwrap_err().to_string();
    assert!(error.contains("is a snapshot of a simulation, and no table of fields"), "{error}");
}
