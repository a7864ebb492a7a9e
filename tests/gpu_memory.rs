//! What a device tells of its memory; a program of its own, for threads may share what they are told.
#![cfg(feature = "gpu")]

use ropewalk::gpu::{Bvh, Device};
use ropewalk::sample::Sample;

/// Memory is told while it is used, and given back when it is not.
#[test]
fn memory() {
    let device = Device::first().unwrap();
    let points = Sample::parse("uniform:n=100000,seed=1").unwrap().points().unwrap();
    let before = device.memory().unwrap();
    let tree = Bvh::build(&points, device).unwrap();
    let with_tree = device.memory().unwrap();
    // Coordinates and the order, at least.
    assert!(
        with_tree.used >= before.used + 16 * 100_000 && with_tree.held >= with_tree.used,
        "{before:?} {with_tree:?}"
    );
    drop(tree);
    device.release().unwrap();
    let after = device.memory().unwrap();
    assert!(after.used < with_tree.used && after.held < with_tree.held, "{with_tree:?} {after:?}");
}
