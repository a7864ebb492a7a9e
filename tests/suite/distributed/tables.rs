//! Tables that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("tables", &[1, 2, 3, 5, 16]);
}
