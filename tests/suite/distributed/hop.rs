//! Halos by HOP of points that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("hop", &[1, 2, 3, 4, 7, 16]);
}
