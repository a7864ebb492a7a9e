//! Searches on a device: neighbours, ranges, nearest points, meshes and rays.

mod box_pairs;
mod box_queries;
pub(super) mod boxes;
mod cell;
mod emitter;
mod hit_lists;
#[cfg(feature = "distributed")]
mod in_boxes;
mod map_hits;
mod map_lists;
mod map_neighbors;
mod mesh;
pub(super) mod nearest;
mod nearest_each;
pub(super) mod neighbors;
mod of_points;
pub(super) mod query_points;
mod own_radii;
mod pairs;
pub(super) mod range;
pub(super) mod shapes;
pub(super) mod sorted_shapes;
pub(super) mod visitor;

pub use cell::{CellBvh, CellLists};
pub use emitter::Emitter;
pub use map_hits::HitMapper;
pub use map_lists::{CrossingMapper, NearestMapper};
pub use map_neighbors::NeighborMap;
pub use mesh::{
    CastHits, InstanceHits, InstanceLists, Mesh, MeshGroup, MeshNeighbors, RayHits, RayLists, Rays, Solids,
};
pub use nearest::Neighbors;
pub use pairs::Pairs;
pub use shapes::{
    BoxTest, Crossed, CrossingTest, Crossings, Distance, DistanceTest, HitBy, HitTest, Query, Shape, ValueBvh,
};
pub use visitor::Visitor;
