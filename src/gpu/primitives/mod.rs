//! Parallel primitives: scans, sums, compaction, gathering, scattering, forests, sorting, rounding checks and warp
//! operations.

pub(super) mod bits;
pub(super) mod compact;
pub(super) mod pointer_jumping;
pub(super) mod expansion;
pub(super) mod gather;
pub(super) mod atomic_min;
pub(super) mod radix_sort;
pub(super) mod reduce;
pub(super) mod rounding;
pub(super) mod scaling;
pub(super) mod scan;
pub(super) mod scatter;
pub(super) mod warp;
pub(super) mod warp_atomics;
