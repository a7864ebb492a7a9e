//! Which points belong together.

pub(super) mod connect;
pub(super) mod dbscan;
pub(super) mod fof;
pub(super) mod labels;

pub use dbscan::{Dbscan, dbscan};
pub use fof::Fof;
pub use labels::Labels;
