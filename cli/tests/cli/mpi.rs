//! The program as several processes of MPI: what they write together, and how they end.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::mpirun::mpirun;
use crate::program::{Scratch, halos, run, sample};

/// What `mpirun -n RANKS ropewalk ARGUMENTS` leaves, within 60 seconds.
fn many(ranks: usize, arguments: &[&str]) -> Output {
    mpirun(ranks, 60).arg(env!("CARGO_BIN_EXE_ropewalk")).args(arguments).output().unwrap()
}

fn succeeds(ranks: usize, arguments: &[&str]) -> String {
    let output = many(ranks, arguments);
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success() && err.is_empty(), "{ranks} ranks: {}, {err}", output.status);
    out
}

/// The first line of the error.
fn fails(ranks: usize, arguments: &[&str]) -> String {
    let output = many(ranks, arguments);
    assert!(!output.status.success() && output.status.code() != Some(124), "{}", output.status);
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap().lines().next().unwrap().into()
}

fn are_equal(a: &Path, b: &Path, names: &[&str]) {
    for name in names {
        assert!(fs::read(a.join(name)).unwrap() == fs::read(b.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn files_are_those_of_one_process() {
    let scratch = Scratch::new();
    let one = scratch.path("one");
    let options = ["--center", "mbp,mcp", "--so", "200c,vir", "--profiles", "5", "--catalog", "halos.ecsv,halos.hdf5"];
    let report = halos(&sample(), &one, &options).success();
    let sample = sample().display().to_string();
    for ranks in [1, 2, 3, 4, 7, 16] {
        let many = scratch.path(&ranks.to_string());
        let out = many.display().to_string();
        let printed = succeeds(ranks, &[&["halos", &sample, "--out", &out][..], &options, &["--mpi"]].concat());
        assert!(printed.contains(&format!("ranks           {ranks}\n")), "{printed}");
        // All that one process says before it tells its times.
        let lines = || report.lines().take_while(|line| !line.is_empty());
        let is_told = |line: &str| printed.contains(&format!("{line}\n"));
        assert!(lines().count() >= 8 && lines().all(is_told), "{report}{printed}");
        let tables = ["halos.ecsv", "halos.hdf5", "labels.npy", "mass_function.ecsv"];
        let names = [&tables[..], &["mass_function.svg", "profiles.ecsv", "profiles.svg"]].concat();
        assert_eq!(scratch.names(&ranks.to_string()), names);
        are_equal(&one, &many, &names);
    }
}

#[test]
fn halos_by_hop_are_those_of_one_process() {
    let scratch = Scratch::new();
    let (one, many) = (scratch.path("one"), scratch.path("many"));
    let options = ["--finder", "hop", "--density", "--no-pictures"];
    halos(&sample(), &one, &options).success();
    let (sample, out) = (sample().display().to_string(), many.display().to_string());
    let printed = succeeds(4, &[&["halos", &sample, "--out", &out, "--mpi"][..], &options].concat());
    assert!(printed.contains("finder          HOP\n"), "{printed}");
    assert_eq!(scratch.names("one"), scratch.names("many"));
    are_equal(&one, &many, &["labels.npy", "density.npy"]);
    let catalog = scratch.names("one").into_iter().find(|name| name.starts_with("halos.")).unwrap();
    are_equal(&one, &many, &[catalog.as_str()]);
}

#[test]
fn labels_are_those_of_one_process() {
    let scratch = Scratch::new();
    let file = sample().display().to_string();
    let labels = |name: &str| scratch.path(name).display().to_string();
    let options = ["dbscan", &file, "--eps", "0.1", "--min-pts", "5", "--periodic", "32", "--out"];
    run([&options[..], &[&labels("one.npy")]].concat()).success();
    for ranks in [2, 5] {
        let printed = succeeds(ranks, &[&options[..], &[&labels("many.npy"), "--mpi"]].concat());
        assert!(printed.contains("clusters        3,184\n"), "{printed}");
        assert!(fs::read(labels("one.npy")).unwrap() == fs::read(labels("many.npy")).unwrap());
    }
}

/// One sentence, and nothing is left.
#[test]
fn errors_end_all_ranks() {
    let scratch = Scratch::new();
    let out = scratch.path("out").display().to_string();
    let sample = sample().display().to_string();
    let error = fails(3, &["halos", "/nowhere.gadget2", "--out", &out, "--mpi"]);
    assert!(error.starts_with("rank 0: /nowhere.gadget2: cannot be opened"), "{error}");
    let error = fails(2, &["halos", &sample, "--out", &out, "--linking-length", "200", "--mpi"]);
    assert!(error.starts_with("rank 0: ") && error.contains("linking_length"), "{error}");
    let error = fails(2, &["halos", &sample, "--out", &out, "--gallery", "3", "--mpi"]);
    assert_eq!(error, "rank 0: --gallery: not with --mpi; run one process without it");
    let error = fails(2, &["halos", &sample, "--out", &out, "--device", "cuda:1,0", "--mpi"]);
    let sentence = "with --mpi the ranks of one host take its devices in turn; name the first one, as cuda:1";
    assert_eq!(error, format!("rank 0: --device cuda:1,0: {sentence}"));
    // What only one rank finds ends the others, too.
    let below = Path::new(&sample).join("out").display().to_string();
    let error = fails(3, &["halos", &sample, "--out", &below, "--mpi"]);
    assert!(error.contains("the output directory cannot be made"), "{error}");
    assert_eq!(scratch.names("."), [""; 0]);
}
