//! Spheres and profiles about the halos of snapshots that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("spheres", &[1, 2, 3, 4, 7, 16]);
}
