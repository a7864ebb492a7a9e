//! Missing values in a catalogue do not affect other halos.

use crate::program::{Scratch, halos};
use crate::reference::table;

/// A filament that wraps around the box has no most bound particle: its centre is NaN, and its id has all bits set.
#[test]
fn a_halo_too_wide_for_its_box() {
    let scratch = Scratch::new();
    let mut text = String::from("x,y,z\n");
    for i in 0..40 {
        text += &format!("{},1,1\n", 0.25 * f64::from(i));
    }
    text += "3,6,6\n3.1,6,6\n3.2,6,6\n9.9,8,8\n0.1,8,8\n0.2,8,8\n";
    let points = scratch.write("points.csv", text);
    let out = scratch.path("out");
    let options = ["--box", "10", "--eps", "0.25", "--min-members", "3", "--center", "mbp", "--gallery", "3"];
    halos(&points, &out, &options).success();
    let (names, rows) = table(&out.join("halos.ecsv"));
    let column = |name: &str| names.iter().position(|other| other == name).unwrap();
    let [x, id, count] = ["fof_halo_center_x", "fof_halo_center_id", "fof_halo_count"].map(column);
    assert_eq!(rows.iter().map(|row| row[count]).collect::<Vec<_>>(), [40.0, 3.0, 3.0]);
    assert!(rows[0][x].is_nan() && rows[0][id] == u64::MAX as f64);
    assert_eq!((rows[1][id], rows[1][x]), (41.0, 3.1));
    assert_eq!((rows[2][id], rows[2][x]), (44.0, 0.1));
}
