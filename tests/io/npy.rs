//! NumPy arrays, byte by byte as written by `numpy.save`.

use ropewalk_io::{Format, Masses, ReadOptions, read, write_npy, write_npy_i32};

use super::{Folder, all, assert_modest_memory, f32s, f64s, refused};

/// Returns a file of version 1: magic, length, and the header padded with blanks to a multiple of 64 bytes.
pub fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let length = (text.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), data].concat()
}

#[test]
fn as_numpy_writes_them() {
    let folder = Folder::new("npy");
    let values = [1.0_f32, -2.5, 3.0, 4.0, 5.0, 6.0];
    let little: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let big: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
    let wide: Vec<u8> = values.iter().flat_map(|&x| f64::from(x).to_be_bytes()).collect();
    let wanted = f32s(3, values);
    let by_columns = f32s(2, [1.0, 4.0, -2.5, 5.0, 3.0, 6.0]);

    let snapshot = all(folder.with("a", file("'<f4'", false, "(2, 3)", &little))).unwrap();
    assert_eq!((&snapshot.points, snapshot.format), (&wanted, Format::Npy));
    assert_eq!((snapshot.velocities, snapshot.ids, snapshot.masses), (None, None, Masses::Unknown));
    assert_eq!(all(folder.with("b", file("'>f4'", false, "(2, 3)", &big))).unwrap().points, wanted);
    assert_eq!(all(folder.with("c", file("'<f4'", true, "(3, 2)", &little))).unwrap().points, by_columns);
    let points = all(folder.with("d", file("'>f8'", false, "(2, 3)", &wide))).unwrap().points;
    assert_eq!(points, f64s(3, values.map(f64::from)));
    assert_eq!(all(folder.with("e", file("'<f4'", false, "(6,)", &little))).unwrap().points, f32s(1, values));
    assert_eq!(all(folder.with("f", file("'<f4'", true, "(6,)", &little))).unwrap().points, f32s(1, values));
    assert_eq!(all(folder.with("g", file("'<f4'", false, "(0, 3)", &[]))).unwrap().points, f32s(3, []));

    // numpy.save(file, numpy.array([[1.5], [-2]], '<f8')), version 2.4.
    let mut real = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }".to_vec();
    real.resize(127, b' ');
    real.extend(b"\n\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0");
    assert_eq!(all(folder.with("h", real)).unwrap().points, f64s(1, [1.5, -2.0]));

    // In version 2 the length has more bytes.
    let one = file("'<f4'", false, "(2, 3)", &little);
    let two = [b"\x93NUMPY\x02\x00", &one[8..10], b"\0\0", &one[10..]].concat();
    assert_eq!(all(folder.with("i", two)).unwrap().points, wanted);
}

/// More points than a chunk, in Fortran order, with a remainder.
#[test]
fn long_columns() {
    let folder = Folder::new("npy-long");
    let n = 100_003;
    let data: Vec<u8> = (0..3 * n).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    let snapshot = all(folder.with("a", file("'<f8'", true, "(100003, 3)", &data))).unwrap();
    let wanted: Vec<f64> = (0..n).flat_map(|i| [f64::from(i), f64::from(n + i), f64::from(2 * n + i)]).collect();
    assert!(snapshot.points == f64s(3, wanted));
}

#[test]
fn integers() {
    let folder = Folder::new("npy-integers");
    let wanted = f64s(2, [1.0, 2.0, 3.0, 100.0]);
    let values = [1_u64, 2, 3, 100];
    for (bytes, letter) in [1, 2, 4, 8].into_iter().flat_map(|bytes| [(bytes, 'i'), (bytes, 'u')]) {
        let little: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes().into_iter().take(bytes)).collect();
        let big: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes().into_iter().skip(8 - bytes)).collect();
        for (order, data) in [(if bytes == 1 { '|' } else { '<' }, little), ('>', big)] {
            let descr = format!("'{order}{letter}{bytes}'");
            assert_eq!(all(folder.with("a", file(&descr, false, "(2, 2)", &data))).unwrap().points, wanted, "{descr}");
        }
    }
    let signed: Vec<u8> = [-1_i16, i16::MIN].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(all(folder.with("a", file("'<i2'", false, "(2,)", &signed))).unwrap().points, f64s(1, [-1.0, -32768.0]));

    const LIMIT: i64 = 1 << 53;
    let wide = |values: &[i64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let exact = all(folder.with("a", file("'<i8'", false, "(2,)", &wide(&[LIMIT, -LIMIT])))).unwrap();
    assert_eq!(exact.points, f64s(1, [LIMIT as f64, -LIMIT as f64]));
    refused(folder.with("a", file("'<i8'", true, "(1, 2)", &wide(&[5, -LIMIT - 1]))), &["-9007199254740993", "2^53"]);
    refused(folder.with("a", file("'<u8'", false, "(2,)", &wide(&[5, -1]))), &["18446744073709551615", "2^53"]);
}

#[test]
fn chosen_columns() {
    let folder = Folder::new("npy-chosen");
    let data: Vec<u8> = (0..24).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    let choose = |path: &std::path::Path, columns: &[&str]| {
        read(path, &ReadOptions::default().columns(columns.iter().map(|c| c.to_string())))
    };
    let wide = folder.with("wide", file("'<f8'", false, "(2, 12)", &data));
    let tall = folder.with("tall", file("'<f8'", true, "(2, 12)", &data));
    refused(&wide, &["shape (2, 12)"]);
    let snapshot = choose(&wide, &["12", "1"]).unwrap();
    assert_eq!((snapshot.points, snapshot.columns.join(" ")), (f64s(2, [11.0, 0.0, 23.0, 12.0]), "12 1".into()));
    assert_eq!(choose(&tall, &["12", "1"]).unwrap().points, f64s(2, [22.0, 0.0, 23.0, 1.0]));
    let whole: Vec<u8> = (0..6_i64).flat_map(|i| i.to_be_bytes()).collect();
    let whole = folder.with("whole", file("'>i8'", false, "(2, 3)", &whole));
    assert_eq!(choose(&whole, &["2"]).unwrap().points, f64s(1, [1.0, 4.0]));
    for (columns, said) in
        [(&["13"][..], "no column 13"), (&["x"], "no column x; its 12 columns have no names"), (&["1", "1"], "twice")]
    {
        let message = choose(&wide, columns).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let all: Vec<String> = (1..=11).map(|c| c.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(choose(&wide, &all).unwrap_err().to_string().contains("11 columns are chosen"));
}

#[test]
fn wrong() {
    let folder = Folder::new("npy-wrong");
    let data = [0; 84];
    let case = |descr: &str, shape: &str| folder.with("case", file(descr, false, shape, &data));
    refused(case("'<f16'", "(7, 3)"), &["'<f16'", "floats of 16 to 64 bits or integers"]);
    refused(case("'<c8'", "(7, 3)"), &["'<c8'"]);
    refused(case("[('x', '<f4'), ('y', '|O')]", "(7,)"), &["field y has the unknown type '|O'"]);
    refused(case("'<f4'", "()"), &["shape ()"]);
    refused(case("'<f4'", "(1, 7, 3)"), &["shape (1, 7, 3)"]);
    refused(case("'<f4'", "(1, 11)"), &["shape (1, 11)"]);
    refused(case("'<f4'", "(8, 3)"), &["truncated", "expected 96 bytes for 8 rows of 3 numbers, got 84"]);
    refused(
        case("'<f4'", "(1000000000000000, 3)"),
        &["expected 12000000000000000 bytes for 1000000000000000 rows of 3 numbers, got 84"],
    );
    refused(case("'<f8'", "(18446744073709551615, 10)"), &["expected 1475739525896764129200 bytes"]);
    refused(case("'<f4'", &"(".repeat(5000)), &["shape"]);
    refused(folder.with("version", b"\x93NUMPY\x09\x01\0\0"), &["version 9.1"]);
    refused(folder.with("header", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), &["header of 4294967295 bytes"]);
    let whole = file("'<f4'", false, "(7, 3)", &data);
    for cut in 0..whole.len() {
        all(folder.with("cut", &whole[..cut])).unwrap_err();
    }
    assert_modest_memory();
}

#[test]
fn round_trips() {
    let folder = Folder::new("npy-round-trips");
    for dim in 1..=10 {
        for n in [0, 1, 5] {
            let values: Vec<f32> = (0..n * dim).map(|i| i as f32 / 4.0).collect();
            let wide: Vec<f64> = values.iter().map(|&x| f64::from(x) + 1e-12).collect();
            for points in [f32s(dim, values), f64s(dim, wide)] {
                write_npy(folder.file("a"), &points).unwrap();
                assert_eq!(all(folder.file("a")).unwrap().points, points);
            }
        }
    }
    write_npy_i32(folder.file("labels"), &[3, -1, 0]).unwrap();
    let bytes = std::fs::read(folder.file("labels")).unwrap();
    assert!(bytes.ends_with(b"\x03\0\0\0\xff\xff\xff\xff\0\0\0\0"));
    assert_eq!((bytes.len() - 12) % 16, 0);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("'descr': '<i4'") && text.contains("'shape': (3, )"), "{text}");
    assert_eq!(folder.names(), ["a", "labels"]);
}
