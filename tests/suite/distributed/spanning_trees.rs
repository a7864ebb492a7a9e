//! Minimum spanning trees of points that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("spanning_trees", &[1, 2, 3, 5]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("spanning_trees", &[4, 7, 16]);
}
