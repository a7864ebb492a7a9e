//! Features of all commands: help, completions, manual pages, verbosity, messages about arguments, closed pipes.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::program::{Scratch, run, sample};

/// The commands of the program, as its help lists them.
fn commands() -> Vec<String> {
    let help = run(["--help"]).success();
    let lines = help.split("\nOptions:\n").next().unwrap().lines();
    // Other lines continue the one before.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split("  ").next().filter(|name| !name.is_empty()));
    names.map(String::from).filter(|name| name != "help").collect()
}

#[test]
fn completions_name_all_commands() {
    let all = commands();
    assert!(all.len() > 14, "{all:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(["completions", shell]).success();
        for name in &all {
            assert!(script.contains(name.as_str()), "{name} is not in the completions of {shell}");
        }
        assert!(script.contains("linking-length"), "{shell}");
    }
    assert_eq!(run(["completions", "csh"]).status, 2);
    // bash itself completes with the script.
    let script = run(["completions", "bash"]).success();
    let scratch = Scratch::new();
    let path = scratch.write("ropewalk.bash", script);
    let test = "source \"$1\"; COMP_WORDS=(ropewalk halos --linking-l); COMP_CWORD=2; _ropewalk ropewalk --linking-l halos; echo \"${COMPREPLY[@]}\"";
    if let Ok(output) = Command::new("bash").args(["-c", test, "bash"]).arg(&path).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "--linking-length --linking-lengths");
    }
    for (option, values) in
        [("--units", "h physical"), ("--device", "cpu cuda vulkan"), ("--type", "gas dm stars bh neutrinos")]
    {
        let test = format!(
            "source \"$1\"; COMP_WORDS=(ropewalk halos {option} ''); COMP_CWORD=3; _ropewalk ropewalk '' {option}; echo \"${{COMPREPLY[@]}}\""
        );
        if let Ok(output) = Command::new("bash").args(["-c", &test, "bash"]).arg(&path).output() {
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), values, "{option}");
        }
    }
}

#[test]
fn manual_pages_of_all_commands() {
    let scratch = Scratch::new();
    let report = run(["man", "--out", scratch.path("man/deep").to_str().unwrap()]).success();
    let mut expected: Vec<String> = commands().iter().map(|name| format!("ropewalk-{name}.1")).collect();
    expected.push("ropewalk.1".into());
    expected.sort();
    assert_eq!(scratch.names("man/deep"), expected);
    assert!(report.starts_with(&format!("{} manual pages are in ", expected.len())), "{report}");
    let page = |name: &str| fs::read_to_string(scratch.path("man/deep").join(name)).unwrap();
    assert!(page("ropewalk-halos.1").contains("linking\\-length"));
    assert!(page("ropewalk.1").contains("Exit codes") && page("ropewalk.1").contains("RAYON_NUM_THREADS"));
}

#[test]
fn version_and_help() {
    let version = run(["--version"]).success();
    for (name, is_built) in
        [("cuda", cfg!(feature = "cuda")), ("vulkan", cfg!(feature = "vulkan")), ("mpi", cfg!(feature = "mpi"))]
    {
        let line = if is_built { "features built in: " } else { "features not built in: " };
        let line = version.lines().find(|other| other.starts_with(line)).unwrap();
        assert!(line.contains(name), "{version}");
    }
    assert_eq!(run(["-V"]).success(), format!("ropewalk {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(["--help"]).success();
    for text in ["Exit codes:\n", "Environment variables:\n", "ROPEWALK_ISA", "--quiet", "--verbose"] {
        assert!(help.contains(text), "{help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn help_fits_a_terminal_of_80_columns() {
    let help = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        command.args(arguments).env("COLUMNS", "80").stdin(Stdio::null()).stderr(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let all = commands();
    for arguments in all.iter().map(|name| vec![name.as_str(), "--help"]).chain([vec!["--help"], vec!["-h"]]) {
        let text = help(&arguments);
        assert!(text.contains("Usage:"), "{arguments:?}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
    // Texts of tables are aligned.
    let text = help(&["--help"]);
    assert!(
        text.contains(
            "\n  0        Success, also if the reader of standard output has ended, as head\n           does\n"
        )
    );
    assert!(text.contains(
        "\n  dbscan       Find clusters of dense points and noise, as scikit-learn's DBSCAN\n               does\n"
    ));
}

/// Required options are in the usage of a command. In its help they precede the optional ones of their section.
#[test]
fn required_options_come_first() {
    let mut n_required = 0;
    for name in commands() {
        for form in ["-h", "--help"] {
            let help = run([&name, form]).success();
            let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
            let required: Vec<&str> = usage.split(' ').filter(|word| word.starts_with("--")).collect();
            let mut optional = None;
            for line in help.lines() {
                if !line.starts_with(' ') {
                    optional = None;
                }
                let Some(option) = line.strip_prefix("      ").filter(|rest| rest.starts_with("--")) else { continue };
                let option = option.split(' ').next().unwrap();
                match required.contains(&option) {
                    true => {
                        n_required += 1;
                        assert_eq!(optional, None, "{name}: {option} is listed after an optional one");
                    }
                    false => optional = Some(option.to_string()),
                }
            }
        }
    }
    assert!(n_required > 20, "{n_required}");
    // The options of all commands on points come last.
    let help = run(["hdbscan", "-h"]).success();
    assert!(help.find("--min-cluster-size") < help.find("--coordinates"), "{help}");
}

#[test]
fn quiet_and_verbose() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0,0\n0,1\n5,5\n");
    let (points, labels) = (points.to_str().unwrap(), scratch.path("labels.csv"));
    let command = ["dbscan", points, "--eps", "1", "--min-samples", "2", "--out"];
    let run = |more: &[&str]| run([&command[..], more].concat());
    assert_eq!(run(&[labels.to_str().unwrap(), "--quiet"]).success(), "");
    assert_eq!(fs::read_to_string(&labels).unwrap(), "x,y,label\n0,0,0\n0,1,0\n5,5,-1\n");
    // Results are printed.
    assert_eq!(run(&["-", "-q"]).success(), "x,y,label\n0,0,0\n0,1,0\n5,5,-1\n");
    assert!(crate::program::run(["-q", "info", points]).success().contains("particles       3"));
    let output = run(&["-", "-v"]);
    assert_eq!((output.status, output.stdout.as_str()), (0, "x,y,label\n0,0,0\n0,1,0\n5,5,-1\n"));
    let phase = output.stderr.lines().position(|line| line.starts_with("find clusters: ")).unwrap();
    assert!(output.stderr.lines().nth(phase + 1).unwrap().starts_with("  bounds: "), "{}", output.stderr);
    assert!(output.stderr.contains("\nwritten: standard output\n"), "{}", output.stderr);
    assert_eq!(run(&["-", "-v", "-q"]).status, 2);
    // Messages that cannot be printed do not end the run.
    if let Ok(full) = std::fs::File::create("/dev/full") {
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ropewalk"));
            let full = full.try_clone().unwrap();
            command.args(arguments).stdout(std::process::Stdio::null()).stderr(full).status().unwrap().code()
        };
        let out = labels.to_str().unwrap();
        assert_eq!(run(&[&command[..], &[out, "-v"]].concat()), Some(0));
        assert_eq!(run(&["info", "missing.csv"]), Some(1));
        assert_eq!(run(&["info"]), Some(2));
    }
}

#[test]
fn messages_about_arguments() {
    for (arguments, says) in [
        (&["halos"][..], "not provided: --out <DIR>, <SNAPSHOT>..."),
        (
            &["halos", "x", "--out", "y", "--finder", "foo"],
            "'--finder <FINDER>'; possible values: fof, hop, adaptahop; a similar value exists: 'fof'",
        ),
        (
            &["halos", "x", "--out", "y", "--dp", "3"],
            "unexpected argument '--dp' found; a similar argument exists: '--dpi'",
        ),
        (
            &["halos", "x", "--out", "y", "--eps", "1e400"],
            "invalid value '1e400' for '--eps <LENGTH>': out of the range of 64-bit floats",
        ),
        (&["halos", "x", "--out", "y", "--eps", "one"], "invalid value 'one' for '--eps <LENGTH>': not a number"),
        (&["dbscan", "x", "--eps", "1", "--min-pts", "-3"], "invalid value '-3' for '--min-samples <M>'"),
        (&["halos", "x", "--out", "y", "--dpi", "1e400"], "invalid value '1e400' for '--dpi <DPI>': out of the range"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status, 2, "{arguments:?}");
        let line = output.line();
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn features_that_are_not_built_are_explained() {
    if cfg!(feature = "mpi") {
        return;
    }
    let line = run(["halos", "x", "--out", "y", "--mpi"]).error();
    assert_eq!(line, "error: --mpi: this ropewalk was built without MPI; build it with --features mpi");
}

/// A summary on standard output is not listed as a file.
#[test]
fn files_that_are_written() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0,0\n0,1\n5,5\n").display().to_string();
    let out = scratch.path("labels.npy").display().to_string();
    let command = ["dbscan", &points, "--eps", "1", "--min-samples", "2", "--json", "-"];
    let output = run(command);
    assert!(output.stdout.contains("\"written\": []") && !output.stderr.contains("written: "), "{}", output.stderr);
    let output = run([&command[..], &["--out", &out]].concat());
    assert!(output.stdout.contains(&format!("\"written\": [\n    \"{out}\"\n  ]")), "{}", output.stdout);
    assert!(output.stderr.ends_with(&format!("\nwritten: {out}\n")), "{}", output.stderr);
}

/// All commands word a missing file alike.
#[test]
fn a_missing_file() {
    let scratch = Scratch::new();
    let (missing, out) = (scratch.path("missing"), scratch.path("out.png"));
    let (file, out) = (missing.to_str().unwrap(), out.to_str().unwrap());
    let [array, graph] = ["out.npy", "out.dot"].map(|name| scratch.path(name).display().to_string());
    for command in [
        &["halos", file, "--out", out][..],
        &["dbscan", file, "--eps", "1", "--min-samples", "2"],
        &["hdbscan", file],
        &["kdist", file],
        &["knn", file, "--k", "1", "--out", &array],
        &["pairs", file, "--radius", "1", "--out", &array],
        &["emst", file, "--out", &array],
        &["linkage", file, "--out", &array],
        &["tree", file, "--out", &graph],
        &["interpolate", file, file, file, "--out", &array],
        &["raycast", file, "--out", out],
        &["info", file],
        &["convert", file, &array],
        &["bench", file],
    ] {
        let line = run(command).error();
        assert!(line.starts_with(&format!("error: {file}: cannot be opened: No such file")), "{line}");
    }
}

/// The reader ends after the first bytes, as `head` does.
#[test]
fn closed_pipes_end_quietly() {
    let scratch = Scratch::new();
    let points = scratch.path("points.csv");
    let file = points.to_str().unwrap();
    run(["sample", "uniform:n=20000", "--out", file]).success();
    let snapshot = sample().display().to_string();
    for command in [
        &["pairs", file, "--radius", "0.05", "--out", "-"][..],
        &["knn", file, "--k", "2", "--out", "-"],
        &["dbscan", file, "--eps", "0.05", "--min-samples", "3", "--out", "-"],
        &["kdist", file, "--out", "-"],
        &["emst", file, "--out", "-"],
        &["convert", file, "-", "--format", "csv"],
        &["sample", "uniform:n=100000", "--out", "-", "--format", "csv"],
        &["sample", "uniform:n=100000", "--out", "-", "--format", "gadget"],
        &["info", &snapshot],
        &["halos", "--help"],
        &["completions", "zsh"],
    ] {
        let mut call = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        let mut child = call.args(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 8]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}: {said}");
        assert!(!said.contains("error") && !said.contains("panic"), "{command:?}: {said}");
    }
}

#[test]
fn clusters_larger_than_the_data_are_noted() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0,0\n0,1\n5,5\n");
    let report = run(["hdbscan".as_ref(), points.as_os_str(), "--min-cluster-size".as_ref(), "4".as_ref()]).success();
    assert!(
        report.contains("note            --min-cluster-size is more than the 3 points, so that all are noise\n"),
        "{report}"
    );
    let report = run(["hdbscan".as_ref(), points.as_os_str(), "--min-cluster-size".as_ref(), "3".as_ref()]).success();
    assert!(!report.contains("note "), "{report}");
}

/// A conversion to an array of positions names only data that the input has.
#[test]
fn an_array_of_positions_loses_what_there_was() {
    let scratch = Scratch::new();
    for (text, lost) in [
        ("x,y,z\n1,2,3\n", None),
        ("x,y,z,mass\n1,2,3,4\n", Some("masses")),
        ("x,y,z,vx,vy,vz,id\n1,2,3,4,5,6,7\n", Some("velocities, ids")),
    ] {
        let points = scratch.write("points.csv", text);
        let report = run(["convert".as_ref(), points.as_os_str(), scratch.path("points.npy").as_os_str()]).success();
        let said = report.lines().find_map(|line| line.strip_prefix("NumPy array cannot store "));
        assert_eq!(said, lost, "{report}");
    }
}
