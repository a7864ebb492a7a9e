//! Parquet tables.

mod arrow;
mod write;

pub use write::write_parquet;
