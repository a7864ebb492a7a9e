//! `halos --config` and `--write-config`.

use std::fs;
use std::path::Path;

use crate::program::{Output, Scratch, run};

/// Three groups of points, of which a linking length of 0.5 finds two with four members.
const POINTS: &str = "x,y,z\n0,0,0\n0,0,0.25\n0,0,0.5\n0,0,0.75\n5,5,5\n5,5,5.25\n5,5,5.5\n5,5,5.75\n9,9,9\n9,9,9.25\n";

fn halos(options: &[&str]) -> Output {
    run(["halos"].iter().chain(options))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_written_file_repeats_the_run() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", POINTS);
    let (out, file, again) = (scratch.path("out"), scratch.path("run.toml"), scratch.path("again.toml"));
    let options = [
        text(&points),
        "--out",
        text(&out),
        "--eps",
        "1e-1",
        "--eps",
        "0.5",
        "--min-members",
        "3",
        "--no-pictures",
        "--catalog",
        "halos.ecsv,halos.csv",
        "--box",
        "20",
        "--report",
        "--write-config",
        text(&file),
    ];
    // An option is given once.
    assert_eq!(halos(&options).status, 2);
    let options = [&options[..3], &options[5..]].concat();
    halos(&options).success();
    let written = fs::read_to_string(&file).unwrap();
    for line in [
        "\neps = 0.5\n",
        "\nmin-members = 3\n",
        "\nno-pictures = true\n",
        "\nopen = false\n",
        "\nbox = 20\n",
        "\nreport = true\n",
        "\ncatalog = [\"halos.ecsv\", \"halos.csv\"]\n",
        "\nfinder = \"fof\"\n",
        "\nmin-so-particles = 20\n",
    ] {
        assert!(written.contains(line), "{line:?} is not in {written}");
    }
    // The default does not count beside --eps.
    assert!(!written.contains("linking-length"), "{written}");
    let results = || ["halos.ecsv", "halos.csv", "labels.npy"].map(|name| fs::read(out.join(name)).unwrap());
    let first = results();
    fs::remove_dir_all(&out).unwrap();
    let without = scratch.write("without.toml", written.replace("report = true", "report = false"));
    halos(&["--config", text(&without)]).success();
    assert!(!out.join("report.html").exists());
    halos(&["--config", text(&file), "--write-config", text(&again)]).success();
    assert!(results() == first && out.join("report.html").exists());
    assert_eq!(fs::read_to_string(&again).unwrap(), written);
}

#[test]
fn the_command_line_replaces_options_of_the_file() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", POINTS);
    let out = scratch.path("out");
    let config = format!(
        "snapshot = {:?}\nout = {:?}\neps = 0.5\nmin-members = 3\nno-pictures = true\nmembers = false\n",
        text(&points),
        text(&out)
    );
    let file = scratch.write("run.toml", config);
    let counts = |options: &[&str]| {
        let report = halos(&[&["--config", text(&file)], options].concat()).success();
        report.lines().find_map(|line| line.strip_prefix("halos ")).unwrap().trim().to_string()
    };
    assert_eq!(counts(&[]), "2 of 3 or more");
    assert_eq!(counts(&["--min-members", "2"]), "3 of 2 or more");
    assert_eq!(counts(&["--eps", "0.1"]), "0 of 3 or more");
    // An option that excludes one of the file.
    assert_eq!(counts(&["--linking-length", "0.01", "--box", "20"]), "0 of 3 or more");
    // A single-valued option and the snapshots.
    let other = scratch.write("other.csv", "x,y,z\n0,0,0\n0,0,0.25\n0,0,0.5\n");
    assert_eq!(counts(&[text(&other)]), "1 of 3 or more");
}

#[test]
fn wrong_files_are_usage_errors() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", POINTS);
    for (config, says) in [
        (
            "eps = 0.5\nlinking_length = 0.2\n",
            "run.toml: line 2: unknown key linking_length; a similar key exists: linking-length",
        ),
        ("# options\n\nepss = 1\n", "run.toml: line 3: unknown key epss; keys are the options of `ropewalk halos`"),
        ("config = 'a.toml'\n", "run.toml: line 1: unknown key config"),
        ("eps = [1, 2]\n", "run.toml: line 1: eps must be a single value, not a list"),
        ("open = 1\n", "run.toml: line 1: open must be true or false"),
        ("report = 3\n", "run.toml: line 1: report must be true, false or a string"),
        ("report = ['a.html', 'b.html']\n", "run.toml: line 1: report must be a single value, not a list"),
        ("eps = true\n", "run.toml: line 1: eps must be a string or a number"),
        ("\neps = 'one'\n", "run.toml: line 2: invalid value 'one' for '--eps <LENGTH>': not a number"),
        ("eps = 1e400\n", "run.toml: line 1: invalid value '1e400' for '--eps <LENGTH>': out of the range"),
        ("eps = 1\neps = 2\n", "run.toml: line 2: "),
        ("eps = \n", "run.toml: line 1: "),
    ] {
        let file = scratch.write("run.toml", config);
        let output = halos(&[text(&points), "--out", text(&scratch.path("out")), "--config", text(&file)]);
        assert_eq!(output.status, 2, "{config}: {}", output.stderr);
        let line = output.line();
        assert!(line.contains(says), "{line}");
    }
    let output = halos(&["--config", text(&scratch.path("no.toml"))]);
    assert_eq!(output.status, 2);
    assert!(output.line().contains("no.toml: cannot be opened: No such file"));
    let wrong = [("run.txt", "must end in .toml"), ("no/run.toml", "the folder does not exist")];
    for (name, says) in wrong {
        let path = scratch.path(name);
        let out = scratch.path("out");
        let line = halos(&[text(&points), "--out", text(&out), "--eps", "1", "--write-config", text(&path)]).error();
        assert!(line.contains(says) && !out.exists(), "{line}");
    }
}
