//! Halo centres on a device.

mod centers;

pub use centers::CenterFinder;
