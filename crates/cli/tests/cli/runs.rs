//! Runs and their files: conflicting outputs, folders of one run, and finished runs of a series.

use std::fs;
use std::path::Path;
use std::process::Command;

use npyz::NpyFile;

use crate::program::{Scratch, halos, run};

/// Two clusters and a point of noise, in three dimensions.
fn points(scratch: &Scratch) -> std::path::PathBuf {
    scratch.write("points.csv", "x,y,z\n0,0,0\n0,0,0.25\n5,5,5\n5,5,5.25\n9,9,9\n")
}

/// Files of an earlier run, with any names, and changed in any way since.
#[test]
fn a_folder_is_of_one_run() {
    let scratch = Scratch::new();
    let file = points(&scratch);
    let out = scratch.path("out");
    let run = |more: &[&str]| {
        let options = ["--min-members", "2", "--no-pictures", "--eps"];
        halos(&file, &out, &[&options[..], more].concat())
    };
    run(&["0.5", "--catalog", "one.csv,two.hdf5", "--members"]).success();
    scratch.write("out/two.hdf5", "mine by now");
    let printed = run(&["0.9", "--catalog", "three.csv"]).success();
    assert!(printed.contains("\nremoved: one.csv, members.npz, of an earlier run\n"), "{printed}");
    assert!(printed.contains("\nkept: two.hdf5 (changed since an earlier run wrote it)\n"), "{printed}");
    assert_eq!(scratch.names("out"), ["labels.npy", "summary.json", "three.csv", "two.hdf5"]);

    // A run that was killed while committing left a list, from which the next run knows its files.
    let killed = r#"{"complete": false, "snapshot": null, "written": [{"file": "late.csv", "bytes": null}, {"file": "../points.csv"}]}"#;
    scratch.write("out/summary.json", killed);
    scratch.write("out/late.csv", "half a run");
    let printed = run(&["0.9"]).success();
    assert!(printed.contains("\nremoved: late.csv, of an earlier run\n"), "{printed}");
    assert!(file.exists() && scratch.path("out/three.csv").exists());

    // Files of other programs are not replaced.
    scratch.write("out/summary.json", "{}");
    let before = scratch.names("out");
    let line = run(&["0.9"]).error();
    assert!(line.contains("summary.json: not a summary of ropewalk halos"), "{line}");
    assert_eq!((scratch.names("out"), fs::read(out.join("summary.json")).unwrap()), (before, b"{}".to_vec()));
}

/// Two outputs, or an output and an input, are the same file, for any options and names.
#[test]
fn one_file_one_output() {
    let scratch = Scratch::new();
    let file = points(&scratch);
    scratch.write("b.csv", "x,y,z\n0,0,0\n");
    fs::create_dir(scratch.path("d")).unwrap();
    let of = |name: &str| scratch.path(name).display().to_string();
    let (points, out) = (file.display().to_string(), of("out"));
    let halos = ["halos", &points, "--eps", "1", "--min-members", "2", "--out", &out];
    let clusters = ["dbscan", &points, "--eps", "1", "--min-pts", "2", "--columns", "x,y", "--out", &of("d/a.npy")];
    let knn = ["knn", &points, "--k", "1", "--out", &of("a.npy")];
    let cases: [(&[&str], &[&str]); 17] = [
        (&halos, &["--catalog", "mass_function.ecsv"]),
        (&halos, &["--catalog", "halos.ecsv,halos.ecsv"]),
        (&halos, &["--catalog", "profiles.ecsv", "--profiles", "2"]),
        (&halos, &["--json", &of("out/labels.npy")]),
        (&halos, &["--json", &of("d/../out/./halos.ecsv")]),
        (&halos, &["--json", &points]),
        (&halos, &["--catalog", "-", "--json", "-"]),
        (&clusters, &["--plot", &of("d/../d/a.npy")]),
        (&clusters, &["--json", &of("d/./a.npy")]),
        (&clusters, &["--json", &points]),
        (&knn, &["--distances", &of("d/../a.npy")]),
        (&knn, &["--queries", &of("b.csv"), "--distances", &of("b.csv")]),
        (&["emst", &points, "--out", &of("a.npy")], &["--weights", &of("./a.npy")]),
        (&["convert", &points, &of("d/../points.csv")], &[]),
        (&["linkage", &points, "--out", "-"], &["--json", "-"]),
        (&["tree", &points, "--out", &of("a.dot")], &["--json", &of("d/../a.dot")]),
        (&["raycast", &points, "--out", &of("a.png")], &["--json", &of("d/../a.png")]),
    ];
    let before = scratch.names("");
    for (command, options) in cases {
        let line = run([command, options].concat()).error();
        assert!(
            line.contains("two outputs")
                || line.contains("would replace the input")
                || line.contains("can go to standard output"),
            "{options:?}: {line}"
        );
        assert_eq!(scratch.names(""), before, "{options:?}");
        assert!(scratch.names("d").is_empty(), "{options:?}");
    }
    // The summary of the folder may be named with --json. It is one file.
    run([&halos[..], &["--json", &of("out/summary.json")]].concat()).success();
    let summary = fs::read_to_string(scratch.path("out/summary.json")).unwrap();
    let size = fs::metadata(scratch.path("out/labels.npy")).unwrap().len();
    assert!(summary.contains("\"complete\": true") && summary.contains(&format!("\"bytes\": {size}")), "{summary}");
    #[cfg(unix)]
    {
        fs::hard_link(&file, scratch.path("hard.csv")).unwrap();
        std::os::unix::fs::symlink("points.csv", scratch.path("soft.csv")).unwrap();
        for name in ["hard.csv", "soft.csv"] {
            let line = run([&knn[..5], &[of(name).as_str()]].concat()).error();
            assert!(line.contains("would replace the input"), "{line}");
        }
    }
    // An output of one snapshot cannot be another snapshot of the series.
    fs::create_dir(scratch.path("s")).unwrap();
    fs::copy(&file, scratch.path("s.csv")).unwrap();
    fs::copy(scratch.path("out/labels.npy"), scratch.path("s/labels.npy")).unwrap();
    let line = run(["halos", &of("s.csv"), &of("s/labels.npy"), "--out", &of("")]).error();
    assert!(line.contains("labels.npy: the output would replace the input"), "{line}");
}

/// A reader that ends early is not an error, and other outputs are complete.
#[cfg(unix)]
#[test]
fn a_reader_that_ends() {
    use std::process::Stdio;

    let scratch = Scratch::new();
    let distances = scratch.path("d.npy");
    let sample = scratch.path("sample.npy").display().to_string();
    run(["sample", "uniform:n=20000", "--out", &sample]).success();
    let program = env!("CARGO_BIN_EXE_ropewalk");
    let cases = [
        format!("{program} knn {sample} --k 1 --out - --distances {}", distances.display()),
        format!("{program} convert {sample} - --format csv"),
        format!("{program} sample uniform:n=1e5 --format csv --out -"),
        format!("{program} sample uniform:n=1e5 --format gadget --out -"),
        format!("{program} dbscan {sample} --eps 0.1 --min-pts 5 --out -"),
        format!("{program} bench --sample uniform:n=1e3 --ops build --reps 1"),
        format!("{program} info {sample}"),
    ];
    for command in cases {
        let output = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {command} | head -c 5 >/dev/null")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !said.contains("rror"), "{command}: {} {said}", output.status);
    }
    assert_eq!(NpyFile::new(&fs::read(distances).unwrap()[..]).unwrap().shape(), [20_000, 1]);
}

/// Results that are damaged, copied, or of other options.
#[test]
fn finished_runs_of_a_series() {
    let scratch = Scratch::new();
    let files = ["100", "200"];
    files.iter().for_each(|name| _ = scratch.write(name, "x,y,z\n1,0,0\n1,0,0.5\n9,9,9\n"));
    let out = scratch.path("out");
    let finished = |out: &Path, options: &[&str]| {
        let out = out.display().to_string();
        let always = ["--out", &out, "--eps", "1", "--min-members", "2", "--no-pictures"];
        let output = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .current_dir(scratch.path(""))
            .arg("halos")
            .args(files)
            .args(always)
            .args(options)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().filter(|line| line.contains("already finished")).count()
    };
    assert_eq!(finished(&out, &["--box", "100"]), 0);
    assert_eq!(finished(&out, &["--box", "100"]), 2);
    assert_eq!(finished(&out, &["--box", "1e2", "--threads", "1"]), 2);
    // A value of an option that is also the name of a file.
    assert_eq!(finished(&out, &["--box", "200"]), 0);
    assert_eq!(finished(&out, &["--box", "200"]), 2);
    // A copied folder, and files in it that are empty, longer or missing.
    let copied = Command::new("cp").arg("-r").arg(&out).arg(scratch.path("copy")).status().unwrap();
    assert!(copied.success());
    fs::remove_file(out.join("100/labels.npy")).unwrap();
    assert_eq!(finished(&scratch.path("copy"), &["--box", "200"]), 2);
    fs::write(scratch.path("copy/100/labels.npy"), "").unwrap();
    assert_eq!(finished(&scratch.path("copy"), &["--box", "200"]), 1);
    fs::remove_file(scratch.path("copy/200/labels.npy")).unwrap();
    let mut catalog = fs::read(scratch.path("copy/100/halos.ecsv")).unwrap();
    catalog.push(b'\n');
    fs::write(scratch.path("copy/100/halos.ecsv"), catalog).unwrap();
    assert_eq!(finished(&scratch.path("copy"), &["--box", "200"]), 0);
}
