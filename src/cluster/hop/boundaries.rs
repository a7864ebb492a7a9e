//! Boundaries between chains: where particles of one are next to those of another.
//!
//! In: the chain and the density of each particle. Out: for each two chains that touch the largest mean density of two neighbours.
//! Source: Eisenstein and Hut 1998, section 2.2.

use crate::bvh::Bvh;
use crate::geometry::Scalar;
use crate::parallel::{list_tasks, sort};
use crate::precompiled::precompiled;
use crate::search::Nearest;
use crate::search::nearest::fold_stored;

/// The boundary between two chains that touch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainBoundary {
    /// The chain with the denser peak; it has the lower number.
    pub denser: u32,
    /// The other.
    pub other: u32,
    /// The density of the boundary: the largest mean of two particles, one of either chain, of which one is among the `n_merge` nearest
    /// others of the other one.
    pub density: f64,
}

/// A pair of chains, and the order of a density that comes before smaller ones.
pub(crate) type Touch = (u64, u64);

/// Numbers that are ordered against the order of densities, which are not NaN.
pub(crate) fn falling(density: f64) -> u64 {
    let bits = density.to_bits();
    if density.is_sign_negative() { bits } else { !(bits | 1 << 63) }
}

/// The density of such a number.
pub(crate) fn density_of(falling: u64) -> f64 {
    f64::from_bits(if falling >> 63 == 1 { falling } else { !falling & !(1 << 63) })
}

/// The boundaries in falling order of their densities, ties by the chains. `chain` and `density` are in the caller's order, as is `ghosts`:
/// which points have no say of their own; empty if all have.
pub(crate) fn boundaries<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    n_merge: usize,
    chain: &[u32],
    density: &[f64],
    ghosts: &[bool],
) -> Vec<ChainBoundary> {
    let mut all = densest(&touches(tree, n_merge, chain, density, ghosts));
    all.iter_mut().for_each(|(pair, falling)| std::mem::swap(pair, falling));
    sort(&mut all);
    let boundary = |(falling, pair): Touch| ChainBoundary {
        denser: (pair >> 32) as u32,
        other: pair as u32,
        density: density_of(falling),
    };
    all.into_iter().map(boundary).collect()
}

/// The densest touch of each pair, in the order of the pairs.
pub(crate) fn densest(lists: &[Vec<Touch>]) -> Vec<Touch> {
    // Shorter lists first, for most are of few pairs.
    let mut all = list_tasks(lists.len(), 1, &|range| {
        let mut list: Vec<Touch> = lists[range].concat();
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
    ) -> Vec<Vec<Touch>>
}

fn find<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    n_merge: usize,
    chain: &[u32],
    density: &[f64],
    ghosts: &[bool],
) -> Vec<Vec<Touch>> {
    let order = tree.order();
    fold_stored(tree, &Nearest::new(n_merge).excluding_self(), &|touches: &mut Vec<Touch>, at, best| {
        let index = order[at] as usize;
        if ghosts.get(index) == Some(&true) {
            return;
        }
        let own = chain[index];
        for near in best.neighbors().map(|near| near.index as usize).filter(|&near| chain[near] != own) {
            let pair = u64::from(own.min(chain[near])) << 32 | u64::from(own.max(chain[near]));
            touches.push((pair, falling(0.5 * density[index] + 0.5 * density[near])));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_fall() {
        let densities = [f64::INFINITY, 1e300, 2.0, 1.0, 1e-310, 0.0, -1e-310, -1.0, -2.0, -1e300, f64::NEG_INFINITY];
        assert!(densities.windows(2).all(|pair| falling(pair[0]) < falling(pair[1])));
        assert!(densities.iter().all(|&density| density_of(falling(density)) == density));
    }
}
