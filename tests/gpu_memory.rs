//! Reports of a device's memory. A separate program, since other threads would change the numbers.
#![cfg(feature = "gpu")]

use ropewalk::gpu::{Bvh, Device};
use ropewalk::sample::Sample;

/// Memory is reported while in use, and freed afterwards.
#[test]
fn memory() {
    let device = Device::first().unwrap();
    let points = Sample::parse("uniform:n=100000,seed=1").unwrap().points().unwrap();
    let before = device.memory().unwrap();
    let tree = Bvh::build(&points, device).unwrap();
    let with_tree = device.memory().unwrap();
    // At least the coordinates and the order.
    assert!(
        with_tree.used >= before.used + 16 * 100_000 && with_tree.held >= with_tree.used,
        "{before:?} {with_tree:?}"
    );
    drop(tree);
    device.release().unwrap();
    let after = device.memory().unwrap();
    assert!(after.used < with_tree.used && after.held < with_tree.held, "{with_tree:?} {after:?}");
}
