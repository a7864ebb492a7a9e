//! What a kernel that casts rays is compiled for, and the mark by which it passes a ray on.

use crate::gpu::search::mesh::items::Item;

/// The mark of a ray that each item is to be asked about; of others in doubt it is 1, of those that are decided 0.
pub(super) const FAR: u32 = 2;

/// What is wanted of each ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    First,
    Any,
    /// The number of all crossings.
    Count,
    /// All crossings, in ascending order.
    List,
}

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CastSpec {
    pub item: Item,
    pub wanted: Wanted,
    pub has_ranges: bool,
    pub exact: bool,
    /// Whether units take several rays.
    pub takes_turns: bool,
    /// Whether rays are taken in an order of their own.
    pub is_ordered: bool,
    /// Whether few items are decided exactly for a ray, as drivers end long loops.
    pub is_guarded: bool,
}
