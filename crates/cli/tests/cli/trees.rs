//! `ropewalk emst` and `ropewalk linkage`: known answers, and one-line errors.

use std::fs;
use std::path::Path;

use npyz::NpyFile;
use ropewalk_io::{Points, Table, write_npy};

use crate::program::{Output, Scratch, run, sample};

fn program(command: &str, file: &Path, options: &[&str]) -> Output {
    let arguments = [command.as_ref(), file.as_os_str()];
    run(arguments.into_iter().chain(options.iter().map(AsRef::as_ref)))
}

/// Returns the shape and the values of an array.
fn npy<T: npyz::Deserialize>(path: &str) -> (Vec<u64>, Vec<T>) {
    let bytes = fs::read(path).unwrap();
    let file = NpyFile::new(&bytes[..]).unwrap();
    (file.shape().to_vec(), file.into_vec().unwrap())
}

fn has_line(text: &str, line: &str) {
    assert!(text.lines().any(|other| other == line), "{line:?} is not in {text}");
}

#[test]
fn edges_and_weights() {
    let scratch = Scratch::new();
    let file = scratch.write("line.csv", "x,y\n0,0\n1,0\n3,0\n9.5,0\n");
    let [edges, weights] = ["edges.npy", "weights.npy"].map(|name| scratch.path(name).display().to_string());
    let outputs = ["--out", edges.as_str(), "--weights", weights.as_str()];
    for (options, ends, lengths) in [
        (&[][..], [0, 1, 1, 2, 2, 3], [1.0, 2.0, 6.5]),
        (&["--periodic", "10"], [0, 3, 0, 1, 1, 2], [0.5, 1.0, 2.0]),
        // The third nearest points, with the points themselves counted, are at 3, 2, 3 and 8.5.
        (&["--min-samples", "3"], [0, 1, 0, 2, 1, 3], [3.0, 3.0, 8.5]),
    ] {
        let printed = program("emst", &file, &[&outputs, options].concat()).success();
        assert_eq!(npy::<u32>(&edges), (vec![3, 2], ends.to_vec()), "{options:?}");
        assert_eq!(npy::<f64>(&weights), (vec![3], lengths.to_vec()), "{options:?}");
        has_line(&printed, "edges           3");
        has_line(&printed, &format!("from, to        {}, {}", lengths[0], lengths[2]));
        has_line(&printed, &format!("sum of weights  {}", lengths.iter().sum::<f64>()));
        assert!(["read", "spanning tree", "edges", "total"].iter().all(|phase| printed.contains(phase)));
    }
    let [edges, weights] = ["edges.csv", "weights.CSV"].map(|name| scratch.path(name).display().to_string());
    program("emst", &file, &["--out", &edges, "--weights", &weights]).success();
    assert_eq!(fs::read_to_string(edges).unwrap(), "low,high\n0,1\n1,2\n2,3\n");
    assert_eq!(fs::read_to_string(weights).unwrap(), "weight\n1.0\n2.0\n6.5\n");
}

#[test]
fn merges() {
    let scratch = Scratch::new();
    let file = scratch.write("line.csv", "0\n1\n9\n11\n");
    let [npy_file, csv] = ["z.npy", "z.csv"].map(|name| scratch.path(name).display().to_string());
    program("linkage", &file, &["--out", &npy_file]).success();
    let rows = vec![0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 4.0, 5.0, 8.0, 4.0];
    assert_eq!(npy::<f64>(&npy_file), (vec![3, 4], rows));
    program("linkage", &file, &["--out", &csv, "--periodic", "12", "--threads", "1"]).success();
    let text = "a,b,height,size\n0,1,1.0,2\n3,4,1.0,3\n2,5,2.0,4\n";
    assert_eq!(fs::read_to_string(csv).unwrap(), text);
}

#[test]
fn every_dimension_in_both_precisions() {
    let scratch = Scratch::new();
    let file = scratch.path("points.npy");
    let edges = scratch.path("edges.npy").display().to_string();
    let z = scratch.path("z.npy").display().to_string();
    for dim in 1..=10 {
        // Points on the diagonal, unsorted.
        let data: Vec<f64> = [4.0, 0.0, 7.0, 1.0, 2.5].into_iter().flat_map(|x| vec![x; dim]).collect();
        let narrow = Points::F32(Table::new(dim, data.iter().map(|&x| x as f32).collect()).unwrap());
        for points in [narrow, Points::F64(Table::new(dim, data).unwrap())] {
            write_npy(&file, &points).unwrap();
            program("emst", &file, &["--out", &edges]).success();
            assert_eq!(npy::<u32>(&edges).1, [1, 3, 0, 4, 3, 4, 0, 2]);
            program("linkage", &file, &["--out", &z]).success();
            let rows = npy::<f64>(&z).1;
            assert_eq!(rows.iter().skip(3).step_by(4).copied().collect::<Vec<_>>(), [2.0, 2.0, 4.0, 5.0]);
        }
    }
}

#[test]
fn little_or_nothing() {
    let scratch = Scratch::new();
    let out = scratch.path("out.npy").display().to_string();
    write_npy(scratch.path("none.npy"), &Points::F32(Table::new(2, vec![]).unwrap())).unwrap();
    for file in [scratch.path("none.npy"), scratch.write("one.csv", "1,2\n")] {
        let printed = program("emst", &file, &["--out", &out]).success();
        has_line(&printed, "sum of weights  0");
        assert_eq!(npy::<u32>(&out), (vec![0, 2], vec![]));
        program("linkage", &file, &["--out", &out]).success();
        assert_eq!(npy::<f64>(&out), (vec![0, 4], vec![]));
    }
    let same = scratch.write("same.csv", "1,1\n".repeat(30));
    program("emst", &same, &["--out", &out, "--min-samples", "30"]).success();
    assert!(npy::<u32>(&out).1.as_chunks().0.iter().zip(1..).all(|(ends, other)| *ends == [0, other]));
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    let file = scratch.write("three.csv", "0,0\n1,0\n0,2\n");
    let of = |name: &str| scratch.path(name).display().to_string();
    let out = of("out.npy");
    for command in ["emst", "linkage"] {
        let error = |file: &Path, options: &[&str]| program(command, file, options).error();
        for (option, value, said) in [
            ("--min-samples", "0", "min_samples is 0; it must be at least 1"),
            ("--min-samples", "4", "min_samples is 4; it must be at most the number of points"),
            ("--periodic", "0", "axis 0 is 0"),
            ("--periodic", "NaN", "axis 0 is NaN"),
            ("--columns", "x", "x"),
        ] {
            let line = error(&file, &["--out", &out, option, value]);
            assert!(line.contains(said), "{line}");
        }
        let holes = scratch.write("holes.csv", "0,0\n1,NaN\n2,2\n");
        assert!(error(&holes, &["--out", &out]).contains("line 2: column 2 is NaN"));
        let empty = scratch.write("empty.npy", "");
        assert!(error(&empty, &["--out", &out]).contains("empty.npy"));
        for (name, said) in [
            ("x.txt", "must end in .npy or .csv"),
            ("three.csv", "would replace the input"),
            ("no/x.npy", "this directory"),
        ] {
            let line = error(&file, &["--out", &of(name)]);
            assert!(line.contains(said), "{line}");
        }
        for arguments in [&[command, "x"][..], &[command, "x", "--out", "y.npy", "--min-samples", "few"]] {
            let output = run(arguments);
            assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{arguments:?}");
            output.line();
        }
    }
    let line = program("emst", &file, &["--out", &out, "--weights", &of("w.txt")]).error();
    assert!(line.contains("--weights") && line.contains("must end in .npy or .csv"), "{line}");
    assert!(program("emst", &file, &["--out", &out, "--weights", &out]).error().contains("two outputs"));
    assert_eq!(scratch.names(""), ["empty.npy", "holes.csv", "three.csv"]);
}

/// The file is the same for any number of threads.
#[test]
fn the_sample() {
    let scratch = Scratch::new();
    let [one, all] = ["one.npy", "all.npy"].map(|name| scratch.path(name).display().to_string());
    program("emst", &sample(), &["--out", &one, "--periodic", "32", "--threads", "1"]).success();
    let printed = program("emst", &sample(), &["--out", &all, "--periodic", "32"]).success();
    has_line(&printed, "box             32, periodic");
    has_line(&printed, "edges           262,143");
    assert!(fs::read(one).unwrap() == fs::read(all).unwrap());
}
