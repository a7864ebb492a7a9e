//! Halos of snapshots that are distributed over threads.

#[test]
fn scenarios_on_threads() {
    super::run("halos", &[1, 2, 3]);
}

#[test]
#[ignore = "wide"]
fn wide_scenarios_on_threads() {
    super::run("halos", &[4, 7, 16]);
}
