//! Clusters of points that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("clusters", &[1, 2, 3, 4, 7, 16]);
}
