//! Every operation on the first device, compared with the CPU.
#![cfg(feature = "gpu")]

#[path = "../suite/centers/shapes.rs"]
mod shapes;

mod across;
mod boxes;
mod callbacks;
mod brute_force;
mod cells;
mod centers;
mod columns;
mod conformance;
mod dbscan;
mod dendrogram;
mod devices;
mod dimensions;
mod hdbscan;
mod hop;
mod in_device_memory;
mod interpolate;
mod lists;
mod map_neighbors;
mod mesh;
mod mesh_build;
mod mesh_group;
mod nearest_triangles;
mod periodic_shapes;
mod profiler;
mod queries;
mod refit;
mod spanning_tree;
mod values;
mod visit;
