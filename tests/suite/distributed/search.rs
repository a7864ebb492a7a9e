//! Searches across ranks.

#[test]
fn scenarios_on_threads() {
    super::run("search", &[1, 2, 3, 4, 7, 16]);
}
