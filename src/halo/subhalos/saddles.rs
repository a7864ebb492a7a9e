//! Saddles between chains: for two chains with passes in both directions, the density of the lower pass.
//!
//! In: the chain and the density of each particle. Out: a saddle density for each pair of chains that touch from both
//! sides.
//! Source: Aubert, Pichon and Colombi 2004, appendix B.

use crate::bvh::Bvh;
use crate::cluster::hop::boundaries::{ChainPair, densest, density_of_key, descending_key};
use crate::geometry::Scalar;
use crate::parallel::sort;
use crate::precompiled::precompiled;
use crate::search::Nearest;
use crate::search::nearest::fold_stored;

/// The saddle between two chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Saddle {
    pub density: f64,
    /// The chain with the denser peak, which has the lower number.
    pub denser: u32,
    pub other: u32,
}

/// Chains and densities, in the caller's order.
#[derive(Clone, Copy)]
pub(super) struct ChainField<'a> {
    pub chain: &'a [u32],
    /// The density of each particle, not negative.
    pub density: &'a [f64],
    /// Particles of at most this density belong to no chain.
    pub threshold: f64,
    /// The number of neighbours of each particle, itself not counted.
    pub n_hop: usize,
}

/// The saddles in descending order of density, ties by the chains.
pub(super) fn saddles<S: Scalar, const D: usize>(tree: &Bvh<S, D>, field: &ChainField<'_>) -> Vec<Saddle> {
    // A pair is a chain and another chain that one of its particles has as a neighbour.
    let all = densest(&passes(tree, field));
    // Each chain has the other as a neighbour; the smaller density is the saddle.
    let back = |(pair, order): &ChainPair| {
        let (own, other) = (pair >> 32, pair & u64::from(u32::MAX));
        let found = all.binary_search_by_key(&(other << 32 | own), |&(pair, _)| pair);
        found.ok().filter(|_| own < other).map(|at| ((*order).max(all[at].1), *pair))
    };
    let mut saddles: Vec<(u64, u64)> = all.iter().filter_map(back).collect();
    sort(&mut saddles);
    let saddle = |(order, pair): (u64, u64)| Saddle {
        density: density_of_key(order),
        denser: (pair >> 32) as u32,
        other: pair as u32,
    };
    saddles.into_iter().map(saddle).collect()
}

precompiled! {
    fn passes = find(tree: same_ref &Bvh<S, D>, field: keep &ChainField<'_>) -> Vec<Vec<ChainPair>>
}

fn find<S: Scalar, const D: usize>(tree: &Bvh<S, D>, field: &ChainField<'_>) -> Vec<Vec<ChainPair>> {
    let ChainField { chain, density, threshold, n_hop } = *field;
    let order = tree.order();
    fold_stored(tree, &Nearest::new(n_hop).excluding_self(), &|passes: &mut Vec<ChainPair>, at, best| {
        let index = order[at] as usize;
        if density[index] <= threshold {
            return;
        }
        let first = passes.len();
        for near in best.neighbors().map(|near| near.index as usize) {
            if chain[near] == chain[index] || density[near] <= threshold {
                continue;
            }
            let pair = u64::from(chain[index]) << 32 | u64::from(chain[near]);
            let seen = descending_key(density[index].min(density[near]));
            match passes[first..].iter_mut().find(|pass| pass.0 == pair) {
                Some(pass) => pass.1 = pass.1.min(seen),
                None => passes.push((pair, seen)),
            }
        }
    })
}
