//! Stored values of any type, and queries of any shape, on a device.
//!
//! ```text
//! shape, query -> rows (numbers) -> walk, nearest (with tests) -> values -> crossings, k_crossings (rays)
//! ```

mod box_tests;
mod crossings;
mod images;
mod k_crossings;
pub(in crate::gpu) mod nearest;
pub(in crate::gpu) mod query;
pub(in crate::gpu) mod rows;
pub(in crate::gpu) mod shape;
pub(in crate::gpu) mod tests;
mod values;
pub(in crate::gpu) mod walk;

pub use crossings::Crossings;
pub use query::Query;
pub use shape::{Crossed, Distance, HitBy, Shape};
pub use tests::{BoxTest, CrossingTest, DistanceTest, HitTest};
pub use values::ValueBvh;
