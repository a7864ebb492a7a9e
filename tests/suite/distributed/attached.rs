//! Attached particles of other types, distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("attached", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("attached", &[4, 7, 16]);
}
