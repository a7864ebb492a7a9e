//! Meshes: ray casting, nearest triangles, and inside-outside tests, compared with exact arithmetic and brute force.

mod cast;
mod ends;
mod group;
mod input;
mod nearest;
mod rays;
mod solids;
