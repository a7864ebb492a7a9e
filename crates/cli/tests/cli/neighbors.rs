//! `ropewalk knn` and `ropewalk pairs`: known answers and errors.

use std::fs;

use npyz::NpyFile;

use crate::program::{Scratch, run};

const POINTS: &str = "x,y\n0,0\n3,4\n0,1\n9,9\n9,8\n";

#[test]
fn the_nearest() {
    let scratch = Scratch::new();
    let file = scratch.write("points.csv", POINTS);
    let of = |name: &str| scratch.path(name).display().to_string();
    let file = file.display().to_string();
    let arguments = ["knn", &file, "--k", "2", "--out", &of("near.npy"), "--distances", &of("far.npy")];
    let printed = run(arguments).success();
    assert!(printed.contains("points          5\n") && printed.contains("k               2\n"), "{printed}");
    let near = NpyFile::new(fs::File::open(of("near.npy")).unwrap()).unwrap();
    assert_eq!(near.shape(), [5, 2]);
    assert_eq!(near.into_vec::<u32>().unwrap(), [2, 1, 2, 0, 0, 1, 4, 1, 3, 1]);
    let far = NpyFile::new(fs::File::open(of("far.npy")).unwrap()).unwrap();
    assert_eq!(far.into_vec::<f64>().unwrap()[..4], [1.0, 5.0, 4.242640687119286, 5.0]);

    // One neighbour is an array of one column, as two are of two.
    run(["knn", &file, "--k", "1", "--out", &of("near.npy"), "--distances", &of("far.npy")]).success();
    for name in ["near.npy", "far.npy"] {
        assert_eq!(NpyFile::new(fs::File::open(of(name)).unwrap()).unwrap().shape(), [5, 1], "{name}");
    }

    // The table is on standard output, the report on standard error.
    let output = run(["knn", &file, "--k", "1", "--out", "-", "--periodic", "10"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let rows = "point,neighbor,distance\n0,2,1.0\n1,2,4.242640687119286\n2,0,1.0\n3,4,1.0\n4,3,1.0\n";
    assert_eq!(output.stdout, rows);
    assert!(output.stderr.contains("written: standard output"), "{}", output.stderr);

    let queries = scratch.write("queries.csv", "x,y\n9,7\n").display().to_string();
    run(["knn", &file, "--k", "1", "--queries", &queries, "--out", &of("q.csv")]).success();
    assert_eq!(fs::read_to_string(of("q.csv")).unwrap(), "point,neighbor,distance\n0,4,1.0\n");

    let line = run(["knn", &file, "--k", "5", "--out", &of("x.npy")]).error();
    assert!(line.contains("--k is 5, but of 5 points there are only 4 to find"), "{line}");
    assert_eq!(run(["knn", &file, "--k", "0", "--out", &of("x.npy")]).status, 2);
}

#[test]
fn all_pairs() {
    let scratch = Scratch::new();
    let file = scratch.write("points.csv", POINTS).display().to_string();
    let of = |name: &str| scratch.path(name).display().to_string();
    run(["pairs", &file, "--radius", "5", "--out", &of("pairs.csv"), "--json", &of("pairs.json")]).success();
    let rows = "low,high,distance\n0,1,5.0\n0,2,1.0\n1,2,4.242640687119286\n3,4,1.0\n";
    assert_eq!(fs::read_to_string(of("pairs.csv")).unwrap(), rows);
    let json = fs::read_to_string(of("pairs.json")).unwrap();
    assert!(json.contains("\"pairs\": 4") && json.contains("\"radius\": 5.0"), "{json}");
    run(["pairs", &file, "--radius", "1", "--out", &of("pairs.npy"), "--distances", &of("d.csv")]).success();
    let pairs = NpyFile::new(fs::File::open(of("pairs.npy")).unwrap()).unwrap();
    assert_eq!(pairs.shape(), [2, 2]);
    assert_eq!(pairs.into_vec::<u32>().unwrap(), [0, 2, 3, 4]);
    assert_eq!(fs::read_to_string(of("d.csv")).unwrap(), "distance\n1.0\n1.0\n");
    run(["pairs", &file, "--radius", "1", "--out", &of("pairs.npy"), "--distances", &of("d.npy")]).success();
    assert_eq!(NpyFile::new(fs::File::open(of("d.npy")).unwrap()).unwrap().shape(), [2]);
    let line = run(["pairs", &file, "--radius", "-1", "--out", &of("x.npy")]).error();
    assert!(line.contains("radius is -1"), "{line}");
}
