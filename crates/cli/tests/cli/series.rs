//! Several snapshots in one command, separate files for the particles of a bare array, and standard input.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ropewalk_io::{Points, Table, write_npy, write_npy_f64};

use crate::program::{Output, Scratch, halos, run, sample};

/// Writes three points, two of them close.
fn points(scratch: &Scratch, name: &str, shift: f64) -> String {
    let path = scratch.write(name, format!("x,y,z\n{shift},0,0\n{shift},0,0.5\n9,9,9\n"));
    path.display().to_string()
}

fn series(files: &[&str], out: &Path, options: &[&str]) -> Output {
    let out = out.display().to_string();
    let more = ["--out", &out, "--eps", "1", "--min-members", "2", "--no-pictures"];
    run(["halos"].iter().chain(files).chain(&more).chain(options).map(|argument| (*argument).to_string()))
}

#[test]
fn a_folder_each_and_no_work_twice() {
    let scratch = Scratch::new();
    let (a, b) = (points(&scratch, "snap_001.csv", 0.0), points(&scratch, "snap_002.csv", 1.0));
    let out = scratch.path("out");
    let printed = series(&[&a, &b], &out, &[]).success();
    assert!(printed.contains("snap_001.csv: halos 1 of 2 or more, in "), "{printed}");
    assert_eq!(scratch.names("out"), ["snap_001", "snap_002"]);
    assert_eq!(scratch.names("out/snap_001"), ["halos.ecsv", "labels.npy", "summary.json"]);
    let json = fs::read_to_string(out.join("snap_002/summary.json")).unwrap();
    assert!(json.contains("\"halos\": 1") && json.contains("\"particles\": 3"), "{json}");
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    let options = &summary["run"]["options"];
    let some = ["eps", "min-members", "no-pictures", "linking-length", "out"].map(|name| &options[name]);
    assert_eq!(serde_json::json!(some), serde_json::json!([1, 2, true, null, null]), "{options}");

    // Finished snapshots are skipped, also with a pattern that the program expands, and with another number of
    // threads.
    let pattern = scratch.path("snap_*.csv").display().to_string();
    let again = series(&[&pattern], &out, &["--threads", "2", "--softening", "0.0"]).success();
    assert_eq!(again.lines().filter(|line| line.contains("already finished")).count(), 2, "{again}");
    // A changed file, another option or --again makes a snapshot unfinished.
    fs::write(&a, "x,y,z\n0,0,0\n5,5,5\n9,9,9\n").unwrap();
    let changed = series(&[&a, &b], &out, &[]).success();
    assert!(
        changed.contains("snap_001.csv: halos 0") && changed.contains("snap_002.csv: already finished"),
        "{changed}"
    );
    let other = series(&[&a, &b], &out, &["--members"]).success();
    assert!(!other.contains("already finished"), "{other}");
    let all = series(&[&a, &b], &out, &["--members", "--again"]).success();
    assert!(!all.contains("already finished"), "{all}");

    // A snapshot with a missing file is not finished.
    fs::remove_file(out.join("snap_002/labels.npy")).unwrap();
    let lost = series(&[&a, &b], &out, &["--members"]).success();
    assert!(lost.contains("snap_001.csv: already finished") && lost.contains("snap_002.csv: halos 1"), "{lost}");

    // If one snapshot fails, the others are still processed, and the failed one leaves no files.
    let bad = scratch.write("snap_000.csv", "x,y,z\n1,2\n").display().to_string();
    let output = series(&[&bad, &a, &b], &scratch.path("other"), &[]);
    assert_eq!(output.status, 1);
    assert!(
        output.stdout.lines().count() == 2 && output.stderr.contains("1 of 3 snapshots failed"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("snap_000.csv: line 2: expected 3 columns as in the first line, got 2"),
        "{}",
        output.stderr
    );
    assert_eq!(scratch.names("other"), ["snap_001", "snap_002"]);
}

#[test]
fn names_that_cannot_be() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("a")).unwrap();
    let (one, two) = (points(&scratch, "a/snap.csv", 0.0), points(&scratch, "snap.csv", 0.0));
    let line = series(&[&one, &two], &scratch.path("out"), &[]).error();
    assert!(line.contains("would share the folder") && line.contains("two commands"), "{line}");
    let none = scratch.path("no_*.csv").display().to_string();
    assert!(series(&[&none], &scratch.path("out"), &[]).error().contains("no file matches the pattern"));
    let line = series(&[&one, &two], &scratch.path("out"), &["--json", "x"]).error();
    assert!(line.contains("--json"), "{line}");
    // The same file twice is one snapshot.
    series(&[&one, &one], &scratch.path("out"), &[]).success();
    assert_eq!(scratch.names("out"), ["halos.ecsv", "labels.npy", "summary.json"]);
}

#[test]
fn files_beside_an_array() {
    let scratch = Scratch::new();
    let of = |name: &str| scratch.path(name).display().to_string();
    let rows = |data: Vec<f64>| Points::F64(Table::new(3, data).unwrap());
    write_npy(of("x.npy"), &rows(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 9.0, 9.0, 9.0])).unwrap();
    write_npy(of("v.npy"), &rows(vec![1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
    write_npy_f64(of("m.npy"), &[1.0, 3.0, 7.0]).unwrap();
    let mut ids = vec![];
    let header = "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }".to_string();
    let header = format!("{header:117}\n");
    ids.extend(b"\x93NUMPY\x01\x00");
    ids.extend((header.len() as u16).to_le_bytes());
    ids.extend(header.as_bytes());
    [u64::MAX - 1, 1 << 60, 5].iter().for_each(|id: &u64| ids.extend(id.to_le_bytes()));
    fs::write(of("i.npy"), ids).unwrap();
    let options = ["--velocities", &of("v.npy"), "--mass", &of("m.npy"), "--ids", &of("i.npy"), "--members"];
    series(&[&of("x.npy")], &scratch.path("out"), &options).success();
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    let row = text.lines().last().unwrap();
    // Tag, label, count, mass, centre, velocity.
    assert!(row.starts_with("1152921504606846976,0,2,4,0,0,0.375,2.5,0,0,"), "{row}");
    // One mass for all particles.
    let catalog = |options: &[&str]| {
        series(&[&of("x.npy")], &scratch.path("equal"), &[options, &["--columns", "fof_halo_mass"]].concat()).success();
        fs::read_to_string(scratch.path("equal/halos.ecsv")).unwrap().lines().last().unwrap().to_string()
    };
    assert_eq!(catalog(&["--particle-mass", "2.5"]), "5");
    write_npy_f64(of("equal.npy"), &[2.5, 2.5, 2.5]).unwrap();
    assert_eq!(catalog(&["--mass", &of("equal.npy")]), "5");
    let error = |options: &[&str]| series(&[&of("x.npy")], &scratch.path("other"), options).error();
    assert!(error(&["--particle-mass", "-1"]).contains("--particle-mass must be positive and finite, got -1"));
    let with_masses = sample().display().to_string();
    let refused = series(&[&with_masses], &scratch.path("other"), &["--particle-mass", "2"]).error();
    assert!(refused.contains("--particle-mass: the snapshot has masses"), "{refused}");
    assert!(error(&["--particle-mass", "2", "--subsample", "0.5"]).contains("--particle-mass: not with --subsample"));
    assert_eq!(series(&[&of("x.npy")], &scratch.path("other"), &["--particle-mass", "2", "--mass", "m.npy"]).status, 2);
    assert!(error(&["--mass", &of("v.npy")]).contains("has 3 rows of 3 values; expected 3 rows of one value"));
    assert!(error(&["--velocities", &of("m.npy")]).contains("--velocities"));
    assert!(error(&["--ids", &of("m.npy")]).contains("ids must be integers"));
    assert!(error(&["--ids", &of("i.npy"), "--subsample", "0.5"]).contains("--subsample"));
    assert!(!scratch.path("other").exists());
}

/// Runs the program with `bytes` on standard input.
fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    Output {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn standard_input() {
    let table = b"x,y\n0,0\n0,1\n5,5\n";
    let output = piped(&["dbscan", "-", "--eps", "1", "--min-pts", "2", "--out", "-"], table);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, "x,y,label\n0.0,0.0,0\n0.0,1.0,0\n5.0,5.0,-1\n"),
        "{}",
        output.stderr
    );
    let output = piped(&["dbscan", "-", "--eps", "1", "--min-pts", "2", "--json", "-"], table);
    assert!(output.stdout.starts_with("{\n") && output.stdout.contains("\"clusters\": 1"), "{}", output.stdout);
    let scratch = Scratch::new();
    let out = scratch.path("out").display().to_string();
    let bytes = fs::read(sample()).unwrap();
    assert_eq!(piped(&["halos", "-", "--out", &out, "--no-pictures"], &bytes).status, 0);
    halos(&sample(), &scratch.path("file"), &["--no-pictures"]).success();
    let rows = |folder: &str| -> String {
        let text = fs::read_to_string(scratch.path(folder).join("halos.ecsv")).unwrap();
        text.lines().filter(|line| !line.contains("snapshot:")).map(|line| format!("{line}\n")).collect()
    };
    assert!(rows("out") == rows("file"));
    let line = piped(&["kdist", "-"], b"words").error();
    assert!(line.starts_with("error: standard input: "), "{line}");
}

/// A changed file beside a snapshot makes its results outdated.
#[test]
fn what_belongs_to_a_snapshot() {
    let scratch = Scratch::new();
    let (a, b) = (points(&scratch, "snap_001.csv", 0.0), points(&scratch, "snap_002.csv", 1.0));
    let masses = scratch.write("masses.csv", "1\n2\n3\n").display().to_string();
    let out = scratch.path("out");
    let options = ["--mass", &masses];
    let finished = |output: Output| output.success().lines().filter(|line| line.contains("already finished")).count();
    assert_eq!(finished(series(&[&a, &b], &out, &options)), 0);
    assert_eq!(finished(series(&[&a, &b], &out, &options)), 2);
    scratch.write("masses.csv", "1\n2\n3.5\n");
    assert_eq!(finished(series(&[&a, &b], &out, &options)), 0);
    // A file of ids, as Tipsy has them, next to the first snapshot.
    assert_eq!(finished(series(&[&a, &b], &out, &options)), 2);
    scratch.write("snap_001.csv.iord", "3\n1\n2\n3\n");
    assert_eq!(finished(series(&[&a, &b], &out, &options)), 1);
}

/// Early snapshots of a series have no stars: all snapshots are processed, and the report lists those without stars.
#[test]
fn types_that_some_snapshots_lack() {
    let scratch = Scratch::new();
    let early =
        scratch.write("snap_001.csv", "x,y,z,type,mass\n1,1,1,1,4\n1,1,2,1,4\n5,5,5,0,4\n").display().to_string();
    let late =
        scratch.write("snap_002.csv", "x,y,z,type,mass\n1,1,1,1,4\n1,1,2,1,4\n1,1,0.5,4,1\n").display().to_string();
    let out = scratch.path("out");
    let printed = series(&[&early, &late], &out, &["--attach", "4"]).success();
    let said = format!("{early}: note {early} has no particles of type 4; types present: 0 (1), 1 (2)\n");
    assert!(printed.contains(&said), "{printed}");
    assert!(!printed.contains(&format!("note {late} has no particles")), "{printed}");
    let line = series(&[&early], &out, &["--attach", "4"]).error();
    assert!(
        line.contains("--attach: ") && line.contains("no particles of type 4; types present: 0 (1), 1 (2)"),
        "{line}"
    );
}

/// The report on several snapshots lists what was not read from each, and results of earlier runs next to the new
/// ones.
#[test]
fn what_is_left_out_of_a_series() {
    let scratch = Scratch::new();
    let table = "x,y,z,type,mass\n1,1,1,1,4\n1,1,2,1,4\n5,5,5,1,4\n1,1,0.5,4,1\n";
    let files = ["snap_001.csv", "snap_002.csv"].map(|name| scratch.write(name, table).display().to_string());
    let out = scratch.path("out");
    let printed = series(&[&files[0], &files[1]], &out, &["--attach", "none"]).success();
    for file in &files {
        assert!(printed.contains(&format!("{file}: not read type 4: 7.7% of the mass in the file\n")), "{printed}");
        assert!(
            printed.contains(&format!("{file}: note type 4 was not read (7.7% of the mass in the file); ")),
            "{printed}"
        );
    }
    assert!(!printed.contains("kept: "), "{printed}");
    let printed = series(&[&files[0]], &out, &[]).success();
    assert!(!printed.contains("kept: "), "{printed}");
    let printed = series(&[&files[0], &files[1]], &out, &[]).success();
    let summary = out.join("summary.json").display().to_string();
    assert!(
        printed.contains(&format!("kept: {summary} and the files that it lists (of an earlier run)\n")),
        "{printed}"
    );
    assert!(!printed.contains("not read"), "{printed}");
}
