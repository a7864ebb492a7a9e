//! Halos by HOP of points that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("hop", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("hop", &[4, 7, 16]);
}
