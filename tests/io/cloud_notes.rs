//! Boxes, types, comments, units and rows of point clouds and tables that are not used: each is noted, and valid
//! files are read.

use std::path::Path;

use ropewalk::units::VelocityUnit;
use ropewalk_io::{ReadOptions, Role, TableFormat, TableWriter, inspect, read, write_npz};
use ropewalk_table::columns::{Column, Meta, Values};

use super::clouds::{columns, fits};
use super::expected::{flat, stored};
use super::{Folder, all, f64s, refused};

/// Returns the notes on a file after reading it.
#[track_caller]
fn notes(path: impl AsRef<Path>) -> String {
    all(path).unwrap().notes.join("|")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in: {text}"));
}

/// Returns the side of the box and the number of notes on it, if these columns are chosen.
#[track_caller]
fn boxed(path: &Path, chosen: &[&str]) -> (Option<f64>, usize) {
    let snapshot = read(path, &ReadOptions::default().columns(chosen.iter().copied())).unwrap();
    let notes = snapshot.notes.iter().filter(|note| note.contains("the box of the file, with a side of ")).count();
    (snapshot.box_size, notes)
}

/// The box applies to the default coordinate columns. For chosen columns it is not used, and a note says so.
#[test]
fn boxes_of_chosen_columns() {
    let folder = Folder::new("chosen-boxes");
    let mut cards = columns(&[("x", "D", &[]), ("Y", "D", &[]), ("z", "D", &[]), ("w", "D", &[])]);
    cards.push("BOXSIZE = 10".into());
    let row = [1.0f64, 2.0, 3.0, 4.0].map(f64::to_be_bytes).concat();
    let binary = folder.with("binary.fits", fits("BINTABLE", &cards, 32, &row));
    let at = ["TBCOL = 1", "TBCOL = 3", "TBCOL = 5", "TBCOL = 7"].map(|card| [card]);
    let mut cards = columns(&[("x", "I1", &at[0]), ("Y", "I1", &at[1]), ("z", "I1", &at[2]), ("w", "I1", &at[3])]);
    cards.push("BOXSIZE = 10".into());
    let text = folder.with("text.fits", fits("TABLE", &cards, 7, b"1 2 3 4"));
    let names = ["x", "Y", "z", "w"];
    let declared: String = names.iter().map(|name| format!("# - {{name: {name}, datatype: float64}}\n")).collect();
    let ecsv = format!("# %ECSV 1.0\n# ---\n# datatype:\n{declared}# meta: {{box_size: 10}}\nx Y z w\n1 2 3 4\n");
    let ecsv = folder.with("a.ecsv", ecsv);
    let npz = folder.file("a.npz");
    let numbers = |value: f64| Values::Numbers(vec![value]);
    let arrays = [("x", 1.0), ("Y", 2.0), ("z", 3.0), ("w", 4.0), ("box_size", 10.0)];
    write_npz(&npz, &arrays.map(|(name, value)| (name, numbers(value)))).unwrap();
    for path in [&binary, &text, &ecsv, &npz] {
        for chosen in [&[][..], &["x", "y", "z"], &["z", "x", "Y"], &["x", "y"], &["3"]] {
            assert_eq!(boxed(path, chosen), (Some(10.0), 0), "{path:?} {chosen:?}");
        }
        for chosen in [&["w"][..], &["x", "y", "w"], &["4"]] {
            assert_eq!(boxed(path, chosen), (None, 1), "{path:?} {chosen:?}");
        }
    }
    let names = ["x", "y", "z", "w"];
    let table = names.map(|name| Column::new(name, numbers(1.0)));
    let meta = [("box_size", Meta::Number(10.0))];
    let table = TableWriter::new(&table).meta(&meta);
    for format in [TableFormat::Hdf5, TableFormat::Parquet] {
        let mut bytes = vec![];
        table.write(&mut bytes, format).unwrap();
        let path = folder.with("table", bytes);
        assert_eq!((boxed(&path, &[]), boxed(&path, &["z", "x"])), ((Some(10.0), 0), (Some(10.0), 0)), "{format}");
        assert_eq!(boxed(&path, &["x", "y", "w"]), (None, 1), "{format}");
    }
    let file = stored("genericio/little");
    let whole = all(&file).unwrap();
    let turned = read(&file, &ReadOptions::default().columns(["z", "y", "x"])).unwrap();
    assert_eq!((turned.box_size, turned.units.length), (Some(64.0), whole.units.length));
    assert_eq!((boxed(&file, &["z", "x"]), boxed(&file, &["x", "vx"])), ((Some(64.0), 0), (None, 1)));
    assert_eq!(boxed(&stored("genericio_big/big"), &["phi", "center_x"]), (None, 1));
}

/// Fields that are positions by name represent x, y and z.
#[test]
fn boxes_of_vectors() {
    let folder = Folder::new("vector-boxes");
    let mut cards = columns(&[("Position", "3D", &[]), ("Velocity", "3D", &[])]);
    cards.push("LBOX    = 4".into());
    let row = [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0].map(f64::to_be_bytes).concat();
    let path = folder.with("a.fits", fits("BINTABLE", &cards, 48, &row));
    for (chosen, side) in [("Position", (Some(4.0), 0)), ("Position[2]", (Some(4.0), 0)), ("velocity", (None, 1))] {
        assert_eq!(boxed(&path, &[chosen]), side, "{chosen}");
    }
    let numbers = |values: &[f64]| Values::Numbers(values.to_vec());
    let path = folder.file("a.npz");
    let arrays =
        [("x", numbers(&[1.0])), ("y", numbers(&[2.0])), ("w", numbers(&[3.0])), ("box", numbers(&[4.0, 5.0]))];
    write_npz(&path, &arrays).unwrap();
    assert_eq!((boxed(&path, &["y"]), boxed(&path, &["x"])), ((Some(5.0), 0), (Some(4.0), 0)));
    assert_eq!(boxed(&path, &["w"]), (None, 1));
}

/// A type column with other values is noted, and `inspect` does not report it as types.
#[test]
fn columns_that_are_no_types() {
    let folder = Folder::new("no-types");
    let ply = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty uchar type\nend_header\n"
        )
    };
    let values = |kind: u8| [&[0; 12][..], &[kind]].concat();
    let cards = columns(&[("x", "B", &[]), ("y", "B", &[]), ("type", "B", &[])]);
    let npz = folder.file("a.npz");
    let numbers = |a: f64, b: f64| Values::Numbers(vec![a, b]);
    write_npz(&npz, &[("x", numbers(1.0, 2.0)), ("y", numbers(1.0, 2.0)), ("type", numbers(1.0, 10.0))]).unwrap();
    let files = [
        folder.with("text.ply", ply("ascii") + "1 2 0 1\n2 3 0 10\n"),
        folder.with("a.ply", [ply("binary_big_endian").as_bytes(), &values(1), &values(10)].concat()),
        folder.with("a.fits", fits("BINTABLE", &cards, 3, &[1, 2, 1, 3, 4, 10])),
        folder.with("a.csv", "x,y,type\n1,2,1\n3,4,10\n"),
        npz,
    ];
    for path in &files {
        let snapshot = all(path).unwrap();
        assert!(snapshot.types.is_empty(), "{path:?}");
        let notes = snapshot.notes.join("|");
        assert!(notes.contains("particle type"), "{path:?}: {notes}");
        let contents = inspect(path, &ReadOptions::default()).unwrap();
        let is_type = |kind: &ropewalk_io::TypeContents| kind.fields.iter().any(|field| field.role == Role::Type);
        assert!(!contents.types.iter().any(is_type), "{path:?}");
        let notes = contents.notes.join("|");
        match path.extension().is_some_and(|extension| extension == "csv") {
            true => has(&notes, &["columns left out: type ('10' is not a particle type)"]),
            false => has(&notes, &["types are not read: ", " is not a particle type (a whole number from 0 to 6)"]),
        }
    }
    let typed = folder.with("typed.ply", ply("ascii") + "1 2 0 1\n2 3 0 4\n");
    assert_eq!((all(&typed).unwrap().types.len(), notes(&typed)), (2, String::new()));
}

/// Rows, values and bytes beyond the numbers in a header are noted.
#[test]
fn more_than_a_header_promises() {
    let folder = Folder::new("more");
    let pcd = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ";
    let more = folder.with("a", format!("{pcd}ascii\n1 2 3\n4 5 6\n\n7 8 9\n"));
    assert_eq!(notes(&more), "lines after the last point that are not read: 1");
    assert_eq!(all(&more).unwrap().points.len(), 2);
    assert_eq!(notes(folder.with("a", format!("{pcd}ascii\n1 2 3\n4 5 6\n\n"))), "");
    let numbers = |n: usize| vec![0u8; 12 * n];
    let binary = |n| folder.with("a", [pcd.as_bytes(), b"binary\n", &numbers(n)].concat());
    assert_eq!(
        (notes(binary(2)), notes(binary(3))),
        (String::new(), "12 bytes after the last point are not read".into())
    );

    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n";
    assert_eq!(
        notes(folder.with("a", format!("{ply}1 2 3\n4 5 6\n3 0 1 0\n"))),
        "elements that are not read: face (1)"
    );
    let more = notes(folder.with("a", format!("{ply}1 2 3 9\n4 5 6\n3 0 1 0\n7 8 9")));
    has(
        &more,
        &[
            "values without a property are not read",
            "that have them: 1",
            "lines after the last element that are not read: 1",
        ],
    );
    has(
        &notes(folder.with("a", format!("{ply}1 2 3\n4 5 6\n"))),
        &["truncated: 0 of 1 lines of the unread elements exist"],
    );
    let mesh = format!("{}0 0 0 9\n1 0 0\n0 1 0\n3 0 1 2\n7 7 7\n", ply.replace("vertex 2", "vertex 3"));
    let mesh = ropewalk_io::read_mesh(folder.with("a", mesh)).unwrap().notes.join("|");
    has(
        &mesh,
        &[
            "values without a property are not read",
            "that have them: 1",
            "lines after the last element that are not read: 1",
        ],
    );
    let header = ply.replace("ascii", "binary_little_endian");
    let face = [3u8, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let binary = |rest: &[u8]| folder.with("a", [header.as_bytes(), &numbers(2), rest].concat());
    assert_eq!(notes(binary(&face)), "elements that are not read: face (1)");
    has(&notes(binary(&[&face[..], &[0; 12]].concat())), &["12 bytes after the last element are not read"]);
    has(&notes(binary(&face[..4])), &["the file ends within the element face"]);
}

/// A CR alone ends a line.
#[test]
fn lines_that_end_by_carriage_returns() {
    let folder = Folder::new("cr");
    let pcd =
        "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n1 2 3\n4 5 6\n";
    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n4 5 6\n";
    for text in [pcd, ply, "o part\nv 1 2 3\nv 4 5 6\n"] {
        for end in ["\r", "\r\n", "\n"] {
            let snapshot = all(folder.with("a", text.replace('\n', end))).unwrap();
            assert_eq!(snapshot.points, f64s(3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "{text:?}");
        }
    }
    let mesh = "ply\nformat ascii 1.0\ncomment \u{e9}\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
                property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let stl = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    for text in [mesh, stl, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"] {
        for end in ["\r", "\r\n", "\n"] {
            let found = ropewalk_io::read_mesh(folder.with("mesh", text.replace('\n', end))).unwrap();
            assert_eq!((found.faces, found.vertices.len(), found.notes), (vec![[0, 1, 2]], 3, vec![]), "{text:?}");
        }
    }
    // A header with CR LF, and numbers that contain any bytes.
    let header = ply.split_once("1 2 3").unwrap().0.replace("ascii", "binary_little_endian").replace('\n', "\r\n");
    let numbers = [f32::from_bits(0x0d0d_0d0a), 0.0, 0.0, 1.0, 2.0, 3.0].map(f32::to_le_bytes).concat();
    assert_eq!(all(folder.with("a", [header.as_bytes(), &numbers].concat())).unwrap().points.len(), 2);
}

/// The time to join continuation lines of OBJ is linear in their length.
#[test]
fn long_continued_lines() {
    let folder = Folder::new("continued");
    let start = std::time::Instant::now();
    let text = "v 0 0 0\nv 1 2 ".to_string() + &"\\\n".repeat(1_000_000) + "3\n";
    assert_eq!(flat(&all(folder.with("a", text)).unwrap().points), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    // A copy of the line for each continuation would take 500 GB.
    assert!(start.elapsed().as_secs() < 60);
}

/// Text tables of FITS: missing values matter only in columns that are read, unknown units are noted, velocities are
/// converted.
#[test]
fn text_tables_of_fits() {
    let folder = Folder::new("fits-text-notes");
    let card = |at: &'static str| [at, "TUNIT = 'Mpc'"];
    let [x, y] = [card("TBCOL = 1"), card("TBCOL = 3")];
    let cards = columns(&[
        ("x", "I1", &x),
        ("y", "I1", &y),
        ("mass", "I1", &["TBCOL = 5", "TUNIT = 'furlong'"]),
        ("w", "I2", &["TBCOL = 7", "TNULL = '-9'"]),
    ]);
    let file = |rows: &[u8]| folder.with("a", fits("TABLE", &cards, 8, rows));
    let snapshot = all(file(b"1 2 3 -92 3 4   ")).unwrap();
    assert_eq!(flat(&snapshot.points), [1.0, 2.0, 2.0, 3.0]);
    has(&snapshot.notes.join("|"), &["the unit 'furlong' of mass is not a known unit of mass and is not used"]);
    refused(file(b"1 2 3 -92   4 1 "), &["row 2, column y: has no value"]);
    refused(file(b"1 2   -92 3 4 1 "), &["row 1, column mass: has no value"]);
    let chosen = read(file(b"1 2 3 4 2 3 4   "), &ReadOptions::default().columns(["w"]));
    assert!(chosen.unwrap_err().to_string().contains("row 2, column w: has no value"));

    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float vx\nproperty float vy\n\
               property float z\nproperty float vz\nend_header\n1 2 8 8 3 8\n";
    let gadget = ReadOptions::default().velocity_unit(VelocityUnit::GADGET).redshift(3.0);
    let snapshot = read(folder.with("b", ply), &gadget).unwrap();
    assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), [4.0; 3]);
}

/// Comments and history of FITS are noted, and keywords without a value count as missing.
#[test]
fn cards_of_fits_that_are_not_used() {
    let folder = Folder::new("fits-cards");
    let table = |more: &[&str]| {
        let mut cards = columns(&[("x", "B", &[]), ("y", "B", &[])]);
        cards.extend(more.iter().map(ToString::to_string));
        folder.with("a", fits("BINTABLE", &cards, 2, &[1, 2]))
    };
    let usual = "COMMENT   FITS (Flexible Image Transport System) format is defined in 'Astronomy";
    assert_eq!(notes(table(&[usual, "", "COMMENT"])), "");
    let said = notes(table(&["COMMENT box size: 10 kpc", usual, "HISTORY redshift=0.5"]));
    assert_eq!(said, "comments that are not used: 'box size: 10 kpc', 'redshift=0.5'");
    let said = notes(table(&["COMMENT 1", "HISTORY 2", "        3", "HIERARCH four", "COMMENT 5"]));
    assert_eq!(said, "comments that are not used: '1', '2', '3', and 2 more");
    has(&notes(table(&["FOO BAR"])), &["comments that are not used: 'FOO BAR'"]);
    for undefined in ["REDSHIFT=", "REDSHIFT=          / not known", "BOXSIZE =", "TNULL1  =", "TSCAL1  ="] {
        let snapshot = all(table(&[undefined])).unwrap();
        assert_eq!((snapshot.redshift, snapshot.box_size, snapshot.notes.len()), (None, None, 0), "{undefined}");
    }
    refused(table(&["REDSHIFT= ''"]), &["its keyword REDSHIFT is an empty text, which cannot be used"]);
}

/// Returns a LAS file of version 1.4, with records of the coordinate reference system before and after its points.
fn las(before: &[(u16, Vec<u8>)], after: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let head = |number: u16, length: &[u8], to: usize| {
        let mut head = vec![0; 2];
        head.extend(b"LASF_Projection\0");
        head.extend(number.to_le_bytes());
        head.extend(length);
        head.resize(to, 0);
        head
    };
    let records = before
        .iter()
        .flat_map(|(number, data)| [head(*number, &(data.len() as u16).to_le_bytes(), 54), data.clone()].concat());
    let records: Vec<u8> = records.collect();
    let mut bytes = vec![0; 375];
    bytes[..4].copy_from_slice(b"LASF");
    bytes[24..26].copy_from_slice(&[1, 4]);
    bytes[94..96].copy_from_slice(&375u16.to_le_bytes());
    bytes[96..100].copy_from_slice(&(375 + records.len() as u32).to_le_bytes());
    bytes[100] = before.len() as u8;
    bytes[105] = 20;
    bytes[107] = 1;
    for axis in 0..3 {
        bytes[131 + 8 * axis..139 + 8 * axis].copy_from_slice(&1.0f64.to_le_bytes());
    }
    let end = 375 + records.len() as u64 + 20;
    bytes[235..243].copy_from_slice(&end.to_le_bytes());
    bytes[243] = after.len() as u8;
    bytes.extend(records);
    bytes.extend([0; 20]);
    for (number, data) in after {
        bytes.extend(head(*number, &(data.len() as u64).to_le_bytes(), 60));
        bytes.extend(data);
    }
    bytes
}

/// Returns a record of GeoTIFF keys with these numbers and values.
fn keys(all: &[(u16, u16)]) -> (u16, Vec<u8>) {
    let first = [1u16, 1, 0, all.len() as u16];
    let words = all.iter().flat_map(|&(key, value)| [key, 0, 1, value]);
    (34735, first.into_iter().chain(words).flat_map(u16::to_le_bytes).collect())
}

#[test]
fn reference_systems_of_las() {
    let folder = Folder::new("las-systems");
    let said = |before: &[(u16, Vec<u8>)], after: &[(u16, Vec<u8>)]| notes(folder.with("a", las(before, after)));
    let wkt = "COMPD_CS[\"NAD83 / UTM zone 15N + height\",PROJCS[\"NAD83 / UTM zone 15N\",GEOGCS[\"NAD83\",UNIT[\"degree\",0.0174]],\
               UNIT[\"metre\",1]],VERT_CS[\"height\",UNIT[\"US survey foot\",0.3048]]]";
    let named = "coordinate reference system: COMPD_CS[\\\"NAD83 / UTM zone 15N + height";
    let units = " (units: degree, metre, US survey foot)";
    has(&said(&[(2112, wkt.into())], &[]), &[named, units]);
    // In a record after the points.
    has(&said(&[], &[(2112, wkt.into())]), &[named, units]);
    let projected = said(&[keys(&[(1024, 1), (2048, 4269), (3072, 26915), (3076, 9001)])], &[]);
    has(&projected, &["EPSG 26915, a projection of EPSG 4269", "unit of length: metres"]);
    assert!(!projected.contains("longitudes"), "{projected}");
    has(&said(&[keys(&[(1024, 1), (2048, 4269)])], &[]), &["system: a projection of EPSG 4269"]);
    has(&said(&[keys(&[(1024, 2), (2048, 4326)])], &[]), &["EPSG 4326, longitudes and latitudes"]);
    has(&said(&[keys(&[(2048, 4326)])], &[]), &["EPSG 4326, longitudes and latitudes"]);
    has(&said(&[keys(&[(1024, 2), (2048, 4326), (3072, 26915)])], &[]), &["not clear: model 2, projection EPSG 26915"]);
    has(&said(&[keys(&[(3072, 32767), (3075, 7)])], &[]), &["defined by parameters", "keys that are not read: 3075"]);
    let heights = said(&[keys(&[(3072, 26915), (3076, 9001), (4096, 5703), (4099, 9003)])], &[]);
    has(&heights, &["vertical reference system: EPSG 5703", "x and y are in metres, but z is in US survey feet"]);
    has(&said(&[keys(&[(4099, 9002)])], &[]), &["unit of z: feet; the unit of x and y is not named"]);
    let names = said(&[(34737, b"PCS Name = NAD83 US survey feet|other|\0".to_vec())], &[]);
    has(&names, &["names of the coordinate reference system: PCS Name = NAD83 US survey feet, other"]);
    has(
        &said(&[(4, vec![])], &[(34736, vec![0; 8])]),
        &["records that are not read: LASF_Projection 4, LASF_Projection 34736"],
    );
    let longer = [&las(&[], &[(2112, wkt.into())])[..], &[0; 5]].concat();
    has(&notes(folder.with("a", &longer)), &["5 bytes after the last point or record are not read"]);
    let mut broken = las(&[], &[(2112, wkt.into())]);
    broken[243] = 2;
    refused(folder.with("a", broken), &["contradicts itself: 2 extended variable-length records end beyond byte"]);
}
