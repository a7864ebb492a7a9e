//! Tables that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("tables", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("tables", &[5, 16]);
}
