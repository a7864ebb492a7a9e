//! Tables of fields: columns of numbers with any names.

use std::fs::File;
use std::io::Write;

use ropewalk_io::{Fields, ReadOptions, read, read_fields, write_npy_f64_rows_to, write_npz, write_parquet};
use ropewalk_table::columns::{Column, Values};

use super::Folder;
use super::expected::{flat, stored};

/// Returns the columns with their names.
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
        assert_eq!(named(&read_fields(path, &chosen(&["14", "4"])).unwrap()), named(&two));
        for (names, said) in [(&["q"][..], "no column q;"), (&["f7", "14"], "column 14 is chosen twice")] {
            let error = read_fields(path, &chosen(names)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
    write_npy_f64_rows_to(&mut File::create(&npy).unwrap(), &rows, names.len()).unwrap();
    let fields = read_fields(&npy, &[]).unwrap();
    assert_eq!((fields.values, fields.columns, fields.names), (rows, 14, vec![]));
    assert_eq!(named(&read_fields(&npy, &chosen(&["3", "1"])).unwrap()), [("3", numbers(200.0)), ("1", numbers(0.0))]);
}

/// Only columns without numbers are left out.
#[test]
fn columns_that_are_left_out() {
    let folder = Folder::new("fields-out");
    let text = "a,b\n1,NA\n2,nan\n3,4\n";
    let fields = read_fields(folder.with("a", text), &[]).unwrap();
    assert_eq!(named(&fields), [("a", vec![1.0, 2.0, 3.0])]);
    assert!(fields.notes.len() == 1 && fields.notes[0].starts_with("columns left out: b (text); choose the fields"));
    let fields = read_fields(folder.with("a", "# T in K\n1,u\n2,v\n3,w\n"), &[]).unwrap();
    assert_eq!((fields.values, fields.notes.len()), (vec![1.0, 2.0, 3.0], 3));
    assert!(fields.notes[2].contains("column 2 (text)"), "{:?}", fields.notes);
    let error = read_fields(folder.with("a", text), &chosen(&["b"])).unwrap_err().to_string();
    assert!(error.contains("line 2: column 2 (b) is not a number: 'NA'"), "{error}");

    // Values masked in enhanced CSV, as astropy writes it.
    let declared =
        "# - {name: rho, datatype: float64}\n# - {name: rho.mask, datatype: bool}\n# - {name: T, datatype: float64}\n";
    let masked = "# meta: !!omap\n# - __serialized_columns__:\n#     rho:\n#       __class__: astropy.table.column.MaskedColumn\n\
                  #       data: !astropy.table.SerializedColumn {name: rho}\n\
                  #       mask: !astropy.table.SerializedColumn {name: rho.mask}\n";
    let rows = "rho rho.mask T\n1.0 False 1.0\n777.0 True 3.0\n";
    let path = folder.with("a", format!("# %ECSV 1.0\n# ---\n# datatype:\n{declared}{masked}{rows}"));
    let fields = read_fields(&path, &[]).unwrap();
    assert_eq!(named(&fields), [("T", vec![1.0, 3.0])]);
    let said =
        "columns left out: rho (values that the column rho.mask masks), rho.mask (values of the type bool); choose";
    assert!(fields.notes[0].starts_with(said), "{:?}", fields.notes);
    let error = read_fields(&path, &chosen(&["T", "rho"])).unwrap_err().to_string();
    assert!(error.contains("column rho holds values that the column rho.mask masks, which cannot be read"), "{error}");
    assert_eq!(named(&read_fields(&path, &chosen(&["T"])).unwrap()), [("T", vec![1.0, 3.0])]);

    // Writes an archive of zero-filled arrays with these types and shapes.
    let archive = |arrays: &[(&str, &str, &str, usize)]| {
        let path = folder.file("a.npz");
        let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for (name, descr, shape, bytes) in arrays {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
            zip.start_file(format!("{name}.npy"), stored).unwrap();
            zip.write_all(b"\x93NUMPY\x01\0").unwrap();
            zip.write_all(&u16::try_from(text.len()).unwrap().to_le_bytes()).unwrap();
            zip.write_all(&[text.as_bytes(), &vec![0; *bytes]].concat()).unwrap();
        }
        zip.finish().unwrap();
        path
    };
    let [a, b] = [("a", "'<f8'", "(4,)", 32), ("b", "'<i2'", "(4, 2)", 16)];
    let others = [
        ("text", "'<U3'", "(4,)", 48),
        ("truths", "'|b1'", "(4,)", 4),
        ("records", "[('x', '<f4')]", "(4,)", 16),
        ("image", "'<f2'", "(3, 3, 3)", 54),
        ("z", "'<f2'", "()", 2),
    ];
    let fields = read_fields(archive(&[&[a, b][..], &others].concat()), &[]).unwrap();
    assert_eq!(fields.names, ["a", "b0", "b1"]);
    for (other, said) in [
        (("t", "'<f16'", "(4,)", 64), "array t holds values of type '<f16'"),
        (("t", "'<f8'", "(4, 3, 3)", 288), "array t has shape (4, 3, 3)"),
        (("t", "'<c16'", "(5,)", 80), "array t holds values of type '<c16'"),
        (("t", "'<f8'", "(x,)", 0), "array t its header has shape (x,)"),
    ] {
        let path = archive(&[a, b, other]);
        let error = read_fields(&path, &[]).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("; choose the fields to read"), "{error}");
        assert_eq!(read_fields(&path, &chosen(&["b", "1"])).unwrap().names, ["b0", "b1", "a"]);
        let error = read_fields(&path, &chosen(&["t"])).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// More fields than a line of points may have.
#[test]
fn many_fields_of_text() {
    let folder = Folder::new("fields-many");
    let line = |k: i32| (0..20_000).map(|i| (i + k).to_string()).collect::<Vec<_>>().join(",") + "\n";
    let fields = read_fields(folder.with("a", line(0) + &line(1)), &[]).unwrap();
    assert_eq!((fields.columns, fields.values[39_999]), (20_000, 20_000.0));
    let error = read_fields(folder.with("a", "1 ".repeat(1 << 23)), &[]).unwrap_err().to_string();
    assert!(error.contains("line 1 has 16777216 bytes or more") && !error.contains("points"), "{error}");
}

#[test]
fn numbers_of_snapshots() {
    let fields = read_fields(stored("npz").join("stored.npz"), &chosen(&["positions"])).unwrap();
    assert_eq!(fields.names, ["positions0", "positions1", "positions2"]);
    // The ids of this file are too large for floats.
    let error = read_fields(stored("genericio/little"), &[]).unwrap_err().to_string();
    assert!(error.contains("2^53"), "{error}");
    let fields = read_fields(stored("genericio/little"), &chosen(&["phi", "x", "mask"])).unwrap();
    assert_eq!(fields.names, ["phi", "x", "mask"]);
    let points = flat(&read(stored("genericio/little"), &ReadOptions::default()).unwrap().points);
    assert!(named(&fields)[1].1.iter().eq(points.iter().step_by(3)));

    let folder = Folder::new("fields-bad");
    for (text, said) in [
        ("a,b\n1\n", "line 2: expected 2 columns as in the first line, got 1"),
        ("a,b\n1,2\n1,x\n", "line 3: column 2 (b) is not a number: 'x'; choose the fields to read"),
        ("1,2\n1,x\n", "line 2: column 2 is not a number: 'x'; choose the fields to read"),
        ("a,b\n1,\n1,2\n", "line 2: column 2 (b) is not a number: ''; choose"),
        ("a,b\n1,3C273\n1,M31\n", "line 2: column 2 (b) is not a number: '3C273'; choose"),
        (
            "rho,T,850\n1,2,3\n4,5,6\n",
            "column 1 is the number 1, but 'rho' in the first line: the first line is neither",
        ),
        ("a,b\n1,NA\n1,2.5\n", "the field b is the number 2.5, but 'NA' in the first row; choose the fields"),
        ("a,b\n1,2\n1,\n", "line 3: column 2 (b) is not a number: ''"),
        ("a,b\nc,d\n", "no column holds a number"),
        ("a,b\n", "has no rows of numbers"),
    ] {
        let error = read_fields(folder.with("a", text), &[]).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("coordinates"), "{error}");
    }
    let error = read_fields(stored("gadget2.hdf5"), &[]).unwrap_err().to_string();
    assert!(error.contains("is a snapshot of a simulation, not a table of fields"), "{error}");
}
