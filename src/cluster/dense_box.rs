//! DenseBox: handles dense regions without computing distances.
//!
//! In: a tree and a radius. A node whose diagonal is at most the radius is a *clique*: its points are all neighbours
//! of each other.
//! Out: the participants of each clique, united. DBSCAN also tests if a clique is heavy enough to make all of its
//! points core.
//! Cost: one test per node. Source: Prokopenko et al. 2023, section 4 (FDBSCAN-DenseBox). The nodes of the tree
//! replace their grid of dense boxes.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::Bvh;
use crate::bvh::traverse::bits;
use crate::cluster::connect::ClusterMerger;
use crate::geometry::Scalar;
use crate::search::radius_test::RadiusTest;

impl<S: Scalar, const D: usize> RadiusTest<'_, S, D, false> {
    /// Returns `true` if all primitives of a node are certainly within the radius of each other.
    #[inline(always)]
    pub(crate) fn is_clique(&self, tree: &Bvh<S, D>, at: usize) -> bool {
        let bounds = &tree.node(at).bounds;
        self.covers(bounds, bounds)
    }
}

impl<S: Scalar, const D: usize> ClusterMerger<'_, S, D> {
    /// Unites the participants below each node whose diagonal is at most the radius, and marks these nodes as uniform.
    pub(super) fn unite_cliques(&self, nodes: Range<usize>) {
        let mut at = nodes.start;
        while at < nodes.end {
            if !self.tests.open.is_clique(self.tree, at) {
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
