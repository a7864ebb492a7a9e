//! Halos and their centres.

#[cfg(feature = "halos")]
mod centers;
pub(super) mod groups;

#[cfg(feature = "halos")]
pub use centers::CenterFinder;
pub use groups::Halos;
