//! HOP halos of points that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("hop", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("hop", &[4, 7, 16]);
}
