//! Searches across ranks.

#[test]
fn scenarios_on_threads() {
    super::run("search", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("search", &[4, 7, 16]);
}
