//! Halos and their centres.

#[cfg(feature = "halos")]
mod centers;
pub(super) mod groups;

#[cfg(feature = "halos")]
pub use centers::Centering;
pub use groups::Halos;
