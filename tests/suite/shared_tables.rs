//! Tables over memory with another owner give the results of ordinary tables, and the owner is dropped with the last
//! table.

use std::sync::{Arc, Weak};

use common::data::root;
use ropewalk::geometry::BoxSize;
use ropewalk::{AdaptaHop, Dbscan, Hdbscan, MinimumSpanningTree};
use ropewalk_io::{Points, ReadOptions, Snapshot, Table, read};
use ropewalk_pipeline::Options;
use ropewalk_table::{adaptahop, dbscan, hdbscan, k_distances, minimum_spanning_tree, pairs};

/// An owner of numbers: a vector with a header before the numbers.
struct Foreign(Vec<f32>);

impl AsRef<[f32]> for Foreign {
    fn as_ref(&self) -> &[f32] {
        &self.0[3..]
    }
}

fn shared(values: &[f32]) -> (Points, Weak<Foreign>) {
    let owner = Arc::new(Foreign([&[f32::NAN; 3], values].concat()));
    let weak = Arc::downgrade(&owner);
    (Points::F32(Table::shared(3, owner).unwrap()), weak)
}

fn snapshot() -> Snapshot {
    read(root().join("data/p3m_64.gadget2"), &ReadOptions::default().types([1])).unwrap()
}

fn values(points: &Points) -> &[f32] {
    let Points::F32(table) = points else { panic!("the sample is in f32") };
    table.as_slice()
}

#[test]
fn same_answers() {
    let snapshot = snapshot();
    let own = Points::F32(Table::new(3, values(&snapshot.points)[..15_000].to_vec()).unwrap());
    let (points, owner) = shared(values(&own));
    assert_eq!(points, own);
    let size = BoxSize::from(32.0);
    assert_eq!(dbscan(&points, &Dbscan::new(0.2, 5)).unwrap(), dbscan(&own, &Dbscan::new(0.2, 5)).unwrap());
    let clusters = |points| hdbscan(points, &Hdbscan::new(10)).unwrap().labels().clone();
    assert_eq!(clusters(&points), clusters(&own));
    let tree = |points| minimum_spanning_tree(points, &MinimumSpanningTree::new()).unwrap();
    assert_eq!(tree(&points).edges(), tree(&own).edges());
    let finder = AdaptaHop::new().density_threshold(80.0).periodic(32.0);
    assert_eq!(adaptahop(&points, &finder).unwrap(), adaptahop(&own, &finder).unwrap());
    assert_eq!(k_distances(&points, 4, size.clone()).unwrap(), k_distances(&own, 4, size.clone()).unwrap());
    assert_eq!(pairs(&points, 0.1, size.clone()).unwrap(), pairs(&own, 0.1, size).unwrap());
    let again = points.clone();
    drop(points);
    assert!(owner.upgrade().is_some());
    std::thread::spawn(move || drop(again)).join().unwrap();
    assert!(owner.upgrade().is_none());
}

#[test]
fn a_pipeline_of_shared_tables() {
    let own = snapshot();
    let mut snapshot = own.clone();
    snapshot.points = shared(values(&own.points)).0;
    snapshot.velocities = own.velocities.as_ref().map(|velocities| shared(values(velocities)).0);
    let run = |snapshot| ropewalk_pipeline::run(snapshot, &Options::default()).unwrap();
    let (found, expected) = (run(&snapshot), run(&own));
    assert_eq!(found.halos, expected.halos);
    assert_eq!(found.catalog.columns(), expected.catalog.columns());
}
