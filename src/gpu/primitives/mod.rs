//! What the stages are made of: scans, sums, gathering, sorting, and what a warp does together.

#[cfg(feature = "halos")]
pub(super) mod gather;
pub(super) mod radix_sort;
pub(super) mod reduce;
pub(super) mod scan;
pub(super) mod warp;
