//! The program as several processes of MPI: shared files, and errors.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::Output;

use npyz::NpyFile;
use zip::ZipArchive;

use crate::data::root;
use crate::mpirun::mpirun;
use crate::program::{Scratch, halos, run, sample, without_progress};

/// The numbers of ranks to run with, up to `most`: 1, 2 and 3, or those of the variable `ROPEWALK_RANKS`.
fn numbers_of_ranks(most: usize) -> Vec<usize> {
    let list = std::env::var("ROPEWALK_RANKS").unwrap_or_else(|_| "1,2,3".into());
    list.split(',').map(|ranks| ranks.parse().unwrap()).filter(|&ranks| ranks <= most).collect()
}

/// Runs `mpirun -n RANKS ropewalk ARGUMENTS` for at most `seconds`.
fn many(ranks: usize, seconds: u32, arguments: &[&str]) -> Output {
    mpirun(ranks, seconds).arg(env!("CARGO_BIN_EXE_ropewalk")).args(arguments).output().unwrap()
}

/// Asserts success and returns standard output. The limit is minutes, for builds without optimizations and tests in
/// parallel.
fn succeeds(ranks: usize, arguments: &[&str]) -> String {
    let output = many(ranks, 300, arguments);
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let err = without_progress(&err);
    assert!(output.status.success() && err.is_empty(), "{ranks} ranks: {}, {err}", output.status);
    out
}

/// Asserts that all ranks end soon, and returns the first line of the error.
fn fails(ranks: usize, arguments: &[&str]) -> String {
    let output = many(ranks, 60, arguments);
    assert!(!output.status.success() && output.status.code() != Some(124), "{}", output.status);
    assert!(output.stdout.is_empty());
    // Messages of MPI about other ranks may come first.
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().find(|line| line.starts_with("rank ")).unwrap_or_else(|| panic!("no rank says why: {said}")).into()
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
    let measured = ["--center", "mbp,mcp", "--so", "200c,vir", "--profiles", "5", "--members"];
    let options = [&measured[..], &["--catalog", "halos.ecsv,halos.hdf5", "--dpi", "30"]].concat();
    let report = halos(&sample(), &one, &options).success();
    let sample = sample().display().to_string();
    for ranks in numbers_of_ranks(16) {
        let many = scratch.path(&ranks.to_string());
        let out = many.display().to_string();
        let printed = succeeds(ranks, &[&["halos", &sample, "--out", &out][..], &options, &["--mpi"]].concat());
        assert!(printed.contains(&format!("ranks           {ranks}\n")), "{printed}");
        // All lines of one process before its times.
        let lines = || report.lines().take_while(|line| !line.is_empty());
        let is_told = |line: &str| printed.contains(&format!("{line}\n"));
        assert!(lines().count() >= 8 && lines().all(is_told), "{report}{printed}");
        let tables = ["halos.ecsv", "halos.hdf5", "labels.npy", "mass_function.ecsv"];
        let more = ["mass_function.svg", "members.npz", "profiles.ecsv", "profiles.svg", "projection.png"];
        let names = [&tables[..], &more].concat();
        let all = [&names[..], &["summary.json"]].concat();
        assert_eq!(scratch.names("one"), all);
        assert_eq!(scratch.names(&ranks.to_string()), all);
        are_equal(&one, &many, &names);
    }
}

/// Particles without ids are named by their index among those of all ranks. Some ranks have no particles or no halos.
#[test]
fn members_are_those_of_one_process() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y,z\n0.25,1,1\n5,5,5\n9.75,1,1\n5,5,5.5\n5,5,6\n");
    let options = ["--eps", "0.5", "--min-members", "2", "--box", "10", "--members", "--catalog", "halos.hdf5"];
    let out = |name: &str| scratch.path(name).display().to_string();
    halos(&points, &scratch.path("one"), &options).success();
    let mut archive = ZipArchive::new(fs::File::open(scratch.path("one/members.npz")).unwrap()).unwrap();
    let mut array = |name: &str| -> Vec<u64> {
        NpyFile::new(BufReader::new(archive.by_name(name).unwrap())).unwrap().into_vec().unwrap()
    };
    assert_eq!((array("offsets.npy"), array("ids.npy")), (vec![0, 3, 5], vec![1, 3, 4, 0, 2]));
    let file = points.display().to_string();
    for ranks in numbers_of_ranks(7) {
        succeeds(ranks, &[&["halos", &file, "--out", &out(&ranks.to_string()), "--mpi"][..], &options].concat());
        are_equal(&scratch.path("one"), &scratch.path(&ranks.to_string()), &["members.npz", "halos.hdf5"]);
    }
}

/// Particles of different masses, in open space and in a slab across the boundary of a periodic box, in each format.
#[test]
fn projections_are_those_of_one_process() {
    let scratch = Scratch::new();
    let mut text = String::from("x,y,z,mass\n");
    for i in 0..3000u32 {
        let [x, y, z] = [i, i.wrapping_mul(2_654_435_761), i.wrapping_mul(40_503)].map(|x| f64::from(x % 997) * 0.01);
        // A clump, and masses of many magnitudes.
        let by = if i % 3 == 0 { 0.1 } else { 1.0 };
        let mass = 0.1 * f64::from(i % 7 + 1) * 10f64.powi(i as i32 % 9 - 4);
        text += &format!("{},{},{},{mass}\n", by * x - 3.0, by * y, by * z);
    }
    let points = scratch.write("points.csv", text);
    let runs: [(&Path, &[&str], &str); 4] = [
        (&points, &["--eps", "0.1", "--dpi", "40"], "projection.png"),
        (&points, &["--eps", "0.1", "--slab", "x:-2..4.5", "--format", "pdf", "--dpi", "40"], "projection.pdf"),
        (&sample(), &["--slab", "y:30..35", "--dpi", "40"], "projection.png"),
        (&sample(), &["--open", "--eps", "0.1", "--format", "svg", "--dpi", "40"], "projection.svg"),
    ];
    for (at, (file, options, name)) in runs.into_iter().enumerate() {
        let out = |ranks: usize| format!("{at}-{ranks}");
        halos(file, &scratch.path(&out(0)), options).success();
        for ranks in numbers_of_ranks(7) {
            let [file, out] = [file, &scratch.path(&out(ranks))].map(|path| path.display().to_string());
            succeeds(ranks, &[&["halos", &file, "--out", &out, "--mpi"][..], options].concat());
            are_equal(&scratch.path(&format!("{at}-0")), Path::new(&out), &[name]);
        }
    }
    // A slab may have particles of some ranks only. A slab without any particles is refused.
    let (file, out) = (points.display().to_string(), scratch.path("none").display().to_string());
    let error = fails(3, &["halos", &file, "--out", &out, "--eps", "0.1", "--mpi", "--slab", "x:8..9"]);
    assert_eq!(error, "rank 0: --slab x:8..9: the particles are from -3 to 6.96 along x");
}

#[test]
#[ignore = "wide"]
fn wide_halos_by_hop_are_those_of_one_process() {
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

/// Gas, stars and a black hole beside dark matter. Stars have no ids, and only one rank has the black hole.
#[test]
fn types_are_those_of_one_process() {
    let scratch = Scratch::new();
    let snapshot = root().join("tests/data/snapshots/types_ids.hdf5");
    let file = snapshot.display().to_string();
    let runs: [&[&str]; 5] = [
        &[],
        &["--attach", "0,5"],
        &["--attach", "4"],
        &["--attach", "none"],
        &["--type", "1,4", "--profiles", "3", "--center", "mbp,mcp"],
    ];
    for (at, options) in runs.into_iter().enumerate() {
        let own = ["--eps", "0.8", "--min-members", "3", "--so", "200c", "--members", "--no-pictures"];
        let own = [&own[..], options].concat();
        let one = scratch.path(&format!("{at}-one"));
        let report = halos(&snapshot, &one, &own).success();
        let names = scratch.names(&format!("{at}-one"));
        assert!(names.contains(&"labels_type4.npy".into()) == (at != 1 && at != 3), "{names:?}");
        for ranks in numbers_of_ranks(7) {
            let out = format!("{at}-{ranks}");
            let path = scratch.path(&out).display().to_string();
            let printed = succeeds(ranks, &[&["halos", &file, "--out", &path, "--mpi"][..], &own].concat());
            let lines = report.lines().take_while(|line| !line.is_empty());
            let missing = lines.filter(|line| !printed.contains(&format!("{line}\n")));
            assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{options:?}, {ranks} ranks: {printed}");
            assert_eq!(scratch.names(&out), names);
            let names = names.iter().map(String::as_str).filter(|name| *name != "summary.json");
            are_equal(&one, Path::new(&path), &names.collect::<Vec<_>>());
        }
    }
}

/// Points that fit the box on each rank, but not together.
#[test]
fn points_wider_than_their_box_are_refused() {
    let scratch = Scratch::new();
    let text = (0..400).map(|i| format!("{},1,1\n", f64::from(i) / 100.0)).collect::<String>();
    let file = scratch.write("points.csv", format!("x,y,z\n{text}")).display().to_string();
    let options = ["dbscan", &file, "--eps", "0.1", "--min-pts", "2", "--mpi", "--periodic"];
    for ranks in [1, 4] {
        let error = fails(ranks, &[&options[..], &["1.5"]].concat());
        assert!(error.contains("the periodic box is 1.5, but along axis 0 the points run from 0 to 3.99"), "{error}");
        let printed = succeeds(ranks, &[&options[..], &["4"]].concat());
        assert!(!printed.contains("wrapped"), "{printed}");
    }
    let text = (0..400).map(|i| format!("{},1,1\n", f64::from(i) / 100.0 - 2.0)).collect::<String>();
    let file = scratch.write("points.csv", format!("x,y,z\n{text}")).display().to_string();
    let options = ["dbscan", &file, "--eps", "0.1", "--min-pts", "2", "--mpi", "--periodic", "4"];
    let printed = succeeds(4, &options);
    assert!(printed.contains("wrapped         200 points outside of the box from 0 to 4\n"), "{printed}");
}

#[test]
fn labels_are_those_of_one_process() {
    let scratch = Scratch::new();
    let file = sample().display().to_string();
    let labels = |name: &str| scratch.path(name).display().to_string();
    let options = ["dbscan", &file, "--eps", "0.1", "--min-pts", "5", "--periodic", "32", "--out"];
    run([&options[..], &[&labels("one.npy")]].concat()).success();
    for ranks in numbers_of_ranks(7).into_iter().filter(|&ranks| ranks > 1) {
        let printed = succeeds(ranks, &[&options[..], &[&labels("many.npy"), "--mpi"]].concat());
        assert!(printed.contains("clusters        3,184\n"), "{printed}");
        assert!(fs::read(labels("one.npy")).unwrap() == fs::read(labels("many.npy")).unwrap());
    }
}

/// Rank 0 exceeds its file size limit with members, after the shorter labels are written. No file is left.
#[test]
fn members_that_cannot_be_written_end_all_ranks() {
    let scratch = Scratch::new();
    let (sample, out) = (sample().display().to_string(), scratch.path("out").display().to_string());
    let options = ["--mpi", "--members", "--min-members", "2", "--catalog", "halos.csv", "--no-pictures"];
    let output = mpirun(2, 60)
        // The shared memory of Open MPI is a file, to which the limit applies, too.
        .env("OMPI_MCA_btl", "self,tcp")
        .args(["bash", "-c", "trap '' XFSZ; ulimit -f 1250; exec \"$@\"", "bash", env!("CARGO_BIN_EXE_ropewalk")])
        .args(["halos", &sample, "--out", &out, "--columns", "fof_halo_tag"])
        .args(options)
        .output()
        .unwrap();
    let said = without_progress(&String::from_utf8(output.stderr).unwrap());
    let line = said.lines().next().unwrap();
    assert!(line.starts_with("rank 0: ") && line.contains("members.npz: cannot be written"), "{said}");
    assert!(!output.status.success() && output.status.code() != Some(124) && output.stdout.is_empty());
    assert_eq!(scratch.names("."), [""; 0]);
}

/// The error is one sentence, and no files are left.
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
    let error = fails(2, &["halos", &sample, "--out", &out, "--mpi", "--report"]);
    assert_eq!(error, "rank 0: --report: not with --mpi; run one process without it");
    let error = fails(2, &["halos", &sample, "--out", &out, "--device", "cuda:1,0", "--mpi"]);
    let sentence = "with --mpi the ranks of one host take its devices in turn; give the first one only, as cuda:1";
    assert_eq!(error, format!("rank 0: --device cuda:1,0: {sentence}"));
    // An error on one rank ends the other ranks.
    let below = Path::new(&sample).join("out").display().to_string();
    let error = fails(3, &["halos", &sample, "--out", &below, "--mpi"]);
    assert!(error.contains("cannot create the output directory"), "{error}");
    // The error has the row of the file, which the second rank reads.
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 2), }").as_bytes());
    file.extend((0..12).flat_map(|i| if i == 9 { f64::NAN } else { f64::from(i) }.to_le_bytes()));
    let holes = scratch.write("holes.npy", file).display().to_string();
    for command in [&["dbscan", &holes, "--min-pts", "2"][..], &["bench", &holes]] {
        let error = fails(2, &[command, &["--eps", "1", "--mpi"]].concat());
        assert_eq!(error, format!("rank 1: {holes}: point 4: coordinate 1 is NaN; coordinates must be finite"));
    }
    fs::remove_file(&holes).unwrap();
    assert_eq!(scratch.names("."), [""; 0]);
}

/// Ranks that read another file of the same name, or have other options.
#[test]
fn ranks_agree_on_what_they_read() {
    let scratch = Scratch::new();
    let text = "x,y,z\n".to_string() + &"1,1,1\n".repeat(40);
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let write = |name: &str, text: &str| {
        let path = scratch.write(name, text);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    for rank in ["0", "1"] {
        fs::create_dir(scratch.path(rank)).unwrap();
        write(&format!("{rank}/same.csv"), &text);
    }
    write("0/longer.csv", &text);
    write("1/longer.csv", &(text.clone() + "1,1,2\n"));
    write("0/other.csv", &text);
    write("1/other.csv", &text.replacen('1', "2", 1));
    write("0/one.csv", &text);
    write("0/old.csv", &text);
    scratch.write("1/old.csv", &text);
    let out = scratch.path("out").display().to_string();
    let run = |arguments: &[&str]| {
        // Each rank runs in a folder of its own, and RANK in arguments is replaced by its number.
        let script = "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; cd \"$0/$rank\"; exec \"${@//RANK/$rank}\"";
        let mut command = mpirun(2, 60);
        command.args(["bash", "-c", script]).arg(scratch.path("")).arg(env!("CARGO_BIN_EXE_ropewalk"));
        let output = command.args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let commands: [(&str, &[&str]); 2] = [
        ("halos", &["--eps", "1", "--out", &out, "--no-pictures", "--mpi"]),
        ("dbscan", &["--eps", "1", "--min-pts", "2", "--mpi"]),
    ];
    for (command, options) in commands {
        assert_eq!(run(&[&[command, "same.csv"], options].concat()), (true, String::new()));
        for (file, said) in [
            (
                "longer.csv",
                "longer.csv has 246 bytes on rank 0 and 252 bytes on rank 1; all ranks must read the same files",
            ),
            ("other.csv", "other.csv has contents with the checksum "),
            ("one.csv", "one.csv is missing on rank 1, but not on rank 0;"),
            ("old.csv", "old.csv was modified 1000000000.000000000 s after 1970 on rank 0 and modified "),
        ] {
            let (is_good, error) = run(&[&[command, file], options].concat());
            assert!(!is_good && error.contains(said), "{command} {file}: {error}");
        }
        let (is_good, error) = run(&[&[command, "-"], options].concat());
        assert!(!is_good && error.contains("standard input cannot be split between ranks"), "{error}");
    }
    let (is_good, error) = run(&["dbscan", "same.csv", "--eps", "1.RANK", "--min-pts", "2", "--mpi"]);
    assert!(
        !is_good && error.contains("options differ from those of rank 0; all ranks must have the same options"),
        "{error}"
    );
}
