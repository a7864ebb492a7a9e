//! Boundaries between chains: pairs of neighbouring particles in different chains.
//!
//! In: the chain and the density of each particle. Out: for each pair of touching chains, the maximum mean density of
//! two neighbours.

use crate::bvh::Bvh;
use crate::geometry::Scalar;
use crate::parallel::{list_tasks, sort};
use crate::precompiled::precompiled;
use crate::search::Nearest;
use crate::search::nearest::fold_stored;

/// The boundary between two touching chains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainBoundary {
    /// The chain with the denser peak, which has the lower number.
    pub denser: u32,
    /// The chain with the less dense peak, which has the higher number.
    pub other: u32,
    /// The density of the boundary: the maximum mean density of two particles, one of each chain, where one is among
    /// the `n_merge` nearest neighbours of the other.
    pub density: f64,
}

/// A pair of chains, and a key by which larger densities come first.
pub(crate) type ChainPair = (u64, u64);

/// A key that sorts densities in descending order. Densities are not NaN.
pub(crate) fn descending_key(density: f64) -> u64 {
    let bits = density.to_bits();
    if density.is_sign_negative() { bits } else { !(bits | 1 << 63) }
}

/// The density of a key from [`descending_key`].
pub(crate) fn density_of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key } else { !key & !(1 << 63) })
}

/// The boundaries in descending order of density; ties are ordered by the chains. `chain`, `density` and `ghosts` are
/// in the caller's order. `ghosts` marks points whose own neighbours are not searched; it is empty if there are none.
pub(crate) fn boundaries<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    n_merge: usize,
    chain: &[u32],
    density: &[f64],
    ghosts: &[bool],
) -> Vec<ChainBoundary> {
    let mut all = densest(&touches(tree, n_merge, chain, density, ghosts));
    all.iter_mut().for_each(|(pair, key)| std::mem::swap(pair, key));
    sort(&mut all);
    let boundary = |(key, pair): ChainPair| ChainBoundary {
        denser: (pair >> 32) as u32,
        other: pair as u32,
        density: density_of_key(key),
    };
    all.into_iter().map(boundary).collect()
}

/// The densest touch of each pair, in ascending order of the pairs.
pub(crate) fn densest(lists: &[Vec<ChainPair>]) -> Vec<ChainPair> {
    // Lists are shortened before they are merged, because most hold few different pairs.
    let mut all = list_tasks(lists.len(), 1, &|range| {
        let mut list: Vec<ChainPair> = lists[range].concat();
        list.sort_unstable();
        list.dedup_by_key(|&mut (pair, _)| pair);
        list
    });
    sort(&mut all);
    all.dedup_by_key(|&mut (pair, _)| pair);
    all
}

precompiled! {
    fn touches = find(
        tree: same_ref &Bvh<S, D>, n_merge: keep usize, chain: keep &[u32], density: keep &[f64], ghosts: keep &[bool]
    ) -> Vec<Vec<ChainPair>>
}

fn find<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    n_merge: usize,
    chain: &[u32],
    density: &[f64],
    ghosts: &[bool],
) -> Vec<Vec<ChainPair>> {
    let order = tree.order();
    fold_stored(tree, &Nearest::new(n_merge).excluding_self(), &|touches: &mut Vec<ChainPair>, at, best| {
        let index = order[at] as usize;
        if ghosts.get(index) == Some(&true) {
            return;
        }
        let own = chain[index];
        for near in best.neighbors().map(|near| near.index as usize).filter(|&near| chain[near] != own) {
            let pair = u64::from(own.min(chain[near])) << 32 | u64::from(own.max(chain[near]));
            touches.push((pair, descending_key(0.5 * density[index] + 0.5 * density[near])));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_fall() {
        let densities = [f64::INFINITY, 1e300, 2.0, 1.0, 1e-310, 0.0, -1e-310, -1.0, -2.0, -1e300, f64::NEG_INFINITY];
        assert!(densities.windows(2).all(|pair| descending_key(pair[0]) < descending_key(pair[1])));
        assert!(densities.iter().all(|&density| density_of_key(descending_key(density)) == density));
    }
}
