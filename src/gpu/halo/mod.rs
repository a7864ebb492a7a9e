//! Halos and their centres.

mod centers;

pub use centers::CenterFinder;
