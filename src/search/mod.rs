//! Searches: range queries, neighbours of all stored points, pairs, nearest neighbours, rays, and trees that own
//! their primitives.

pub(crate) mod radius_test;
mod cast;
pub(crate) mod cell;
mod crossings;
pub(crate) mod leaf_neighborhood;
mod map_hits;
mod map_neighbors;
pub(crate) mod mesh;
pub(crate) mod nearest;
mod neighbors;
pub(crate) mod own_radii;
pub(crate) mod pairs;
mod range;
mod ray_walk;
mod values;

pub use cast::CastHit;
pub use cell::{CellBvh, CellNeighbor, CellNeighborAt};
pub use crossings::Crossing;
pub use map_hits::Emitter;
pub use mesh::{InstanceHit, Mesh, MeshGroup, MeshInstance, MeshNearest, RayHit};
pub use nearest::{Nearest, Neighbor};
pub use neighbors::NeighborAt;
pub use range::Hits;
pub use values::{Hit, NearestHit, ValueBvh};
