//! Halos and their centres.

#[cfg(feature = "halos")]
mod centers;

#[cfg(feature = "halos")]
pub use centers::CenterFinder;
