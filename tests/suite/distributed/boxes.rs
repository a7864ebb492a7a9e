//! Periodic boxes of points that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("boxes", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("boxes", &[4, 7, 16]);
}
