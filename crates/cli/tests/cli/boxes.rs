//! Points that do not fit their periodic box.

use std::fs;

use crate::program::{Scratch, halos, run, sample};

#[test]
fn a_box_that_is_too_small() {
    let scratch = Scratch::new();
    let line = halos(&sample(), &scratch.path("out"), &["--box", "31"]).error();
    for part in ["the periodic box is 31", "along axis 0", "of 262,144 points lie outside"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(scratch.names("").is_empty());

    let file = scratch.write("line.csv", "0.5\n2\n10.5\n").display().to_string();
    for command in [&["dbscan", "--eps", "1", "--min-pts", "2"][..], &["kdist", "--k", "1"]] {
        let arguments = |side: &'static str| [command, &[file.as_str(), "--periodic", side]].concat();
        let line = run(arguments("9")).error();
        assert!(
            line.contains("run from 0.5 to 10.5, which is 10 wide; 1 of 3 points lie outside of the box"),
            "{line}"
        );
        // Points of a box with another origin fit, and are reported as wrapped.
        let printed = run(arguments("10")).success();
        assert!(printed.contains("\nwrapped         1 point outside of the box from 0 to 10\n"), "{printed}");
        let printed = run(arguments("11")).success();
        assert!(!printed.contains("wrapped"), "{printed}");
        // Rounding is tolerated.
        run(arguments("9.999999")).success();
    }
    let flat = scratch.write("flat.csv", "0,0\n1,1\n2,11\n").display().to_string();
    let line = run(["bench", &flat, "--periodic", "10", "--eps", "1"]).error();
    assert!(line.contains("along axis 1"), "{line}");
}

/// Queries and targets are checked like points: those wider than the box are refused, wrapped ones are reported.
#[test]
fn queries_and_targets_outside_of_a_box() {
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| scratch.write(name, text).display().to_string();
    let points = write("points.csv", "x,y\n0.5,0.5\n0.25,0.75\n0.75,0.125\n");
    let values = write("values.csv", "v\n1\n2\n3\n");
    let wide = write("wide.csv", "x,y\n1000.5,0.5\n-699.5,0.25\n");
    let beside = write("beside.csv", "x,y\n1000.5,0.5\n1000.25,0.25\n");
    let [out, json] = ["out.csv", "out.json"].map(|name| scratch.path(name).display().to_string());
    let knn = |queries: &str| {
        run(["knn", &points, "--k=1", "--queries", queries, "--periodic=1", "--out", &out, "--json", &json])
    };
    let interpolate = |targets: &str| {
        let method = ["--method=idw", "--k=2", "--periodic=1"];
        run([&["interpolate", &points, &values, targets, "--out", &out, "--json", &json][..], &method].concat())
    };
    for line in [knn(&wide).error(), interpolate(&wide).error()] {
        for part in [wide.as_str(), "the periodic box is 1", "which is 1700 wide", "2 of 2 points"] {
            assert!(line.contains(part), "{line}");
        }
    }
    let noted = |printed: String, what: &str| {
        assert!(printed.contains(&format!("\n{what} wrapped 2 points outside")), "{printed}");
        let json = fs::read_to_string(&json).unwrap();
        assert!(json.contains(&format!("\"{what}_wrapped\": 2")), "{json}");
    };
    noted(knn(&beside).success(), "queries");
    noted(interpolate(&beside).success(), "targets");
    assert!(!knn(&points).success().contains("wrapped"));
}

/// Particles that drifted out of the box of their file are wrapped.
#[test]
fn a_box_of_the_file() {
    let scratch = Scratch::new();
    let mut bytes = fs::read(sample()).unwrap();
    // The first coordinate of the first particle.
    bytes[268..272].copy_from_slice(&33.5_f32.to_le_bytes());
    let file = scratch.write("drifted", &bytes);
    let printed = halos(&file, &scratch.path("out"), &[]).success();
    assert!(printed.contains("\nwrapped         1 point outside of the box from 0 to 32\n"), "{printed}");
    bytes[268..272].copy_from_slice(&32000_f32.to_le_bytes());
    let file = scratch.write("other", &bytes);
    let line = halos(&file, &scratch.path("out"), &[]).error();
    assert!(line.contains("the periodic box is 32") && line.contains("1 of 262,144"), "{line}");
    halos(&file, &scratch.path("out"), &["--open", "--eps", "0.1"]).success();
}

/// A box of the wrong size or unit is noted if the file names another one.
#[test]
fn another_box_than_that_of_the_file() {
    let scratch = Scratch::new();
    let report = |side: &str| {
        let options = ["--subsample", "0.02", "--no-pictures", "--eps", "0.1", "--box", side];
        halos(&sample(), &scratch.path("out"), &options).success()
    };
    for side in ["64", "32000"] {
        let printed = report(side);
        let note = format!("\nnote            the side of the box is {side} as specified, but 32 in the file;");
        assert!(printed.contains(&note), "{printed}");
    }
    assert!(!report("32").contains("as specified, but"));
}

/// Longitude and latitude are Cartesian coordinates; a note says so.
#[test]
fn longitudes_and_latitudes() {
    let scratch = Scratch::new();
    let file = scratch.write("sky.csv", "lon,lat\n179.95,0\n-179.95,0\n10,20\n").display().to_string();
    let command = ["dbscan", &file, "--eps", "0.2", "--min-samples", "2"];
    let note =
        "lon and lat are treated as Cartesian coordinates; for angles on the sphere convert them to unit vectors";
    for metric in [&[][..], &["--metric", "euclidean"]] {
        let printed = run([&command[..], metric].concat()).success();
        assert!(printed.contains(note) && printed.contains("\nclusters        0\n"), "{printed}");
    }
    let plane = scratch.write("plane.csv", "x,y\n1,0\n2,0\n").display().to_string();
    assert!(!run(["kdist", &plane, "--k", "1"]).success().contains("sphere"));
    let line = |metric: &str| run([&command[..], &["--metric", metric]].concat()).line();
    let said = line("haversine");
    assert!(said.contains("'--metric <METRIC>'") && said.contains("unit vectors x, y, z"), "{said}");
    assert!(line("manhattan").contains("scikit-learn"));
    assert!(!run(["dbscan", "--help"]).success().contains("--metric"));
    // The way out: the distance of unit vectors is 2 sin(a / 2) at the angle a.
    let vectors: String = [(179.95_f64, 0.0_f64), (-179.95, 0.0), (10.0, 20.0)]
        .map(|(lon, lat)| (lon.to_radians(), lat.to_radians()))
        .map(|(lon, lat)| format!("{},{},{}\n", lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()))
        .concat();
    let file = scratch.write("vectors.csv", format!("x,y,z\n{vectors}")).display().to_string();
    let eps = (2.0 * (0.1_f64.to_radians()).sin()).to_string();
    let printed = run(["dbscan", &file, "--eps", &eps, "--min-samples", "2"]).success();
    assert!(printed.contains("\nclusters        1\n"), "{printed}");
}

#[test]
fn columns_that_are_coordinates() {
    let scratch = Scratch::new();
    let file = scratch.write("sky.csv", "RA,DEC,z,name\n1,2,3,a\n1,2,3.25,b\n7,8,9,c\n").display().to_string();
    let command = ["dbscan", &file, "--eps", "0.5", "--min-samples", "2"];
    let printed = run(command).success();
    assert!(printed.contains("\ncolumns         RA, DEC, z\n"), "{printed}");
    assert!(printed.contains("columns left out: name (text)") && printed.contains("--coordinates"), "{printed}");
    let printed = run([&command[..], &["--columns", "ra,dec,Z"]].concat()).success();
    assert!(printed.contains("\ndimensions      3, 64-bit floats\ncolumns         RA, DEC, z\n"), "{printed}");
    assert!(printed.contains("\nclusters        1\n"), "{printed}");
    let printed = run(["kdist", &file, "--k", "1", "--coordinates", "1,2"]).success();
    assert!(printed.contains("\ncolumns         RA, DEC\n"), "{printed}");
    let out = scratch.path("out");
    let options = ["--eps", "0.5", "--min-members", "2", "--coordinates", "1,2,3"];
    let printed = halos(file.as_ref(), &out, &options).success();
    assert!(printed.contains("\ncolumns         RA, DEC, z\n"), "{printed}");
    assert!(halos(file.as_ref(), &out, &["--coordinates", "RA,DEC"]).error().contains("halos requires 3"));
    let line = run([
        "dbscan".as_ref(),
        sample().as_os_str(),
        "--eps=1".as_ref(),
        "--min-pts=2".as_ref(),
        "--columns=1,2".as_ref(),
    ]);
    assert!(line.error().contains("whose columns cannot be chosen"));
}

#[test]
fn threads_without_number() {
    let line = run(["dbscan", "not read", "--eps", "1", "--min-pts", "2", "--threads", "60000"]).error();
    assert!(line.contains("--threads must be at most"), "{line}");
}
