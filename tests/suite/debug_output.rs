//! Debug output: the messages of errors, and summaries of types that hold many points.

use std::fmt::Debug;

use ropewalk::cluster::Dendrogram;
use ropewalk::{Bvh, Fof, Hdbscan, Mesh, MinimumSpanningTree, Nearest, dbscan};
use ropewalk_io::{Masses, Points, Snapshot, Table};

#[test]
fn errors_are_sentences() {
    let error = Bvh::build(&[[f32::NAN, 1.0]]).unwrap_err();
    assert_eq!(format!("{error:?}"), "point 0: coordinate 0 is NaN; coordinates must be finite");
}

#[test]
fn large_types_are_summaries() {
    let points: Vec<[f64; 3]> = (0..2000).map(|i| [f64::from(i), f64::from(i % 7), f64::from(i % 11)]).collect();
    let bvh = Bvh::build(&points).unwrap();
    let tree = MinimumSpanningTree::new().run(&points).unwrap();
    let halos = Fof::new(2.0).run(&points).unwrap();
    let faces: Vec<[u32; 3]> = (0..1000).map(|i| [i, i + 1, i + 2]).collect();
    let mut snapshot = Snapshot::new(Points::F64(Table::new(3, points.concat()).unwrap()));
    snapshot.ids = Some((0..2000).collect());
    snapshot.masses = Masses::Each(vec![1.0; 2000]);
    let all: [(&str, &dyn Debug); 9] = [
        ("Bvh", &bvh),
        ("Csr", &bvh.neighbors(2.0)),
        ("Csr", &bvh.nearest_neighbors(Nearest::new(2).excluding_self())),
        ("Labels", &dbscan(&points, 2.0, 3).unwrap()),
        ("Halos", &halos),
        ("Dendrogram", &Dendrogram::new(&tree)),
        ("HdbscanClusters", &Hdbscan::new(5).run(&points).unwrap()),
        ("Mesh", &Mesh::build(&points, &faces).unwrap()),
        ("Snapshot", &snapshot),
    ];
    for (name, value) in all {
        let text = format!("{value:?}");
        assert!(text.starts_with(name) && text.len() < 2000, "{text}");
    }
    assert!(format!("{bvh:?}").contains("len: 2000"));
    assert!(format!("{tree:?}").len() < 1000);
    // Short ones are printed completely.
    assert!(format!("{:?}", dbscan(&[[0.0f32], [0.1]], 0.5, 2).unwrap()).contains("[0, 0]"));
}
