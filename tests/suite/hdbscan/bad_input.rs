//! Rejected input, with the parameter's name in the error.

use ropewalk::{ErrorKind, Hdbscan, MinimumSpanningTree};
use ropewalk_table::{Points, Table};

#[test]
fn options_out_of_range() {
    let points = [[0.0f32], [1.0], [2.0]];
    let tree = MinimumSpanningTree::new().run(&points).unwrap();
    let of_tree = [
        (Hdbscan::new(0), "min_cluster_size"),
        (Hdbscan::new(1), "min_cluster_size"),
        (Hdbscan::new(2).min_samples(0), "min_samples"),
        (Hdbscan::new(2).cluster_selection_epsilon(f64::NAN), "cluster_selection_epsilon"),
        (Hdbscan::new(2).cluster_selection_epsilon(-0.5), "cluster_selection_epsilon"),
        (Hdbscan::new(2).max_cluster_size(0), "max_cluster_size"),
        (Hdbscan::new(2).alpha(0.0), "alpha"),
        (Hdbscan::new(2).alpha(-1.0), "alpha"),
        (Hdbscan::new(2).alpha(f64::NAN), "alpha"),
        (Hdbscan::new(2).alpha(f64::INFINITY), "alpha"),
    ];
    for (options, name) in &of_tree {
        let error = options.run_on_spanning_tree(&tree).unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(*name)), "{error}");
        assert_eq!(options.run(&points).unwrap_err().to_string(), error.to_string());
    }
    let good = Hdbscan::new(2);
    let clusters = good.run(&points).unwrap();
    for options in of_tree.into_iter().map(|(options, _)| options).chain([good.clone().min_samples(4)]) {
        let errors = [options.run(&points).err(), options.predict(&points, &clusters, &points).err()];
        assert!(errors.iter().flatten().count() == 2, "{options:?}");
    }
    assert_eq!(good.clone().min_samples(4).run(&points).unwrap_err().parameter(), Some("min_samples"));
    for eps in [f64::NAN, -1.0] {
        assert_eq!(clusters.dbscan_labels(eps).unwrap_err().parameter(), Some("eps"));
    }
    assert!(good.predict(&points[..2], &clusters, &points).is_err());
    assert!(good.clone().periodic(-1.0).run(&points).is_err());
}

/// The error names the row that is not finite.
#[test]
fn rows_that_are_not_finite() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let points = [[0.0, 0.0], [1.0, 1.0], [0.5, value], [2.0, 0.0]];
        let error = Hdbscan::new(2).run(&points).unwrap_err();
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(2)), "{error}");
        let table = Points::F64(Table::new(2, points.concat()).unwrap());
        assert_eq!(ropewalk_table::hdbscan(&table, &Hdbscan::new(2)).unwrap_err().index(), Some(2));
        let clusters = Hdbscan::new(2).run(&points[..2]).unwrap();
        let error = Hdbscan::new(2).predict(&points[..2], &clusters, &points).unwrap_err();
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(2)), "{error}");
    }
}
