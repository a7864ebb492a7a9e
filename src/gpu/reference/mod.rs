//! Reference algorithms on a device, to compare with.
//!
//! In: points on a device. Out: the results of the tree's searches, found without a tree (`brute_force`).

mod brute_force;
mod in_range;
mod nearest;
mod tile;

pub use brute_force::BruteForce;
pub use in_range::RangeQuery;
