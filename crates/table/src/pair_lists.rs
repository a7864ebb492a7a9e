//! All pairs of points of a table within a radius.
//!
//! In: a tree. Out: pairs in ascending order, with their squared distances.
//! Cost: that of the neighbours of all points. Memory: up to 32 bytes per pair, 4 per point.

use ropewalk::internals::bvh::copied;
use ropewalk::{Result, Scalar};

use super::Table;
use super::queries::check_memory;

/// Pairs of points within a radius.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The lower and the higher index of each pair, in ascending order.
    pub indices: Table<u32>,
    /// The squared distance of each pair.
    pub distances2: Vec<f64>,
}

/// Lists the pairs of a tree.
pub(super) fn list<S: Scalar, const D: usize>(tree: &ropewalk::Bvh<S, D>, radius: f64) -> Result<Pairs> {
    // At most: lists in both directions, pairs in the order of the search, and the result.
    check_memory(usize::try_from(tree.count_pairs(radius)).unwrap_or(usize::MAX), "pairs", 32)?;
    let pairs = tree.pairs(radius);
    let positions = tree.positions();
    let place = |index: u32| tree.item(positions[index as usize] as usize).lo;
    let distances2 = copied(&pairs, |&[i, j]| tree.space().distance2(&place(i), &place(j)));
    Ok(Pairs { indices: Table::from_valid(2, pairs.into_flattened()), distances2 })
}
