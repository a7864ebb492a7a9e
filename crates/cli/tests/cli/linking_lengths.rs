//! `ropewalk halos --linking-lengths`: each folder has the files of a run with its linking length.

use std::fs;

use crate::program::{Scratch, halos, sample};

/// Options for all files, so that all of them are compared.
const OPTIONS: [&str; 10] =
    ["--center", "mbp,mcp", "--so", "200c", "--members", "--profiles", "2", "--gallery", "2", "--min-members=50"];
const FILES: [&str; 9] = [
    "gallery.png",
    "halos.ecsv",
    "labels.npy",
    "mass_function.ecsv",
    "mass_function.svg",
    "members.npz",
    "profiles.ecsv",
    "profiles.svg",
    "projection.png",
];

#[test]
fn the_same_files_as_of_single_runs() {
    let scratch = Scratch::new();
    let many = [&OPTIONS[..], &["--linking-lengths", "0.1,0.168,0.20"]].concat();
    let printed = halos(&sample(), &scratch.path("many"), &many).success();
    assert_eq!(scratch.names("many"), ["b0.1", "b0.168", "b0.2"]);
    for (folder, length) in [("b0.1", "0.1"), ("b0.168", "0.168"), ("b0.2", "0.2")] {
        let one = [&OPTIONS[..], &["--linking-length", length]].concat();
        let report = halos(&sample(), &scratch.path(folder), &one).success();
        let names = [&FILES[..], &["summary.json"]].concat();
        assert_eq!(scratch.names(folder), names);
        assert_eq!(scratch.names(&format!("many/{folder}")), names);
        for file in FILES {
            let [ours, theirs] = [format!("many/{folder}"), folder.into()]
                .map(|folder: String| fs::read(scratch.path(&folder).join(file)).unwrap());
            assert!(ours == theirs, "{folder}/{file}");
        }
        for line in report.lines().take_while(|line| !line.is_empty()) {
            assert!(printed.lines().any(|other| other == line), "{line:?} is not in {printed}");
        }
    }
    assert!(printed.contains("\nspanning tree") && printed.contains("b0.168, "), "{printed}");

    // Files of an earlier run in one of the folders that this run does not write are removed.
    let few = ["--linking-lengths", "0.2", "--no-pictures"];
    let printed = halos(&sample(), &scratch.path("many"), &few).success();
    let gone = "removed: members.npz, profiles.ecsv, mass_function.ecsv, mass_function.svg, projection.png, profiles.svg, gallery.png, of an earlier run";
    assert!(printed.contains(gone), "{printed}");
    assert_eq!(scratch.names("many/b0.2"), ["halos.ecsv", "labels.npy", "summary.json"]);
    assert_eq!(scratch.names("many/b0.1"), [&FILES[..], &["summary.json"]].concat());
}

/// The report lists results of earlier runs that are kept: of other linking lengths, and of a run without linking
/// lengths.
#[test]
fn results_of_earlier_runs() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y,z\n0,0,0\n1,1,1\n5,5,5\n5,5,5.5\n8,8,6\n");
    let out = scratch.path("out");
    let run = |options: &[&str]| {
        let printed = halos(&points, &out, &[&["--min-members", "2", "--no-pictures"], options].concat()).success();
        printed.lines().find(|line| line.starts_with("kept: ")).map(String::from)
    };
    let kept = |folders: &[&str]| {
        let of = |folder: &&str| {
            format!(
                "{} and the files that it lists (of an earlier run)",
                out.join(folder).join("summary.json").display()
            )
        };
        Some(format!("kept: {}", folders.iter().map(of).collect::<Vec<_>>().join(", ")))
    };
    assert_eq!(run(&["--linking-lengths", "0.15,0.2"]), None);
    // Folders of the user are not results.
    fs::create_dir(out.join("b1")).unwrap();
    fs::write(out.join("b1/summary.json"), "{}").unwrap();
    assert_eq!(run(&["--linking-lengths", "0.1"]), kept(&["b0.15", "b0.2"]));
    assert_eq!(run(&[]), kept(&["b0.1", "b0.15", "b0.2"]));
    assert_eq!(run(&["--linking-lengths", "0.1,0.15"]), kept(&["", "b0.2"]));
}

#[test]
fn a_table_in_open_space() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y,z\n0,0,0\n1,1,1\n5,5,5\n5,5,5.5\n8,8,6\n");
    let options = ["--min-members", "2", "--no-pictures"];
    halos(&points, &scratch.path("many"), &[&options[..], &["--linking-lengths", "0.1,1"]].concat()).success();
    for length in ["0.1", "1"] {
        halos(&points, &scratch.path("one"), &[&options[..], &["--linking-length", length]].concat()).success();
        for file in ["halos.ecsv", "labels.npy"] {
            let ours = fs::read(scratch.path(&format!("many/b{length}")).join(file)).unwrap();
            assert!(ours == fs::read(scratch.path("one").join(file)).unwrap(), "{length} {file}");
        }
    }
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    for (lengths, said) in [
        ("0.1,-0.2", "--linking-lengths is -0.2; it must be finite and not negative"),
        ("NaN", "--linking-lengths is NaN"),
        ("0.2,0.1,0.20", "--linking-lengths: 0.2 is given twice"),
        // The first length is valid, but nothing is written.
        ("0.2,40", "at least twice linking_length = 20"),
    ] {
        let line = halos(&sample(), &scratch.path("out/deep"), &["--linking-lengths", lengths]).error();
        assert!(line.contains(said), "{line}");
    }
    let flat = scratch.write("flat.csv", "0,0,0\n1,1,0\n");
    let line = halos(&flat, &scratch.path("out"), &["--linking-lengths", "0.2"]).error();
    assert!(line.contains("volume"), "{line}");
    for options in [["--eps", "1"], ["--linking-length", "0.2"], ["--linking-lengths", "x"]] {
        let both = [&["--linking-lengths", "0.2"], &options[..]].concat();
        let output = halos(&sample(), &scratch.path("out"), &both);
        assert_eq!(output.status, 2, "{options:?}");
        output.line();
    }
    assert_eq!(scratch.names(""), ["flat.csv"]);
}
