//! Geometric search and density clustering on large point sets.
mod error;

pub use error::{Error, Result};
