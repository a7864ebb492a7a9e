//! Halos of snapshots that threads share.

#[test]
fn scenarios_on_threads() {
    super::run("halos", &[1, 2, 3, 4, 7, 16]);
}
