//! Geometric search and density clustering on large point sets.
mod brute;
mod error;
mod geometry;
mod halo;
mod labels;
mod lists;
mod morton;
mod nearest;
mod neighbors;
mod query;
mod simd;
mod sort;
mod traverse;
mod tree;

pub use brute::BruteForce;
pub use error::{Error, Result};
pub use geometry::{Aabb, Bounded, BoxSize, Scalar, Space, Sphere};
pub use halo::{Fof, Halos};
pub use labels::Labels;
pub use lists::Lists;
pub use nearest::{Nearest, Neighbor};
pub use query::{Hits, Leaf, Query};
pub use tree::{Bvh, LEAF, Node};
