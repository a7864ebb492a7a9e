//! `ropewalk tree`: files that describe one tree over all points, and one-line errors.

use std::fs;

use crate::program::{Scratch, run};

/// The numbers after a keyword of a VTK file.
fn numbers(text: &str, keyword: &str) -> Vec<f64> {
    let lines = text.lines().skip_while(|line| !line.starts_with(keyword)).skip(1);
    let numbers = lines.skip_while(|line| line.starts_with("LOOKUP_TABLE"));
    let words = numbers.flat_map(str::split_whitespace).map_while(|word| word.parse().ok());
    words.collect()
}

#[test]
fn files_describe_the_tree() {
    let scratch = Scratch::new();
    let rows: String = (0..100).map(|i| format!("{},{}\n", i * 37 % 101, i * i % 89)).collect();
    let file = scratch.write("points.csv", format!("x,y\n{rows}")).display().to_string();
    let of = |name: &str| scratch.path(name).display().to_string();
    let read = |name: &str| fs::read_to_string(scratch.path(name)).unwrap();
    for name in ["a.dot", "b.GV", "a.tikz", "b.tex", "a.vtk"] {
        let report = run(["tree", &file, "--out", &of(name), "--json", &of("a.json")]).success();
        assert!(report.contains("points          100\n") && report.contains("nodes           "), "{report}");
    }

    // Leaves partition the points, and a binary tree has one leaf more than inner nodes.
    let dot = read("a.dot");
    let mut ranges: Vec<[usize; 2]> = dot
        .lines()
        .filter(|line| line.contains("shape=box"))
        .map(|line| line.split("\\n").nth(1).unwrap().split('"').next().unwrap())
        .map(|range| range.split_once("..").unwrap())
        .map(|(from, to)| [from, to].map(|bound| bound.parse().unwrap()))
        .collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0][1] == pair[1][0]));
    assert_eq!((ranges[0][0], ranges[ranges.len() - 1][1]), (0, 100));
    let nodes = 2 * ranges.len() - 1;
    assert_eq!(dot.lines().filter(|line| line.contains("shape=ellipse")).count(), ranges.len() - 1);
    assert!(read("a.json").contains(&format!("\"nodes\": {nodes}")));
    assert_eq!(read("b.GV"), dot);

    let tikz = read("a.tikz");
    assert_eq!(tikz.lines().filter(|line| line.starts_with("\\draw[depth ")).count(), nodes);
    assert_eq!(tikz.lines().filter(|line| line.starts_with("\\fill[primitive]")).count(), 100);
    assert_eq!(read("b.tex"), tikz);

    let vtk = read("a.vtk");
    assert!(vtk.contains(&format!("\nCELLS {nodes} {}\n", 5 * nodes)));
    let corners = numbers(&vtk, "POINTS");
    assert_eq!(corners.len(), 12 * nodes);
    // The root is the box of all points.
    assert_eq!(corners[..9], [0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 100.0, 88.0, 0.0]);
    let (leaf, sizes) = (numbers(&vtk, "SCALARS leaf"), numbers(&vtk, "SCALARS primitives"));
    assert_eq!((leaf.len(), sizes.len(), sizes[0]), (nodes, nodes, 100.0));
    assert_eq!(leaf.iter().zip(&sizes).map(|(leaf, size)| leaf * size).sum::<f64>(), 100.0);
}

#[test]
fn formats_and_dimensions() {
    let scratch = Scratch::new();
    let file = scratch.write("points.csv", "a,b,c,d\n1,2,3,4\n2,3,4,5\n9,8,7,6\n").display().to_string();
    let of = |name: &str| scratch.path(name).display().to_string();
    for (columns, shown) in [
        ("a", &["a.dot", "a.tikz", "a.vtk"][..]),
        ("a,b", &["b.dot", "b.tikz", "b.vtk"]),
        ("a,b,c", &["c.dot", "c.vtk"]),
        ("a,b,c,d", &["d.dot"]),
    ] {
        for ending in ["dot", "tikz", "vtk"] {
            let name = format!("{}.{ending}", columns.chars().last().unwrap());
            let output = run(["tree", &file, "--coordinates", columns, "--out", &of(&name)]);
            if shown.contains(&name.as_str()) {
                output.success();
                continue;
            }
            let line = output.error();
            assert!(line.contains("coordinates; use Graphviz (.dot), which shows all"), "{line}");
            assert!(!scratch.path(&name).exists());
        }
    }
    for name in ["tree.svg", "tree", "-"] {
        let out = if name == "-" { name.to_string() } else { of(name) };
        let line = run(["tree", &file, "--out", &out]).error();
        assert!(line.starts_with("error: --out ") && line.contains("use .dot, .gv, .tikz, .tex or .vtk"), "{line}");
    }
}
