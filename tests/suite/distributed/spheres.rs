//! Spheres and profiles of halos in snapshots that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("spheres", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("spheres", &[4, 7, 16]);
}
