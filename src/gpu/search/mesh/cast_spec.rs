//! The compile-time options of a kernel that casts rays, and the marks that it sets.

use crate::gpu::search::mesh::primitives::Item;

/// The mark of a ray whose result depends on rounding. The mark of decided rays is 0.
pub(super) const MARK_IN_DOUBT: u32 = 1;
/// The mark of a ray in doubt for which every item must be tested.
pub(super) const MARK_TEST_ALL: u32 = 2;
/// The mark of a ray with more steps than drivers allow.
pub(super) const MARK_LONG: u32 = 3;

/// The maximum number of steps of a ray if loops must be short, and the steps of an exact sum. A software driver ends
/// all loops of a thread after 65,535 iterations.
pub(super) const MAX_STEPS: u32 = 60_000;
pub(super) const STEPS_PER_SUM: u32 = 240;

/// The result that is wanted of each ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    First,
    Any,
    /// The number of all crossings.
    Count,
    /// All crossings.
    List,
    /// The first k crossings, in rows of k places.
    Rows,
}

/// The compile-time options of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CastSpec {
    pub item: Item,
    pub wanted: Wanted,
    pub has_ranges: bool,
    pub exact: bool,
    /// `true` if threads take several rays.
    pub takes_turns: bool,
    /// `true` if rays are taken in a sorted order.
    pub is_ordered: bool,
    /// `true` if steps are counted, because drivers end long loops.
    pub is_guarded: bool,
}

impl CastSpec {
    /// Returns `true` if hits have an approximate `t`. Results then only depend on which of them is first, and on the
    /// ends of ranges.
    pub fn is_approximate(self) -> bool {
        let needs_no_t = matches!(self.wanted, Wanted::First | Wanted::Any | Wanted::Count);
        needs_no_t && self.item == Item::Triangle && !self.exact
    }
}
