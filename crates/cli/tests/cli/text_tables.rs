//! Text tables with text, labels, missing values and comments.

use std::fs;
use std::process::Command;

use crate::program::{Scratch, halos, run};

const TAXI: &str =
    "ride,lon,lat,fare,payment\nr1,0,0,9,cash\nr2,,0.1,8,card\nr3,0.1,NA,7,cash\nr4,0.1,0.1,6,\nr5,0,0.1,5,card\n";

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[test]
fn names_in_a_comment() {
    let scratch = Scratch::new();
    let file = scratch.write("a.txt", "# id x y z\n1 .5 .5 .5\n900 .6 .5 .5\n3 9 9 9\n").display().to_string();
    let output = run(["knn", &file, "--k", "1", "--out", "-"]);
    assert!(output.stdout.starts_with("point,neighbor,distance\n0,1,0.09999999999999998\n"), "{}", output.stdout);
    has(&output.stderr, &["columns         x, y, z", "the comment in line 1 names the columns: id, x, y, z"]);
    let printed = run(["kdist", &file, "--k", "1", "--columns", "x,y,z"]).success();
    has(&printed, &["dimensions      3"]);
}

#[test]
fn labels_and_text_are_left_out() {
    let scratch = Scratch::new();
    let file =
        scratch.write("a.csv", "feature_1,feature_2,label,name\n0,0,1,a\n0,1,2,b\n9,9,3,c\n").display().to_string();
    let json = scratch.path("a.json").display().to_string();
    let command = ["dbscan", &file, "--eps", "1", "--min-pts", "1", "--json", &json];
    let printed = run(command).success();
    has(
        &printed,
        &["dimensions      2", "clusters        2", "columns left out: label (a label by its name), name (text)"],
    );
    has(&fs::read_to_string(&json).unwrap(), &["\"notes\": [\n    \"columns left out: label"]);
    let printed = run([&command[..], &["--columns", "feature_1,feature_2,label"]].concat()).success();
    has(&printed, &["dimensions      3", "clusters        3"]);
    let line = run([&command[..], &["--columns", "feature_1,name"]].concat()).error();
    has(&line, &["line 2: column 4 (name) is not a number: 'a'"]);
}

#[test]
fn rows_with_missing_values() {
    let scratch = Scratch::new();
    let file = scratch.write("taxi.csv", TAXI).display().to_string();
    let command = ["dbscan", &file, "--eps", "0.11", "--min-pts", "1"];
    has(&run(command).error(), &["line 3: column 2 (lon) is not a number: ''", "--skip-missing"]);
    let labels = scratch.path("labels.csv").display().to_string();
    let printed = run([&command[..], &["--skip-missing", "--out", &labels]].concat()).success();
    has(&printed, &["points          3", "skipped         2 of 5 rows", "fare (beside lon and lat)"]);
    // Rows of the table are kept as they are, with the label at the end.
    let labelled = |label: &[&str], name: &str| -> String {
        let ends = std::iter::once(&name).chain(label);
        TAXI.lines().zip(ends).map(|(line, end)| format!("{line},{end}\n")).collect()
    };
    assert_eq!(fs::read_to_string(&labels).unwrap(), labelled(&["0", "-1", "-1", "0", "0"], "label"));
    let probabilities = scratch.path("p.csv").display().to_string();
    let hdbscan = ["hdbscan", &file, "--min-cluster-size", "2", "--skip-missing", "--out", &labels];
    run([&hdbscan[..], &["--probabilities", &probabilities]].concat()).success();
    for (path, missing) in [(&labels, ",-1,0.0,NaN"), (&probabilities, "0.0")] {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 6 && lines[2].ends_with(missing) && lines[3].ends_with(missing), "{text}");
    }
    assert!(fs::read_to_string(&labels).unwrap().starts_with(&labelled(&[], "label,probability,outlier_score")));
    let line = run(["knn", &file, "--k", "1", "--out", "-", "--skip-missing"]).error();
    has(&line, &["--skip-missing: not with knn", "ropewalk convert"]);
    let complete = scratch.path("complete.csv").display().to_string();
    let printed = run(["convert", &file, &complete, "--skip-missing"]).success();
    has(&printed, &["3 particles", "2 of 5 rows have missing values and are left out"]);
    assert_eq!(fs::read_to_string(&complete).unwrap(), "lon,lat\n0,0\n0.1,0.1\n0,0.1\n");
}

/// Only the help of commands that support the option lists it.
#[test]
fn the_help_on_missing_values() {
    for command in ["dbscan", "hdbscan", "kdist", "convert"] {
        has(&run([command, "--help"]).success(), &["--skip-missing"]);
    }
    for command in ["knn", "pairs", "interpolate", "emst", "linkage", "tree"] {
        for help in ["-h", "--help"] {
            let help = run([command, help]).success();
            assert!(help.contains("--periodic") && !help.contains("--skip-missing"), "{command}: {help}");
        }
    }
}

/// The report has the notes on files of fields, targets, queries and masses, with the role of each file.
#[test]
fn notes_on_fields_targets_and_queries() {
    let scratch = Scratch::new();
    let source = scratch.write("s.csv", "x,y\n0,0\n1,0\n0,1\n").display().to_string();
    let fields = scratch.write("f.csv", "# T in K\nrho,name\n1,a\n2,b\n3,c\n").display().to_string();
    let target = scratch.write("t.csv", "x,y,w\n0.5,0.5,9\n").display().to_string();
    let (out, json) = (scratch.path("o.csv").display().to_string(), scratch.path("o.json").display().to_string());
    let command =
        ["interpolate", &source, &fields, &target, "--method", "idw", "--k", "1", "--out", &out, "--json", &json];
    let said = [
        "fields: comments that are not used: line 1 'T in K'",
        "fields: columns left out: name (text); choose the fields to read",
        "targets: columns left out: w (beside x, y); choose",
    ];
    has(&run(command).success(), &said);
    has(&fs::read_to_string(&json).unwrap(), &said);
    let printed = run(["knn", &source, "--queries", &target, "--k", "1", "--out", &out]).success();
    has(&printed, &["queries: columns left out: w (beside x, y)"]);
    let file = scratch.write("h.csv", "x,y,z\n1,1,1\n1,1,1.25\n9,9,9\n");
    let masses = scratch.write("m.csv", "m,name\n1,a\n1,b\n2,c\n").display().to_string();
    let options = ["--eps", "0.5", "--min-members", "2", "--mass", &masses];
    has(&halos(&file, &scratch.path("out"), &options).success(), &["--mass: columns left out: name (text)"]);
}

/// Advice names an option that the command has.
#[test]
fn advice_names_an_option() {
    let scratch = Scratch::new();
    let file = scratch.write("a.csv", "a_lon,a_lat,b_lon,b_lat\n1,2,3,4\n2,3,4,5\n").display().to_string();
    let out = scratch.path("o.csv").display().to_string();
    for command in [&["convert", &file, &out][..], &["dbscan", &file, "--eps", "1", "--min-pts", "1"]] {
        has(&run(command.iter().copied()).error(), &["--coordinates A,B"]);
        run(command.iter().copied().chain(["--coordinates", "a_lon,a_lat"])).success();
    }
}

#[test]
fn description_of_a_table_with_text() {
    let scratch = Scratch::new();
    let file = scratch.write("taxi.csv", TAXI).display().to_string();
    let printed = run(["info", &file]).success();
    has(
        &printed,
        &[
            "particles       5",
            "ride: text\n",
            "lon: f64, read as positions",
            "fare: i64\n",
            "payment: text",
            "lat: 1 of 5 rows have no value",
            "ride (text), payment (text), fare (beside lon and lat)",
        ],
    );
}

#[test]
fn text_ids_do_not_stop_what_needs_none() {
    let scratch = Scratch::new();
    let file = scratch.write("d.csv", "id,lat,lon\nnc1,38.8,-122.7\nnc2,38.9,-122.8\n").display().to_string();
    let command = ["dbscan", &file, "--eps", "1", "--min-pts", "1"];
    has(&run([&command[..], &["--columns", "lat,lon"]].concat()).success(), &["clusters        1"]);
    has(&run(command).success(), &["clusters        1", "columns         lat, lon"]);
    let file = scratch.write("h.csv", "id,x,y,z\na,1,1,1\nb,1,1,1.25\nc,9,9,9\n");
    let printed = halos(&file, &scratch.path("out"), &["--eps", "0.5", "--min-members", "2"]).success();
    has(&printed, &["id (text, no ids)"]);
}

/// More rows than fit in memory are an error, and leave no files.
#[cfg(unix)]
#[test]
fn compressed_text_is_limited_by_memory() {
    let scratch = Scratch::new();
    let (file, out, temporary) = (scratch.path("a.gz"), scratch.path("a.npz"), scratch.path("tmp"));
    fs::create_dir(&temporary).unwrap();
    let script = "yes '0 0 0 0 0 0 0 0 0 0' | head -n 3000000 | gzip -1 > \"$1\"; ulimit -v 230000; exec \"$2\" convert \"$1\" \"$3\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([file.as_os_str(), env!("CARGO_BIN_EXE_ropewalk").as_ref(), out.as_os_str()])
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: ") && said.contains("30000000 values of 8 bytes: out of memory"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((scratch.names(""), scratch.names("tmp")), (vec!["a.gz".into(), "tmp".into()], vec![]));
}

#[test]
fn a_table_of_names_alone() {
    let scratch = Scratch::new();
    let file = scratch.write("names.csv", "x,y,z\n").display().to_string();
    let printed = run(["info", &file]).success();
    assert!(printed.contains("particles       0\n") && printed.contains("x: no values\n"), "{printed}");
    assert!(printed.contains("\nnote            the file has no rows of numbers\n"), "{printed}");
    assert!(!printed.contains("missing values"), "{printed}");
}
