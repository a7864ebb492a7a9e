//! What exists to be compared with: brute force, and the finders of earlier papers.

pub(crate) mod brute_force;
pub(crate) mod fof_all_pairs;
pub(crate) mod fof_bins;
pub(crate) mod mbp_astar;
pub(crate) mod mbp_poisson;
pub(crate) mod points;

pub use brute_force::BruteForce;
