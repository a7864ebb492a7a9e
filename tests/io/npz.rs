//! NumPy archives written by NumPy, and damaged ones.

use std::fs;
use std::io::{Cursor, Write};

use ropewalk::units::VelocityUnit;
use ropewalk_io::{Format, Masses, Points, ReadOptions, Role, inspect, read, write_npz};
use ropewalk_table::columns::Values;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::expected::{Expected, each, flat, stored};
use super::{Folder, all, assert_modest_memory, refused};

#[test]
fn as_numpy_writes_them() {
    for name in ["stored", "deflated", "columns", "only"] {
        let path = stored("npz").join(format!("{name}.npz"));
        let (snapshot, mut wanted) = (all(&path).unwrap(), Expected::named("npz"));
        assert_eq!((snapshot.format, snapshot.units), (Format::Npz, Default::default()));
        assert!(matches!(snapshot.points, Points::F32(_)));
        assert_eq!(flat(&snapshot.points), wanted.f64s("pos"));
        if name == "only" {
            assert_eq!((snapshot.velocities, snapshot.ids, snapshot.masses), (None, None, Masses::Unknown));
            continue;
        }
        assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), wanted.f64s("vel"));
        assert_eq!(snapshot.ids, Some(wanted.u64s("id")));
        assert_eq!(each(&snapshot.masses), wanted.f64s("mass"));
        let meta = if name == "columns" { (None, None) } else { (Some(10.0), Some(0.5)) };
        assert_eq!((snapshot.box_size, snapshot.redshift), meta);
    }
}

#[test]
fn parts_of_an_archive() {
    let path = stored("npz").join("columns.npz");
    let whole = all(&path).unwrap();
    let chosen = read(&path, &ReadOptions::default().columns(["y", "vx"]).ids(false)).unwrap();
    let (pos, vel) = (flat(&whole.points), flat(whole.velocities.as_ref().unwrap()));
    let wanted: Vec<f64> = (0..200).flat_map(|i| [pos[3 * i + 1], vel[3 * i]]).collect();
    assert_eq!((flat(&chosen.points), chosen.velocities, chosen.ids), (wanted, None, None));
    let gadget = ReadOptions::default().velocity_unit(VelocityUnit::GADGET).redshift(3.0);
    assert_eq!(flat(read(&path, &gadget).unwrap().velocities.as_ref().unwrap())[7], vel[7] * 0.5);

    let some = read(stored("npz").join("deflated.npz"), &ReadOptions::default().subsample(0.25)).unwrap();
    let ids = whole.ids.unwrap();
    let mut places = some.ids.as_ref().unwrap().iter().map(|id| ids.iter().position(|own| own == id).unwrap());
    assert!(places.clone().is_sorted() && (30..70).contains(&some.points.len()));
    let first = places.next().unwrap();
    assert_eq!(flat(&some.points)[..3], pos[3 * first..3 * first + 3]);
    assert_eq!((each(&some.masses)[0], some.box_size), (each(&whole.masses)[first] * 4.0, Some(10.0)));
    assert!((some.matter.unwrap() / whole.matter.unwrap() - 1.0).abs() < 1e-14);

    let contents = inspect(stored("npz").join("stored.npz"), &ReadOptions::default()).unwrap();
    let fields: Vec<_> =
        contents.types[0].fields.iter().map(|field| (field.name.as_str(), field.number.as_str(), field.role)).collect();
    assert_eq!(fields[..2], [("positions", "f32", Role::Position), ("velocities", "f64", Role::Velocity)]);
    assert_eq!(fields[6..], [("name", "other", Role::Other), ("other", "other", Role::Other)]);
    assert_eq!((contents.total(), contents.box_size), (200, Some(10.0)));
}

/// Archives written by the library, with and without velocities, and with one common mass.
#[test]
fn our_own() {
    let folder = Folder::new("npz");
    let path = folder.file("own.npz");
    let numbers = |values: &[f64]| Values::Numbers(values.to_vec());
    let arrays = [
        ("x", numbers(&[1.0, 2.0])),
        ("y", numbers(&[3.0, 4.0])),
        ("id", Values::Signed(vec![5, 6])),
        ("mass", numbers(&[0.5])),
    ];
    write_npz(&path, &arrays).unwrap();
    let own = all(&path).unwrap();
    assert_eq!((flat(&own.points), own.ids), (vec![1.0, 3.0, 2.0, 4.0], Some(vec![5, 6])));
    assert_eq!((own.masses, own.matter), (Masses::Equal(0.5), Some(1.0)));

    let refuse = |arrays: &[(&str, Values)], said: &[&str]| {
        write_npz(&path, arrays).unwrap();
        refused(&path, said);
    };
    refuse(&[("x", numbers(&[1.0])), ("y", numbers(&[1.0, 2.0]))], &["array y has 2 rows, but array x has 1"]);
    refuse(
        &[("a", numbers(&[1.0])), ("b", numbers(&[1.0]))],
        &["without an array named positions", "its arrays: a, b"],
    );
    refuse(&[("x", numbers(&[1.0])), ("y", numbers(&[1.0])), ("id", Values::Signed(vec![-3]))], &["holds -3", "an id"]);
    refuse(
        &[
            ("x", numbers(&[1.0])),
            ("y", numbers(&[1.0])),
            ("vx", numbers(&[1.0])),
            ("vy", numbers(&[1.0])),
            ("vz", numbers(&[1.0])),
        ],
        &["2 coordinates per point, but 3 components"],
    );
    refuse(
        &[("x", numbers(&[1.0])), ("y", numbers(&[1.0])), ("redshift", numbers(&[-5.0]))],
        &["has redshift -5; it must be above -1"],
    );
    refused(stored("npz").join("stored.npz").with_extension("absent"), &["cannot be opened"]);
    let message =
        read(stored("npz").join("stored.npz"), &ReadOptions::default().columns(["q"])).unwrap_err().to_string();
    assert!(message.contains("has no column q; its 8 columns are positions, velocities"), "{message}");
    let by_number = read(stored("npz").join("stored.npz"), &ReadOptions::default().columns(["1"])).unwrap();
    assert_eq!(by_number.points, read(stored("npz").join("stored.npz"), &ReadOptions::default()).unwrap().points);
}

#[test]
fn broken() {
    let folder = Folder::new("npz-broken");
    for name in ["stored", "deflated"] {
        let bytes = fs::read(stored("npz").join(format!("{name}.npz"))).unwrap();
        for cut in (4..bytes.len()).step_by(53) {
            refused(folder.with("cut", &bytes[..cut]), &["is a zip archive that cannot be read"]);
        }
        // Values are verified by their checksums.
        let at = bytes.windows(6).position(|six| six == b"NUMPY\x01").unwrap_or(200) + 400;
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        refused(folder.with("flipped", flipped), &["array", "cannot be read"]);
    }
    let bytes = fs::read(stored("npz").join("only.npz")).unwrap();
    let at = bytes.windows(8).position(|eight| eight == b"(200, 3)").unwrap();
    let mut lying = bytes.clone();
    lying[at + 1] = b'9';
    refused(folder.with("lying", &lying), &["array arr_0 cannot be read", "hecksum"]);
    // Headers with too many rows, and valid checksums.
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let mut zip = ZipWriter::new(Cursor::new(vec![]));
        zip.start_file("pos.npy", SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(&super::npy::file("'<f4'", false, "(900000000, 3)", &[0; 2400])).unwrap();
        let path = folder.with("lying", zip.finish().unwrap().into_inner());
        refused(path, &["array pos is truncated: expected 10800000000 bytes for 900000000 rows of 3, got 2400"]);
    }
    assert_modest_memory();
}

/// Arrays with a value per particle may have names of single numbers: `h` may be a smoothing length.
#[test]
fn numbers_of_each_particle() {
    let folder = Folder::new("npz-each");
    let path = folder.file("a.npz");
    let numbers = |n: i32| Values::Numbers((0..n).map(f64::from).collect());
    for name in ["h", "side", "redshift", "omega_m"] {
        write_npz(&path, &[("x", numbers(6)), ("y", numbers(6)), (name, numbers(6))]).unwrap();
        let snapshot = all(&path).unwrap();
        assert_eq!((snapshot.points.len(), snapshot.box_size, snapshot.redshift), (6, None, None));
        assert_eq!(snapshot.background, Default::default());
        let note = format!("arrays that are not used: {name}");
        assert_eq!(snapshot.notes, [note.as_str()]);
        assert_eq!(inspect(&path, &ReadOptions::default()).unwrap().notes, [note.as_str()]);
        // An array of another length does not belong to the particles, and up to three numbers may describe the whole
        // snapshot.
        for (n, own) in [(6, 5), (6, 0), (6, 2), (3, 3)] {
            write_npz(&path, &[("x", numbers(n)), ("y", numbers(n)), (name, numbers(own))]).unwrap();
            assert!(all(&path).unwrap_err().to_string().contains(name), "{name} {n} {own}");
        }
    }
}

/// Names of scikit-learn: `X` is a matrix of points, and `y` has a value for each of them.
#[test]
fn matrices() {
    let folder = Folder::new("npz-matrices");
    // Values 1, 2, 3, ..
    let array = |name: &'static str, shape: &'static str, n: i32| (name, shape, n);
    let write = |arrays: &[(&str, &str, i32)]| {
        let mut zip = ZipWriter::new(Cursor::new(vec![]));
        for (name, shape, n) in arrays {
            let values: Vec<u8> = (1..=*n).flat_map(|k| f64::from(k).to_le_bytes()).collect();
            zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
            zip.write_all(&super::npy::file("'<f8'", false, shape, &values)).unwrap();
        }
        folder.with("a.npz", zip.finish().unwrap().into_inner())
    };
    let (x, y) = (array("X", "(2, 2)", 4), array("y", "(2,)", 2));
    for (arrays, used, first, unused) in [
        (vec![x, y], "X", &[1.0, 2.0][..], "y"),
        (vec![y, x], "X", &[1.0, 2.0], "y"),
        (vec![x, array("Y", "(2, 2)", 4)], "X", &[1.0, 2.0], "Y"),
        (vec![array("x", "(2, 3)", 6), array("y", "(2,)", 2), array("z", "(2,)", 2)], "x", &[1.0, 2.0, 3.0], "y, z"),
        (vec![array("X", "(2, 1)", 2), y], "X", &[1.0], "y"),
        (vec![array("data", "(2, 2)", 4), array("target", "(2,)", 2)], "data", &[1.0, 2.0], "target"),
        (vec![x, array("points", "(2, 3)", 6)], "points", &[1.0, 2.0, 3.0], "X"),
        // Columns, each a separate matrix.
        (vec![array("x", "(2, 1)", 2), array("y", "(2, 1)", 2)], "x y", &[1.0, 1.0], ""),
        (vec![array("x", "(2,)", 2), y, array("z", "(2, 4)", 8)], "x y", &[1.0, 1.0], "z"),
    ] {
        let snapshot = all(write(&arrays)).unwrap();
        assert_eq!((snapshot.columns.join(" ").as_str(), &flat(&snapshot.points)[..first.len()]), (used, first));
        let notes: Vec<String> = [unused]
            .into_iter()
            .filter(|names| !names.is_empty())
            .map(|names| format!("arrays that are not used: {names}"))
            .collect();
        assert_eq!(snapshot.notes, notes, "{arrays:?}");
    }
    let path = write(&[array("x", "(2,)", 2), array("y", "(2, 2)", 4)]);
    refused(&path, &["a matrix X or data", "its arrays: x, y"]);
    let chosen = read(&path, &ReadOptions::default().columns(["x", "y"])).unwrap();
    assert_eq!((chosen.points.dim(), chosen.columns), (3, vec!["x".to_string(), "y".to_string()]));
}
