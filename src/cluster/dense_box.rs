//! DenseBox: regions so dense that their points need no distances.
//!
//! In: a tree and a radius. A node whose diagonal is at most the radius is a *clique*: its points are all neighbours of each other.
//! Out: cliques of participants united; for DBSCAN, whether a clique is heavy enough to make all of its points core.
//! Cost: a look at each node. Source: Prokopenko et al. 2023, section 4 (FDBSCAN-DenseBox), whose grid of dense boxes the
//! nodes of the tree replace.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::Bvh;
use crate::bvh::traverse::bits;
use crate::cluster::connect::ClusterMerger;
use crate::geometry::Scalar;
use crate::search::ball_predicate::BallPredicate;

impl<S: Scalar, const D: usize> BallPredicate<'_, S, D, false> {
    /// Whether all primitives of a node are surely within the radius of each other.
    #[inline(always)]
    pub(crate) fn is_clique(&self, tree: &Bvh<S, D>, at: usize) -> bool {
        let bounds = &tree.node(at).bounds;
        self.covers(bounds, bounds)
    }
}

impl<S: Scalar, const D: usize> ClusterMerger<'_, S, D> {
    /// Unites what is below nodes with a diagonal of at most the radius.
    pub(super) fn unite_cliques(&self, nodes: Range<usize>) {
        let mut at = nodes.start;
        while at < nodes.end {
            if !self.predicates.open.is_clique(self.tree, at) {
                at += 1;
                continue;
            }
            let below = at..self.tree.node(at).rope as usize;
            let leaves = below.clone().filter(|&at| self.tree.is_leaf(at));
            let mut positions = leaves.flat_map(|leaf| {
                let first = self.tree.node(leaf).first;
                bits(self.participants.of(self.tree, leaf)).map(move |bit| first + bit as u32)
            });
            if let Some(first) = positions.next() {
                positions.for_each(|position| _ = self.forest.union(first, position));
                below.clone().for_each(|at| self.uniform[at].store(first, Relaxed));
            }
            at = below.end;
        }
    }
}
