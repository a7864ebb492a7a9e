//! Columns of tables: those that are used, those that are not, and their names in converted files.

use std::fs;

use crate::program::{Scratch, run};

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// All commands that use only coordinates report unused ids, masses and velocities.
#[test]
fn particle_data_is_named() {
    let scratch = Scratch::new();
    let file = scratch.write("a.csv", "a,b,mass,id\n1,2,3,9\n2,3,4,5\n3,4,5,6\n").display().to_string();
    let [out, json] = ["o.npy", "a.json"].map(|name| scratch.path(name).display().to_string());
    let note = "columns left out: mass (a mass by its name), id (an id by its name)";
    let commands: [&[&str]; 7] = [
        &["dbscan", "--eps", "2", "--min-pts", "1"],
        &["hdbscan", "--min-cluster-size", "2"],
        &["kdist", "--k", "1"],
        &["knn", "--k", "1", "--out", &out],
        &["pairs", "--radius", "2", "--out", &out],
        &["emst", "--out", &out],
        &["linkage", "--out", &out],
    ];
    for command in commands {
        let command = [command, &[&file, "--json", &json]].concat();
        has(&run(&command).success(), &["columns         a, b\n", note]);
        has(&fs::read_to_string(&json).unwrap(), &["\"notes\": [\n    \"columns left out: mass"]);
    }
    let masses = scratch.write("m.csv", "m,id\n1,1\n1,2\n2,3\n").display().to_string();
    let points = scratch.write("p.csv", "x,y,z\n1,1,1\n1,1,1.25\n9,9,9\n").display().to_string();
    let folder = scratch.path("out").display().to_string();
    let halos = ["halos", &points, "--out", &folder, "--eps", "0.5", "--min-members", "2", "--mass", &masses];
    has(&run(halos).success(), &["--mass: columns left out: id (an id by its name)"]);
}

/// `convert` keeps the names of columns, so that the same options read the new file.
#[test]
fn names_are_kept() {
    let scratch = Scratch::new();
    let file = scratch.write("d.csv", "a,b,c,d\n1,2,3,\n2,3,4,5\n3,4,5,6\n").display().to_string();
    let complete = scratch.path("complete.csv").display().to_string();
    let line = run(["knn", &file, "--skip-missing", "--columns", "a,b,c", "--k", "1", "--out", "-"]).error();
    let advice =
        format!("(ropewalk convert --skip-missing --coordinates a,b,c {file} complete.csv), and read it without");
    has(&line, &[&advice]);
    for (options, written) in [
        (&[][..], "a,b,c,d\n2,3,4,5\n3,4,5,6\n"),
        (&["--coordinates", "a,b,c"], "a,b,c\n1,2,3\n2,3,4\n3,4,5\n"),
        (&["--coordinates", "2,1"], "b,a\n2,1\n3,2\n4,3\n"),
    ] {
        let command = ["convert", "--skip-missing", &file, &complete];
        let report = run(command.iter().chain(options)).success();
        assert!(!report.contains("written as"), "{report}");
        assert_eq!(fs::read_to_string(&complete).unwrap(), written);
        assert_eq!(run(["knn", &complete, "--k", "1", "--out", "-"]).status, 0);
    }
    // Chosen columns that would be read differently under their own names or in their own order are renamed.
    let file = scratch.write("e.csv", "x,y,id,label,2mass\n1,2,3,4,5\n").display().to_string();
    for (chosen, names) in [("y,x", "x,y,id"), ("id,label", "x,y"), ("y,2mass", "x,y,id")] {
        let report = run(["convert", &file, &complete, "--coordinates", chosen]).success();
        has(&report, &[&format!("note: the coordinates {} are written as x, y\n", chosen.replace(',', ", "))]);
        let text = fs::read_to_string(&complete).unwrap();
        assert_eq!(text.lines().next(), Some(names), "{text}");
    }
    let file = scratch.write("sky.csv", "lon,\"lat, in deg\",id\n1,2,7\n3,4,8\n").display().to_string();
    for ending in ["csv", "ecsv", "parquet", "npz"] {
        let out = scratch.path(&format!("s.{ending}")).display().to_string();
        let report = run(["convert", &file, &out]).success();
        let said = report.contains("note: the coordinates lon, lat, in deg are written as positions\n");
        assert_eq!(said, ending == "npz", "{report}");
        let columns = if ending == "npz" { "positions" } else { "lon, lat, in deg" };
        has(
            &run(["kdist", &out, "--k", "1"]).success(),
            &[&format!("columns         {columns}\n"), "dimensions      2"],
        );
    }
}

/// Advice names options of the program, and only those that the command has.
#[test]
fn advice_in_the_words_of_the_program() {
    let scratch = Scratch::new();
    let file = scratch.write("a.csv", "a,b,name\n1,2,u\n,3,v\n").display().to_string();
    let out = scratch.path("o.npz").display().to_string();
    let pairs = scratch.path("o.npy").display().to_string();
    for (command, option) in [
        (&["dbscan", &file, "--eps", "1", "--min-pts", "1"][..], "; use --skip-missing to drop rows"),
        (&["convert", &file, &out], "; use --skip-missing to drop rows"),
        (&["pairs", &file, "--radius", "1", "--out", &pairs], "; use ropewalk convert --skip-missing to drop rows"),
        (&["info", "--ranges", &file], "; use ropewalk convert --skip-missing to drop rows"),
    ] {
        let line = run(command).error();
        has(&line, &[option]);
        assert!(!line.contains("ReadOptions") && !line.contains("Python"), "{line}");
    }
    let file = scratch.write("b.csv", "a,b,name\n1,2,u\n2,3,v\n").display().to_string();
    for command in [&["info", &file][..], &["kdist", &file, "--k", "1"], &["convert", &file, &out]] {
        let report = run(command).success();
        has(&report, &["name (text); choose the coordinate columns (--coordinates A,B)\n"]);
        assert!(!report.contains("ReadOptions") && !report.contains("Python"), "{report}");
    }
}

/// `info` shows the columns of a table without readable coordinates, and the reason.
#[test]
fn arrays_in_columns_of_ecsv() {
    let scratch = Scratch::new();
    let header = "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: pos, datatype: string, subtype: 'float64[3]'}\n";
    let file = scratch.write("a.ecsv", format!("{header}pos\n[1.0,0.0,1.0]\n[2.0,0.0,2.0]\n")).display().to_string();
    let why = "left out: pos (arrays of float64[3])";
    has(&run(["info", &file]).success(), &["particles       2\n", "pos: text", why]);
    has(&run(["dbscan", &file, "--eps", "1", "--min-pts", "1"]).error(), &[why]);
}
