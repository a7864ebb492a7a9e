//! Small inputs with known answers, and the printed reports.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::data::root;
use crate::program::{Scratch, halos, run, sample};

const ALL: [&str; 6] =
    ["halos.ecsv", "labels.npy", "mass_function.ecsv", "mass_function.svg", "projection.png", "summary.json"];

/// Returns the lines of the catalogue without comments.
fn catalog(scratch: &Scratch) -> Vec<String> {
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(String::from).collect()
}

#[test]
fn the_sample() {
    let scratch = Scratch::new();
    let printed = halos(&sample(), &scratch.path("out"), &[]).success();
    assert_eq!(scratch.names("out"), ALL);
    for line in [
        "particles       262,144",
        "box             32, periodic",
        "linking length  0.1 (0.2 mean separations)",
        "halos           694 of 20 or more",
        "largest         9,964 particles, mass 10715.8",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line:?} is not in {printed}");
    }
    assert!(["read", "find halos", "catalogue", "pictures", "total"].iter().all(|phase| printed.contains(phase)));

    let png = fs::read(scratch.path("out/projection.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xaeB`\x82"));
    let svg = fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("694 halos of 20 or more particles"));
    let csv = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    assert!(csv.starts_with("# %ECSV 1.0\n") && csv.contains("unit: Mpc / littleh") && csv.contains("redshift: 0"));

    // A second run replaces the files with the same bytes for any number of threads.
    halos(&sample(), &scratch.path("out"), &["--threads", "1"]).success();
    assert_eq!(scratch.names("out"), ALL);
    assert_eq!(fs::read(scratch.path("out/projection.png")).unwrap(), png);
    assert_eq!(fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap(), csv);
}

#[test]
fn a_table_open_and_in_a_box() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y,z\n0.25,1,1\n9.75,1,1\n5,5,5\n5,5,5.5\n5,5,6\n");
    let options = ["--eps", "0.5", "--min-members", "2"];

    let printed = halos(&points, &scratch.path("out"), &options).success();
    assert!(printed.contains("box             open"), "{printed}");
    let names = "fof_halo_tag,fof_halo_label,fof_halo_count,fof_halo_mass,fof_halo_mean_x,fof_halo_mean_y,fof_halo_mean_z,\
                 fof_halo_rms_radius,fof_halo_max_radius";
    assert_eq!(catalog(&scratch), [names, "2,0,3,3,5,5,5.5,0.40824829,0.5"]);

    halos(&points, &scratch.path("out"), &[&options[..], &["--box", "10"]].concat()).success();
    assert_eq!(catalog(&scratch), [names, "2,0,3,3,5,5,5.5,0.40824829,0.5", "0,1,2,2,0,1,1,0.25,0.25"]);
}

#[test]
fn little_or_nothing() {
    let scratch = Scratch::new();
    let same = "1,1,1\n".repeat(30);
    for (text, n) in [("1,2,3\n", 0), ("1,2,3\n4,5,6\n", 0), (same.as_str(), 1), ("1e30,0,0\n-1e30,1e-30,5\n", 0)] {
        let points = scratch.write("points.csv", text);
        halos(&points, &scratch.path("out"), &["--eps", "0"]).success();
        assert_eq!(scratch.names("out"), ALL);
        assert_eq!(catalog(&scratch).len(), 1 + n, "{text}");
        let svg = fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap();
        assert_eq!(svg.contains("no halos"), n == 0);
    }
}

#[test]
fn info() {
    let printed = run(["info".as_ref(), sample().as_os_str()]).success();
    for part in [
        "Gadget-2",
        "  type 1        262,144 (halo), mass 1.07545",
        "POS: 3 x f32, read as positions",
        "Omega_m 0.31",
        "units           lengths in comoving Mpc/h",
        "memory          8.4 MB for all particles, 16.8 MB to find the halos of type 1",
    ] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    let printed = run(["info".as_ref(), sample().as_os_str(), "--ranges".as_ref()]).success();
    for part in ["ids             1 to 262144", "32-bit floats", "all 1.07545"] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    let labels = root().join("tests/data/README.md");
    run(["info".as_ref(), labels.as_os_str()]).error();
}

#[test]
fn info_of_several_snapshots() {
    let stored = |name: &str| root().join("tests/data/snapshots").join(name);
    let [first, second, other] = ["tng.0.hdf5", "tng.1.hdf5", "gizmo.hdf5"].map(stored);
    let printed = run(["info".as_ref(), first.as_os_str(), second.as_os_str(), other.as_os_str()]).success();
    // Two files of one snapshot are shown once.
    assert_eq!((printed.matches("snapshot  ").count(), printed.matches("format  ").count()), (2, 2), "{printed}");
    assert!(printed.contains("files           3,") && printed.contains("written by GIZMO"), "{printed}");
    let table = stored("table_points.hdf5");
    let printed = run(["info".as_ref(), table.as_os_str()]).success();
    assert!(printed.contains("a: 3 x f64") && printed.contains("several groups of columns"), "{printed}");
}

#[test]
fn one_file_of_a_snapshot() {
    let scratch = Scratch::new();
    let part = scratch.path("snap.1.hdf5");
    fs::copy(root().join("tests/data/snapshots/tng.1.hdf5"), &part).unwrap();
    let out = scratch.path("part.npy");
    let convert = |options: &[&str]| {
        let paths = ["convert", part.to_str().unwrap(), out.to_str().unwrap()];
        run(paths.into_iter().chain(options.iter().copied()))
    };
    assert!(convert(&[]).error().contains("--single-part"));
    let report = convert(&["--single-part"]).success();
    assert!(report.contains("is one of 3 files of a snapshot"), "{report}");
    let halos = |options: &[&str]| {
        let folder = scratch.path("halos");
        let fixed =
            ["halos", part.to_str().unwrap(), "--out", folder.to_str().unwrap(), "--single-part", "--no-pictures"];
        run(fixed.into_iter().chain(options.iter().copied()))
    };
    assert!(halos(&[]).error().contains("give the linking length with --eps"));
    halos(&["--eps", "5", "--min-members", "2"]).success();
}

#[test]
fn help_and_version() {
    let help = run(["--help"]).success();
    assert!(help.contains("Usage") && help.contains("\nClusters:\n  dbscan "), "{help}");
    // Without arguments the short help is an error.
    let bare = run([""; 0]);
    assert_eq!((bare.status, bare.stderr.as_str()), (2, run(["-h"]).success().as_str()));
    assert!(run(["halos", "--help"]).success().contains("mean separations"));
    let version = run(["--version"]).success();
    assert_eq!(version.lines().next(), Some(concat!("ropewalk ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_reader_that_goes_away() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
        .arg("info")
        .arg(sample())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn bench_prints_notes_on_its_file() {
    let scratch = Scratch::new();
    let file = scratch.write("named.csv", "x,y,name\n0.5,0,a\n1,1,b\n10.25,2,c\n").display().to_string();
    let options = ["--periodic", "10", "--eps", "1", "--reps", "1", "--ops", "build"];
    let printed = run([&["bench", &file][..], &options].concat()).success();
    let notes: Vec<&str> = printed.lines().take_while(|line| line.starts_with("note: ")).collect();
    assert!(notes.len() == 2 && notes[0].contains("name"), "{printed}");
    assert_eq!(notes[1], "note: wrapped: 1 point outside of the box from 0 to 10");
}

#[test]
fn times_of_each_number_of_threads() {
    let scratch = Scratch::new();
    let figures = scratch.path("figures.json").display().to_string();
    let options = ["--sample", "uniform:n=3e3,seed=1", "--threads", "3", "--reps", "1", "--ops", "build,fof"];
    let printed = run([&["bench", "--scaling", "--json", &figures][..], &options].concat()).success();
    let words = |name: &str| printed.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().count();
    assert!(printed.contains("seconds                    1         2         3      gain\n"), "{printed}");
    // A name, three times and the gain; the name of copying has a unit, too.
    assert_eq!((words("build "), words("fof "), words("copying")), (5, 5, 6), "{printed}");
    let text = fs::read_to_string(&figures).unwrap();
    for threads in 1..=3 {
        assert_eq!(text.matches(&format!("\"threads\": {threads},")).count(), 2, "{text}");
    }
}
