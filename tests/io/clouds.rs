//! Point clouds and FITS tables made by hand. `tests/oracle/point_clouds.py` tests files of other programs.

use ropewalk::units::{LengthUnit, MassUnit, VelocityUnit};
use ropewalk_io::{Format, Masses, ReadOptions, inspect, read, read_fields};

use super::{Folder, all, f32s, f64s, refused};

/// Returns a FITS file with one table and the given cards.
pub(super) fn fits(kind: &str, cards: &[String], width: usize, data: &[u8]) -> Vec<u8> {
    let card = |text: &str| format!("{text:80}").into_bytes();
    let mut bytes: Vec<u8> = ["SIMPLE  =                    T", "BITPIX  =  8", "NAXIS   =  0", "END"]
        .iter()
        .flat_map(|text| card(text))
        .collect();
    bytes.resize(2880, b' ');
    for text in [
        format!("XTENSION= '{kind:8}'"),
        "BITPIX  = 8".into(),
        "NAXIS   = 2".into(),
        format!("NAXIS1  = {width}"),
        format!("NAXIS2  = {}", data.len() / width.max(1)),
        "PCOUNT  = 0".into(),
        "GCOUNT  = 1".into(),
    ]
    .iter()
    .chain(cards)
    .map(String::as_str)
    .chain(["END"])
    {
        bytes.extend(card(text));
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

/// Returns the cards of columns, given as a name, a form and further cards such as `TNULL = 1`.
pub(super) fn columns(all: &[(&str, &str, &[&str])]) -> Vec<String> {
    let mut cards = vec![format!("TFIELDS = {}", all.len())];
    for ((name, form, more), k) in all.iter().zip(1..) {
        cards.extend([format!("{:8}= '{name}'", format!("TTYPE{k}")), format!("{:8}= '{form}'", format!("TFORM{k}"))]);
        for card in *more {
            let (key, value) = card.split_once('=').unwrap();
            cards.push(format!("{:8}= {}", format!("{}{k}", key.trim()), value.trim()));
        }
    }
    cards
}

/// Returns rows of x, y, z, id, mass and type: big-endian, 4 + 4 + 4 + 4 + 8 + 1 bytes.
fn rows(n: u32) -> Vec<u8> {
    let row = |i: u32| {
        let xyz = [1.0f32, 2.0, 3.0].map(|k| (i as f32 + k / 8.0).to_be_bytes()).concat();
        // Ids are unsigned numbers in signed words.
        [&xyz[..], &(i ^ 1 << 31).to_be_bytes(), &f64::from(i + 1).to_be_bytes(), &[(i % 2) as u8]].concat()
    };
    (0..n).flat_map(row).collect()
}

fn table() -> Vec<String> {
    let length: &[&str] = &["TUNIT = 'Mpc'"];
    let mut cards = columns(&[
        ("X", "E", length),
        ("y", "1E", length),
        ("z", "E", length),
        ("id", "J", &["TZERO = 2147483648", "TSCAL = 1.0"]),
        ("mass", "D", &["TUNIT = 'furlong'"]),
        ("type", "B", &[]),
    ]);
    cards.extend(["REDSHIFT= 5.0E-1", "BOXSIZE = 40", "TELESCOP= 'none'"].map(String::from));
    cards
}

#[test]
fn a_binary_fits_table() {
    let folder = Folder::new("fits");
    let path = folder.with("a", fits("BINTABLE", &table(), 25, &rows(10)));
    let whole = all(&path).unwrap();
    let xyz: Vec<f32> = (0..10).flat_map(|i| [1.0, 2.0, 3.0].map(|k| i as f32 + k / 8.0)).collect();
    assert_eq!((whole.format, &whole.points), (Format::Fits, &f32s(3, xyz.clone())));
    assert_eq!(whole.ids, Some((0..10).collect()));
    assert_eq!(whole.masses, Masses::Each((1..=10).map(f64::from).collect()));
    assert_eq!((whole.matter, whole.redshift, whole.box_size), (Some(55.0), Some(0.5), Some(40.0)));
    assert_eq!(whole.units.length, Some(LengthUnit::MPC));
    assert_eq!(
        whole.notes,
        ["keywords that are not used: TELESCOP", "units that are not used: mass in furlong; values are not converted"]
    );
    // Types, parts, subsamples, chosen columns and fields.
    let odd = read(&path, &ReadOptions::default().types([1])).unwrap();
    assert_eq!(odd.ids, Some(vec![1, 3, 5, 7, 9]));
    let part = read(&path, &ReadOptions::default().part(1, 3)).unwrap();
    assert_eq!((&part.ids, part.total_rows(), part.matter), (&Some(vec![3, 4, 5]), 10, None));
    let some = read(&path, &ReadOptions::default().subsample(0.5)).unwrap();
    assert_eq!(some.points.len(), some.ids.unwrap().len());
    let chosen = read(&path, &ReadOptions::default().columns(["mass", "6"])).unwrap();
    assert_eq!(
        (chosen.points.dim(), chosen.box_size, &chosen.columns[..]),
        (2, None, &["mass".into(), "type".to_string()][..])
    );
    assert!(
        chosen.notes.contains(&"columns that are not read: X, y, z (choose columns with ReadOptions::columns)".into())
    );
    let fields = read_fields(&path, &["id".into(), "type".into()]).unwrap();
    assert_eq!((&fields.values[..4], fields.columns), (&[0.0, 0.0, 1.0, 1.0][..], 2));
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    assert_eq!((contents.total(), contents.types.len(), contents.box_size), (10, 2, Some(40.0)));
    let kinds: Vec<&str> = contents.types[0].fields.iter().map(|field| field.number.as_str()).collect();
    assert_eq!(kinds, ["f32", "f32", "f32", "u32", "f64", "u8"]);
}

#[test]
fn fits_tables_that_are_wrong() {
    let folder = Folder::new("fits-wrong");
    let xyz = |form: &str, more: &[&str]| columns(&[("x", form, more), ("y", form, more), ("z", form, more)]);
    let file = |cards: &[String], data: &[u8]| folder.with("a", fits("BINTABLE", cards, 12, data));
    let ints = [1i32, 2, 3, 4, -9, 6].map(i32::to_be_bytes).concat();
    assert_eq!(all(file(&xyz("J", &[]), &ints)).unwrap().points, f64s(3, [1.0, 2.0, 3.0, 4.0, -9.0, 6.0]));
    let scaled = all(file(&xyz("J", &["TSCAL = 0.5", "TZERO = 1.D1"]), &ints)).unwrap();
    assert_eq!(scaled.points, f64s(3, [10.5, 11.0, 11.5, 12.0, 5.5, 13.0]));
    refused(file(&xyz("J", &["TNULL = -9"]), &ints), &["row 2, column y: has no value"]);
    let floats = [1.0f32, 2.0, 3.0, 4.0, 5.0, f32::NAN].map(f32::to_be_bytes).concat();
    refused(file(&xyz("E", &[]), &floats), &["row 2, column z: NaN is not a coordinate"]);
    refused(file(&xyz("E", &["TSCAL = two"]), &floats), &["HDU 1: its keyword TSCAL1 is two, which is not a number"]);
    refused(file(&xyz("Y", &[]), &floats), &["its keyword TFORM1 is 'Y', which is not a column format"]);
    refused(file(&xyz("D", &[]), &ints), &["its columns have 24 bytes a row, but NAXIS1 is 12"]);
    let units =
        columns(&[("x", "E", &["TUNIT = 'Mpc'"]), ("y", "E", &["TUNIT = 'kpc'"]), ("z", "E", &["TUNIT = 'Mpc'"])]);
    refused(file(&units, &ints), &["column x has the unit Mpc, but column y has kpc"]);
    let boxed = [xyz("E", &[]), vec!["BOXSIZE = 'wide'".into()]].concat();
    refused(file(&boxed, &ints), &["its keyword BOXSIZE is wide, which cannot be used"]);
    let boxes = [xyz("E", &[]), vec!["BOXSIZE = 1".into(), "LBOX    = 2".into()]].concat();
    refused(file(&boxes, &ints), &["its keyword LBOX is 2, but another keyword for the same quantity is 1"]);
    let packed = [xyz("E", &[]), vec!["ZTABLE  = T".into()]].concat();
    refused(file(&packed, &ints), &["HDU 1 is a compressed table"]);
    let whole = fits("BINTABLE", &xyz("J", &[]), 12, &[0; 36_000]);
    refused(folder.with("a", &whole[..20_000]), &["truncated: expected 36000 bytes of data in HDU 1, got"]);
    refused(folder.with("a", &whole[..2900]), &["truncated: the header of HDU 1 has no card END"]);
    refused(folder.with("a", &whole[..2880]), &["is a FITS file without tables (0 images)"]);
}

#[test]
fn vectors_of_fits() {
    let folder = Folder::new("fits-vectors");
    let data = [1.0f64, 2.0, 3.0, -1.0, -2.0, -3.0, 9.0, 9.0].map(f64::to_be_bytes).concat();
    let cards = columns(&[("Position", "3D", &[]), ("VEL", "3D", &[]), ("other", "2D", &[])]);
    let path = folder.with("a", fits("BINTABLE", &cards, 64, &data));
    let snapshot = all(&path).unwrap();
    assert_eq!((&snapshot.points, snapshot.velocities), (&f64s(3, [1.0, 2.0, 3.0]), Some(f64s(3, [-1.0, -2.0, -3.0]))));
    for names in [&["VEL"][..], &["2"], &["VEL[1]", "vel[2]", "VEL[3]"]] {
        let chosen = read(&path, &ReadOptions::default().columns(names.iter().copied())).unwrap();
        assert_eq!(chosen.points, f64s(3, [-1.0, -2.0, -3.0]), "{names:?}");
    }
    let cards =
        columns(&[("x", "D", &[]), ("y", "D", &[]), ("list", "1PJ(3)", &[]), ("c", "M", &[]), ("t", "24A", &[])]);
    let path = folder.with("a", fits("BINTABLE", &cards, 64, &data));
    assert_eq!(all(&path).unwrap().points, f64s(2, [1.0, 2.0]));
    for (name, what) in [("list", "lists of variable length"), ("c", "complex numbers"), ("t", "text")] {
        let error = read(&path, &ReadOptions::default().columns(["x", name])).unwrap_err().to_string();
        assert!(error.ends_with(&format!("column {name} holds {what}")), "{error}");
    }
}

/// The spellings of astropy's formats fits, vounit, cds, generic, ogip, unicode and console, and spellings with h.
#[test]
fn units_of_fits() {
    let folder = Folder::new("fits-units");
    let row: Vec<u8> = (1..=7).flat_map(|k| f64::from(k).to_be_bytes()).collect();
    for (length, velocity, mass) in [
        ("10**3 kpc", "km s-1", "10**10 solMass"),
        ("1000kpc", "km.s**-1", "1e+10solMass"),
        ("Mpc", "km.s-1", "10+10solMass"),
        ("1000 kpc", "km / s", "1e+10 solMass"),
        ("10+3kpc", "10**3 m s-1", "1.98841e+40 kg"),
        ("Mpc", "km s^-1", "1*10^10 solMass"),
        ("10**3 kpc", "km*s^-1", "10^10 Msun"),
    ] {
        for (per_h, is_per_h) in [("", false), (" h-1", true), (" / littleh", true), (" littleh^-1", true)] {
            let [of_length, of_mass] = [length, mass].map(|unit| format!("TUNIT = '{unit}{per_h}'"));
            let of_velocity = format!("TUNIT = '{velocity}'");
            let mut all_columns: Vec<(&str, &str, &[&str])> = vec![];
            let [of_length, of_velocity, of_mass] = [&of_length, &of_velocity, &of_mass].map(|card| [card.as_str()]);
            all_columns.extend(["x", "y", "z"].map(|name| (name, "D", &of_length[..])));
            all_columns.extend(["vx", "vy", "vz"].map(|name| (name, "D", &of_velocity[..])));
            all_columns.push(("mass", "D", &of_mass));
            let snapshot = all(folder.with("a", fits("BINTABLE", &columns(&all_columns), 56, &row))).unwrap();
            let case = format!("{length}, {velocity}, {mass}, {per_h}");
            assert_eq!(snapshot.notes, Vec::<String>::new(), "{case}");
            assert_eq!(snapshot.units.length, Some(LengthUnit { per_h: is_per_h, ..LengthUnit::MPC }), "{case}");
            assert_eq!(snapshot.units.mass, Some(MassUnit { per_h: is_per_h, ..MassUnit::MSUN_1E10 }), "{case}");
            assert_eq!(snapshot.units.velocity, Some(VelocityUnit::KM_S), "{case}");
            assert_eq!(snapshot.velocities, Some(f64s(3, [4.0, 5.0, 6.0])), "{case}");
        }
    }
}

#[test]
fn a_text_fits_table() {
    let folder = Folder::new("fits-text");
    let cards = columns(&[
        ("x", "F6.2", &["TBCOL = 1"]),
        ("y", "D8.1", &["TBCOL = 8", "TSCAL = 2.0", "TNULL = 'none'"]),
        ("who", "A2", &["TBCOL = 17"]),
    ]);
    let file = |data: &[u8]| folder.with("a", fits("TABLE", &cards, 18, data));
    // The second row has no decimal point, so its last two digits are decimals.
    let snapshot = all(file(b"  1.50 1.5D+02 me   250      -3. us ")).unwrap();
    assert_eq!(snapshot.points, f64s(2, [1.5, 300.0, 2.5, -6.0]));
    assert_eq!(snapshot.notes, ["columns of text that are not read: who"]);
    refused(file(b"  1.50 1.5D+02 me          none  us "), &["row 2, column x: has no value"]);
    refused(file(b"  1.50 1.5D+02 me   2.5     none us "), &["row 2, column y: has no value"]);
    refused(file(b"  1.50 1.5D+02 me   two      -3. us "), &["row 2: column 1 (x) is not a number: 'two'"]);
}

/// Columns that are named as coordinates, velocities or masses but hold no numbers are not silently replaced by
/// others.
#[test]
fn names_of_quantities_without_numbers() {
    let folder = Folder::new("fits-quantities");
    let file = |cards: &[String]| folder.with("a", fits("BINTABLE", cards, 64, &[[0; 8], [1; 8]].concat().repeat(4)));
    let number = |name| (name, "D", &[][..]);
    for (form, what) in
        [("8A", "text"), ("8L", "truth values"), ("C", "complex numbers"), ("PJ(1)", "lists of variable length")]
    {
        let wrong = |name| (name, form, &[][..]);
        for (cards, name) in [
            ([wrong("X"), wrong("y"), number("z")], "X"),
            ([number("x"), wrong("y"), number("z")], "y"),
            ([number("x"), number("y"), wrong("z")], "z"),
        ] {
            let cards = columns(&[&cards[..], &["a", "b", "c", "d", "e"].map(number)].concat());
            let path = file(&cards);
            refused(
                &path,
                &[&format!("column {name} holds {what}, which cannot be read as numbers"), "ReadOptions::columns"],
            );
            assert_eq!(read(&path, &ReadOptions::default().columns(["a", "b"])).unwrap().points.dim(), 2);
            // The file is still described by `inspect`.
            let contents = inspect(&path, &ReadOptions::default()).unwrap();
            assert!(contents.notes.join("|").contains(&format!("column {name} holds {what}")), "{:?}", contents.notes);
        }
        let axes = ["x", "y", "z"].map(number);
        let table = |more: [&'static str; 5]| columns(&[&axes[..], &more.map(wrong)].concat());
        let path = file(&table(["vx", "vy", "vz", "mass", "a"]));
        refused(&path, &[&format!("column vx holds {what}")]);
        let plain = ReadOptions::default().velocities(false).masses(false);
        assert_eq!(read(&path, &plain).unwrap().points.dim(), 3);
        refused(file(&table(["mass", "a", "b", "c", "d"])), &[&format!("column mass holds {what}")]);
        let snapshot = all(file(&table(["id", "type", "a", "b", "c"]))).unwrap();
        assert_eq!((snapshot.points.dim(), snapshot.ids), (3, None));
        assert_eq!(
            snapshot.notes,
            ["columns that are not read: id, type, a, b, c (choose columns with ReadOptions::columns)"]
        );
        // With other names, these columns are left out.
        let others = columns(&[&[wrong("a")], &["b", "c", "d", "e", "f", "g", "h"].map(number)[..]].concat());
        assert_eq!(all(file(&others)).unwrap().columns.join(""), "bcdefgh");
    }
    let cards = columns(&[
        ("x", "A1", &["TBCOL = 1"]),
        ("y", "I1", &["TBCOL = 2"]),
        ("z", "I1", &["TBCOL = 3"]),
        ("w", "I1", &["TBCOL = 4"]),
    ]);
    refused(
        folder.with("b", fits("TABLE", &cards, 4, b"1234")),
        &["column x holds text, which cannot be read as numbers"],
    );
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar float x\nproperty float y\nproperty float z\nend_header\n1 2 3 4\n";
    refused(folder.with("c", ply), &["column x holds lists"]);
}

#[test]
fn las_points_are_scaled() {
    let folder = Folder::new("las");
    let mut bytes = vec![0; 227];
    bytes[..4].copy_from_slice(b"LASF");
    bytes[24..26].copy_from_slice(&[1, 2]);
    bytes[94] = 227;
    bytes[96] = 227;
    bytes[105] = 20;
    bytes[107] = 2;
    for (axis, scale) in [0.01f64, 0.5, -2.0].into_iter().enumerate() {
        bytes[131 + 8 * axis..139 + 8 * axis].copy_from_slice(&scale.to_le_bytes());
        bytes[155 + 8 * axis..163 + 8 * axis].copy_from_slice(&(axis as f64).to_le_bytes());
    }
    for [x, y, z] in [[1i32, 2, 3], [-1, i32::MAX, i32::MIN]] {
        bytes.extend([x, y, z].map(i32::to_le_bytes).concat());
        bytes.extend([7, 0, 0, 0, 0, 0, 0, 0]);
    }
    let snapshot = all(folder.with("a", &bytes)).unwrap();
    let last = [-0.01, f64::from(i32::MAX) * 0.5 + 1.0, f64::from(i32::MIN) * -2.0 + 2.0];
    assert_eq!((snapshot.format, snapshot.points), (Format::Las, f64s(3, [&[0.01, 2.0, -4.0][..], &last].concat())));
    assert!(snapshot.notes.iter().any(|note| note.contains("intensity")), "{:?}", snapshot.notes);
    let chosen = read(folder.file("a"), &ReadOptions::default().columns(["intensity"])).unwrap();
    assert_eq!(chosen.points, f64s(1, [7.0, 7.0]));
    let change = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        folder.with("b", bytes)
    };
    refused(change(104, 0x80), &["is compressed (LAZ)"]);
    refused(change(104, 11), &["has points of format 11"]);
    refused(change(107, 3), &["truncated: its header declares 3 points"]);
    refused(change(25, 5), &["is LAS 1.5; it must be 1.0 to 1.4"]);
    refused(change(105, 19), &["contradicts itself"]);
    refused(change(100, 1), &["contradicts itself: 1 variable-length records end beyond byte 227"]);
    refused(folder.with("b", &bytes[..100]), &["truncated: expected a LAS header of 227 bytes"]);
}

#[test]
fn pcd_and_ply_name_the_point_that_is_missing() {
    let folder = Folder::new("clouds");
    let pcd = "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ";
    let snapshot = all(folder.with("a", format!("{pcd}ascii\n1 2 3\n4 5 6e0\n"))).unwrap();
    assert_eq!((snapshot.format, snapshot.points), (Format::Pcd, f64s(3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    refused(folder.with("a", format!("{pcd}ascii\n1 2 3\n4 nan 6\n")), &["line 11, column y: nan is not a coordinate"]);
    refused(folder.with("a", format!("{pcd}ascii\n1 2 3\n4 5\n")), &["line 11: 2 values, but its header declares 3"]);
    refused(folder.with("a", format!("{pcd}ascii\n1 2 3\n")), &["truncated: it has 1 of 2 points"]);
    refused(folder.with("a", format!("{pcd}zip\n")), &["line 9: 'DATA zip' has an unknown encoding"]);
    refused(
        folder.with("a", pcd.replace("TYPE F F F", "TYPE F F") + "ascii\n"),
        &["the same number of values in SIZE, TYPE and COUNT"],
    );
    refused(
        folder.with("a", pcd.replace("HEIGHT", "DEPTH") + "ascii\n"),
        &["line 7: 'DEPTH 1' is not a line of a PCD header"],
    );
    let numbers = [1.0f32, 2.0, 3.0, f32::INFINITY, 5.0, 6.0].map(f32::to_le_bytes).concat();
    refused(
        folder.with("a", [pcd.as_bytes(), b"binary\n", &numbers].concat()),
        &["row 2, column x: inf is not a coordinate"],
    );

    let ply = "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
               property uchar red\nproperty list uchar int near\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let snapshot = all(folder.with("a", format!("{ply}1 2 3 9 2 0 1\n\n4 5 6 9 0\n3 0 1 0\n"))).unwrap();
    assert_eq!((snapshot.format, snapshot.points), (Format::Ply, f64s(3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    let notes = "comment by hand|elements that are not read: face (1)|columns that are not read: red (choose columns with ReadOptions::columns)";
    assert_eq!(snapshot.notes.join("|"), notes);
    let chosen = read(folder.file("a"), &ReadOptions::default().columns(["red", "z"])).unwrap();
    assert_eq!(chosen.points, f64s(2, [9.0, 3.0, 9.0, 6.0]));
    refused(
        folder.with("a", format!("{ply}1 2 3 9 0\n4 5 inf 9 0\n")),
        &["line 14, column z: inf is not a coordinate"],
    );
    refused(folder.with("a", format!("{ply}1 2 3 9 2 0\n")), &["line 13: ends before near of the element vertex"]);
    refused(folder.with("a", ply.replace("float z", "float x")), &["line 7: 'property float x' cannot be read"]);
    let binary = ply.replace("ascii", "binary_little_endian");
    refused(folder.with("a", [binary.as_bytes(), &[0; 40]].concat()), &["the property near of its vertices is a list"]);
}

#[test]
fn vertices_of_obj() {
    let folder = Folder::new("obj");
    let snapshot =
        all(folder.with("a", "# by hand\nmtllib a.mtl\nv 1 2 \\\n 3\nv 2 4 6 2\nv 7 8 9 1 0 0\nvn nan 0 0\nf 1 2 3\n"))
            .unwrap();
    assert_eq!(
        (snapshot.format, snapshot.points),
        (Format::Obj, f64s(3, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 7.0, 8.0, 9.0]))
    );
    assert_eq!(snapshot.notes, ["not read: colours of vertices (1), lines f (1), lines mtllib (1), lines vn (1)"]);
    refused(folder.with("a", "v 1 2 3\nv 1 2\n"), &["line 2: a vertex has 2 numbers; it must have 3, 4, 6 or 7"]);
    refused(folder.with("a", "v 1 2 3\nv 1 2 x\n"), &["line 2: column 3 (z) is not a number: 'x'"]);
    refused(folder.with("a", "v 1 2 3\nv 1 2 3 0\n"), &["line 2, column x: inf is not a coordinate"]);
    // A table whose columns have names of OBJ lines.
    assert_eq!(all(folder.with("a", "v o\n1 2\n")).unwrap().format, Format::Csv);
}
