//! Meshes: what rays meet, nearest triangles, inside and outside, against exact arithmetic and brute force.

mod cast;
mod ends;
mod input;
mod nearest;
mod rays;
mod solids;
