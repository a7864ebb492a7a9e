//! Parquet tables: round trips, and tables of other programs.

use std::fs::{self, File};
use std::path::PathBuf;

use ropewalk::units::{LengthUnit, MassUnit, Quantity, Units, VelocityUnit};
use ropewalk_io::{Format, Points, ReadOptions, Role, inspect, read, write_parquet};
use ropewalk_table::columns::{Column, Meta, Values};

use super::expected::{Expected, each, flat, stored};
use super::{Folder, all, assert_modest_memory, refused};

fn columns(n: usize) -> Vec<Column> {
    let numbers = |shift: f64| Values::Numbers((0..n).map(|i| shift + i as f64 / 3.0).collect());
    vec![
        Column::new("id", Values::Integers((0..n as u64).map(|i| u64::MAX - i).collect())),
        Column::new("label", Values::Signed((0..n as i64).map(|i| i - 1).collect())),
        Column::new("x", numbers(0.5)).quantity(Quantity::Length).description("of the centre"),
        Column::new("mass", numbers(1.0)).quantity(Quantity::Mass),
    ]
}

fn meta() -> [(&'static str, Meta); 3] {
    [
        ("redshift", Meta::Number(0.5)),
        ("finder", Meta::Text("FOF \"b = 0.2\"".into())),
        ("files", Meta::Lines(vec!["a.0".into(), "a.1".into()])),
    ]
}

#[test]
fn written() {
    let folder = Folder::new("parquet");
    let path = folder.file("table.parquet");
    write_parquet(File::create(&path).unwrap(), &columns(1_050_000), Some(&Units::GADGET), &meta()).unwrap();
    let message = |columns: &[Column]| write_parquet(vec![], columns, None, &[]).unwrap_err().to_string();
    let mut unequal = columns(3);
    unequal.push(Column::new("y", Values::Numbers(vec![])));
    assert!(message(&unequal).contains("column y has 0 values, but the first column has 3"));
    assert!(message(&[columns(3), columns(3)].concat()).contains("two columns are named id"));
    let mut empty = vec![];
    write_parquet(&mut empty, &columns(0), None, &[]).unwrap();
    assert!(empty.starts_with(b"PAR1") && empty.ends_with(b"PAR1"));
}

fn file(name: &str) -> PathBuf {
    stored("parquet").join(format!("{name}.parquet"))
}

#[test]
fn as_pyarrow_writes_them() {
    for name in ["snappy", "gzip", "zstd", "lz4", "none", "pandas"] {
        let snapshot = all(file(name)).unwrap();
        let mut wanted = Expected::named("parquet");
        assert_eq!(snapshot.format, Format::Parquet);
        assert!(matches!((&snapshot.points, &snapshot.velocities), (Points::F64(_), Some(Points::F32(_)))));
        assert_eq!(flat(&snapshot.points), wanted.f64s("pos"));
        assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), wanted.f64s("vel"));
        assert_eq!(
            (snapshot.ids, snapshot.columns),
            (Some(wanted.u64s("id")), ["x", "y", "z"].map(String::from).to_vec())
        );
        assert_eq!(each(&snapshot.masses), wanted.f64s("mass"));
        assert_eq!(snapshot.matter, Some(wanted.f64s("mass").iter().sum()));
        let known = snapshot.units;
        if name == "pandas" {
            assert_eq!((known, snapshot.redshift, snapshot.box_size), (Default::default(), None, None));
        } else {
            assert_eq!(
                (known.length, known.mass, known.velocity),
                (Some(LengthUnit::KPC), Some(MassUnit::MSUN), Some(VelocityUnit::KM_S))
            );
            assert_eq!((snapshot.redshift, snapshot.box_size), (Some(0.5), Some(1.0)));
        }
    }
    let snapshot = all(file("astropy")).unwrap();
    assert_eq!(flat(&snapshot.points), Expected::named("parquet").f64s("pos"));
    assert_eq!((snapshot.units.length, snapshot.redshift), (Some(LengthUnit::MPC), Some(2.0)));
    refused(file("hole"), &["column y has no value in row 3"]);
}

#[test]
fn parts_of_a_table() {
    let path = file("none");
    let whole = all(&path).unwrap();
    // Threads read the file at the same time, each at its own position.
    for _ in 0..50 {
        assert!(all(&path).unwrap() == whole);
    }
    let chosen = read(&path, &ReadOptions::default().columns(["z", "x"]).ids(false).masses(false)).unwrap();
    let (pos, vel) = (flat(&whole.points), flat(whole.velocities.as_ref().unwrap()));
    let wanted: Vec<f64> = (0..150).flat_map(|i| [pos[3 * i + 2], pos[3 * i]]).collect();
    assert_eq!((flat(&chosen.points), chosen.ids), (wanted, None));
    assert_eq!(flat(chosen.velocities.as_ref().unwrap())[..2], [vel[2], vel[0]]);
    let some = read(&path, &ReadOptions::default().subsample(0.25)).unwrap();
    let ids = whole.ids.as_ref().unwrap();
    let places: Vec<usize> =
        some.ids.as_ref().unwrap().iter().map(|id| ids.iter().position(|own| own == id).unwrap()).collect();
    assert!(places.is_sorted() && (20..60).contains(&places.len()));
    assert_eq!(flat(&some.points)[..3], pos[3 * places[0]..3 * places[0] + 3]);
    assert_eq!((each(&some.masses)[0], some.matter), (each(&whole.masses)[places[0]] * 4.0, whole.matter));
    for (column, said) in
        [("name", "column name holds text, which cannot be read as numbers"), ("q", "has no column q")]
    {
        let message = read(&path, &ReadOptions::default().columns([column])).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    let fields: Vec<_> =
        contents.types[0].fields.iter().map(|field| (field.name.as_str(), field.number.as_str(), field.role)).collect();
    assert_eq!(
        fields[5..],
        [
            ("vz", "f32", Role::Velocity),
            ("id", "u64", Role::Id),
            ("mass", "i32", Role::Mass),
            ("name", "text", Role::Other)
        ]
    );
    assert_eq!((contents.total(), contents.redshift, contents.code.is_some()), (150, Some(0.5), true));
}

#[test]
fn there_and_back() {
    let folder = Folder::new("parquet-back");
    let path = folder.file("table");
    let mut table = columns(5);
    table.remove(1);
    table.push(Column::new("y", Values::Signed(vec![3, -1, 0, 5, 9])).quantity(Quantity::Length));
    let more = [("redshift", Meta::Number(0.5)), ("box_size", Meta::Number(100.0))];
    write_parquet(File::create(&path).unwrap(), &table, Some(&Units::GADGET), &more).unwrap();
    let back = all(&path).unwrap();
    assert_eq!(flat(&back.points)[..4], [0.5, 3.0, 0.5 + 1.0 / 3.0, -1.0]);
    assert_eq!(back.ids.as_ref().map(|ids| ids[4]), Some(u64::MAX - 4));
    assert_eq!((back.redshift, back.box_size), (Some(0.5), Some(100.0)));
    assert_eq!((back.units.length, back.units.mass), (Some(LengthUnit::MPC_H), Some(MassUnit::MSUN_H_1E10)));
    // With other names, all numeric columns are coordinates, up to ten.
    let plain = [Column::new("ra", Values::Numbers(vec![1.0])), Column::new("id", Values::Signed(vec![-1]))];
    write_parquet(File::create(&path).unwrap(), &plain, None, &[]).unwrap();
    refused(&path, &["column id holds -1 in row 1; it must be an id"]);
    assert_eq!(flat(&read(&path, &ReadOptions::default().ids(false)).unwrap().points), [1.0]);
    let many: Vec<Column> = (0..11).map(|k| Column::new(format!("a{k}"), Values::Numbers(vec![0.0]))).collect();
    write_parquet(File::create(&path).unwrap(), &many, None, &[]).unwrap();
    refused(&path, &["has 11 columns of coordinates", "ReadOptions::columns"]);
}

#[test]
fn broken() {
    let folder = Folder::new("parquet-broken");
    for name in ["snappy", "gzip", "zstd", "lz4", "none"] {
        let bytes = fs::read(file(name)).unwrap();
        for cut in (4..bytes.len()).step_by(97) {
            refused(folder.with("cut", &bytes[..cut]), &["is a Parquet table that cannot be read"]);
        }
        // No change of a byte causes a panic.
        for at in (4..bytes.len()).step_by(11) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            drop(all(folder.with("flipped", flipped)));
        }
    }
    assert_modest_memory();
}

/// Values that refer to a dictionary need one. The metadata of a column says where its dictionary is, and the header of
/// a page how its values are encoded. Reversing three bytes after another changes both.
#[test]
fn dictionaries_that_are_missing() {
    let folder = Folder::new("parquet-dictionary");
    let bytes = fs::read(file("tiny")).unwrap();
    let mut refusals = 0;
    for at in 4..bytes.len() - 3 {
        let mut changed = bytes.clone();
        changed[at..at + 3].reverse();
        let found = all(folder.with("changed", changed));
        refusals += usize::from(found.is_err_and(|error| error.to_string().contains("refers to a dictionary")));
    }
    assert!(refusals > 0);
}
