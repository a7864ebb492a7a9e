//! Saddles between chains: where the two are seen from each other, the largest of the smaller densities.
//!
//! In: the chain and the density of each particle. Out: a density for each two chains that touch from both sides.
//! Source: Aubert, Pichon and Colombi 2004, appendix B.

use crate::bvh::Bvh;
use crate::cluster::hop::boundaries::{Touch, densest, density_of, falling};
use crate::geometry::Scalar;
use crate::parallel::sort;
use crate::precompiled::precompiled;
use crate::search::Nearest;
use crate::search::nearest::fold_stored;

/// A pass from one chain to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Saddle {
    pub density: f64,
    /// The chain with the denser peak; it has the lower number.
    pub denser: u32,
    pub other: u32,
}

/// What saddles are made of, in the caller's order.
#[derive(Clone, Copy)]
pub(super) struct Chained<'a> {
    pub chain: &'a [u32],
    /// Not negative.
    pub density: &'a [f64],
    /// Particles of at most this density are no part of a chain.
    pub threshold: f64,
    /// Neighbours of each particle, itself not counted.
    pub n_hop: usize,
}

/// The saddles in falling order of their densities, ties by the chains.
pub(super) fn saddles<S: Scalar, const D: usize>(tree: &Bvh<S, D>, chained: &Chained<'_>) -> Vec<Saddle> {
    // A pair is a chain and another that one of its particles sees.
    let all = densest(&sights(tree, chained));
    // Both have seen the other, and the smaller density counts.
    let back = |(pair, order): &Touch| {
        let (own, other) = (pair >> 32, pair & u64::from(u32::MAX));
        let found = all.binary_search_by_key(&(other << 32 | own), |&(pair, _)| pair);
        found.ok().filter(|_| own < other).map(|at| ((*order).max(all[at].1), *pair))
    };
    let mut saddles: Vec<(u64, u64)> = all.iter().filter_map(back).collect();
    sort(&mut saddles);
    let saddle = |(order, pair): (u64, u64)| Saddle {
        density: density_of(order),
        denser: (pair >> 32) as u32,
        other: pair as u32,
    };
    saddles.into_iter().map(saddle).collect()
}

precompiled! {
    fn sights = find(tree: same_ref &Bvh<S, D>, chained: keep &Chained<'_>) -> Vec<Vec<Touch>>
}

fn find<S: Scalar, const D: usize>(tree: &Bvh<S, D>, chained: &Chained<'_>) -> Vec<Vec<Touch>> {
    let Chained { chain, density, threshold, n_hop } = *chained;
    let order = tree.order();
    fold_stored(tree, &Nearest::new(n_hop).excluding_self(), &|sights: &mut Vec<Touch>, at, best| {
        let index = order[at] as usize;
        if density[index] <= threshold {
            return;
        }
        let first = sights.len();
        for near in best.neighbors().map(|near| near.index as usize) {
            if chain[near] == chain[index] || density[near] <= threshold {
                continue;
            }
            let pair = u64::from(chain[index]) << 32 | u64::from(chain[near]);
            let seen = falling(density[index].min(density[near]));
            match sights[first..].iter_mut().find(|sight| sight.0 == pair) {
                Some(sight) => sight.1 = sight.1.min(seen),
                None => sights.push((pair, seen)),
            }
        }
    })
}
