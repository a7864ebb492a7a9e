//! `ropewalk dbscan` and `ropewalk kdist`: known answers, pictures, and one-line errors.

use std::f64::consts::PI;
use std::fs;
use std::path::Path;

use npyz::NpyFile;
use ropewalk_io::{Points, Table, write_npy};

use crate::program::{Output, Scratch, run};

fn program(command: &str, file: &Path, options: &[&str]) -> Output {
    let arguments = [command.as_ref(), file.as_os_str()];
    run(arguments.into_iter().chain(options.iter().map(AsRef::as_ref)))
}

fn npy<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    NpyFile::new(&fs::read(path).unwrap()[..]).unwrap().into_vec().unwrap()
}

fn is_png(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82")
}

fn has_line(text: &str, line: &str) {
    assert!(text.lines().any(|other| other == line), "{line:?} is not in {text}");
}

/// Writes two interlocking half circles of 200 points each, and four distant points.
pub fn moons(scratch: &Scratch) -> std::path::PathBuf {
    let mut text = String::from("x,y\n");
    for moon in [0.0, 1.0] {
        for i in 0..200 {
            let angle = PI * f64::from(i) / 199.0;
            let r = 0.95 + 0.1 * (f64::from(i) * 0.618_034).fract();
            let (x, y) = (r * angle.cos(), r * angle.sin());
            let (x, y) = if moon == 0.0 { (x, y) } else { (1.0 - x, 0.5 - y) };
            text += &format!("{x},{y}\n");
        }
    }
    text += "-2,-2\n3,-2\n-2,2\n3,2\n";
    scratch.write("moons.csv", text)
}

#[test]
fn two_moons() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let [labels, picture] = ["labels.npy", "clusters.png"].map(|name| scratch.path(name).display().to_string());
    let options = ["--eps", "0.15", "--min-pts", "5", "--out", labels.as_str(), "--plot", picture.as_str()];
    let printed = program("dbscan", &file, &options).success();
    for line in [
        "points          404",
        "dimensions      2, 64-bit floats",
        "box             open",
        "eps             0.15",
        "min_samples     5",
        "clusters        2",
        "core            400 (99.0%)",
        "border          0 (0.0%)",
        "noise           4 (1.0%)",
        "largest         200 points",
    ] {
        has_line(&printed, line);
    }
    assert!(["read", "find clusters", "labels", "picture", "total"].iter().all(|phase| printed.contains(phase)));
    let expected: Vec<i32> = (0..404).map(|i| if i < 400 { i / 200 } else { -1 }).collect();
    assert_eq!(npy::<i32>(Path::new(&labels)), expected);
    assert!(is_png(Path::new(&picture)));
    assert_eq!(scratch.names(""), ["clusters.png", "labels.npy", "moons.csv"]);

    // The picture does not depend on the number of threads. A run without outputs says so.
    let before = fs::read(&picture).unwrap();
    program("dbscan", &file, &[&options[..], &["--threads", "1"]].concat()).success();
    assert!(fs::read(&picture).unwrap() == before);
    let printed = program("dbscan", &file, &options[..4]).success();
    assert!(printed.contains("\nwritten         nothing; use --out LABELLED.csv"), "{printed}");
}

#[test]
fn kdist_finds_an_eps_for_the_moons() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let [out, png, svg] = ["kdist.npy", "kdist.png", "kdist.SVG"].map(|name| scratch.path(name).display().to_string());
    let printed = program("kdist", &file, &["--k", "4", "--out", &out, "--plot", &png]).success();
    program("kdist", &file, &["--plot", &svg]).success();
    has_line(&printed, "k               4, for min_samples 5");
    assert!(["  1%", " 50%", "100%", "neighbours"].iter().all(|part| printed.contains(part)), "{printed}");
    let sorted: Vec<f64> = npy(Path::new(&out));
    assert_eq!(sorted.len(), 404);
    assert!(sorted.is_sorted() && sorted[399] < 0.15 && sorted[400] > 1.0);
    assert!(is_png(Path::new(&png)));
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("knee: eps = "));

    let line = printed.lines().find(|line| line.starts_with("eps to try")).unwrap();
    let eps = line["eps to try".len()..].trim().split(',').next().unwrap();
    let printed = program("dbscan", &file, &["--eps", eps, "--min-pts", "5"]).success();
    has_line(&printed, "clusters        2");
}

#[test]
fn what_k_counts() {
    let scratch = Scratch::new();
    let file = scratch.write("line.csv", "0\n1\n3\n3\n9.5\n");
    let out = scratch.path("kdist.npy").display().to_string();
    for (k, periodic, expected) in [
        ("1", &[][..], [0.0, 0.0, 1.0, 1.0, 6.5]),
        ("2", &[], [2.0, 2.0, 2.0, 3.0, 6.5]),
        ("1", &["--periodic", "10"], [0.0, 0.0, 0.5, 0.5, 1.0]),
    ] {
        program("kdist", &file, &[&["--k", k, "--out", &out], periodic].concat()).success();
        let mut sorted: Vec<f64> = npy(Path::new(&out));
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, expected, "k {k} {periodic:?}");
        // A point is core if and only if its distance is at most eps. min_samples also counts the point itself.
        let min_samples = (k.parse::<usize>().unwrap() + 1).to_string();
        let printed =
            program("dbscan", &file, &[&["--eps", "1", "--min-pts", &min_samples], periodic].concat()).success();
        let core = sorted.iter().filter(|&&distance| distance <= 1.0).count();
        assert!(printed.contains(&format!("\ncore            {core} (")), "{printed}");
    }
}

#[test]
fn every_dimension_in_both_precisions() {
    let scratch = Scratch::new();
    let (out, file) = (scratch.path("labels.npy"), scratch.path("points.npy"));
    for dim in 1..=10 {
        // Points on the diagonal: two groups and an isolated point.
        let data: Vec<f64> = [0.0, 0.5, 1.0, 8.0, 20.0, 20.5, 21.0].into_iter().flat_map(|x| vec![x; dim]).collect();
        let narrow = Points::F32(Table::new(dim, data.iter().map(|&x| x as f32).collect()).unwrap());
        for points in [narrow, Points::F64(Table::new(dim, data).unwrap())] {
            write_npy(&file, &points).unwrap();
            let eps = (0.6 * (dim as f64).sqrt()).to_string();
            let options = ["--eps", &eps, "--min-pts", "3", "--out", out.to_str().unwrap()];
            let printed = program("dbscan", &file, &options).success();
            assert!(printed.contains(&format!("\ndimensions      {dim}, ")));
            assert_eq!(npy::<i32>(&out), [0, 0, 0, -1, 1, 1, 1]);
            let printed = program("dbscan", &file, &[&options[..], &["--star"]].concat()).success();
            assert_eq!(npy::<i32>(&out), [-1, 0, -1, -1, -1, 1, -1]);
            has_line(&printed, "border          0; with --star they are noise");
            program("kdist", &file, &["--k", "2"]).success();
        }
    }
}

#[test]
fn little_or_nothing() {
    let scratch = Scratch::new();
    let picture = scratch.path("clusters.png").display().to_string();
    write_npy(scratch.path("none.npy"), &Points::F32(Table::new(2, vec![]).unwrap())).unwrap();
    let same = scratch.write("same.csv", "1,1\n".repeat(30));
    for file in [scratch.path("none.npy"), scratch.write("one.csv", "1,2\n"), same.clone()] {
        program("dbscan", &file, &["--eps", "0", "--min-pts", "2", "--plot", &picture]).success();
        assert!(is_png(Path::new(&picture)));
    }
    let printed = program("kdist", &same, &["--plot", &picture]).success();
    assert!(printed.contains("no clear knee") && is_png(Path::new(&picture)));
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let before = fs::read(&file).unwrap();
    let of = |name: &str| scratch.path(name).display().to_string();
    let (png, npy, gif, nowhere, own) = (of("x.png"), of("x.npy"), of("x.gif"), of("no/x.npy"), of("moons.csv"));
    let good = ["--eps", "1", "--min-pts", "3"];
    let outputs = ["--out", npy.as_str(), "--plot", png.as_str()];
    for (options, said) in [
        (&["--eps", "-1", "--min-pts", "3"][..], "eps is -1; it must be finite and not negative"),
        (&["--eps", "NaN", "--min-pts", "3"], "eps is NaN"),
        (&["--eps", "inf", "--min-pts", "3"], "eps is inf"),
        (&["--eps", "1", "--min-pts", "0"], "min_samples is 0; it must be at least 1"),
        (&["--eps", "1", "--min-pts", "3", "--periodic", "0"], "axis 0 is 0"),
        (&["--eps", "3", "--min-pts", "3", "--periodic", "5.5"], "at least twice eps"),
    ] {
        let line = program("dbscan", &file, &[options, &outputs].concat()).error();
        assert!(line.contains(said), "{line}");
    }
    for (options, said) in [
        (["--plot", &gif], "must end in .png"),
        (["--out", &nowhere], "cannot write into this directory"),
        (["--out", &own], "would replace the input"),
        (["--out", &of("")], "is a directory"),
    ] {
        let line = program("dbscan", &file, &[&good[..], &options].concat()).error();
        assert!(line.contains(said), "{line}");
        program("kdist", &file, &options).error();
    }
    let twice = ["--out", png.as_str(), "--plot", png.as_str()];
    assert!(program("dbscan", &file, &[&good[..], &twice].concat()).error().contains("two outputs"));
    let line_of_points = scratch.write("line.csv", "x\n1\n2\n3\n");
    let line = program("dbscan", &line_of_points, &[&good[..], &outputs].concat()).error();
    assert!(line.contains("points have 1 dimension; --plot requires 2 or 3"), "{line}");
    for (k, said) in [("0", "--k is 0"), ("404", "only 403 others"), ("18446744073709551615", "only 403 others")] {
        assert!(program("kdist", &file, &["--k", k, "--plot", &png]).error().contains(said));
    }
    assert!(program("kdist", &file, &["--periodic", "NaN"]).error().contains("axis 0 is NaN"));
    let holes = scratch.write("holes.csv", "0,0\n1,NaN\n2,2\n");
    for (command, options) in [("dbscan", &good[..]), ("kdist", &["--k", "1"])] {
        assert!(program(command, &holes, options).error().contains("line 2: column 2 is NaN"));
    }
    assert_eq!(scratch.names(""), ["holes.csv", "line.csv", "moons.csv"]);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn wrong_usage() {
    for arguments in [
        &["dbscan", "x", "--min-pts", "3"][..],
        &["dbscan", "x", "--eps", "1"],
        &["dbscan", "x", "--eps", "1", "--min-pts", "-3"],
        &["dbscan", "x", "--eps", "1", "--min-pts", "3", "--algorithm", "best"],
        &["kdist"],
        &["kdist", "x", "--k", "some"],
    ] {
        let output = run(arguments);
        assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{arguments:?}");
        output.line();
    }
}
