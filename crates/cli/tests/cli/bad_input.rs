//! Bad input: one line on standard error, and no files left behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{Scratch, halos, run, sample};

/// Returns the error of a run, which must not leave an output directory.
fn error(scratch: &Scratch, snapshot: &Path, options: &[&str]) -> String {
    let before = scratch.names("");
    let line = halos(snapshot, &scratch.path("out/deep"), options).error();
    assert_eq!(scratch.names(""), before, "{line}");
    line
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Returns a `.npy` file of zeros.
fn npy(shape: &str, descr: &str, bytes: usize) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.resize(file.len() + bytes, 0);
    file
}

#[test]
fn files_that_are_not_there() {
    let scratch = Scratch::new();
    assert_has(&error(&scratch, &scratch.path("no.gadget2"), &[]), &["no.gadget2", "No such file"]);
    assert_has(&error(&scratch, &scratch.path(""), &[]), &["is a folder without Gadget snapshots"]);
    assert_has(&run(["info".as_ref(), scratch.path("no").as_os_str()]).error(), &["No such file"]);
}

#[test]
fn broken_files() {
    let scratch = Scratch::new();
    let whole = fs::read(sample()).unwrap();
    for length in [0, 3, 100, 264, 5000, 4_000_000, whole.len() - 1] {
        let cut = scratch.write("cut.gadget2", &whole[..length]);
        // A snapshot without particles has no halos, but an empty file is not a snapshot.
        assert_has(&error(&scratch, &cut, &[]), &["cut.gadget2"]);
    }
    let noise = scratch.write("noise", [7u8, 0, 255, 0].repeat(300));
    assert_has(&error(&scratch, &noise, &[]), &["noise"]);
    let words = scratch.write("words.csv", "these are\nno numbers\n");
    assert_has(&error(&scratch, &words, &[]), &["words.csv"]);
}

#[test]
fn wrong_shapes() {
    let scratch = Scratch::new();
    for (shape, descr, bytes) in
        [("(8, 2)", "<f4", 64), ("(8,)", "<f4", 32), ("(2, 2, 3)", "<f8", 96), ("(4, 3)", "<c8", 96)]
    {
        let path = scratch.write("points.npy", npy(shape, descr, bytes));
        assert_has(&error(&scratch, &path, &[]), &["points.npy"]);
    }
    let path = scratch.write("points.npy", npy("(8, 3)", "<f4", 95));
    assert_has(&error(&scratch, &path, &[]), &["points.npy"]);
}

#[test]
fn numbers_out_of_range() {
    let scratch = Scratch::new();
    for (options, parts) in [
        (["--eps", "-1"], ["eps is -1", "not negative"]),
        (["--eps", "NaN"], ["eps is NaN", "finite"]),
        (["--eps", "inf"], ["eps is inf", "finite"]),
        (["--eps", "17"], ["axis 0 is 32", "linking_length = 17"]),
        (["--linking-length", "-0.2"], ["--linking-length is -0.2", "not negative"]),
        (["--linking-length", "NaN"], ["--linking-length is NaN", "finite"]),
        (["--box", "-32"], ["--box is -32", "positive"]),
        (["--box", "NaN"], ["--box is NaN", "positive"]),
        (["--box", "0"], ["--box is 0", "positive"]),
        (["--type", "0"], ["type 0", "262144"]),
    ] {
        assert_has(&error(&scratch, &sample(), &options), &parts);
    }
    let path = scratch.write("points.csv", "0,0,0\n1,NaN,0\n");
    assert_has(&error(&scratch, &path, &["--eps", "1"]), &["NaN"]);
    // A format whose reader does not check coordinates.
    let mut file = npy("(2, 3)", "<f8", 0);
    file.extend([0.0f64, 0.0, 0.0, 1.0, f64::NAN, 2.0].iter().flat_map(|x| x.to_le_bytes()));
    let path = scratch.write("holes.npy", file);
    let said = "holes.npy: point 1: coordinate 1 is NaN; coordinates must be finite";
    assert_has(&error(&scratch, &path, &["--eps", "1"]), &[said]);
    assert_has(&run(["dbscan", path.to_str().unwrap(), "--eps", "1", "--min-pts", "2"]).error(), &[said]);
    let path = scratch.write("flat.csv", "0,0,0\n1,1,0\n");
    assert_has(&error(&scratch, &path, &[]), &["volume", "--eps"]);
}

#[test]
fn unwritable_directories() {
    let scratch = Scratch::new();
    let file = scratch.write("file", "kept");
    for out in [file.clone(), file.join("out")] {
        assert_has(&halos(&sample(), &out, &[]).error(), &["file"]);
    }
    assert_eq!(fs::read(&file).unwrap(), b"kept");

    // A result cannot replace a directory, and then no other result is written.
    fs::create_dir_all(scratch.path("out/labels.npy")).unwrap();
    assert_has(&halos(&sample(), &scratch.path("out"), &[]).error(), &["labels.npy", "directory"]);
    assert_eq!(scratch.names("out"), ["labels.npy"]);
}

#[test]
fn earlier_results_survive_an_error() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("out")).unwrap();
    scratch.write("out/halos.ecsv", "of yesterday");
    halos(&scratch.path("no"), &scratch.path("out"), &[]).error();
    assert_eq!(scratch.names("out"), ["halos.ecsv"]);
    assert_eq!(fs::read(scratch.path("out/halos.ecsv")).unwrap(), b"of yesterday");
}

#[test]
fn wrong_usage() {
    for arguments in [
        &["halos", "x"][..],
        &["halos", "x", "--out", ""],
        &["halos", "x", "--out", "y", "--eps", "1", "--linking-length", "0.2"],
        &["halos", "x", "--out", "y", "--eps", "one"],
        &["halos", "x", "--out", "y", "--min-members", "1"],
        &["halos", "x", "--out", "y", "--threads", "0"],
        &["halos", "x", "--out", "y", "--type", "7"],
        &["halo", "x"],
    ] {
        let output = run(arguments);
        assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{arguments:?}");
        output.line();
    }
}

/// Without an error, a misspelt value would be ignored.
#[test]
fn an_instruction_set_that_does_not_exist() {
    let scratch = Scratch::new();
    let triangle = scratch.write("triangle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for (command, input, out) in [("halos", sample(), "out"), ("raycast", triangle, "out.png")] {
        let mut call = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        call.env("ROPEWALK_ISA", "avx512").arg(command).arg(input).arg("--out").arg(scratch.path(out));
        let output = call.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_has(&error, &["the environment variable ROPEWALK_ISA is 'avx512'; it must be 'baseline' or unset"]);
    }
}
