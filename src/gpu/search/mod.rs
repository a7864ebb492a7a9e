//! Searches on a device: neighbours, ranges, nearest points, meshes and rays.

mod box_pairs;
mod box_queries;
mod boxes;
#[cfg(feature = "distributed")]
mod in_boxes;
mod map_neighbors;
mod mesh;
pub(super) mod nearest;
pub(super) mod neighbors;
pub(super) mod query_points;
mod query_rows;
mod nearest_boxes;
mod own_radii;
mod pairs;
pub(super) mod range;
pub(super) mod visitor;

pub use map_neighbors::NeighborMap;
pub use mesh::{CastHits, Mesh, MeshNeighbors, RayHits, RayLists, Rays, Solids};
pub use nearest::Neighbors;
pub use pairs::Pairs;
pub use range::Query;
pub use visitor::Visitor;
