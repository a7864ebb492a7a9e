//! Options and results are stored as text, and are the same when they come back.
#![cfg(feature = "serde")]

use ropewalk::Catalog;
use ropewalk::halo::pipeline::{self, LinkingLength, Options};
use ropewalk::io::{Points, Snapshot, Table};

#[test]
fn options_and_results_are_data() {
    let mut options = Options::default();
    options.overdensities = vec!["200c".parse().unwrap(), "vir".parse().unwrap()];
    options.universe.units = ropewalk::units::Units::GADGET.into();
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<Options>(&text).unwrap(), options);
    // What is left out has its default.
    let few: Options = serde_json::from_str(r#"{"linking_length": {"Length": 0.1}, "min_members": 10}"#).unwrap();
    assert_eq!((few.linking_length, few.min_members, few.profiles), (LinkingLength::Length(0.1), 10, 0));

    let output = pipeline::run(&clump(), &few).unwrap();
    let text = serde_json::to_string(&output.catalog).unwrap();
    assert_eq!(serde_json::from_str::<Catalog>(&text).unwrap(), output.catalog);
}

/// 30 particles near each other.
fn clump() -> Snapshot {
    let rows: Vec<[f32; 3]> = (0..30u8).map(|i| [5.0, 5.0, 5.0 + 0.01 * f32::from(i)]).collect();
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, rows.into_flattened()).unwrap()));
    snapshot.box_size = Some(10.0);
    snapshot
}
