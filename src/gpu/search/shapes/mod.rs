//! Stored values of any type, and queries of any shape, on a device.
//!
//! ```text
//! query, shape (rows of numbers) -> walk (tests) -> values
//! ```

pub(in crate::gpu) mod shape;
pub(in crate::gpu) mod tests;
mod values;
pub(in crate::gpu) mod walk;

pub use shape::{Distance, HitBy, Shape};
pub use tests::{BoxTest, DistanceTest, HitTest};
pub use values::ValueBvh;
