//! Output files, and files that exist already.

use std::fs;
use std::path::Path;

use npyz::NpyFile;

use crate::program::{Output, Scratch, halos, run};

fn dbscan(file: &Path, options: &[&str]) -> Output {
    let arguments = ["dbscan".as_ref(), file.as_os_str()];
    let options = ["--eps", "0.5", "--min-pts", "2"].iter().chain(options).map(AsRef::as_ref);
    run(arguments.into_iter().chain(options))
}

/// Two clusters and a point of noise, in three dimensions.
fn points(scratch: &Scratch) -> std::path::PathBuf {
    scratch.write("points.csv", "x,y,z\n0,0,0\n0,0,0.25\n5,5,5\n5,5,5.25\n9,9,9\n")
}

fn labels(bytes: &[u8]) -> Vec<i32> {
    NpyFile::new(bytes).unwrap().into_vec().unwrap()
}

#[test]
fn the_ending_decides() {
    let scratch = Scratch::new();
    let file = points(&scratch);
    let of = |name: &str| scratch.path(name).display().to_string();
    let printed = dbscan(&file, &["--out", &of("labels.CSV")]).success();
    assert!(printed.contains("\ncolumns         x, y, z\n"), "{printed}");
    let text = fs::read_to_string(of("labels.CSV")).unwrap();
    assert_eq!(text.lines().next(), Some("x,y,z,label"));
    let labels_of = |text: &str| -> Vec<i32> {
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(labels_of(&text), [0, 0, 1, 1, -1]);
    dbscan(&file, &["--out", &of("labels.npy")]).success();
    assert_eq!(labels(&fs::read(of("labels.npy")).unwrap()), [0, 0, 1, 1, -1]);
    run(["kdist", &of("points.csv"), "--k", "1", "--out", &of("kdist.csv")]).success();
    let text = fs::read_to_string(of("kdist.csv")).unwrap();
    assert!(text.starts_with("distance\n0.25\n0.25\n0.25\n0.25\n6.78") && text.lines().count() == 6, "{text}");

    run(["sample", "uniform:n=10,seed=1", "--out", &of("a.csv")]).success();
    run(["sample", "uniform:n=10,seed=1", "--out", &of("a.npy")]).success();
    run(["sample", "uniform:n=10,seed=1", "--out", &of("a"), "--format", "npy"]).success();
    assert_eq!(fs::read(of("a")).unwrap(), fs::read(of("a.npy")).unwrap());
    for out in ["a.csv", "a.npy"] {
        assert!(run(["info", &of(out)]).success().contains("particles       10\n"));
    }
    assert!(fs::read_to_string(of("a.csv")).unwrap().starts_with("x,y,z\n"));

    let before = scratch.names("");
    for name in ["labels.txt", "labels", "labels.hdf5"] {
        let line = dbscan(Path::new("not read"), &["--out", &of(name)]).error();
        assert!(line.contains(name) && line.contains("must end in .npy or .csv"), "{line}");
        run(["kdist", "not read", "--out", &of(name)]).error();
        let line = run(["sample", "uniform:n=10", "--out", &of(name)]).error();
        assert!(line.contains("must end in .npy or .csv; or give --format"), "{line}");
    }
    let line = run(["sample", "uniform:n=10", "--out", &of("b.csv"), "--format", "gadget"]).error();
    assert!(line.contains("contradicts the ending"), "{line}");
    assert_eq!(scratch.names(""), before);
}

#[test]
fn no_input_is_replaced() {
    let scratch = Scratch::new();
    let table = fs::read(points(&scratch)).unwrap();
    fs::create_dir(scratch.path("h")).unwrap();
    for name in ["h/halos.ecsv", "h/profiles.ecsv"] {
        let file = scratch.write(name, &table);
        // Also a file with the name of a result that this run does not write.
        scratch.write("h/gallery.png", "yesterday's");
        let output = halos(&file, &scratch.path("h"), &["--eps", "0.5"]);
        if name == "h/halos.ecsv" {
            assert!(output.error().contains("would replace the input"));
        } else {
            output.success();
        }
        assert_eq!(fs::read(&file).unwrap(), table, "{name}");
        fs::remove_file(file).unwrap();
    }

    // Any part of a split snapshot is an input, also through a link.
    let snapshot = scratch.path("snap").display().to_string();
    run(["sample", "uniform:n=10", "--format", "gadget", "--out", &snapshot]).success();
    let one = fs::read(&snapshot).unwrap();
    fs::remove_file(&snapshot).unwrap();
    for part in ["snap.0", "snap.1"] {
        let mut bytes = one.clone();
        // The number of files and of all particles in the header.
        bytes[4 + 124] = 2;
        bytes[4 + 96 + 4] = 20;
        scratch.write(part, bytes);
    }
    #[cfg(unix)]
    {
        fs::create_dir(scratch.path("links")).unwrap();
        std::os::unix::fs::symlink(scratch.path("snap.1"), scratch.path("links/halos.ecsv")).unwrap();
        for input in ["snap", "snap.0"] {
            let line = halos(&scratch.path(input), &scratch.path("links"), &["--eps", "0.1"]).error();
            assert!(line.contains("would replace the input"), "{line}");
        }
        assert_eq!(scratch.names("links"), ["halos.ecsv"]);
        halos(&scratch.path("snap"), &scratch.path("out"), &["--eps", "0.1"]).success();
    }
}

#[test]
fn files_of_an_earlier_run_go() {
    let scratch = Scratch::new();
    let file = points(&scratch);
    let out = scratch.path("out");
    let options = ["--eps", "0.5", "--min-members", "2"];
    halos(&file, &out, &[&options[..], &["--members", "--gallery", "1"]].concat()).success();
    scratch.write("out/own.txt", "kept");
    fs::create_dir(scratch.path("out/profiles.ecsv")).unwrap();
    assert!(scratch.names("out").contains(&"gallery.png".into()));
    let printed = halos(&file, &out, &[&options[..], &["--gallery", "1"]].concat()).success();
    assert!(printed.contains("removed: members.npz, of an earlier run"), "{printed}");
    // An error removes nothing.
    halos(&file, &out, &["--eps", "-1"]).error();
    assert!(scratch.names("out").contains(&"gallery.png".into()));
    let printed = halos(&file, &out, &options).success();
    assert!(printed.contains("removed: gallery.png, of an earlier run"), "{printed}");
    let left = [
        "halos.ecsv",
        "labels.npy",
        "mass_function.ecsv",
        "mass_function.svg",
        "own.txt",
        "profiles.ecsv",
        "projection.png",
        "summary.json",
    ];
    assert_eq!(scratch.names("out"), left);
    assert!(!halos(&file, &out, &options).success().contains("removed"));

    // A file with the name of a result that no run has listed is kept and reported.
    fs::create_dir(scratch.path("other")).unwrap();
    scratch.write("other/gallery.png", "kept");
    let printed = halos(&file, &scratch.path("other"), &options).success();
    assert!(printed.contains("\nkept: gallery.png (not of this run)\n"), "{printed}");
    assert_eq!(fs::read(scratch.path("other/gallery.png")).unwrap(), b"kept");
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::program::sample;

    #[test]
    fn pipes_and_links() {
        let scratch = Scratch::new();
        let file = points(&scratch);
        let pipe = scratch.path("pipe.csv");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        dbscan(&file, &["--out", pipe.to_str().unwrap()]).success();
        let text = reader.join().unwrap();
        assert!(text.starts_with("x,y,z,label\n") && text.ends_with(",-1\n"), "{text}");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

        let real = scratch.write("real.npy", "old");
        symlink(&real, scratch.path("link.npy")).unwrap();
        dbscan(&file, &["--out", scratch.path("link.npy").to_str().unwrap()]).success();
        assert_eq!(labels(&fs::read(&real).unwrap()), [0, 0, 1, 1, -1]);
        assert!(fs::symlink_metadata(scratch.path("link.npy")).unwrap().is_symlink());
        // Two names of one file are the same output.
        let [a, b] = ["real.npy", "link.npy"].map(|name| scratch.path(name).display().to_string());
        assert!(dbscan(&file, &["--out", &a, "--plot", &b]).error().contains("two outputs"));
    }

    /// /proc/self/fd/1 is used instead of /dev/stdout, which links to it.
    #[test]
    fn standard_output() {
        let scratch = Scratch::new();
        let file = points(&scratch);
        let options = ["--eps", "0.5", "--min-pts", "2", "--out", "/proc/self/fd/1"];
        if !Path::new(options[5]).exists() {
            return;
        }
        let arguments = || ["dbscan".as_ref(), file.as_os_str()].into_iter().chain(options.iter().map(OsStr::new));
        let output = Command::new(env!("CARGO_BIN_EXE_ropewalk")).args(arguments()).output().unwrap();
        assert_eq!(labels(&output.stdout), [0, 0, 1, 1, -1]);
        // The report goes to standard error.
        assert!(String::from_utf8(output.stderr).unwrap().contains("clusters        2"));
        let to = fs::File::create(scratch.path("stdout.npy")).unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .args(arguments())
            .stdout(to)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(labels(&fs::read(scratch.path("stdout.npy")).unwrap()), [0, 0, 1, 1, -1]);
    }

    #[test]
    fn any_name_will_do() {
        let scratch = Scratch::new();
        let file = points(&scratch);
        let long = format!("{}.csv", "n".repeat(251));
        dbscan(&file, &["--out", scratch.path(&long).to_str().unwrap()]).success();
        assert!(scratch.names("").contains(&long));
        let odd = scratch.path("").join(OsStr::from_bytes(b"o\xff\n d"));
        halos(&file, &odd, &["--eps", "0.5"]).success();
        assert_eq!(fs::read_dir(odd).unwrap().count(), 6);
    }

    fn kill(signal: &str, id: u32) {
        assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
    }

    /// Waits until the condition holds, at most a minute.
    fn until(is_true: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_true() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns `true` if the process has an output file open: an unnamed one on Linux, elsewhere one with a temporary
    /// name.
    fn is_writing(id: u32, scratch: &Scratch) -> bool {
        let folders = [scratch.path(""), scratch.path("made/for/it")];
        let names = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let is_temporary = |name: &str| name.starts_with(".ropewalk-");
        let is_unnamed =
            |link: &Path| link.starts_with(scratch.path("")) && link.to_string_lossy().ends_with(" (deleted)");
        let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(is_temporary))
            || open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| is_unnamed(&link))
    }

    /// Not even SIGKILL leaves files, neither results nor copies of input.
    #[cfg(target_os = "linux")]
    #[test]
    fn killed_at_once() {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("tmp")).unwrap();
        scratch.write("out.npy", "old");
        fs::create_dir(scratch.path("h")).unwrap();
        // A temporary file of a process that was killed on a system without unnamed files.
        scratch.write("h/.ropewalk-Ab12Cd34", "half");
        let before = scratch.names("");
        let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .env("TMPDIR", scratch.path("tmp"))
            .args(["dbscan", "-", "--eps", "1", "--min-pts", "2", "--out"])
            .arg(scratch.path("out.npy"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The process is copying standard input.
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), &[b'\n'; 1 << 20]).unwrap();
        let links = || fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        let is_copy =
            |link: &Path| link.starts_with(scratch.path("tmp")) && link.to_string_lossy().ends_with(" (deleted)");
        until(|| links().filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| is_copy(&link)));
        kill("-KILL", child.id());
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!((scratch.names(""), scratch.names("tmp")), (before, vec![]));
        assert_eq!(fs::read(scratch.path("out.npy")).unwrap(), b"old");
        let file = points(&scratch);
        halos(&file, &scratch.path("h"), &["--eps", "1", "--no-pictures"]).success();
        assert_eq!(scratch.names("h"), ["halos.ecsv", "labels.npy", "summary.json"]);
    }

    #[test]
    fn killed_runs_leave_nothing() {
        let scratch = Scratch::new();
        let file = points(&scratch);
        // A pipe without a reader blocks the run after its first output is created.
        let pipe = scratch.path("pipe.png");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        scratch.write("labels.npy", "old");
        let before = scratch.names("");
        // Child processes ignore the signals that this process was started to ignore, as under `nohup`.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
        let signals = [("-HUP", 1), ("-INT", 2), ("-TERM", 15)];
        for (name, signal) in signals.into_iter().filter(|(_, signal)| ignored >> (signal - 1) & 1 == 0) {
            let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
                .arg("dbscan")
                .arg(&file)
                .args(["--eps", "1", "--min-pts", "2", "--out"])
                .arg(scratch.path("labels.npy"))
                .arg("--plot")
                .arg(&pipe)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            until(|| is_writing(child.id(), &scratch));
            kill(name, child.id());
            assert_eq!(child.wait().unwrap().signal(), Some(signal), "{name}");
            assert_eq!(scratch.names(""), before, "{name}");
        }
        assert_eq!(fs::read(scratch.path("labels.npy")).unwrap(), b"old");

        // Directories that were created for the outputs are removed, too.
        let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .arg("halos")
            .arg(sample())
            .args(["--center", "mbp-brute", "--out"])
            .arg(scratch.path("made/for/it"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until(|| is_writing(child.id(), &scratch));
        kill("-TERM", child.id());
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert_eq!(scratch.names(""), before);
    }

    /// The program is started as by `nohup`.
    #[test]
    fn ignored_signals_stay_ignored() {
        if !Path::new("/proc/self/status").exists() {
            return;
        }
        let scratch = Scratch::new();
        let file = points(&scratch);
        let pipe = scratch.path("pipe.csv");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut child = Command::new("sh")
            .args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ropewalk"), "dbscan"])
            .arg(&file)
            .args(["--eps", "0.5", "--min-pts", "2", "--plot"])
            .arg(scratch.path("a.png"))
            .arg("--columns")
            .arg("x,y")
            .arg("--out")
            .arg(&pipe)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        kill("-HUP", child.id());
        assert!(fs::read_to_string(&pipe).unwrap().ends_with(",1\n9,9,9,-1\n"));
        assert!(child.wait().unwrap().success());
    }

    /// Exceeding the file size limit is an error with a message, not a silent end.
    #[test]
    fn files_that_may_not_be_so_long() {
        let scratch = Scratch::new();
        let out = scratch.path("points.npy");
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 8; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ropewalk")])
            .args(["sample", "uniform:n=100000", "--out"])
            .arg(&out)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.contains("cannot write"), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert!(scratch.names("").is_empty());
    }
}
