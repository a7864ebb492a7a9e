//! Geometric search and density clustering on large point sets.
mod catalog;
mod error;
mod geometry;
mod halo;
mod labels;
mod morton;
#[cfg(feature = "plot")]
pub mod plot;
mod simd;
mod sort;
mod traverse;
mod tree;

pub use catalog::{Catalog, Halo, Motion, Particles};
pub use error::{Error, Result};
pub use geometry::{Aabb, Bounded, BoxSize, Scalar, Space, Sphere};
pub use halo::{Fof, Halos};
pub use labels::Labels;
pub use tree::{Bvh, LEAF, Node};
