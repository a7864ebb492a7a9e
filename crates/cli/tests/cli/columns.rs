//! Columns of tables: those that are used, those that are left out, and the names that they keep.

use std::fs;

use crate::program::{Scratch, run};

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// All commands that use coordinates alone name ids, masses and velocities that are left out.
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
