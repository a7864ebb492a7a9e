//! Spheres and profiles about the halos of snapshots that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("spheres", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("spheres", &[4, 7, 16]);
}
