//! Structured NumPy arrays, 16-bit floats, and bytes after an array.

use ropewalk_io::{Format, Masses, ReadOptions, TypeRun, inspect, read};

use super::expected::flat;
use super::npy::file;
use super::{Folder, all, f32s, f64s, refused};

/// Returns two records of x (f4), padding, y (big-endian f8), z (f2), id (u8), mass (f4), type (u1) and a name.
fn records() -> Vec<u8> {
    let descr = "[('x', '<f4'), ('', '|V4'), (('a title', 'y'), '>f8'), ('z', '<f2'), ('id', '<u8'), ('mass', '<f4'), \
                 ('type', '|u1'), ('name', '<U2')]";
    let mut data = vec![];
    for k in 0..2u8 {
        let (own, wide) = (f32::from(k), f64::from(k));
        data.extend((own + 0.5).to_le_bytes());
        data.extend([0xff; 4]);
        data.extend((wide + 0.1).to_be_bytes());
        // 1 and -2.
        data.extend([0x3c00u16, 0xc000][usize::from(k)].to_le_bytes());
        data.extend((u64::MAX - u64::from(k)).to_le_bytes());
        data.extend((own + 2.0).to_le_bytes());
        data.push(4 - 3 * k);
        data.extend([b'a', 0, 0, 0, b'b', 0, 0, 0]);
    }
    file(descr, false, "(2,)", &data)
}

#[test]
fn fields_by_their_names() {
    let folder = Folder::new("records");
    let path = folder.with("a.npy", records());
    let snapshot = all(&path).unwrap();
    assert_eq!((snapshot.format, snapshot.columns.join(" ")), (Format::Npy, "x y z".into()));
    assert_eq!(snapshot.points, f64s(3, [0.5, 0.1, 1.0, 1.5, 1.1, -2.0]));
    assert_eq!(snapshot.ids, Some(vec![u64::MAX, u64::MAX - 1]));
    assert_eq!((snapshot.masses, snapshot.matter), (Masses::Each(vec![2.0, 3.0]), Some(5.0)));
    assert_eq!(snapshot.types, [TypeRun { particle_type: 4, count: 1 }, TypeRun { particle_type: 1, count: 1 }]);
    assert!(snapshot.notes[0].starts_with("columns left out: name (text); "), "{:?}", snapshot.notes);
    let stars = read(&path, &ReadOptions::default().types([4])).unwrap();
    assert_eq!(stars.points, f64s(3, [0.5, 0.1, 1.0]));
    let chosen = read(&path, &ReadOptions::default().columns(["z", "x"])).unwrap();
    assert_eq!((chosen.points, chosen.masses), (f32s(2, [1.0, 0.5, -2.0, 1.5]), Masses::Each(vec![2.0, 3.0])));
    let message = read(&path, &ReadOptions::default().columns(["x", "name"])).unwrap_err().to_string();
    assert!(message.contains("column name holds text"), "{message}");
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    assert_eq!((contents.total(), contents.notes), (2, snapshot.notes));
}

#[test]
fn fields_of_several_values() {
    let folder = Folder::new("records-wide");
    let data: Vec<u8> = (0..14).flat_map(|k| f64::from(k).to_le_bytes()).collect();
    let descr = "[('Coordinates', '<f8', (3,)), ('vel', '<f8', (3,)), ('masses', '<f8')]";
    let snapshot = all(folder.with("a", file(descr, false, "(2,)", &data))).unwrap();
    assert_eq!(snapshot.points, f64s(3, [0.0, 1.0, 2.0, 7.0, 8.0, 9.0]));
    assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), [3.0, 4.0, 5.0, 10.0, 11.0, 12.0]);
    assert_eq!(snapshot.masses, Masses::Each(vec![6.0, 13.0]));
    // Other vectors are columns, and are chosen together.
    let descr = "[('a', '<f8', (3,)), ('b', '<f8', (3,)), ('c', '<f8')]";
    let path = folder.with("b", file(descr, false, "(2,)", &data));
    assert_eq!(all(&path).unwrap().points.dim(), 7);
    let chosen = read(&path, &ReadOptions::default().columns(["c", "b"])).unwrap();
    assert_eq!(chosen.points, f64s(4, [6.0, 3.0, 4.0, 5.0, 13.0, 10.0, 11.0, 12.0]));
}

#[test]
fn records_that_cannot_be_read() {
    let folder = Folder::new("records-wrong");
    let case = |descr: &str, shape: &str| folder.with("a", file(descr, false, shape, &[0; 96]));
    for (kind, what) in [
        ("|b1", "true and false"),
        ("<M8[s]", "dates or times"),
        ("<c8", "complex numbers"),
        ("|S4", "text"),
        ("<f16", "floats"),
    ] {
        refused(case(&format!("[('x', '<f4'), ('y', '<f4'), ('z', '{kind}')]"), "(2,)"), &["column z holds", what]);
    }
    refused(case("[('x', '<f4'), ('y', '|O')]", "(2,)"), &["field y has the unknown type '|O'"]);
    refused(case("[('x', '<f4'), ('y', '<f4')]", "(2, 3)"), &["records of shape [2, 3]"]);
    refused(
        case("[('x', '<f4'), ('y', '<f4')]", "(20,)"),
        &["truncated: expected 160 bytes for 20 records of 8 bytes, got 96"],
    );
    refused(case("[('x', '<f4'), ('x', '<f4'), ('y', '<f4')]", "(2,)"), &["two columns named x"]);
    let twice = case("[('pos', '<f4', (3,)), ('t', '<f4'), ('x', '<f4')]", "(2,)");
    refused(twice, &["has the fields pos and x, both of which hold x", "ReadOptions::columns"]);
    refused(case("[('x', '<f4'), ('y', '<f4'), ('m', '<f4'), ('mass', '<f4')]", "(2,)"), &["fields m and mass"]);
    refused(case("[('x', '<f4'", "(2,)"), &["invalid record type"]);
    refused(case("[('x', '<f8', (99999999999999,))]", "(1,)"), &["truncated"]);
    let large = i64::pow(2, 53) + 1;
    let data = [1.0f64.to_le_bytes(), large.to_le_bytes()].concat();
    refused(
        folder.with("a", file("[('x', '<f8'), ('y', '<i8')]", false, "(1,)", &data)),
        &["9007199254740993", "2^53"],
    );
    let whole = records();
    for cut in 0..whole.len() {
        all(folder.with("cut", &whole[..cut])).unwrap_err();
    }
}

/// All 16-bit floats, compared with their definition.
#[test]
fn floats_of_16_bits() {
    let folder = Folder::new("half");
    let data: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let swapped: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_be_bytes).collect();
    let little = all(folder.with("a", file("'<f2'", false, "(65536,)", &data))).unwrap();
    let big = all(folder.with("b", file("'>f2'", false, "(65536,)", &swapped))).unwrap();
    assert!(matches!(little.points, ropewalk_io::Points::F32(_)));
    for values in [flat(&little.points), flat(&big.points)] {
        for (bits, value) in (0..=u16::MAX).zip(values) {
            let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
            let size = match exponent {
                0 => fraction * 2f64.powi(-14),
                31 if fraction > 0.0 => f64::NAN,
                31 => f64::INFINITY,
                _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
            };
            let wanted = if bits >> 15 == 1 { -size } else { size };
            assert!(
                value.to_bits() == wanted.to_bits() || value.is_nan() && wanted.is_nan(),
                "{bits:x} {value} {wanted}"
            );
        }
    }
}

#[test]
fn bytes_after_an_array() {
    let folder = Folder::new("after");
    let more = [file("'<f4'", false, "(2, 2)", &[0; 16]), file("'<f4'", false, "(1,)", &[0; 4])].concat();
    assert_eq!(all(folder.with("a", &more)).unwrap().notes, ["132 bytes follow the array and are not read"]);
}

/// Fields with the names of the header's keys.
#[test]
fn fields_named_as_the_header() {
    let folder = Folder::new("records-keys");
    let data: Vec<u8> = (0..6).flat_map(|k| f64::from(k).to_le_bytes()).collect();
    for name in ["'shape'", "'descr'", "'fortran_order'", "\"a 'shape': (9,) b\"", "\"'descr': \"", "'}{)('"] {
        let descr = format!("[('x', '<f8'), ('y', '<f8'), ({name}, '<f8')]");
        let table = all(folder.with("a.npy", file(&descr, false, "(2,)", &data))).unwrap();
        assert_eq!(table.points, f64s(2, [0.0, 1.0, 3.0, 4.0]), "{name}");
    }
    let message = all(folder.with("b.npy", file("[('shape', '<f8')], 'other': 1", false, "(2,)", &data)));
    assert_eq!(message.unwrap().points, f64s(1, [0.0, 1.0]));
}

/// Floats are accepted as ids up to the number from which on they do not hold all integers.
#[test]
fn ids_in_floats() {
    let folder = Folder::new("records-ids");
    let case = |kind: &str, id: &[u8]| {
        let data = [&1f32.to_le_bytes()[..], &2f32.to_le_bytes(), id].concat();
        folder.with("a.npy", file(&format!("[('x', '<f4'), ('y', '<f4'), ('id', '<{kind}')]"), false, "(1,)", &data))
    };
    let refuse = |kind: &str, bytes: &[u8], id: &str| {
        refused(case(kind, bytes), &[&format!("holds {id}; it must be an id"), "small enough to be exact"]);
    };
    assert_eq!(all(case("f4", &16_777_215f32.to_le_bytes())).unwrap().ids, Some(vec![16_777_215]));
    refuse("f4", &16_777_216f32.to_le_bytes(), "16777216");
    let most = (1u64 << 53) - 1;
    assert_eq!(all(case("f8", &(most as f64).to_le_bytes())).unwrap().ids, Some(vec![most]));
    refuse("f8", &((most + 1) as f64).to_le_bytes(), "9007199254740992");
    // 2047 and 2048.
    assert_eq!(all(case("f2", &0x67ffu16.to_le_bytes())).unwrap().ids, Some(vec![2047]));
    refuse("f2", &0x6800u16.to_le_bytes(), "2048");
    assert_eq!(all(case("i8", &(1u64 << 60).to_le_bytes())).unwrap().ids, Some(vec![1 << 60]));
}
