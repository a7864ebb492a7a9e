//! `ropewalk hdbscan`: known answers, every option compared with the library, pictures, and one-line errors.

use std::fs;
use std::path::Path;

use npyz::NpyFile;
use ropewalk::Hdbscan;
use ropewalk::cluster::{ClusterSelection, Ties};
use ropewalk_io::{Points, Table, write_npy};

use crate::clusters::moons;
use crate::program::{Output, Scratch, run};

fn hdbscan(file: &Path, options: &[&str]) -> Output {
    let arguments = ["hdbscan".as_ref(), file.as_os_str()];
    run(arguments.into_iter().chain(options.iter().map(AsRef::as_ref)))
}

fn npy<T: npyz::Deserialize>(path: &str) -> Vec<T> {
    NpyFile::new(&fs::read(path).unwrap()[..]).unwrap().into_vec().unwrap()
}

fn has_line(text: &str, line: &str) {
    assert!(text.lines().any(|other| other == line), "{line:?} is not in {text}");
}

#[test]
fn labels_probabilities_and_outliers() {
    let scratch = Scratch::new();
    let file = scratch.write("line.csv", "0\n1\n2\n4\n30\n30.25\n30.5\n31\n90\n");
    for ending in ["npy", "csv"] {
        let of = |name: &str| scratch.path(&format!("{name}.{ending}")).display().to_string();
        let [labels, probabilities, outliers] = ["labels", "probabilities", "outliers"].map(of);
        let outputs = ["--out", &labels, "--probabilities", &probabilities, "--outliers", &outliers];
        let printed =
            hdbscan(&file, &[&["--min-cluster-size", "3", "--min-samples", "2"], &outputs[..]].concat()).success();
        for line in [
            "points          9",
            "cluster size    at least 3",
            "min_samples     2",
            "clusters        2",
            "noise           1 (11.1%)",
            "largest         4 points",
        ] {
            has_line(&printed, line);
        }
        // The last point of each cluster joins at twice the distance of the others. Outlier scores are relative to
        // the cluster. The isolated point is compared with the denser cluster: it leaves at 59, while the others stay
        // until 1/4.
        let (p, o) = ([1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5]);
        if ending == "npy" {
            assert_eq!(npy::<i32>(&labels), [0, 0, 0, 0, 1, 1, 1, 1, -1]);
            assert_eq!(npy::<f64>(&probabilities), p);
            let found: Vec<f64> = npy(&outliers);
            assert_eq!(found[..8], o);
            assert!((found[8] - (1.0 - 0.25 / 59.0)).abs() < 1e-12);
        } else {
            let table = fs::read_to_string(labels).unwrap();
            let expected = "column_1,label,probability,outlier_score\n0,0,1.0,0.0\n1,0,1.0,0.0\n2,0,1.0,0.0\n4,0,0.5,0.5\n30,1,1.0,0.0\n";
            assert!(table.starts_with(expected) && table.lines().count() == 10, "{table}");
            let text = fs::read_to_string(probabilities).unwrap();
            assert_eq!(text, "probability\n1.0\n1.0\n1.0\n0.5\n1.0\n1.0\n1.0\n0.5\n0.0\n");
            assert!(fs::read_to_string(outliers).unwrap().starts_with("outlier\n0.0\n0.0\n0.0\n0.5\n"));
        }
    }
}

#[test]
fn two_moons_and_their_tree() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let of = |name: &str| scratch.path(name).display().to_string();
    let [labels, picture, svg, png] = ["labels.npy", "clusters.png", "tree.SVG", "tree.png"].map(of);
    let options = ["--min-cluster-size", "20", "--min-samples", "5", "--out", &labels, "--plot", &picture];
    let printed = hdbscan(&file, &[&options[..], &["--tree", &svg]].concat()).success();
    has_line(&printed, "clusters        2");
    assert!(
        ["read", "find clusters", "labels", "picture", "tree", "total"].iter().all(|phase| printed.contains(phase))
    );
    let found: Vec<i32> = npy(&labels);
    assert!(found[..400].iter().zip(0..).all(|(&label, i)| label == i / 200) && found[400..] == [-1; 4]);
    let text = fs::read_to_string(&svg).unwrap();
    assert!(
        text.starts_with("<svg") && text.ends_with("</svg>\n") && text.contains("HDBSCAN*: 404 points, 2 clusters")
    );
    // The root is grey, and the moons have the colours of the picture.
    assert_eq!(
        ["#bcbcc4", "#0072b2", "#e69f00"].map(|color| text.matches(&format!("Z\" fill=\"{color}")).count()),
        [1; 3]
    );

    // One thread writes the same bytes.
    let before = [&labels, &picture, &svg].map(|path| fs::read(path).unwrap());
    hdbscan(&file, &[&options[..], &["--tree", &svg, "--threads", "1"]].concat()).success();
    assert!([&labels, &picture, &svg].map(|path| fs::read(path).unwrap()) == before);
    hdbscan(&file, &["--min-cluster-size", "20", "--tree", &png]).success();
    for path in [&picture, &png] {
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    }
    let printed = hdbscan(&file, &options[..4]).success();
    assert!(printed.contains("\nwritten         nothing; use --out LABELLED.csv"), "{printed}");
}

/// Each option has the effect that it has in the library, and changes the result.
#[test]
fn every_option() {
    let scratch = Scratch::new();
    let (file, out) = (scratch.path("points.npy"), scratch.path("labels.npy").display().to_string());
    // Clumps of several densities by a linear congruential generator, rounded to tenths so that distances tie.
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 16) / 65536.0
    };
    let mut rows: Vec<[f64; 2]> = vec![];
    for clump in 0..12 {
        let (middle, width) = ([10.0 * next(), 10.0 * next()], 0.2 + 0.1 * f64::from(clump));
        rows.extend(
            (0..60).map(|_| {
                middle.map(|x| ((x + width * (next() + next() - 1.0)).rem_euclid(10.0) * 10.0).round() / 10.0)
            }),
        );
    }
    write_npy(&file, &Points::F64(Table::new(2, rows.as_flattened().to_vec()).unwrap())).unwrap();
    let plain = || Hdbscan::new(8).min_samples(4);
    let expected = |hdbscan: Hdbscan| hdbscan.run(&rows).unwrap().labels().as_slice().to_vec();
    let without = expected(plain());
    for (options, hdbscan) in [
        (&["--alpha", "0.25"][..], plain().alpha(0.25)),
        (&["--min-samples", "9"][..], Hdbscan::new(8).min_samples(9)),
        (&["--method", "leaf"], plain().cluster_selection(ClusterSelection::Leaf)),
        (&["--epsilon", "0.9"], plain().cluster_selection_epsilon(0.9)),
        (&["--max-cluster-size", "40"], plain().max_cluster_size(40)),
        (&["--allow-single", "--min-cluster-size", "300"], Hdbscan::new(300).min_samples(4).allow_single_cluster(true)),
        (&["--ties", "sequential"], plain().ties(Ties::Sequential)),
        (&["--periodic", "10"], plain().periodic(10.0)),
    ] {
        let mut all = vec!["--out", &out];
        for (option, value) in [("--min-cluster-size", "8"), ("--min-samples", "4")] {
            if !options.contains(&option) {
                all.extend([option, value]);
            }
        }
        all.extend(options);
        hdbscan_labels(&file, &all, &out, &expected(hdbscan), &without);
    }
    // The default of --min-samples is the minimum cluster size.
    hdbscan_labels(&file, &["--min-cluster-size", "8", "--out", &out], &out, &expected(Hdbscan::new(8)), &without);
}

fn hdbscan_labels(file: &Path, options: &[&str], out: &str, expected: &[i32], without: &[i32]) {
    hdbscan(file, options).success();
    assert_eq!(npy::<i32>(out), expected, "{options:?}");
    assert!(expected != without, "{options:?}");
}

#[test]
fn little_or_nothing() {
    let scratch = Scratch::new();
    let of = |name: &str| scratch.path(name).display().to_string();
    let [out, picture, tree] = ["out.npy", "clusters.png", "tree.svg"].map(of);
    write_npy(scratch.path("none.npy"), &Points::F32(Table::new(2, vec![]).unwrap())).unwrap();
    let same = scratch.write("same.csv", "1,1\n".repeat(30));
    for (file, n) in [(scratch.path("none.npy"), 0), (scratch.write("one.csv", "1,2\n"), 1), (same, 30)] {
        let options = ["--min-cluster-size", "5", "--out", &out, "--plot", &picture, "--tree", &tree];
        let printed = hdbscan(&file, &options).success();
        has_line(&printed, "clusters        0");
        assert_eq!(npy::<i32>(&out), vec![-1; n]);
        assert!(fs::read_to_string(&tree).unwrap().ends_with("</svg>\n"));
        hdbscan(&file, &[&options[..], &["--allow-single"]].concat()).success();
        assert_eq!(npy::<i32>(&out), vec![if n < 5 { -1 } else { 0 }; n]);
    }
}

#[test]
fn clusters_have_five_points_by_default_as_in_scikit_learn() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let labels = ["a.npy", "b.npy"].map(|name| scratch.path(name));
    hdbscan(&file, &["--out", &labels[0].display().to_string()]).success();
    // The options have scikit-learn's names, too.
    let chosen = ["--min-cluster-size", "5", "--cluster-selection-method", "eom", "--cluster-selection-epsilon", "0"];
    hdbscan(&file, &[&chosen[..], &["--out", &labels[1].display().to_string()]].concat()).success();
    let [by_default, chosen] = labels.map(|path| fs::read(path).unwrap());
    assert!(by_default == chosen);
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    let file = moons(&scratch);
    let of = |name: &str| scratch.path(name).display().to_string();
    let good = ["--min-cluster-size", "5", "--out", &of("x.npy"), "--plot", &of("x.png"), "--tree", &of("x.svg")];
    for (options, said) in [
        (&["--min-samples", "0"][..], "min_samples is 0; it must be at least 1"),
        (&["--min-samples", "405"], "min_samples is 405; it must be at most the number of points"),
        (&["--epsilon", "-1"], "--epsilon is -1"),
        (&["--epsilon", "NaN"], "--epsilon is NaN"),
        (&["--max-cluster-size", "0"], "max_cluster_size is 0"),
        (&["--alpha", "0"], "alpha is 0; it must be positive and finite"),
        (&["--alpha", "-2"], "alpha is -2"),
        (&["--periodic", "0"], "axis 0 is 0"),
        (&["--periodic", "2"], "box"),
    ] {
        let line = hdbscan(&file, &[&good[..], options].concat()).error();
        assert!(line.contains(said), "{line}");
    }
    for (options, said) in [
        (["--min-cluster-size", "1"], "min_cluster_size is 1; it must be at least 2"),
        (["--min-cluster-size", "0"], "min_cluster_size is 0; it must be at least 2"),
    ] {
        assert!(hdbscan(&file, &options).error().contains(said));
    }
    for (option, name, said) in [
        ("--out", "x.txt", "must end in .npy or .csv"),
        ("--probabilities", "x.txt", "must end in .npy or .csv"),
        ("--outliers", "x.txt", "must end in .npy or .csv"),
        ("--plot", "x.gif", "must end in .png"),
        ("--tree", "x.gif", "must end in .png or .svg or .pdf"),
        ("--out", "moons.csv", "would replace the input"),
        ("--out", "no/x.npy", "cannot write into this directory"),
    ] {
        let line = hdbscan(&file, &["--min-cluster-size", "5", option, &of(name)]).error();
        assert!(line.contains(option) || name != "x.txt", "{line}");
        assert!(line.contains(said), "{line}");
    }
    let twice = ["--min-cluster-size", "5", "--plot", &of("x.png"), "--tree", &of("x.png")];
    assert!(hdbscan(&file, &twice).error().contains("two outputs"));
    let four = scratch.write("four.csv", "0,0,0,0\n1,1,1,1\n2,2,2,2\n");
    assert!(hdbscan(&four, &good).error().contains("points have 4 dimensions; --plot requires 2 or 3"));
    let holes = scratch.write("holes.csv", "0,0\n1,NaN\n2,2\n");
    assert!(hdbscan(&holes, &["--min-cluster-size", "2"]).error().contains("line 2: column 2 is NaN"));
    let empty = scratch.write("empty.npy", "");
    assert!(hdbscan(&empty, &["--min-cluster-size", "2"]).error().contains("empty.npy"));
    for arguments in [
        &["hdbscan", "x", "--min-cluster-size", "some"][..],
        &["hdbscan", "x", "--min-cluster-size", "5", "--method", "best"],
        &["hdbscan", "x", "--min-cluster-size", "5", "--ties", "none"],
    ] {
        let output = run(arguments);
        assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{arguments:?}");
        output.line();
    }
    assert_eq!(scratch.names(""), ["empty.npy", "four.csv", "holes.csv", "moons.csv"]);
}
