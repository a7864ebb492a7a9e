//! HDF5 tables: choice of columns, units, boxes and packed numbers, in files of `data/make_hdf5_tables.py`.
//!
//! Column k of these tables has the numbers 10 k, 10 k + 1, ..

use std::fs;
use std::path::PathBuf;

use super::expected::{flat, stored};
use super::{Folder, all, refused};
use ropewalk::units::{LengthUnit, MassUnit, VelocityUnit};
use ropewalk_io::{ReadOptions, Snapshot, inspect, read, read_fields};

const N: usize = 6;

fn table(name: &str) -> PathBuf {
    stored("hdf5_tables").join(format!("{name}.hdf5"))
}

/// Returns the rows of the given columns.
fn rows(columns: &[usize]) -> Vec<f64> {
    (0..N).flat_map(|row| columns.iter().map(move |k| (10 * k + row) as f64)).collect()
}

fn chosen(name: &str, columns: &[&str]) -> ropewalk::Result<Snapshot> {
    read(table(name), &ReadOptions::default().columns(columns.iter().copied()))
}

/// Returns the notes on a table, which are the same for reading and inspecting.
#[track_caller]
fn notes(name: &str) -> String {
    let notes = all(table(name)).unwrap().notes;
    assert_eq!(inspect(table(name), &ReadOptions::default()).unwrap().notes, notes);
    notes.join("\n")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[test]
fn columns_whose_names_are_digits() {
    assert_eq!(flat(&chosen("digits", &["0", "2"]).unwrap().points), rows(&[0, 2]));
    assert_eq!(flat(&chosen("digits", &["2", "1", "0"]).unwrap().points), rows(&[2, 1, 0]));
}

#[test]
fn velocities_of_chosen_axes() {
    for (columns, points, velocities) in [
        (&["z", "y", "x"][..], &[2, 1, 0][..], &[5, 4, 3][..]),
        (&["x", "y"], &[0, 1], &[3, 4]),
        (&["y"], &[1], &[4]),
        (&["z", "/y", "x"], &[2, 1, 0], &[5, 4, 3]),
    ] {
        let snapshot = chosen("order", columns).unwrap();
        assert_eq!(flat(&snapshot.points), rows(points), "{columns:?}");
        assert_eq!(flat(&snapshot.velocities.unwrap()), rows(velocities), "{columns:?}");
    }
    // Velocities cannot be matched to coordinates that are not axes, and chosen columns are not velocities.
    assert_eq!(chosen("order", &["mass", "id"]).unwrap().velocities, None);
    let speeds = chosen("order", &["vx", "vy", "vz"]).unwrap();
    assert_eq!((flat(&speeds.points), speeds.velocities), (rows(&[3, 4, 5]), None));
    // Axes from two groups have no velocities. Columns of equal names are distinguished by group.
    let twins = chosen("twins", &["a/x", "b/x"]).unwrap();
    assert_eq!((flat(&twins.points), twins.velocities), (rows(&[0, 4]), None));
    assert_eq!(twins.columns, ["a/x", "b/x"]);
    let one = chosen("twins", &["b/y", "b/x"]).unwrap();
    assert_eq!((flat(&one.points), flat(&one.velocities.unwrap())), (rows(&[5, 4]), rows(&[7, 6])));
}

#[test]
fn named_columns_that_are_not_read() {
    refused(table("text_x"), &["unreadable column, x (text)", "ReadOptions::columns", "y (6 f64)"]);
    refused(table("flag_x"), &["unreadable column, x (enumerations)"]);
    refused(table("text_speed"), &["unreadable column, vx (text)"]);
    let message = chosen("text_speed", &["y", "x"]).unwrap_err().to_string();
    has(&message, &["unreadable column, vx (text)"]);
    let still = read(table("text_speed"), &ReadOptions::default().velocities(false)).unwrap();
    assert_eq!(flat(&still.points), rows(&[0, 1]));
    assert_eq!(flat(&chosen("text_x", &["y", "z"]).unwrap().points), rows(&[0, 1]));
    refused(table("lengths"), &["columns of different lengths", "mass (2 f64)"]);
    let short = chosen("lengths", &["x", "y"]).unwrap();
    has(&short.notes.join("\n"), &["columns left out: mass (2 rows)"]);
}

#[test]
fn columns_that_are_left_out() {
    let left = all(table("left")).unwrap();
    assert_eq!((flat(&left.points), left.columns), (rows(&[0, 1]), vec!["feature_1".into(), "feature_2".to_string()]));
    let why = ["label (a label by its name)", "name (text)", "words (text)", "flag (enumerations)"];
    has(&notes("left"), &["columns left out: ", "ReadOptions::columns"]);
    has(&notes("left"), &why);
    has(&notes("beside"), &["density (beside x, y)", "spin (rows of 2 numbers)", "short (beside", "id (text, no ids)"]);
    has(&notes("groups"), &["b/x (text)", "b/y (text)", "b/z (text)"]);
    assert_eq!(flat(&all(table("groups")).unwrap().points), rows(&[0, 1, 2]));
    assert_eq!(notes("order"), "");
    // The only array holds the points, whatever its name.
    assert_eq!(flat(&all(table("array_of_clusters")).unwrap().points), rows(&[0, 1, 2]));
    has(&notes("array_of_clusters"), &["columns left out: name (text)"]);
    // Fields of records keep their order.
    assert_eq!(all(table("fields_in_order")).unwrap().columns, ["feature_b", "feature_a"]);
}

#[test]
fn all_numbers_are_fields() {
    let fields = read_fields(table("fields"), &[]).unwrap();
    assert_eq!(fields.names, ["density", "pair[0]", "pair[1]", "temperature", "x", "y", "z"]);
    assert_eq!(fields.values, rows(&[4, 5, 6, 3, 0, 1, 2]));
    let two = read_fields(table("fields"), &["temperature".into(), "x".into()]).unwrap();
    assert_eq!((two.values, two.names), (rows(&[3, 0]), vec!["temperature".into(), "x".to_string()]));
    let text = read_fields(table("fields"), &["name".into()]).unwrap_err().to_string();
    has(&text, &["column name cannot be read: text"]);
    // Fields are in no box and have no axes.
    assert_eq!(read_fields(table("quantities_text"), &[]).unwrap().names, ["x", "y", "z"]);
    assert_eq!(read_fields(table("text_x"), &[]).unwrap().names, ["y", "z"]);
}

#[test]
fn ids_that_are_floats() {
    assert_eq!(all(table("ids_single")).unwrap().ids, Some(vec![1, 2, 3, 4, 5, (1 << 24) - 1]));
    // From here on, two integers map to one float.
    for name in ["ids_single_large", "ids_half_large"] {
        refused(table(name), &["row 6 of id is not an id"]);
        assert_eq!(read(table(name), &ReadOptions::default().ids(false)).unwrap().ids, None);
    }
}

#[test]
fn units_of_columns() {
    let units = all(table("units_all")).unwrap().units;
    assert_eq!(units.length, Some(LengthUnit { mpc: 1e-3, ..LengthUnit::MPC }));
    assert_eq!((units.mass, units.velocity), (Some(MassUnit::MSUN), Some(VelocityUnit::KM_S)));
    assert_eq!(inspect(table("units_all"), &ReadOptions::default()).unwrap().units, units);
    refused(table("units_mixed"), &["column x has the unit Mpc, but column y has kpc"]);
    refused(table("units_one"), &["column z has the unit kpc, but column x has none"]);
    refused(table("units_speeds"), &["column vx has the unit km/s, but column vy has m/s"]);
    refused(table("units_number"), &["attribute unit of x holds numbers; it must be a text"]);
    for name in ["units_mixed", "units_one", "units_speeds", "units_number"] {
        assert!(inspect(table(name), &ReadOptions::default()).is_err(), "{name}");
    }
    // The unit of a column that is not read does not matter.
    read(table("units_speeds"), &ReadOptions::default().velocities(false)).unwrap();
    assert_eq!(chosen("units_mixed", &["x", "z"]).unwrap().units.length, Some(LengthUnit::MPC));
    has(&notes("units_unknown"), &["the unit 'furlong' of x, y, z is not a known unit of length and is not used"]);
    assert_eq!((notes("units_empty"), all(table("units_empty")).unwrap().units.length), (String::new(), None));
}

#[test]
fn boxes_and_cosmologies() {
    let names = all(table("quantities_names")).unwrap();
    assert_eq!((names.box_size, names.redshift), (Some(100.0), Some(0.5)));
    let background = names.background;
    assert_eq!((background.omega_m, background.omega_lambda, background.h), (Some(0.3), Some(0.7), Some(0.7)));
    assert_eq!(notes("quantities_names"), "attributes not used: of the root group seed");
    let contents = inspect(table("quantities_names"), &ReadOptions::default()).unwrap();
    assert_eq!((contents.box_size, contents.redshift, contents.background), (Some(100.0), Some(0.5), background));
    for name in ["above", "same", "datasets"] {
        assert_eq!(all(table(&format!("quantities_{name}"))).unwrap().box_size, Some(100.0), "{name}");
    }
    let datasets = all(table("quantities_datasets")).unwrap();
    assert_eq!((datasets.redshift, datasets.background.h), (Some(0.5), Some(0.7)));
    has(
        &notes("quantities_datasets"),
        &["attributes not used: of elsewhere lbox", "single values that are not used: seed, elsewhere/BoxSize"],
    );
    assert_eq!(notes("quantities_unused"), "attributes not used: of g seed, of g/x valid_max");
    // Units and scale factors of a group do not apply to its numbers.
    has(&notes("quantities_group"), &["attributes not used: of the root group scale_factor, units"]);
    let none = all(table("quantities_none")).unwrap();
    assert_eq!((none.box_size, none.background.omega_m, none.notes), (None, None, vec![]));
    // One number per row is a column.
    has(&notes("quantities_column"), &["h (beside x, y)"]);
}

#[test]
fn boxes_and_cosmologies_that_are_wrong() {
    for (name, parts) in [
        ("conflict", &["attribute BoxSize of the root group is 100, but attribute BoxSize of x is 200"][..]),
        ("text", &["attribute BoxSize of the root group is the text 'ten'"]),
        ("bad_dataset", &["dataset BoxSize is the text 'ten'"]),
        ("sides", &["has a box with sides of 1, 1, 2; the sides of a periodic box must be equal", "ReadOptions::open"]),
        ("many", &["attribute BoxSize of the root group has 6 numbers; it must have one to three"]),
        ("negative", &["has a box with sides of -1"]),
        ("nan", &["attribute Redshift of the root group is NaN; it must be one finite number"]),
        ("other_unit", &["has BoxSize in kpc, but coordinates in Mpc"]),
        ("negative_h", &["attribute h of the root group is -0.7"]),
    ] {
        refused(table(&format!("quantities_{name}")), parts);
    }
    let open = read(table("quantities_sides"), &ReadOptions::default().open(true)).unwrap();
    assert_eq!(open.box_size, None);
    has(&open.notes.join("\n"), &["sides of 1, 1, 2", "treated as open"]);
    for name in ["conflict", "text", "nan", "many"] {
        assert!(inspect(table(&format!("quantities_{name}")), &ReadOptions::default()).is_err(), "{name}");
    }
}

#[test]
fn packed_numbers() {
    for (name, what) in [
        ("scaled", "column lon is packed: its attribute scale_factor is 0.01"),
        ("shifted", "column lon is packed: its attribute add_offset is 5"),
        ("unsigned", "column lon has the attribute _Unsigned"),
    ] {
        refused(table(&format!("packing_{name}")), &[what]);
        let fields = read_fields(table(&format!("packing_{name}")), &[]).unwrap_err().to_string();
        assert!(fields.contains(what) && inspect(table(&format!("packing_{name}")), &ReadOptions::default()).is_err());
        read(table(&format!("packing_{name}")), &ReadOptions::default().columns(["lat"])).unwrap();
    }
    refused(table("packing_missing"), &["row 4 of lon is -999, which its attributes declare a missing value"]);
    for name in ["neutral", "nan"] {
        let points = flat(&all(table(&format!("packing_{name}"))).unwrap().points);
        assert_eq!((points.len(), points[7]), (12, -999.0), "{name}");
    }
}

#[test]
fn frames_of_pandas() {
    refused(
        table("pandas_table"),
        &["names are not stored as text, df/table/values_block_0 (6 x 4 f64)", "data_columns=True", "format=\"fixed\""],
    );
    assert_eq!(flat(&chosen("pandas_table", &["values_block_0"]).unwrap().points), rows(&[0, 1, 2, 3]));
    assert!(read_fields(table("pandas_table"), &[]).is_err());
    for (name, columns) in [("fixed", [1, 2, 3]), ("data_columns", [1, 2, 0])] {
        let dim = if name == "fixed" { 3 } else { 2 };
        assert_eq!(flat(&all(table(&format!("pandas_{name}"))).unwrap().points), rows(&columns[..dim]), "{name}");
        has(&notes(&format!("pandas_{name}")), &["halo_id (beside x, y"]);
    }
    assert_eq!(flat(&chosen("pandas_fixed", &["count", "df/z"]).unwrap().points), rows(&[9, 3]));
    assert_eq!(all(table("pandas_numbers")).unwrap().columns, ["0", "1", "2", "3"]);
    refused(table("pandas_nameless"), &["names are not stored as text", "df/block0_values"]);
}

#[test]
fn large_promises() {
    // 2^40 texts in a row, and 300 fields of 65536 numbers.
    has(&notes("limits_text"), &["names (text)"]);
    let wide = inspect(table("limits_wide"), &ReadOptions::default()).unwrap();
    assert_eq!(wide.types[0].fields.len(), 300);
    refused(table("limits_wide"), &["arrays of points beside other columns", "t/a0 (0 x 65536 i8)"]);
    let chosen = chosen("limits_wide", &["a0", "a1"]).unwrap_err().to_string();
    has(&chosen, &["rows of 131072 numbers"]);
    super::assert_modest_memory();
    assert_eq!(flat(&all(table("limits_deep")).unwrap().points), rows(&[0, 1, 2]));
    refused(table("limits_too_deep"), &["groups nested more than 32 deep"]);
}

/// An array of three doubles with an element size that is too small.
#[test]
fn arrays_that_do_not_fit() {
    assert_eq!(flat(&all(table("array")).unwrap().points), rows(&[0, 1, 2]));
    let folder = Folder::new("hdf5-arrays");
    let mut bytes = fs::read(table("array")).unwrap();
    let is_array = |own: &[u8]| own[0] & 15 == 10 && own[1..8] == [0, 0, 0, 24, 0, 0, 0];
    let at = bytes.windows(8).position(is_array).unwrap();
    for size in [0, 8, 16, 23, 25] {
        bytes[at + 4] = size;
        let path = folder.with("array.hdf5", &bytes);
        assert!(all(&path).is_err() && inspect(&path, &ReadOptions::default()).is_err(), "{size}");
    }
}
