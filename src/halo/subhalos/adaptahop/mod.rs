//! The tree of nodes of the density field.
//!
//! In: particles, saddles and peaks above the threshold. Out: nodes and the chains of each, exact (`exact_tree`) or by
//! the published algorithm (`stepped_tree`).

mod exact_tree;
mod stepped_tree;

pub use exact_tree::join_tree;
pub use stepped_tree::stepped_tree;

use crate::halo::subhalos::saddles::Saddle;
use crate::halo::subhalos::significance::{Criteria, FieldParticle};

/// The input of the tree: particles, saddles and peaks above the threshold.
pub(super) struct Field<'a> {
    /// The particles, in descending order of density.
    pub particles: &'a [FieldParticle],
    /// The saddles, in descending order of density, all above the threshold.
    pub saddles: &'a [Saddle],
    /// The densities of the peaks, in descending order, all above the threshold.
    pub peaks: &'a [f64],
    /// The vector from one chain's peak to another's.
    pub offset: &'a dyn Fn(u32, u32) -> [f64; 3],
    pub threshold: f64,
    pub criteria: Criteria,
}
