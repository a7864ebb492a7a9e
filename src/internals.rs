//! Internals used by the other crates of this workspace; not part of the public interface.

pub use crate::bvh::{LEAF, Node};
pub use crate::geometry::{PaddedDimension, length2};
pub use crate::simd::instruction_set;

pub mod brief {
    pub use crate::brief::Brief;
}

pub mod bvh {
    pub use crate::bvh::{check, copied};
}

pub mod cancel {
    pub use crate::cancel::{across, check, check_at, guarded};
}

pub mod cluster {
    pub use crate::cluster::errors::hop_dimension;
    pub use crate::cluster::labels::check_clusters;
}

#[cfg(feature = "distributed")]
pub mod distributed {
    pub use crate::distributed::communicator::{all_gather, all_gather_v, broadcast, gather, reduce, starts};
    pub use crate::distributed::errors::some_ranks_lack;
}

pub mod format {
    pub use crate::format::{counted, grouped, percent, share_in_percent, short, significant};
}

pub mod halo {
    pub use crate::halo::overdensity::{Crossing, GROWTH, MIN_RADIUS, max_radii, radius_of};
    pub use crate::halo::particles::{check_masses, check_velocities};

    pub mod sphere_search {
        pub use crate::halo::sphere_search::{ParticleInSphere, ball_about, sort};
    }
}

pub mod memory {
    pub use crate::memory::{
        append, collected, copy_of, grow, out_of_memory, try_with_capacity, try_zeroed, with_capacity, zeroed,
    };
}

pub mod parallel {
    pub use crate::parallel::{fill, fold_tasks, for_each, list_tasks, map, map_tasks, sort};
}

pub mod precompiled {
    pub use crate::precompiled::same_ref;
}

pub mod random {
    pub use crate::random::mixed;
}

pub mod units {
    pub use crate::units::length::MPC;
    pub use crate::units::mass::GRAMS;
}
