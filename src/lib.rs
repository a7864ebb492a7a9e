//! Geometric search and density clustering on large point sets.
mod error;
#[cfg(feature = "io")]
pub mod io;

pub use error::{Error, Result};
