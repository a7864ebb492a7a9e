//! Pseudo-random numbers that are reproducible on all platforms.

/// Returns the number at a position of a pseudo-random sequence: the finalizer of SplitMix64 (Steele, Lea and Flood
/// 2014, "Fast splittable pseudorandom number generators").
pub fn mixed(place: u64) -> u64 {
    let x = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
