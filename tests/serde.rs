//! Options and results are serialized as text, and are equal after deserialization.
#![cfg(feature = "serde")]

use ropewalk::cluster::{ClusterSelection, Ties};
use ropewalk::interpolate::{Fallback, MovingLeastSquares, Weight};
use ropewalk::{Dbscan, Fof, Hdbscan, Labels};
use ropewalk_io::{Points, Snapshot, Table};
use ropewalk_pipeline::{LinkingLength, Options};
use ropewalk_table::Catalog;

#[test]
fn options_and_results_are_data() {
    let mut options = Options::default();
    options.overdensities = vec!["200c".parse().unwrap(), "vir".parse().unwrap()];
    options.universe.units = ropewalk::units::Units::GADGET.into();
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<Options>(&text).unwrap(), options);
    // Missing fields have their defaults.
    let few: Options = serde_json::from_str(r#"{"linking_length": {"Length": 0.1}, "min_members": 10}"#).unwrap();
    assert_eq!((few.linking_length, few.min_members, few.profiles), (LinkingLength::Length(0.1), 10, 0));

    let output = ropewalk_pipeline::run(&clump(), &few).unwrap();
    let text = serde_json::to_string(&output.catalog).unwrap();
    assert_eq!(serde_json::from_str::<Catalog>(&text).unwrap(), output.catalog);
}

#[test]
fn labels_are_data() {
    let points = [[0.0], [1.0], [2.0], [9.5], [5.0], [5.1]];
    let dbscan: Dbscan = through_text(&Dbscan::new(1.0, 3).periodic(10.0));
    let labels = dbscan.run(&points).unwrap();
    assert_eq!(labels.as_slice(), [0, 0, 0, 0, -1, -1]);
    assert_eq!(through_text(&labels), labels);
    let hdbscan = Hdbscan::new(2).cluster_selection(ClusterSelection::Leaf).ties(Ties::Sequential).periodic(10.0);
    assert_eq!(through_text(&hdbscan), hdbscan);
    let fof: Fof = through_text(&Fof::new(0.5).min_members(2));
    let labels = fof.run(&points).unwrap().labels().clone();
    assert_eq!(labels.as_slice(), [-1, -1, -1, -1, 0, 0]);
    assert_eq!(through_text(&labels), labels);
    let mls = MovingLeastSquares::new(1).weight(Weight::Wu4).radius(2.0).fallback(Fallback::Nearest);
    assert_eq!(through_text(&mls), mls);
    // Deserialized data are validated.
    let error = |text: &str| serde_json::from_str::<Labels>(text).unwrap_err().to_string();
    assert!(error(r#"{"labels": [0, 2], "core": null}"#).contains("point 1"));
    assert!(error(r#"{"labels": [0, 0], "core": [true]}"#).contains("1 core flags for 2"));
}

fn through_text<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// Returns 30 particles close to each other.
fn clump() -> Snapshot {
    let rows: Vec<[f32; 3]> = (0..30u8).map(|i| [5.0, 5.0, 5.0 + 0.01 * f32::from(i)]).collect();
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, rows.into_flattened()).unwrap()));
    snapshot.box_size = Some(10.0);
    snapshot
}
