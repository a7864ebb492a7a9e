//! Predictions for new points of a table, compared with the generic functions, in any precision and dimension, open
//! and periodic.

use common::random::Random;
use ropewalk::geometry::Boundary;
use ropewalk::{Dbscan, ErrorKind, Fof, Hdbscan};
use ropewalk_table::{Points, Table};

/// Returns multiples of 1/64, which are exact in 32 bits.
fn numbers(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| (random.unit() * 8.0 * 64.0).floor() / 64.0).collect()
}

fn tables(dim: usize, data: &[f64]) -> [Points; 2] {
    let narrow = data.iter().map(|&x| x as f32).collect();
    [Points::F32(Table::new(dim, narrow).unwrap()), Points::F64(Table::new(dim, data.to_vec()).unwrap())]
}

fn compare<const D: usize>(side: Option<f64>) {
    let mut random = Random::new(D as u64);
    let (old, new) = (numbers(&mut random, 120 * D), numbers(&mut random, 60 * D));
    let (rows, new_rows): (&[[f64; D]], &[[f64; D]]) = (old.as_chunks().0, new.as_chunks().0);
    let dbscan = Dbscan::new(0.3 * (D * D) as f64, 4).periodic(side);
    let hdbscan = Hdbscan::new(4).periodic(side);
    let (labels, clusters) = (dbscan.run(rows).unwrap(), hdbscan.run(rows).unwrap());
    let by_dbscan = dbscan.predict(rows, &labels, new_rows).unwrap();
    let by_hdbscan = hdbscan.predict(rows, &clusters, new_rows).unwrap();
    let halos = Fof::new(0.5).periodic(side).run(rows).unwrap();
    for points in &tables(D, &old) {
        assert_eq!(ropewalk_table::fof(points, &Fof::new(0.5).periodic(side)).unwrap(), halos);
        for new in &tables(D, &new) {
            assert_eq!(
                ropewalk_table::dbscan_predict(points, &labels, new, &dbscan).unwrap(),
                by_dbscan,
                "{D} {side:?}"
            );
            assert_eq!(
                ropewalk_table::hdbscan_predict(points, &clusters, new, &hdbscan).unwrap(),
                by_hdbscan,
                "{D} {side:?}"
            );
        }
    }
}

#[test]
fn as_the_generic_functions() {
    for side in [None, Some(20.0)] {
        compare::<1>(side);
        compare::<2>(side);
        compare::<3>(side);
        compare::<4>(side);
    }
}

#[test]
fn other_dimensions_are_refused() {
    let [_, points] = tables(2, &[0.0; 12]);
    let [new, _] = tables(3, &[0.0; 3]);
    let dbscan = Dbscan::new(1.0, 2);
    let labels = ropewalk_table::dbscan(&points, &dbscan).unwrap();
    let error = ropewalk_table::dbscan_predict(&points, &labels, &new, &dbscan).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parameter);
    assert!(error.to_string().contains("dimension of the new points"), "{error}");
    let hdbscan = Hdbscan::new(2);
    let clusters = ropewalk_table::hdbscan(&points, &hdbscan).unwrap();
    assert_eq!(
        ropewalk_table::hdbscan_predict(&points, &clusters, &new, &hdbscan).unwrap_err().kind(),
        ErrorKind::Parameter
    );
}

/// Halos on a line belong to a box with one side, whatever the axes that they were found with.
#[test]
fn halos_know_their_own_space() {
    let [narrow, wide] = tables(1, &[0.0, 0.5, 7.75]);
    for points in [narrow, wide] {
        let halos = ropewalk_table::fof(&points, &Fof::new(0.5).periodic(8.0)).unwrap();
        assert_eq!((halos.len(), halos.boundary()), (1, &Boundary::Periodic(vec![8.0])));
        assert_eq!(*ropewalk_table::fof(&points, &Fof::new(0.5)).unwrap().boundary(), Boundary::Open);
    }
}
