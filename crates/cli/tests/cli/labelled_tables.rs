//! `dbscan --out` and `hdbscan --out` with tables: the input table with a column of labels.

use std::fs;

use ropewalk_io::{Points, Table, read_fields, write_npy};

use crate::program::{Scratch, run};

const TABLE: &str = "name,x,y,zip\n\"Ann, B\",0.50,0,007\nBob,0.5,0.25,110\n,9,9,2\nEve,nan,1,3\n";
const COMMAND: [&str; 6] = ["dbscan", "", "--eps", "0.5", "--min-samples", "2"];

struct Files {
    scratch: Scratch,
    table: String,
}

impl Files {
    fn new() -> Self {
        let scratch = Scratch::new();
        let table = scratch.write("table.csv", TABLE).display().to_string();
        Self { scratch, table }
    }

    fn of(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    /// Clusters the points of a file, and returns the report.
    fn dbscan(&self, file: &str, out: &str) -> String {
        let mut command = COMMAND.to_vec();
        command[1] = file;
        run(command.into_iter().chain(["--skip-missing", "--out", out])).success()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).unwrap()
    }
}

/// Returns the rows without their ends, and the last cell of each.
fn last_cells(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.rsplit(',').next().unwrap()).collect()
}

#[test]
fn text_tables_keep_their_cells() {
    let files = Files::new();
    files.dbscan(&files.table, &files.of("out.csv"));
    let expected = "name,x,y,zip,label\n\"Ann, B\",0.50,0,007,0\nBob,0.5,0.25,110,0\n,9,9,2,-1\nEve,nan,1,3,-1\n";
    assert_eq!(files.text("out.csv"), expected);
    // Standard output is the same table.
    let mut command = COMMAND.to_vec();
    command[1] = &files.table;
    let output = run(command.into_iter().chain(["--skip-missing", "--out", "-"]));
    assert_eq!((output.status, output.stdout.as_str()), (0, expected));

    files.dbscan(&files.table, &files.of("out.ecsv"));
    let text = files.text("out.ecsv");
    for line in [
        "# - {name: name, datatype: string}",
        "# - {name: x, datatype: float64}",
        // Integers with a leading zero are text.
        "# - {name: zip, datatype: string}",
        "# - {name: label, datatype: int64}",
        "name,x,y,zip,label",
    ] {
        assert!(text.lines().any(|other| other == line), "{line:?} is not in {text}");
    }
    // Enhanced CSV keeps units.
    files.dbscan(&files.of("out.ecsv"), &files.of("again.csv"));
    assert_eq!(last_cells(&files.text("again.csv")), ["cluster_label", "0", "0", "-1", "-1"]);
    let unit = "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: x, unit: kpc, datatype: float64}\n# - {name: y, unit: kpc, datatype: float64}\n# meta: !!omap\n# - {box_size: 10.0}\nx y\n1.5 2\n1.5 2\n";
    let unit = files.scratch.write("unit.ecsv", unit).display().to_string();
    let printed = files.dbscan(&unit, &files.of("unit_out.ecsv"));
    assert!(printed.contains("unit_out.ecsv: the metadata in the header of the input is left out"), "{printed}");
    assert!(files.text("unit_out.ecsv").contains("{name: x, unit: kpc, datatype: float64}"));
}

#[test]
fn parquet_tables() {
    let files = Files::new();
    let [first, second] = ["first.parquet", "second.parquet"].map(|name| files.of(name));
    files.dbscan(&files.table, &first);
    assert!(fs::read(&first).unwrap().starts_with(b"PAR1"));
    let fields = read_fields(&first, &[]).unwrap();
    assert_eq!(fields.names, ["x", "y", "label"]);
    assert_eq!(fields.values[..6], [0.5, 0.0, 0.0, 0.5, 0.25, 0.0]);
    // A Parquet table is copied, and its label is not a coordinate.
    let printed = files.dbscan(&first, &second);
    assert!(printed.contains("columns         x, y\n"), "{printed}");
    assert!(printed.contains("the table has a column label, so that the new one is cluster_label"), "{printed}");
    let fields = read_fields(&second, &["label".into(), "cluster_label".into()]).unwrap();
    assert_eq!(fields.values, [0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0]);
    // Parquet to text: null texts are empty.
    files.dbscan(&first, &files.of("back.csv"));
    let expected = "name,x,y,zip,label,cluster_label\n\"Ann, B\",0.5,0.0,007,0,0\nBob,0.5,0.25,110,0,0\n,9.0,9.0,2,-1,-1\nEve,NaN,1.0,3,-1,-1\n";
    assert_eq!(files.text("back.csv"), expected);
}

#[test]
fn tables_without_names_and_other_files() {
    let files = Files::new();
    let bare = files.scratch.write("bare.txt", "0 0 1\n0 0.1 1\n7 7 7\n").display().to_string();
    files.dbscan(&bare, &files.of("bare.csv"));
    let expected = "column_1,column_2,column_3,label\n0,0,1,0\n0,0.1,1,0\n7,7,7,-1\n";
    assert_eq!(files.text("bare.csv"), expected);

    let array = files.of("points.npy");
    let values = vec![0.0, 0.5, 0.0, 0.25, f64::NAN, 1.0];
    write_npy(&array, &Points::F64(Table::new(2, values).unwrap())).unwrap();
    let printed = files.dbscan(&array, &files.of("points.csv"));
    assert!(printed.contains("skipped         1 of 3 rows"), "{printed}");
    assert!(printed.contains("points.csv: holds coordinates and labels only"), "{printed}");
    assert_eq!(files.text("points.csv"), "x,y,label\n0.0,0.5,0\n0.0,0.25,0\nNaN,NaN,-1\n");
}

#[test]
fn hdbscan_adds_its_scores() {
    let files = Files::new();
    let rows: String = (0..30).map(|i| format!("r{i},{},{}\n", (i % 2) * 50, i)).collect();
    let file = files.scratch.write("rows.csv", format!("name,x,y\n{rows}r30,900,900\n")).display().to_string();
    let [out, labels, scores] = ["out.csv", "labels.npy", "scores.csv"].map(|name| files.of(name));
    let command = ["hdbscan", &file, "--min-cluster-size", "5", "--out"];
    run([&command[..], &[&out, "--outliers", &scores]].concat()).success();
    run([&command[..], &[&labels]].concat()).success();
    let text = files.text("out.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("name,x,y,label,probability,outlier_score"));
    let expected: Vec<i32> = npyz::NpyFile::new(&fs::read(&labels).unwrap()[..]).unwrap().into_vec().unwrap();
    let scores = files.text("scores.csv");
    for ((line, label), score) in lines.zip(&expected).zip(scores.lines().skip(1)) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[3], cells[5]), (6, label.to_string().as_str(), score));
        let probability: f64 = cells[4].parse().unwrap();
        assert_eq!(probability > 0.0, *label >= 0, "{line}");
    }
    assert!(expected.contains(&0) && expected.contains(&1) && expected[30] == -1, "{expected:?}");
}
