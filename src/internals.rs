//! What the crates around this one use; no part of the interface.

pub use crate::bvh::{LEAF, Node};
pub use crate::random::mixed;
pub use crate::simd::instruction_set;

pub mod format {
    pub use crate::format::{grouped, short};
}

pub mod mass_sum {
    pub use crate::mass_sum::MassSum;
}

pub mod memory {
    pub use crate::memory::{collected, copy_of, with_capacity};
}

pub mod parallel {
    pub use crate::parallel::{fill, map, map_tasks, sort};
}
