//! `ropewalk interpolate`: known values for all methods, and errors.

use std::fs;

use npyz::NpyFile;
use ropewalk_io::{Points, Table, read_fields, write_npy, write_npz};
use ropewalk_table::columns::Values;

use crate::program::{Scratch, run};

/// The side of the lattice of points. The fields on it are a parabola and a plane.
const SIDE: usize = 6;

fn parabola(x: f64, y: f64) -> f64 {
    1.0 + 2.0 * x - y + 0.5 * x * x - x * y
}

fn lattice() -> (String, String) {
    let (mut places, mut values) = (String::from("x,y\n"), String::from("first,second\n"));
    for i in 0..SIDE * SIDE {
        let (x, y) = ((i % SIDE) as f64, (i / SIDE) as f64);
        places += &format!("{x},{y}\n");
        values += &format!("{},{}\n", parabola(x, y), x + y);
    }
    (places, values)
}

struct Files {
    scratch: Scratch,
    sources: String,
    values: String,
    targets: String,
}

fn files() -> Files {
    let scratch = Scratch::new();
    let (places, values) = lattice();
    let write = |name: &str, text: &str| scratch.write(name, text).display().to_string();
    let (sources, values) = (write("sources.csv", &places), write("values.csv", &values));
    let targets = write("targets.csv", "x,y\n2.5,3.25\n0.1,4.9\n3,3\n");
    Files { scratch, sources, values, targets }
}

impl Files {
    fn of(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    fn arguments<'a>(&'a self, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let first: [&str; 6] = ["interpolate", &self.sources, &self.values, &self.targets, "--out", out];
        first.iter().chain(more).copied().collect()
    }

    fn array(&self, more: &[&str]) -> (Vec<f64>, Vec<u64>, String) {
        let out = self.of("out.npy");
        let printed = run(self.arguments(&out, more)).success();
        let array = NpyFile::new(fs::File::open(out).unwrap()).unwrap();
        let shape = array.shape().to_vec();
        (array.into_vec().unwrap(), shape, printed)
    }
}

#[test]
fn polynomials_come_back() {
    let files = files();
    let expected = [parabola(2.5, 3.25), 5.75, parabola(0.1, 4.9), 5.0, parabola(3.0, 3.0), 6.0];
    for more in [&[][..], &["--k", "20", "--weight", "gaussian"], &["--radius", "3.5", "--degree", "2"]] {
        let (values, shape, printed) = files.array(more);
        assert_eq!(shape, [3, 2]);
        assert!(values.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-10), "{values:?}");
        assert!(printed.contains("targets         3\nfields          2: first, second\n"), "{printed}");
        assert!(
            printed.contains("degree          2\nlower degree    0 targets\nno neighbours   0 targets\n"),
            "{printed}"
        );
    }
    // The first target has no neighbour, the second has one, and the third is at a source. Standard output has the
    // columns with their names; the report is on standard error.
    let output = run(files.arguments("-", &["--degree", "1", "--radius", "0.5", "--json", &files.of("report.json")]));
    assert_eq!(output.status, 0, "{}", output.stderr);
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected = ("x,y,first,second", "2.5,3.25,NaN,NaN", "0.1,4.9,-4.0,5.0");
    assert_eq!((lines[0], lines[1], lines[2]), expected, "{lines:?}");
    let json = fs::read_to_string(files.of("report.json")).unwrap();
    assert!(json.contains("\"lower_degree\": 2,") && json.contains("\"no_neighbours\": 1"), "{json}");
    assert!(output.stderr.contains("written: standard output"), "{}", output.stderr);
}

/// Names with a meaning for points have none for values, and there may be any number of columns.
#[test]
fn every_column_of_numbers_is_a_field() {
    let files = files();
    let n = SIDE * SIDE;
    let table = |header: &str, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..n).map(|i| row(i) + "\n").collect();
        files.scratch.write("fields.csv", format!("{header}\n{rows}")).display().to_string()
    };
    let header = |values: &str, more: &[&str]| {
        let arguments = ["interpolate", &files.sources, values, &files.targets, "--degree", "0", "--out", "-"];
        let output = run(arguments.iter().chain(more));
        assert_eq!(output.status, 0, "{}", output.stderr);
        output.stdout.lines().next().unwrap_or_default().to_string()
    };
    let known = table("id,x,mass,y,type,vx,note,rho", &|i| format!("{i},1,2,3,{i},5,none,{i}"));
    // Fields with the names of coordinates get others.
    assert_eq!(header(&known, &[]), "x,y,id,interpolated_x,mass,interpolated_y,type,vx,rho");
    assert_eq!(header(&known, &["--fields", "rho,mass"]), "x,y,rho,mass");
    assert_eq!(header(&known, &["--fields", "8,ID"]), "x,y,rho,id");
    let error = |values: &str, more: &[&str]| {
        let arguments = ["interpolate", &files.sources, values, &files.targets, "--out", "-"];
        run(arguments.iter().chain(more)).error()
    };
    let line = error(&known, &["--fields", "q"]);
    assert!(line.contains("fields.csv: has no column q"), "{line}");
    let line = error(&known, &["--fields", "note"]);
    assert!(line.contains("line 2: column 7 (note) is not a number: 'none'"), "{line}");
    let names: Vec<String> = (0..25).map(|k| format!("f{k}")).collect();
    let many = table(&names.join(","), &|i| vec![i.to_string(); 25].join(","));
    assert_eq!(header(&many, &[]), format!("x,y,{}", names.join(",")));
    let printed = run(["interpolate", &files.sources, &many, &files.targets, "--out", &files.of("out.csv")]).success();
    assert!(printed.contains("fields          25: f0, f1,") && printed.contains("f11 and 13 more\n"), "{printed}");
    let short = table("x,y,z", &|i| if i == 4 { "1,,3".into() } else { "1,2,3".into() });
    let line = error(&short, &[]);
    assert!(line.contains("line 6: column 2 (y) is not a number: ''"), "{line}");
}

#[test]
fn names_that_need_quotes() {
    let files = files();
    let (archive, out) = (files.of("fields.npz"), files.of("out.csv"));
    let names = ["a,b", "c\"d", "e\r\nf", "#g", "h;i k", "l"];
    let arrays = names.map(|name| (name, Values::Numbers(vec![1.0; SIDE * SIDE])));
    write_npz(&archive, &arrays).unwrap();
    run(["interpolate", &files.sources, &archive, &files.targets, "--degree", "0", "--out", &out]).success();
    let text = fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().next(), Some(r##"x,y,"a,b","c""d","e  f","#g","h;i k",l"##));
    let back = read_fields(&out, &[]).unwrap();
    assert_eq!(back.names, ["x", "y", "a,b", "c\"d", "e  f", "#g", "h;i k", "l"]);
    assert_eq!(back.values.len(), 24);
}

#[test]
fn other_methods() {
    let files = files();
    for (more, third) in
        [(&["--method", "idw"][..], Some(6.0)), (&["--method", "idw", "--power", "3.5", "--k", "4"], Some(6.0))]
    {
        let (values, _, printed) = files.array(more);
        assert_eq!(Some(values[5]), third);
        assert!(!printed.contains("degree"), "{printed}");
    }
    // The neighbours are symmetric about the target.
    let (values, ..) = files.array(&["--method", "sph", "--kernel", "wendland-c4", "--radius", "2"]);
    assert!((values[5] - 6.0).abs() < 1e-12);
    let (values, shape, printed) = files.array(&["--method", "scatter", "--radius", "1.5"]);
    let sums = [0, 1].map(|field| values.iter().skip(field).step_by(2).sum::<f64>());
    let total: f64 = (0..SIDE * SIDE).map(|i| parabola((i % SIDE) as f64, (i / SIDE) as f64)).sum();
    assert!(shape == [3, 2] && (sums[0] - total).abs() < 1e-9 && (sums[1] - 180.0).abs() < 1e-9, "{sums:?}");
    assert!(printed.contains("no neighbours   ") && printed.contains(" sources\n"), "{printed}");
    for fallback in ["nearest", "idw"] {
        let (values, ..) = files.array(&["--radius", "0.1", "--fallback", fallback]);
        assert!(values.iter().all(|value| value.is_finite()));
    }
}

/// One field of an array, in four dimensions, with and without a periodic box.
#[test]
fn arrays_of_four_dimensions() {
    let scratch = Scratch::new();
    let places: Vec<f32> = (0..4000).map(|i| ((i * i + 7 * i) % 997) as f32 / 997.0).collect();
    let values: Vec<f64> = places.chunks(4).map(|x| f64::from(x[0] + 2.0 * x[3])).collect();
    let [sources, field, out] = ["s.npy", "f.npy", "o.npy"].map(|name| scratch.path(name).display().to_string());
    write_npy(&sources, &Points::F32(Table::new(4, places).unwrap())).unwrap();
    ropewalk_io::write_npy_f64(&field, &values).unwrap();
    for side in [&[][..], &["--periodic", "1"]] {
        let arguments = ["interpolate", &sources, &field, &sources, "--degree", "1", "--out", &out];
        run(arguments.iter().chain(side)).success();
        let array = NpyFile::new(fs::File::open(&out).unwrap()).unwrap();
        assert_eq!(array.shape(), [1000]);
        let found: Vec<f64> = array.into_vec().unwrap();
        // The field jumps at the boundary of the box.
        let close = found.iter().zip(&values).filter(|(found, value)| (*found - *value).abs() < 1e-6).count();
        assert_eq!(close == 1000, side.is_empty(), "{close}");
    }
}

#[test]
fn bad_input() {
    let files = files();
    let out = files.of("out.npy");
    let error = |more: &[&str]| run(files.arguments(&out, more)).error();
    for (more, text) in [
        (&["--degree", "5"][..], "degree is 5; it must be 0, 1, 2, 3 or 4"),
        (&["--k", "5"], "5 neighbours are too few: a polynomial of degree 2 in 2 dimensions has 6"),
        (&["--radius", "0"], "radius is 0; it must be positive and finite"),
        (&["--radius", "-1"], "radius is -1"),
        (&["--radius", "4", "--periodic", "6"], "at least twice radius"),
        (&["--method", "idw", "--power", "0"], "power is 0"),
        (&["--method", "idw", "--degree", "7"], "--degree requires --method mls"),
        (&["--method", "sph", "--weight", "wendland2"], "--weight requires --method mls"),
        (&["--kernel", "cubic-spline"], "--kernel requires --method sph or scatter"),
        (&["--method", "scatter", "--power", "2"], "--power requires --method idw"),
        (&["--method", "scatter", "--fallback", "nan"], "--fallback requires --method mls, sph or idw"),
    ] {
        let line = error(more);
        assert!(line.contains(text), "{line}");
    }
    assert_eq!(run(files.arguments(&out, &["--k", "9", "--radius", "1"])).status, 2);
    assert_eq!(run(files.arguments(&out, &["--weight", "wendland3"])).status, 2);
    assert_eq!(run(files.arguments(&out, &["--k", "0"])).status, 2);
    let short = files.scratch.write("short.csv", "value\n1\n2\n").display().to_string();
    let line = run(["interpolate", &files.sources, &short, &files.targets, "--out", &out]).error();
    assert!(line.contains("has 2 rows; expected 36, one per source"), "{line}");
    let other = files.scratch.write("other.csv", "a,b,c\n1,2,3\n").display().to_string();
    let line = run(["interpolate", &files.sources, &files.values, &other, "--out", &out]).error();
    assert!(line.contains("the dimension of the targets is 3"), "{line}");
    // Errors about points and values that are not finite name their file.
    let hole = |file: &str, name: &str| {
        let mut lines: Vec<String> = fs::read_to_string(file).unwrap().lines().map(Into::into).collect();
        let (first, _) = lines[3].split_once(',').unwrap();
        lines[3] = format!("{first},nan");
        files.scratch.write(name, lines.join("\n")).display().to_string()
    };
    let sources = hole(&files.sources, "no-source.csv");
    let values = hole(&files.values, "no-value.csv");
    let targets = hole(&files.targets, "no-target.csv");
    let point = "line 4: column 2 (y) is NaN";
    for (inputs, more, path, text) in [
        ([&sources, &files.values, &files.targets], &[][..], &sources, point),
        ([&sources, &files.values, &files.targets], &["--periodic", "20"], &sources, point),
        ([&files.sources, &files.values, &targets], &[], &targets, point),
        ([&files.sources, &values, &files.targets], &[], &values, "the field second: source 2: its value is NaN"),
    ] {
        let arguments = ["interpolate", inputs[0], inputs[1], inputs[2], "--out", &out];
        let line = run(arguments.iter().chain(more)).error();
        assert!(line.contains(&format!("{path}: {text}")), "{line}");
    }
    // Inputs are not overwritten.
    for input in [&files.sources, &files.values, &files.targets] {
        let line = run(files.arguments(input, &[])).error();
        assert!(line.contains("the output would replace the input"), "{line}");
    }
    let line = run(files.arguments(&files.of("out.txt"), &[])).error();
    assert!(line.contains("must end in .npy or .csv"), "{line}");
    assert!(!files.scratch.path("out.npy").exists());
}

/// A table has coordinates and values, and the targets are a grid.
#[test]
fn one_table_and_a_grid() {
    let scratch = Scratch::new();
    let rows: String = (0..SIDE * SIDE)
        .map(|i| {
            let (a, b) = ((i % SIDE) as f64, (i / SIDE) as f64);
            format!("s{i},{a},{b},{},7\n", parabola(a, b))
        })
        .collect();
    let table = scratch.write("table.csv", format!("name,a,b,rho,T\n{rows}")).display().to_string();
    let of = |name: &str| scratch.path(name).display().to_string();
    let [out, map, ecsv, array] = ["grid.csv", "map.svg", "grid.ecsv", "grid.npy"].map(of);
    let command = ["interpolate", &table, "--values-columns", "rho", "--coordinates", "a,b"];
    let printed = run([&command[..], &["--grid", "2x5", "--out", &out, "--plot", &map]].concat()).success();
    assert!(printed.contains("grid            2 x 5\ncorners         (0, 0) to (5, 5)\n"), "{printed}");
    let text = fs::read_to_string(&out).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("a,b,rho"));
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let centres: Vec<[f64; 2]> = rows.iter().map(|row| [row[0], row[1]]).collect();
    let expected: Vec<[f64; 2]> = (0..10).map(|i| [1.25 + 2.5 * f64::from(i / 5), 0.5 + f64::from(i % 5)]).collect();
    assert_eq!(centres, expected);
    assert!(rows.iter().all(|row| (row[2] - parabola(row[0], row[1])).abs() < 1e-9), "{text}");
    let svg = fs::read_to_string(&map).unwrap();
    for text in [">a<", ">b<", ">rho<", "rho of 36 points by moving least squares"] {
        assert!(svg.contains(text), "{text} is not in the map");
    }

    // Without --coordinates, columns of values are no coordinates; several fields have no map.
    let both = ["interpolate", &table, "--values-columns", "rho,T", "--grid", "3"];
    let printed = run([&both[..], &["--out", &ecsv]].concat()).success();
    assert!(printed.contains("columns         a, b\n") && printed.contains("grid            3 x 3\n"), "{printed}");
    assert!(fs::read_to_string(&ecsv).unwrap().contains("\na,b,rho,T\n"));
    let line = run([&both[..], &["--plot", &map]].concat()).error();
    assert!(line.contains("one field"), "{line}");
    // Columns of values are not left out.
    let plain = scratch.write("plain.csv", fs::read_to_string(&table).unwrap().replacen("name,a,b", "name,x,y", 1));
    let plain = plain.display().to_string();
    let command = ["interpolate", &plain, "--values-columns", "rho", "--grid", "3", "--out", &out];
    let printed = run(command).success();
    assert!(printed.contains("note            columns left out: name (text), T (beside x, y); choose"), "{printed}");
    // A file of values, a grid over a periodic box, and values alone.
    let values = scratch.write("v.csv", "v\n".to_string() + &"1\n".repeat(SIDE * SIDE)).display().to_string();
    let boxed =
        ["interpolate", &table, &values, "--coordinates", "a,b", "--box", "6", "--grid", "4x4", "--degree", "0"];
    run([&boxed[..], &["--out", &array]].concat()).success();
    let npy = NpyFile::new(fs::File::open(&array).unwrap()).unwrap();
    assert_eq!(npy.shape(), [4, 4]);
    let found: Vec<f64> = npy.into_vec().unwrap();
    assert!(found.len() == 16 && found.iter().all(|value| (value - 1.0).abs() < 1e-12));
    // Targets of a file, with the columns of values in the table.
    let targets = scratch.write("t.csv", "a,b\n2.5,3.25\n").display().to_string();
    let output = run(["interpolate", &table, &targets, "--values-columns", "T,rho", "--degree", "0", "--out", "-"]);
    assert!(output.stdout.starts_with("a,b,T,rho\n2.5,3.25,7"), "{}", output.stderr);
}

/// An array of a grid has an axis per coordinate, in their order, and a last axis of the fields.
#[test]
fn the_shape_of_an_array_of_a_grid() {
    let scratch = Scratch::new();
    let rows: String = (0..64).map(|i| format!("{},{},{},{}\n", i % 8, i / 8, i % 8, 10 * (i / 8))).collect();
    let table = scratch.write("plane.csv", format!("x,y,a,b\n{rows}")).display().to_string();
    let out = scratch.path("grid.npy").display().to_string();
    let array = |columns: &str| {
        let command = ["interpolate", &table, "--values-columns", columns, "--degree", "1", "--grid", "7x2"];
        run([&command[..], &["--out", &out]].concat()).success();
        let npy = NpyFile::new(fs::File::open(&out).unwrap()).unwrap();
        (npy.shape().to_vec(), npy.into_vec::<f64>().unwrap())
    };
    let (shape, values) = array("a");
    assert_eq!(shape, [7, 2]);
    let expected: Vec<f64> = (0..14).map(|i| 0.5 + f64::from(i / 2)).collect();
    assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{values:?}");
    let (shape, values) = array("a,b");
    assert_eq!(shape, [7, 2, 2]);
    let expected =
        |i: u32| if i.is_multiple_of(2) { 0.5 + f64::from(i / 4) } else { 17.5 + 35.0 * f64::from(i / 2 % 2) };
    assert!((0..28).zip(&values).all(|(i, value)| (value - expected(i)).abs() < 1e-9), "{values:?}");
}

#[test]
fn a_grid_in_three_dimensions() {
    let scratch = Scratch::new();
    let rows: String = (0..64).map(|i| format!("{},{},{},{}\n", i % 4, i / 4 % 4, i / 16, i % 4)).collect();
    let table = scratch.write("cube.csv", format!("x,y,z,rho\n{rows}")).display().to_string();
    let out = scratch.path("grid.parquet").display().to_string();
    let command = ["interpolate", &table, "--values-columns", "rho", "--degree", "1"];
    run([&command[..], &["--grid", "2x3x2", "--out", &out]].concat()).success();
    let fields = read_fields(&out, &[]).unwrap();
    assert_eq!(fields.names, ["x", "y", "z", "rho"]);
    assert_eq!(fields.values.len(), 48);
    assert!(fields.values.chunks(4).all(|row| (row[3] - row[0]).abs() < 1e-9), "{:?}", fields.values);
    let plot = scratch.path("map.png").display().to_string();
    let line = run([&command[..], &["--grid", "2", "--plot", &plot]].concat()).error();
    assert!(line.contains("the grid has 3 dimensions"), "{line}");
    assert!(!scratch.path("map.png").exists());
}

#[test]
fn files_that_are_missing_or_too_many() {
    let files = files();
    let out = files.of("out.npy");
    let error =
        |arguments: &[&str]| run(["interpolate"].iter().chain(arguments).copied().chain(["--out", &out])).error();
    let (s, v, t) = (files.sources.as_str(), files.values.as_str(), files.targets.as_str());
    for (arguments, text) in [
        (&[s][..], "the values are missing"),
        (&[s, v], "the targets are missing"),
        (&[s, "--values-columns", "x"], "the targets are missing"),
        (&[s, v, t, "--grid", "5"], "--grid: give FILE and VALUES, without TARGETS"),
        (&[s, v, t, "--values-columns", "x"], "--values-columns: give FILE and TARGETS"),
        (&[s, v, "--grid", "5x5x5"], "--grid has 3 numbers, but points have 2 dimensions"),
        (&[s, "--values-columns", "x,y", "--grid", "5"], "no column is left for coordinates"),
    ] {
        let line = error(arguments);
        assert!(line.contains(text), "{line}");
    }
    let line = run(["interpolate", s, v, "--grid", "5"]).error();
    assert!(line.contains("nothing to write"), "{line}");
    assert_eq!(run(["interpolate", s, v, "--grid", "0x5", "--out", &out]).status, 2);
}
