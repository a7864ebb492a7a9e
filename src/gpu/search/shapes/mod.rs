//! Stored values of any type, and queries of any shape, on a device.
//!
//! ```text
//! shape, query -> rows (numbers) -> groups -> sweep, row_walk (with tests) -> walk -> values -> crossings, k_crossings (rays)
//! rows -> nearest -> values
//! rays -> wide_walk (in space) -> crossings
//! ```

mod box_tests;
mod crossings;
pub(in crate::gpu) mod fine_tree;
mod groups;
mod images;
mod k_crossings;
mod kept;
pub(in crate::gpu) mod nearest;
pub(in crate::gpu) mod query;
mod row_walk;
pub(in crate::gpu) mod rows;
pub(in crate::gpu) mod searched_tree;
pub(in crate::gpu) mod shape;
mod sweep;
pub(in crate::gpu) mod tests;
mod values;
mod waiting;
mod wide_walk;
pub(in crate::gpu) mod walk;

pub use crossings::Crossings;
pub use query::Query;
pub use shape::{Crossed, Distance, HitBy, Shape};
pub use tests::{BoxTest, CrossingTest, DistanceTest, HitTest};
pub use values::ValueBvh;
