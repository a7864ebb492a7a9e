//! The number and the tag of a halo.

use std::fmt;

/// The name of a halo: its row in the catalogue, and its tag.
///
/// ```
/// let name = ropewalk_pipeline::HaloName { row: 2, tag: 5310 };
/// assert_eq!(name.to_string(), "halo 2 (tag 5310)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HaloName {
    /// The row of the catalogue of all ranks, from 0.
    pub row: usize,
    /// The smallest id of the members, which does not depend on other halos.
    pub tag: u64,
}

impl fmt::Display for HaloName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "halo {} (tag {})", self.row, self.tag)
    }
}
