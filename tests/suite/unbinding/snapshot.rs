//! Every structure of the sample snapshot, compared with all pairs.

use std::fs;

use common::data::root;
use ropewalk::AdaptaHop;
use ropewalk::halo::{Particles, Unbinding};
use ropewalk::units::Units;

use super::definition::Rules;
use super::properties::assert_as_defined;

const SIDE: f64 = 32.0;
const N: usize = 64 * 64 * 64;

/// Reads three f32 per particle, starting at a byte of the file.
fn vectors(file: &[u8], start: usize) -> Vec<[f32; 3]> {
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let vector = |bytes: &[u8]| std::array::from_fn(|k| number(&bytes[4 * k..4 * k + 4]));
    file[start..start + 12 * N].chunks_exact(12).map(vector).collect()
}

#[test]
#[ignore = "wide"]
fn wide_a_snapshot_as_all_pairs_have_it() {
    let file = fs::read(root().join("data/p3m_64.gadget2")).unwrap();
    // The header and the positions, each between two markers of four bytes.
    let (points, velocities) = (vectors(&file, 268), vectors(&file, 268 + 12 * N + 8));
    let mass = f64::from_le_bytes(file[36..44].try_into().unwrap());
    let found = AdaptaHop::new().periodic(SIDE).run(&points).unwrap();
    let gravity = Units { length: "Mpc/h".parse().unwrap(), ..Units::GADGET }.conversion(0.0, None).unwrap().gravity();
    let options = Unbinding::new(gravity).softening(0.02).hubble_flow(100.0);
    let particles = Particles::new(&points).velocities(&velocities).mass(mass);
    let bound = found.unbind(&particles, &options).unwrap();
    let wide = |all: &[[f32; 3]]| -> Vec<[f64; 3]> { all.iter().map(|vector| vector.map(f64::from)).collect() };
    let rules = Rules {
        points: &wide(&points),
        velocities: &wide(&velocities),
        masses: &vec![mass; N],
        side: Some(SIDE),
        gravity,
        softening: 0.02,
        hubble_flow: 100.0,
        max_removed: 0.25,
        min_members: 20,
    };
    let (dissolved, rounds) = assert_as_defined(&found, &bound, rules);
    let before = found.structures().all_members().len();
    let after = bound.structures.structures().all_members().len();
    assert!(found.len() > 700 && dissolved > 20 && rounds > 10, "{} {dissolved} {rounds}", found.len());
    assert!(after > 100_000 && before - after > 1000, "{before} {after}");
}
